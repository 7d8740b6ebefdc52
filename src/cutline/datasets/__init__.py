"""Queries to try things on: simulated ones, whose true risk at any threshold is known, and real ones."""

from __future__ import annotations

from cutline.datasets.collection import Collection
from cutline.datasets.drawn_features import SimulatedFeatures
from cutline.datasets.letor import letor, yahoo
from cutline.datasets.msmarco import msmarco_documents
from cutline.datasets.named import insteval, insuranceqa, movielens
from cutline.datasets.presets import MSMARCO_LIKE, YAHOO_LIKE, msmarco_like, yahoo_like
from cutline.datasets.simulated import Simulator, TrueRisk
from cutline.datasets.simulating import simulate

__all__ = [
    "MSMARCO_LIKE",
    "YAHOO_LIKE",
    "Collection",
    "SimulatedFeatures",
    "Simulator",
    "TrueRisk",
    "insteval",
    "insuranceqa",
    "letor",
    "movielens",
    "msmarco_documents",
    "msmarco_like",
    "simulate",
    "yahoo",
    "yahoo_like",
]
