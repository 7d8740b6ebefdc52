"""A session of Spark with nothing else set up, for the command line."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from cutline.errors import CutlineError, InputError, MissingExtraError

LOOPBACK = "127.0.0.1"
MEMORY = "4g"  # the most that the driver takes, which in local mode is all of Spark
VAGUE = ("Exception thrown in awaitResult", "Job aborted")
SHUFFLED = 8  # partitions after a shuffle in local mode


@contextmanager
def session(master: str) -> Generator[Any]:
    """A session on this master, stopped at the end; one that is there already is used as it is, and left.

    Workers run this very Python. Where the master is local, nothing listens to the network. What Spark logs goes to a
    file that is thrown away, and what goes wrong becomes one line.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
        from py4j.protocol import Py4JError  # isort: skip
    except ImportError:
        raise MissingExtraError(
            "--engine spark needs pyspark, which the extra `spark` installs: pip install 'cutline[spark]'"
        ) from None
    sessions: Any = SparkSession
    found = sessions.getActiveSession()
    spark = _started(sessions.builder, master) if found is None else found
    try:
        yield spark
    except (PySparkException, Py4JError) as problem:
        _refuse(problem)
    finally:
        if found is None:
            spark.stop()


def _started(builder: Any, master: str) -> Any:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    for name, value in _settings(master).items():
        builder = builder.config(name, value)
    with _logged_elsewhere() as log:
        try:
            return builder.master(master).appName("cutline").getOrCreate()
        except Exception as problem:  # noqa: BLE001 (of Java, of the gateway to it, of the system)
            raise InputError(_why_not(master, problem, log())) from None


def _settings(master: str) -> dict[str, str]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.executorEnv.CUTLINE_THREADS": "1",  # tasks are the threads
        "spark.driver.maxResultSize": "0",
        "spark.driver.memory": MEMORY,
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
        settings |= {"spark.sql.shuffle.partitions": str(SHUFFLED)}
    return settings


@contextmanager
def _logged_elsewhere() -> Generator[Callable[[], str]]:
    """What is started meanwhile writes its errors to a file without a name, for as long as it runs."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as log:

        def read() -> str:
            log.seek(0)
            return log.read().decode("utf-8", "replace")

        os.dup2(log.fileno(), 2)
        try:
            yield read
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _why_not(master: str, problem: Exception, log: str) -> str:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "Spark needs Java, and there is none here; install Java 17 or newer, or set JAVA_HOME"
    said = re.search(r"(?:SparkException|Exception in thread \S+|Error): *(.+)", f"{problem}\n{log}")
    reason = said[1] if said else " ".join(str(problem).split())[:200]
    return f"Spark does not start with --master {master}: {reason.strip()}"


def _refuse(problem: Exception) -> NoReturn:
    """What a task refused, as it would be said without Spark; or the line of Spark's own report that tells most."""
    text = str(problem)
    own = re.findall(r"cutline\.errors\.\w+: (.+)", text)
    if own:
        raise InputError(own[-1]) from None
    python = re.findall(r"^(\w[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)$", text, re.MULTILINE)
    java = re.findall(r"^(?:: |Caused by: )?[\w.$]+: (?:\[[\w.]+\] )?(.+?)(?: *SQLSTATE.*)?$", text, re.MULTILINE)
    java = [each for each in java if not each.startswith(VAGUE)]
    reasons = python[-1:] or [*java[:1], *(f"({cause})" for cause in java[1:][-1:])] or text.split("\n")[:1]
    raise CutlineError(f"Spark gave up: {' '.join(reasons)}") from None
