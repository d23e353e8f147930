"""The device engine gives what the reference engine gives, in the same order, and counts the same ties."""

from __future__ import annotations

import pytest
from agreement import MODES, compare
from device_agreement import compare_on_device, count_evaluations, counted

from cepheus.engine.device import calibration
from cepheus.engine.device.crossover import ALWAYS
from cepheus.engine.device.evaluation import Evaluator

CASES = 12
pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def everything_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "crossover_of", lambda _: ALWAYS)
    monkeypatch.setattr(Evaluator, "evaluate", Evaluator.evaluate)  # what counts evaluations is taken back


@pytest.mark.parametrize("while_running", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_rules_that_a_device_evaluates(mode: str, while_running: bool) -> None:
    count_evaluations()
    before = counted.copy()
    first = 100_000 * (1 + MODES.index(mode)) + 50_000 * while_running
    found = [compare_on_device(seed, mode, while_running=while_running) for seed in range(first, first + CASES)]
    assert sum(outcome >= 0 for outcome in found) > CASES // 2
    assert counted["terminators"] > before["terminators"], "a device must have had something to do"


@pytest.mark.parametrize("mode", MODES)
def test_rules_at_large(mode: str) -> None:
    first = 7_000_000 + 1000 * MODES.index(mode)
    found = [compare(seed, "device", mode, while_running=seed % 2 == 0) for seed in range(first, first + CASES)]
    assert sum(outcome >= 0 for outcome in found) > CASES // 2


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_rules_that_a_device_evaluates(block: int) -> None:
    for seed in range(10_000_000 + 1000 * block, 10_000_000 + 1000 * (block + 1)):
        compare_on_device(seed, MODES[seed % len(MODES)], while_running=seed % 3 == 0)
