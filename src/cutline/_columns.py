"""Which column of a table plays which role: as the user says, else by its own name, else by one that is known."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cutline._checks import check_one_of
from cutline.errors import InputError

ALIASES: dict[str, tuple[str, ...]] = {
    "query_id": ("query_id", "q_id", "query-id", "qid", "user_id"),
    "item_id": ("item_id", "doc_id", "docno", "docid", "corpus-id"),
    "score": ("score",),
    "label": ("label", "labels", "relevance", "rel", "rating", "grade"),
    "vector": ("vector",),
}
REQUIRED = ("query_id", "score")


@dataclass(frozen=True, slots=True)
class Wording:
    """How messages name the table, and how its user says which column plays a role: in Python, or by a flag."""

    table: str = "frame"
    flags: bool = False

    def said(self, role: str, name: str) -> str:
        """What a user writes to give a column a role."""
        if self.flags:
            return f"{flag_of(role)} {name}"
        return f"columns={{{role!r}: {name if name == '...' else repr(name)}}}"

    def given(self, role: str) -> str:
        """What the user wrote a name of a column after."""
        return flag_of(role) if self.flags else f"columns[{role!r}]"


def flag_of(role: str) -> str:
    """The flag that names the column of a role."""
    return "--vectors" if role == "vector" else f"--{role.removesuffix('_id')}-column"


def check_told(names: Sequence[str], columns: Any) -> None:
    """`columns` as {role: name}. A name that is no text may still be that of a column: pandas numbers them."""
    roles = (*ALIASES, "vectors")
    if not isinstance(columns, Mapping):
        raise InputError(_told(columns))
    told = cast("Mapping[Any, Any]", columns)
    turned = {k: v for k, v in told.items() if k not in roles and k in names and isinstance(v, str) and v in roles}
    if turned:
        meant = {v if k in turned else k: k if k in turned else v for k, v in told.items()}
        raise InputError(f"columns must be {{role: name}}, got {dict(told)!r}; keys are roles: did you mean {meant!r}?")
    for key, name in told.items():
        if not isinstance(key, str) or not (isinstance(name, str) or name in names):
            raise InputError(_told({key: name}))


def _told(came: Any) -> str:
    return f"columns must be {{role: name}}, such as {{'score': 'prediction'}}, got {reprlib.repr(came)}"


def match_columns(
    names: Sequence[str],
    columns: Mapping[str, str],
    *,
    index: Sequence[str] = (),
    required: Sequence[str] = REQUIRED,
    wording: Wording | None = None,
) -> dict[str, str]:
    """Which column plays which role; a required one must be found."""
    wording = Wording() if wording is None else wording
    found = _told_columns(names, columns, index, wording)
    taken = set(found.values())
    for role, aliases in ALIASES.items():
        if role in found:
            continue
        free = [name for name in names if name not in taken]
        candidates = [name for name in free if name in aliases]
        candidates = candidates or [name for name in free if str(name).lower() in aliases]
        candidates = [role] if role in candidates else candidates  # its own name goes before its aliases
        if len(candidates) > 1:
            raise InputError(
                f"{wording.table}: columns {', '.join(map(repr, candidates))} could each be the {role}; "
                f"say which, for instance {wording.said(role, candidates[0])}"
            )
        if candidates:
            found[role] = candidates[0]
        elif role in required:
            wanted = " or ".join(map(repr, aliases))
            if any(name.lower() in aliases for name in index):
                raise InputError(f"{wording.table} has no column for the {role} ({wanted}); {IN_INDEX}")
            raise InputError(
                f"{wording.table} has no column for the {role} ({wanted}){nearest(aliases, names, free)}; "
                f"rename it or say {wording.said(role, '...')}"
            )
    return found


IN_INDEX = "it is in the index: pass df.reset_index()"


def _told_columns(
    names: Sequence[str], columns: Mapping[str, str], index: Sequence[str], wording: Wording
) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, name in columns.items():
        role = check_one_of("a key of columns", "vector" if key == "vectors" else key, ALIASES)
        if name not in names:
            hint = f"; {IN_INDEX}" if name in index else nearest([name], names)
            where = f"{wording.table}: " if wording.flags else ""
            raise InputError(f"{where}{wording.given(key)} names a column that is not there, {name!r}{hint}")
        if name in found.values():
            raise InputError(
                f"{'the flags give' if wording.flags else 'columns gives'} {name!r} two roles; "
                f"name a different column for {key!r}"
            )
        found[role] = name
    return found


def nearest(wanted: Sequence[str], names: Sequence[str], free: Sequence[str] | None = None) -> str:
    """The columns there are, and the one, of those free to be it, that looks most like what is wanted."""
    lowered = {str(name).lower(): name for name in (names if free is None else free)}
    near = [match for alias in wanted for match in difflib.get_close_matches(alias.lower(), lowered, n=1)]
    near.sort(key=lambda match: -max(difflib.SequenceMatcher(None, match, alias.lower()).ratio() for alias in wanted))
    hint = f"; did you mean {lowered[near[0]]!r}?" if near else ""
    return f"; it has {', '.join(map(repr, names)) or 'no columns'}{hint}"
