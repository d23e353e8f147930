"""Every engine gives what the reference engine gives, on generated rules and streams, however they are fed."""

from __future__ import annotations

import pytest
from agreement import MODES, compare

from cepheus.engine.assembly.registry import names
from cepheus.engine.lowered import intake

ENGINES = [name for name in names() if name != "reference"]
CASES = 48


@pytest.mark.parametrize("while_running", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("block", range(4))
def test_engines_agree(name: str, mode: str, while_running: bool, block: int) -> None:
    first = 1_000_000 * (1 + MODES.index(mode)) + 100_000 * while_running + CASES * block
    found = [
        compare(seed, name, mode, while_running=while_running, undeclared=seed % 6 == 0, coarse=1 + 2 * (block % 2))
        for seed in range(first, first + CASES)
    ]
    share = 2 if name == "columns" else 4  # the others refuse groups, rankings, timers and ordered ties
    assert sum(outcome >= 0 for outcome in found) > CASES // share, "enough cases must have run"


@pytest.mark.parametrize("block", range(4))
def test_filters_over_whole_columns_agree(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(intake, "_WORTH_A_LOOK", 0)
    for seed in range(9_000_000 + CASES * block, 9_000_000 + CASES * (block + 1)):
        compare(seed, "columns", "whole")
