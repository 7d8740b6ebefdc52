"""A first calibration, as a script would do it; `run.py` times the whole process."""

from __future__ import annotations

import numpy as np

import cutline as cl


def main() -> None:
    """Calibrate 2,000 lists of 24 with every default."""
    rng = np.random.default_rng(0)
    relevance = rng.normal(size=2_000 * 24)
    scores = relevance + rng.normal(0, 1.5, relevance.shape)
    labels = np.searchsorted([-1.2, -0.5, 0.1, 1.0], relevance)
    queries = cl.Queries.from_arrays(scores, labels, group=np.full(2_000, 24))
    certificate = cl.calibrate(queries, loss=cl.FalseDiscovery(cl.Grade(at_least=3)), alpha=0.30, delta=0.10)
    if not isinstance(certificate, cl.Certificate):
        raise SystemExit("nothing was certified, so that there is nothing to time")


if __name__ == "__main__":
    main()
