"""Sphinx settings. Pages are Markdown; docstrings are read as the plain text they are."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxTranslator

from cutline import __version__

project = "cutline"
author = "cutline contributors"
copyright = "2026, cutline contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"cutline {__version__}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
default_role = "code"  # docstrings put names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_use_type_comments = False
python_maximum_signature_line_length = 88

_ARRAY_LIKE = re.compile(
    r"_Buffer \| _SupportsArray\[dtype\[Any\]\] \| _NestedSequence\[_SupportsArray\[dtype\[Any\]\]\]"
    r" \| complex \| bytes \| str \| _NestedSequence\[complex \| bytes \| str\]"
)
_ARRAY = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]")
_PATH = re.compile(r"~(?:numpy|typing)\.(?:\w+\.)*")
_QUOTED = re.compile(r"(``.+?``|`[^`]+`)")
_MARKUP = re.compile(r"([\\*|_])")
_ITEM = re.compile(r"\s*([-*]|\d+\.)\s")


def _escape(line: str) -> str:
    """A line whose *, | and _ mean themselves, outside of backticks."""
    parts = _QUOTED.split(line)
    return "".join(part if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in parts)


def plain_docstring(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings hold formulas such as Σ|S| or L_i: escape what reStructuredText would take for markup."""
    written: list[str] = []
    literal = False
    for line in lines:
        if re.match(r"\s*(>>>|\.\. )", line):
            return  # a doctest or a directive: written as reStructuredText on purpose
    for line in lines:
        indented = line.startswith("  ") and not _ITEM.match(line)
        if indented and not literal and not (written and _ITEM.match(written[-1])):
            written += ["", "::", ""]
            literal = True
        elif line.strip() and not indented:
            if literal:
                written.append("")
            literal = False
        written.append(line if literal else re.sub(r"^(\s*)\\\*(\s)", r"\1*\2", _escape(line)))
    lines[:] = written


def short_types(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Signatures as they are written: NumPy's aliases by their names."""
    texts = [None if text is None else _shortened(_PATH.sub("", text)) for text in (signature, returned)]
    return texts[0], texts[1]


def _shortened(text: str) -> str:
    return _ARRAY.sub(r"NDArray[\1]", _ARRAY_LIKE.sub("ArrayLike", text)).replace("npt.", "")


def inline_formula(translator: SphinxTranslator, node: nodes.math) -> None:
    """A formula as MathML, which browsers draw by themselves: pages fetch nothing."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def formula(translator: SphinxTranslator, node: nodes.math_block) -> None:
    """A formula on lines of its own; wide ones scroll by themselves."""
    drawn = tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="formula">{drawn}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-process-signature", short_types)
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
