"""Rankers: the LambdaRank network of the paper, and one line for the rankers that people use."""

from __future__ import annotations

from cutline.rankers.adapters import score
from cutline.rankers.gain import ndcg
from cutline.rankers.lambdarank import LambdaRank
from cutline.rankers.network import Epoch

__all__ = ["Epoch", "LambdaRank", "ndcg", "score"]
