"""The documentation builds without a warning, draws its own formulas, and its pages fetch nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
FETCHED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["'](?:https?:)?//[^"']+""")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("html")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    return folder


def test_every_page_is_built_and_stands_in_the_contents(built: Path) -> None:
    contents = (built / "index.html").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert (built / f"{page.stem}.html").exists()
        assert page.stem == "index" or f'href="{page.stem}.html"' in contents, page.stem


def test_no_page_fetches_anything(built: Path) -> None:
    assert FETCHED.search('<script src="https://cdn.example/x.js">')
    for page in built.glob("*.html"):
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page.name


def test_formulas_are_drawn_by_the_browser(built: Path) -> None:
    theory = (DOCS / "theory.md").read_text(encoding="utf-8")
    page = (built / "theory.html").read_text(encoding="utf-8")
    assert page.count('display="block"') == theory.count("$$") // 2 > 10
    assert "\\frac" not in page
    assert "$" not in re.sub(r"(?s)<(script|style|math)\b.*?</\1>", "", page)
