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
