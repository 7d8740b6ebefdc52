"""From words and pictures to HTML: everything is escaped but our own script, style and drawings."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from cutline._extras import library
from cutline.report.theme import DARK, LIGHT, Palette


def check_libraries() -> None:
    """Whether everything is installed that a report needs."""
    for name in ("altair", "vl_convert", "jinja2"):
        library(name, extra="report", what="a report")


def rendered(**values: Any) -> str:
    """The page. Its policy lets no other script run than its own, which it knows by hash, and nothing be fetched."""
    jinja = library("jinja2", extra="report", what="a report")
    markup = library("markupsafe", extra="report", what="a report").Markup
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, keep_trailing_newline=True, finalize=_joined
    )
    environment.filters["markup"] = markup
    script = _text("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = environment.from_string(_text("page.html.jinja")).render(
        **values, script=markup(script), script_hash=digest, style=markup(_colours() + _text("style.css"))
    )
    return text


def _joined(value: Any) -> Any:
    """Numbers stay on one line with their signs."""
    return value.replace(" %", "\u00a0%").replace("≥ ", "≥\u00a0") if type(value) is str else value


def _colours() -> str:
    """The palettes as variables, by what the reader's system prefers; paper is light."""
    return (
        f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n"
        f"@media print {{ :root {{ color-scheme: light; {_variables(LIGHT)} }} }}\n"
    )


def _variables(palette: Palette) -> str:
    return " ".join(f"--{name.replace('_', '-')}: {colour};" for name, colour in palette.by_name().items())


def _text(name: str) -> str:
    return files("cutline.report").joinpath(name).read_text(encoding="utf-8")
