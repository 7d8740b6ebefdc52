"""Queries to try things on: simulated ones, whose true risk at any threshold is known."""

from __future__ import annotations

from cutline.datasets.simulated import Simulator, TrueRisk, simulate

__all__ = ["Simulator", "TrueRisk", "simulate"]
