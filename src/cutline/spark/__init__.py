"""The same curve, certificates and cut lists on Apache Spark (extra `spark`), for data beyond one machine.

Rows of one query are brought together by their query id, so that none is ever split; what each partition sums up is
added in whole numbers. So the answer is that of the same rows on one machine, to the last bit.
"""

from __future__ import annotations

from cutline.spark.calibrating import calibrate
from cutline.spark.frames import apply, risk_curve

__all__ = ["apply", "calibrate", "risk_curve"]
