"""Certificates here keep a short risk curve: no decision looks at it, and its bounds take longer than the rest."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def short_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutline.calibration.SHOWN", 2)
