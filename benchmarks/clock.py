"""Timing: side by side in one process, and in fresh ones. Also what machine it was."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

FIRST_USE = Path(__file__).with_name("first_use.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of each run of one job, in the order in which they were run."""

    name: str
    samples: list[float]

    @property
    def seconds(self) -> float:
        """The median run."""
        return median(self.samples)

    def record(self) -> dict[str, Any]:
        """What the JSON keeps: the median, the extremes and every run."""
        slowest = max(self.samples)
        return {
            "name": self.name, "seconds": self.seconds, "best": min(self.samples), "worst": slowest,
            "spread": (slowest - min(self.samples)) / self.seconds, "samples": self.samples,
        }  # fmt: skip


def once(job: Callable[[], object], *, calls: int = 1) -> float:
    """Seconds per call."""
    begin = time.perf_counter()
    for _ in range(calls):
        job()
    return (time.perf_counter() - begin) / calls


def interleaved(jobs: Mapping[str, Callable[[], object]], *, rounds: int, calls: int = 1) -> list[Timing]:
    """Each job once to warm up, then one after the other, round after round: a slow spell hits all of them."""
    for job in jobs.values():
        job()
    samples: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            samples[name].append(once(job, calls=calls))
    return [Timing(name=name, samples=samples[name]) for name in jobs]


def _python(*arguments: str, **environment: str) -> str:
    """What a fresh Python of this environment prints."""
    finished = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True
    )
    return finished.stdout


def fresh(*command: str) -> None:
    """Run a command; what it prints is thrown away."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def peak_memory(*command: str) -> float:
    """The largest resident size, in bytes, of a command in a process of its own."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    return float(_python("-c", program, *command)) * 1024


def first_calls(*, cold: int, warm: int) -> tuple[Timing, Timing]:
    """Whole processes that end with a first calibration: with an empty kernel cache, and with what it left there."""
    _python("-c", "import cutline.calibration")  # so that bytecode is there, as after any installation
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        runs = [partial(_python, str(FIRST_USE), NUMBA_CACHE_DIR=f"{folder}/{place}") for place in range(cold)]
        empty = [once(run) for run in runs]
        filled = [once(runs[-1]) for _ in range(warm)]
    return Timing(name="empty kernel cache", samples=empty), Timing(name="warm kernel cache", samples=filled)


def imports(*, rounds: int) -> Timing:
    """`import cutline` in fresh processes, without the start of the interpreter."""
    program = "import time; begin = time.perf_counter(); import cutline; print(time.perf_counter() - begin)"
    samples = [float(_python("-c", program)) for _ in range(rounds + 1)][1:]
    return Timing(name="import", samples=samples)


def plain_sort(scores: npt.NDArray[np.float64], *, rounds: int) -> Timing:
    """np.sort in a process where NumPy's vector instructions are switched off, as on older processors."""
    found = " ".join(simd_found())
    program = (
        "import sys, time, numpy as np\nscores = np.load(sys.argv[1])\n"
        "for _ in range(int(sys.argv[2])):\n"
        "    begin = time.perf_counter(); np.sort(scores); print(time.perf_counter() - begin)\n"
    )
    with tempfile.TemporaryDirectory(prefix="scores-") as folder:
        path = Path(folder) / "scores.npy"
        np.save(path, scores)
        printed = _python("-c", program, str(path), str(rounds + 1), NPY_DISABLE_CPU_FEATURES=found)
    return Timing(name="np.sort without vector instructions", samples=[float(line) for line in printed.split()][1:])


class Neighbours:
    """How much of a core other programs used since this was made; None where the system does not tell."""

    def __init__(self) -> None:
        self.begin, self.before = time.perf_counter(), self._others()

    def cores(self) -> float | None:
        """The mean number of cores that were busy with something else."""
        now = self._others()
        if now is None or self.before is None:
            return None
        return max(0.0, now - self.before) / (time.perf_counter() - self.begin)

    @staticmethod
    def _others() -> float | None:
        counted = Path("/proc/stat")
        if not counted.exists():
            return None
        user, nice, system = (int(word) for word in counted.read_text().split(maxsplit=4)[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def simd_found() -> list[str]:
    """The vector instructions that NumPy found on this processor, beyond those it takes for granted."""
    return list(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))


def machine() -> dict[str, Any]:
    """The processor and the versions that matter."""
    cpus = Path("/proc/cpuinfo")
    models = [line for line in cpus.read_text().splitlines() if line.startswith("model name")] if cpus.exists() else []
    return {
        "processor": models[0].split(":", 1)[1].strip() if models else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "scipy", "mapie")},
        "numpy_simd": simd_found(),
    }
