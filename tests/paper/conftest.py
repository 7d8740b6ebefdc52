"""One thread for torch, as in the tests of rankers; and one run of everything, small, for the tests that look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cutline.paper import Reproduction, reproduce


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All experiments, with few repeats."""
    return reproduce(out=tmp_path_factory.mktemp("paper"), size="small", repeats=6)
