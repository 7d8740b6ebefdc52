"""How loops are compiled and spread over threads. Nothing here computes anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from itertools import pairwise
from threading import local
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
Answer = TypeVar("Answer")
_here = local()


def compiled(function: Function) -> Function:
    """Compile a loop: it releases the GIL, obeys IEEE arithmetic, and is cached on disk where a folder can be
    written to."""
    options: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}
    jit = cast(Callable[..., Any], numba.njit)
    try:
        return cast(Function, jit(cache=True, **options)(function))
    except RuntimeError:  # numba found no folder it may write its cache to: compile afresh in each process
        return cast(Function, jit(**options)(function))


def thread_count() -> int:
    """Threads to use: CUTLINE_THREADS where it is set, else the cores this process may run on. Never changes an
    answer."""
    wanted = os.environ.get("CUTLINE_THREADS", "")
    if wanted.isdecimal():
        return max(1, int(wanted))
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)


@cache
def _pool(size: int, process: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked child inherits a pool, but none of its threads, and would wait for ever."""
    return ThreadPoolExecutor(size, thread_name_prefix="cutline", initializer=_enter_pool)


def _enter_pool() -> None:
    _here.in_pool = True


def on_threads(tasks: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """Run the tasks side by side, some of them here, and return their answers in the order of the tasks."""
    threads = thread_count()
    helpers = min(threads, len(tasks)) - 1
    if helpers < 1 or getattr(_here, "in_pool", False):  # a thread that waits for its own pool could wait for ever
        return [task() for task in tasks]
    waiting = iter(enumerate(tasks))  # whoever is free takes the next
    futures: list[Future[list[tuple[int, Answer]]]] = []
    with suppress(RuntimeError):  # the interpreter is about to end and starts no more threads: all is done here
        for _ in range(helpers):
            futures.append(_pool(threads - 1, os.getpid()).submit(_taken, waiting))  # noqa: PERF401
    try:
        answers = dict(_taken(waiting))
    finally:
        wait(futures)  # they write into the caller's arrays: nobody goes on before they have ended
    for future in futures:
        answers.update(future.result())
    return [answers[place] for place in range(len(tasks))]


def _taken(waiting: Iterator[tuple[int, Callable[[], Answer]]]) -> list[tuple[int, Answer]]:
    return [(place, task()) for place, task in waiting]


def spans(total: int, *, least: int) -> list[tuple[int, int]]:
    """Cut range(total) into one run per thread, none shorter than `least` unless it is the only one."""
    pieces = max(1, min(thread_count(), total // max(1, least)))
    edges = [total * piece // pieces for piece in range(pieces + 1)]
    return list(pairwise(edges))


def workers() -> ThreadPoolExecutor:
    """A pool for whole tasks, as many as there are threads, each of which runs its compiled loops by itself."""
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="cutline-worker", initializer=_enter_pool)
