"""Every error and warning that cutline raises on purpose. Input errors are ValueErrors too."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path


class CutlineError(Exception):
    """The root of the tree: catch this to catch everything cutline raises on purpose."""


class InputError(CutlineError, ValueError):
    """An argument, a table or a file is not what is wanted. The message says what came, what is wanted, and the fix."""


class CertificateError(InputError):
    """A certificate cannot be read: it was edited, is truncated, or is of a schema this version does not know."""


class CannotApplyError(CutlineError):
    """An abstention was asked to cut lists where neither empty nor full lists would be honest."""


class MissingExtraError(CutlineError, ImportError):
    """An optional library is needed and is not installed. The message names the extra to install."""


class CutlineWarning(UserWarning):
    """Something is allowed but weakens what a certificate says, such as auditing on the calibration queries."""


_HOME = str(Path(__file__).parent)


def warn(message: str) -> None:
    """A CutlineWarning that points to the line of the user's that led to it, not to one of cutline's."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, CutlineWarning, stacklevel=level)
