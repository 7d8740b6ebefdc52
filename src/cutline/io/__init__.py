"""Files in and out: parquet, CSV, TSV, JSON lines, TREC runs and judgments, LETOR with predictions; also gzipped."""

from __future__ import annotations

from cutline.io.reading import read_queries
from cutline.io.writing import write_queries, write_slates

__all__ = ["read_queries", "write_queries", "write_slates"]
