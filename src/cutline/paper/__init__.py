"""The experiments of the paper that the method comes from, arXiv 2207.01609, from one call."""

from __future__ import annotations

from cutline.paper.registry import EXPERIMENTS
from cutline.paper.running import Reproduction, reproduce

__all__ = ["EXPERIMENTS", "Reproduction", "reproduce"]
