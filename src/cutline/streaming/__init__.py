"""Files of any size on one machine: read in chunks of whole queries, pass by pass, in memory that does not grow."""

from __future__ import annotations

from cutline.streaming.calls import apply, audit, calibrate, risk_curve

__all__ = ["apply", "audit", "calibrate", "risk_curve"]
