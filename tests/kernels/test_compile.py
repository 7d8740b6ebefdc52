"""Compiled loops without a cache folder, in forked processes, and over any number of threads."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutline
from cutline.kernels import _compile

PACKAGE = Path(cutline.__file__).parent

COMPILES = """
import numpy as np
from cutline.kernels import _compile, lists
from cutline.kernels.lists import grade_badness
assert lists.__file__.startswith({home!r}), lists.__file__
codes = np.empty(3, np.int8)
assert grade_badness(np.array([0.0, np.nan, 2.0]), 1.0, -1, 0, 3, codes) == 1
print(codes.tolist(), type(grade_badness._cache).__name__)
"""

FORKS = """
import os, signal, warnings
from cutline.kernels._compile import on_threads
warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, which is what this is about
assert on_threads([lambda: 1, lambda: 2]) == [1, 2]
child = os.fork()
if child == 0:
    signal.alarm(20)  # a pool without threads would wait for ever
    os._exit(on_threads([lambda: 3, lambda: 4]) != [3, 4])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def run(script: str, **environment: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.fixture
def copy_of_package(tmp_path: Path) -> Path:
    """A copy that has no place for a cache: a file stands where each folder would be made, which stops even root."""
    home = tmp_path / "copy"
    shutil.copytree(PACKAGE, home / "cutline", ignore=shutil.ignore_patterns("__pycache__", "datasets"))
    (home / "cutline" / "kernels" / "__pycache__").write_text("not a folder")
    return home


def test_loops_compile_afresh_where_no_folder_can_be_written_to(copy_of_package, tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    places = dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(nowhere / "sub"))
    script = COMPILES.format(home=str(copy_of_package))
    found = run(script, PYTHONPATH=str(copy_of_package), PYTHONDONTWRITEBYTECODE="1", **places)
    assert found == "[1, -1, 0] NullCache"


def test_loops_are_kept_in_a_folder_that_can_be_written_to(copy_of_package, tmp_path):
    script = COMPILES.format(home=str(copy_of_package))
    found = run(script, PYTHONPATH=str(copy_of_package), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert found == "[1, -1, 0] FunctionCache"
    assert list((tmp_path / "cache").rglob("*grade_badness*.nbc"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own():
    assert run(FORKS, CUTLINE_THREADS="2") == "0"


def test_loops_are_compiled_without_fast_mathematics_and_without_the_lock():
    from cutline.kernels.walk import advance

    assert not advance.targetoptions.get("fastmath")  # type: ignore[attr-defined]
    assert advance.targetoptions["nogil"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("value", "expected"), [("1", 1), ("3", 3), ("64", 64), ("0", 1)])
def test_the_number_of_threads_is_the_one_named(monkeypatch, value, expected):
    monkeypatch.setenv("CUTLINE_THREADS", value)
    assert _compile.thread_count() == expected


@pytest.mark.parametrize("value", [None, "", "many", "-2", "1.5", "²"])
def test_without_a_number_the_cores_of_this_process_are_used(monkeypatch, value):
    monkeypatch.delenv("CUTLINE_THREADS", raising=False)
    if value is not None:
        monkeypatch.setenv("CUTLINE_THREADS", value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert _compile.thread_count() == 3
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS and Windows
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert _compile.thread_count() == 4
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _compile.thread_count() == 1


@given(total=st.integers(0, 5000), least=st.integers(1, 3000), threads=st.integers(1, 9))
def test_spans_cover_everything_once_and_none_is_short(total, least, threads):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTLINE_THREADS", str(threads))
        spans = _compile.spans(total, least=least)
    assert [i for first, last in spans for i in range(first, last)] == list(range(total))
    assert 1 <= len(spans) <= threads
    assert len(spans) == 1 or min(last - first for first, last in spans) >= least
    assert len(spans) == max(1, min(threads, total // least))


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_answers_come_in_the_order_of_the_tasks(monkeypatch, threads):
    monkeypatch.setenv("CUTLINE_THREADS", threads)
    assert _compile.on_threads([lambda i=i: i * i for i in range(20)]) == [i * i for i in range(20)]
    assert _compile.on_threads([]) == []


def test_two_tasks_do_run_side_by_side(monkeypatch):
    monkeypatch.setenv("CUTLINE_THREADS", "2")
    both = threading.Barrier(2, timeout=20)
    assert sorted(_compile.on_threads([both.wait, both.wait])) == [0, 1]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_error_in_a_task_is_raised(monkeypatch, threads):
    monkeypatch.setenv("CUTLINE_THREADS", threads)
    with pytest.raises(ZeroDivisionError):
        _compile.on_threads([lambda: 1, lambda: 1 // 0])


def test_a_task_may_itself_ask_for_threads(monkeypatch):
    monkeypatch.setenv("CUTLINE_THREADS", "2")

    def inner():
        return sum(_compile.on_threads([lambda i=i: i for i in range(4)]))

    assert _compile.on_threads([inner, inner, inner]) == [6, 6, 6]


LATE = """
import threading
from cutline.kernels._compile import on_threads

def late():
    threading.main_thread().join()
    assert on_threads([lambda: 1, lambda: 2]) == [1, 2]
    print("done")

threading.Thread(target=late).start()
"""


def test_a_thread_that_outlives_the_main_one_still_gets_its_answers():
    assert run(LATE, CUTLINE_THREADS="2") == "done"


def test_one_pool_serves_any_number_of_tasks(monkeypatch):
    monkeypatch.setenv("CUTLINE_THREADS", "7")
    _compile._pool.cache_clear()
    for count in range(2, 20):
        _compile.on_threads([lambda i=i: i for i in range(count)])
    assert _compile._pool.cache_info().currsize == 1
    assert sum(thread.name.startswith("cutline") for thread in threading.enumerate()) <= 6 + OTHER_POOLS


OTHER_POOLS = 3  # threads that tests with other numbers of threads may have left waiting


def test_a_thread_of_the_user_is_no_thread_of_the_pool_whatever_its_name(monkeypatch):
    monkeypatch.setenv("CUTLINE_THREADS", "2")
    both, seen = threading.Barrier(2, timeout=20), []
    user = threading.Thread(name="cutline-worker", target=lambda: seen.extend(_compile.on_threads([both.wait] * 2)))
    user.start()
    user.join()
    assert sorted(seen) == [0, 1]


def test_nobody_goes_on_after_an_error_before_all_tasks_have_ended(monkeypatch):
    monkeypatch.setenv("CUTLINE_THREADS", "2")
    started, ended = threading.Event(), []

    def slow():
        started.set()
        time.sleep(0.2)
        ended.append(True)

    def fails():
        started.wait(20)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _compile.on_threads([fails, slow])
    assert ended == [True]


def test_compiled_loops_call_no_loop_of_another_file():
    """The cache on disk knows when a loop's own file has changed, not when another one has."""
    for path in sorted((PACKAGE / "kernels").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cutline"):
                assert node.module == "cutline.kernels._compile", f"{path.name} imports from {node.module}"
