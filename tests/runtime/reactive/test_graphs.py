"""Signals have no glitches: at every moment each is what a computation of everything from the beginning gives."""

from __future__ import annotations

import pytest
from graphs import check_graph


@pytest.mark.parametrize("block", range(10))
def test_generated_graphs(block: int) -> None:
    assert sum(check_graph(seed) for seed in range(40 * block, 40 * block + 40)) > 1000


@pytest.mark.slow
def test_ten_thousand_generated_graphs() -> None:
    for seed in range(10_000, 20_000):
        check_graph(seed, nodes=10, events=20)
