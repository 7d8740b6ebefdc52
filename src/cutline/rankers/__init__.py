"""Rankers: the LambdaRank network of the paper, one line for the rankers that people use, and vectors of texts."""

from __future__ import annotations

from cutline.rankers.adapters import score
from cutline.rankers.encoding import encode
from cutline.rankers.gain import ndcg
from cutline.rankers.lambdarank import LambdaRank
from cutline.rankers.network import Epoch

__all__ = ["Epoch", "LambdaRank", "encode", "ndcg", "score"]
