"""Rankers: the LambdaRank network of the paper."""

from __future__ import annotations

from cutline.rankers.gain import ndcg
from cutline.rankers.lambdarank import LambdaRank
from cutline.rankers.network import Epoch

__all__ = ["Epoch", "LambdaRank", "ndcg"]
