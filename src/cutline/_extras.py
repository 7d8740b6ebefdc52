"""Optional libraries, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any

from cutline.errors import MissingExtraError


def library(name: str, *, extra: str, what: str) -> Any:
    """A module of an optional library; where it is missing, the extra that installs it is named."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise MissingExtraError(
            f"{what} needs {package}, which the extra `{extra}` installs: pip install 'cutline[{extra}]'"
        ) from None
