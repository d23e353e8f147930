"""Sinks receive what one processor would produce: random networks, rules, streams and strategies."""

from __future__ import annotations

import pytest
from fault_trials import check_fault_trial
from trials import check_trial

from cepheus.runtime.network.strategy import Strategy


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("start", range(0, 100, 25))
def test_networks_deliver_what_one_processor_would(strategy: Strategy, start: int) -> None:
    for seed in range(start, start + 25):
        check_trial(seed, strategy)


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_faults_lose_and_double_nothing(start: int) -> None:
    for seed in range(start, start + 20):
        check_fault_trial(seed)
