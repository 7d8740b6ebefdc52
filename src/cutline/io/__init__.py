"""Files in and out: parquet, CSV, TSV, JSON lines, TREC runs and judgments, LETOR with predictions; also gzipped.

Features of rankers are read in `features`, and what other libraries hold in `ir_measures`, `ranx` and `pyterrier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutline.io.reading import read_queries
from cutline.io.writing import write_queries, write_slates

if TYPE_CHECKING:
    from cutline.io.features import read_features, write_features

__all__ = ["read_features", "read_queries", "write_features", "write_queries", "write_slates"]


def __getattr__(name: str) -> object:
    """What needs compiled loops is imported on first use."""
    if name not in ("features", "read_features", "write_features"):
        raise AttributeError(f"module 'cutline.io' has no attribute {name!r}")
    import importlib

    features = importlib.import_module("cutline.io.features")
    return features if name == "features" else getattr(features, name)
