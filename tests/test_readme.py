"""The Python in README.md and in the documentation runs as printed, page by page; relative links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cutline as cl
from cutline.cli.app import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PART = re.compile(
    r"^(?P<head>```(?P<kind>python|console|output)\n|<!-- (?P<table>printed) -->\n)(?P<body>.*?)"
    r"(?P<foot>^(?(table)<!-- end -->|```)$)",
    re.MULTILINE | re.DOTALL,
)
PICTURE = re.compile(r"!\[[^\]]+\]\(_static/(\w+\.svg)\)")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def blocks_of(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


class Reader:
    """Whoever follows a page in an empty folder: runs its Python and its shell from top to bottom, and compares."""

    def __init__(self, page: Path, folder: Path, names: dict[str, object]) -> None:
        self.page, self.folder, self.names, self.said = page, folder, names, ""

    def read(self, part: re.Match[str]) -> str:
        """A block with what is printed, by the Python above it or by its own commands."""
        body = part["body"]
        if part["kind"] == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(body, self.page.name, "exec"), self.names)
            self.said = "".join(f"{line.rstrip()}\n" for line in said.getvalue().splitlines())
        elif part["kind"] == "console":
            body = printed(body, self.folder, quick=self.page.name != "README.md")
        else:  # a fence of output, or a table between two comments
            body = f"\n{self.said}\n" if part["table"] else self.said
        return part["head"] + body + part["foot"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if PART.search(page.read_text(encoding="utf-8"))], ids=lambda page: page.name
)
def test_a_page_runs_from_top_to_bottom_and_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run with WRITE_PAGES=1 to put what is printed into the page."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where classes of the page look for themselves
    text = page.read_text(encoding="utf-8")
    shown = PART.sub(Reader(page, tmp_path, vars(module)).read, text)
    pictures = {tmp_path / name: page.parent / "_static" / name for name in PICTURE.findall(text)}
    if os.environ.get("WRITE_PAGES"):
        page.write_text(shown, encoding="utf-8")
        for drawn, kept in pictures.items():
            shutil.copy(drawn, kept)
    assert shown == text
    for drawn, kept in pictures.items():
        assert words_of(drawn) == words_of(kept)


def words_of(picture: Path) -> list[str]:
    """What is written in a picture; where its lines run may differ in the last digit from one machine to another."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))


def printed(block: str, folder: Path, *, quick: bool) -> str:
    """The commands of a block, each with what it prints. `quick` runs those of cutline that need nothing of a shell in
    this process, which saves a second each; the README runs as it stands."""
    lines: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            here = quick and line.startswith("$ cutline ") and not set(line[2:]) & set("|><&;$`*")
            lines += [line, *(said_here if here else said_by_a_shell)(line[2:], folder).splitlines()]
    return "".join(f"{line}\n" for line in lines)


def said_by_a_shell(command: str, folder: Path) -> str:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": binaries}, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ).stdout  # fmt: skip


def said_here(command: str, folder: Path) -> str:
    both = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.chdir(folder), contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
        run(shlex.split(command)[1:])
        both.flush()
    return both.buffer.getvalue().decode()


MODULES = [cl, *(getattr(cl, name) for name in cl.__all__ if isinstance(getattr(cl, name), ModuleType))]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_reference_has_every_public_name(module: ModuleType) -> None:
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"auto(?:class|function|module|data):: (?:cutline\.)?(?:\w+\.)*(\w+)", reference))
    names = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert names - documented - {"__version__"} == set()


def test_the_table_of_diverse_lists_is_what_the_page_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "diversity.md"
    names = vars(ModuleType("page"))
    for block in blocks_of(page)[:2]:
        exec(compile(block, page.name, "exec"), names)
    found = re.findall(
        r"^(\w.*?) +(Threshold|Diverse)\((.*?) +λ (\S+)  size (\S+)$", capsys.readouterr().out, re.MULTILINE
    )
    assert len(found) == 9
    rows = {
        (kind, rule, "max_size=5" in how or rule == "Diverse"): f"| {λ} | {size} |"
        for kind, rule, how, λ, size in found
    }
    text = page.read_text(encoding="utf-8")
    for kind, rule, bounded in (
        ("unrelated", "Threshold", True), ("unrelated", "Diverse", True), ("good items differ", "Diverse", True),
        ("bad items differ", "Diverse", True),
    ):  # fmt: skip
        assert rows[kind, rule, bounded] in text, (kind, rule, rows)


def test_the_readme_has_a_shell_example_of_four_lines() -> None:
    (example,) = CONSOLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    commands = [line for line in example.splitlines() if line.startswith("$ ")]
    assert len(commands) == 4
    assert "keep items scoring" in example


def test_the_readme_has_one_python_example_of_at_most_twelve_lines() -> None:
    (example,) = blocks_of(ROOT / "README.md")
    assert len(example.splitlines()) <= 12


def test_the_readme_example_prints_the_promise_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    exec(blocks_of(ROOT / "README.md")[0], {"__name__": "page"})
    printed = capsys.readouterr().out
    assert "Keep items scoring" in printed
    assert "Not promised" in printed
    assert "verdict" in printed.lower()


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1].splitlines()
    assert [line.split("#")[0].strip() for line in opening[1:3]] == ["make demo", "make test"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_relative_links_lead_to_files(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert broken == []
