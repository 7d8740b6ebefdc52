"""The names of `import cutline as cl`, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cutline as cl
from cutline._version import __version__

NAMES = """
    Abstention AsGiven Certificate Diverse Fallback FalseDiscovery FixedSequence Grade Miss Queries RiskCurve Slates Threshold
    TopM WinRate __version__ audit calibrate datasets evidence frontier grid io load queries_needed rankers report resample
""".split()

HEAVY = set("altair duckdb llvmlite msgspec narwhals numba numpy pandas polars pyarrow rich scipy typer".split())


def run_fresh(code: str) -> str:
    """What a fresh interpreter prints, warnings being errors."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_root_names_are_these_and_no_others() -> None:
    assert sorted(cl.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_root_name_resolves(name: str) -> None:
    assert getattr(cl, name) is not None
    assert getattr(cl, name) is getattr(cl, name)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"__version__"}))
def test_each_root_name_is_what_it_says(name: str) -> None:
    found = getattr(cl, name)
    if isinstance(found, ModuleType):
        assert found.__name__ == f"cutline.{name}"
    else:
        assert found.__name__ == name


def test_no_module_carries_the_name_of_a_root_function() -> None:
    functions = [name for name in NAMES if name.islower() and callable(getattr(cl, name))]
    assert functions
    home = Path(cl.__file__).parent
    assert not [name for name in functions if (home / f"{name}.py").exists() or (home / name).exists()]


def test_dir_lists_every_root_name_before_any_is_used() -> None:
    listed = run_fresh("import cutline; print(*dir(cutline))").split()
    assert set(NAMES) <= set(listed)


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="module 'cutline' has no attribute 'calibrat'"):
        _ = cl.calibrat  # type: ignore[attr-defined]


def test_importing_cutline_loads_no_heavy_library() -> None:
    code = f"import sys, cutline; print(*sorted({HEAVY!r} & set(sys.modules)))"
    assert run_fresh(code) == ""


def test_importing_cutline_imports_none_of_its_rooms() -> None:
    code = "import sys, cutline; print(*sorted(name for name in sys.modules if name.startswith('cutline.')))"
    assert run_fresh(code) == "cutline._version"


def test_the_version_has_one_source() -> None:
    assert cl.__version__ == __version__
