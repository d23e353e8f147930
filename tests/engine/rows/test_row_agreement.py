"""The engine of rows gives what the reference gives, however rows are cut into batches and wherever it is restored."""

from __future__ import annotations

import pytest
from row_agreement import difference


@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 400, 50)], ids=lambda seeds: seeds[0])
def test_engine_and_reference_agree(seeds: range) -> None:
    outcomes = set()
    for seed in seeds:
        wrong, outcome = difference(seed)
        assert wrong is None, wrong
        outcomes.add(outcome)
    assert {"matches", "no match"} <= outcomes


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_many_more_agree(first: int) -> None:
    """As ``row_agreement.py --cases 1000 --seed 1000`` and so on."""
    for seed in range(first, first + 1000):
        wrong, _ = difference(seed)
        assert wrong is None, wrong
