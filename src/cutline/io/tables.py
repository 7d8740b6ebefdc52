"""What readers of tables share: which columns are roles, which are kept, and what becomes of the rest."""

from __future__ import annotations

from collections.abc import Sequence

from cutline._columns import match_columns
from cutline.errors import InputError
from cutline.io.sheets import Wish
from cutline.io.sources import Source


def roles_of(source: Source, names: Sequence[str], wish: Wish) -> dict[str, str]:
    """Which column plays which role. Where places tell too, and there are no other columns, names may be any."""
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"{source.name} has two columns named {name!r}; rename or drop one of them")
    told = {role: name for role, name in wish.columns.items() if wish.reads(role)}
    if not wish.positional:
        return _wanted(match_columns(names, told, required=wish.required, wording=wish.wording), wish)
    found = _wanted(match_columns(names, told, required=(), wording=wish.wording), wish)
    if len(names) == len(wish.positional):
        free = [name for name in names if name not in found.values()]
        found |= zip((role for role in wish.positional if role not in found), free, strict=True)
    missing = [role for role in wish.required if role not in found]
    if missing:
        raise InputError(
            f"{source.name} has no column for the {missing[0]}: it has {', '.join(map(repr, names))}; wanted are "
            f"{', '.join(wish.positional)}, by their names, or in this order and nothing else; or say "
            f"{wish.wording.said(missing[0], '...')}"
        )
    return found


def _wanted(found: dict[str, str], wish: Wish) -> dict[str, str]:
    return {role: name for role, name in found.items() if wish.reads(role)}


def kept_columns(names: Sequence[str], roles: dict[str, str], wish: Wish) -> list[str]:
    """The columns to read, in the order of the file; one that was asked for and is not there is refused."""
    if wish.keep is None:
        return list(names)
    for name in wish.keep:
        if name not in names:
            raise InputError(
                f"{wish.wording.table} has no column {name!r}; it has {', '.join(map(repr, names)) or 'no columns'}"
            )
    return [name for name in names if name in roles.values() or name in wish.keep]
