"""Files of any size on one machine: read in chunks of whole queries, pass by pass, in memory that does not grow."""

from __future__ import annotations

from cutline.streaming.stream import Stream, opened

__all__ = ["Stream", "opened"]
