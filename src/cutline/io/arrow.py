"""Arrow, imported in this one place. It ships no types, so everything of it is Any."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow  # noqa: ICN001
import pyarrow.compute
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

pa: Any = pyarrow
pc: Any = pyarrow.compute
pacsv: Any = pyarrow.csv
pajson: Any = pyarrow.json
pq: Any = pyarrow.parquet

Table: TypeAlias = Any  # pyarrow.Table
Column: TypeAlias = Any  # pyarrow.ChunkedArray
Values: TypeAlias = Any  # pyarrow.Array
Kind: TypeAlias = Any  # pyarrow.DataType
Buffer: TypeAlias = Any  # pyarrow.Buffer
Stream: TypeAlias = Any  # pyarrow.NativeFile
ArrowError: tuple[type[Exception], ...] = (pa.ArrowException, OSError, ValueError)
