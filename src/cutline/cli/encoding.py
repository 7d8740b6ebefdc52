"""Signs in plain letters, where a terminal or a file cannot have them."""

from __future__ import annotations

import codecs

PLAINLY = "cutline.plainly"
_PLAIN = {
    "≥": ">=", "≤": "<=", "…": "...", "×": "x", "·": ".", "–": "-", "—": "-", "−": "-", "→": "->", "±": "+-",
    "“": "'", "”": "'", "‘": "'", "’": "'", "∞": "inf", "α": "alpha", "δ": "delta", "λ": "lambda",
    "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """What stands for signs that an encoding lacks; a question mark for those of others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error(PLAINLY, _plainly)
