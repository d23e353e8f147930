"""The stock ticker: its stream, its rules under every policy, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.papers.etalis.stock_ticker import (
    POLICIES,
    QUICK,
    require_agreement,
    samples_of,
    stock_engine,
    stock_ticker,
    ticks,
    waiting_goals,
)
from cepheus.cli import app


def test_the_stream_is_that_of_the_paper() -> None:
    events = ticks(20_000).to_events()
    for name in ("GO", "MS"):
        prices = np.array([event["price"] for event in events if event["id"] == name])
        assert 9_000 < len(prices) < 11_000
        assert prices.min() >= 1
        assert prices.max() <= 1000
        steps = np.diff(prices)
        assert 0.45 < (steps > 0).mean() < 0.52
        assert 0.23 < (steps == 0).mean() < 0.28
    assert ticks(10).times.tolist() == [second * 1_000_000 for second in range(1, 11)]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_reference_engine_finds_the_same(policy: str) -> None:
    require_agreement(policy, 120)


@pytest.mark.parametrize("policy", ["recent", "chronological"])
def test_goals_stay_within_windows(policy: str) -> None:
    engine = stock_engine(policy, "goals", window=".60")
    held = []
    for block in range(6):
        engine.feed(ticks(2_000, start=2_000 * block))
        held.append(waiting_goals(engine))
    assert max(held) < 1_000


def test_what_is_measured() -> None:
    measured = stock_ticker(1, lambda _: None, QUICK)
    assert [(point.policy, point.events) for point in measured.points] == [
        (policy, count) for policy in POLICIES for count in QUICK.events
    ]
    assert all(point.found["ce3"] == point.found["ce1"] + point.found["ce2"] for point in measured.points)
    assert [len(flow.flow) for flow in measured.flows] == [QUICK.blocks] * 5
    assert [flow.windows for flow in measured.flows] == [True, True, False, False, False]
    samples = samples_of(measured)
    assert len(samples["ticks per second, recent, 500 events"]) == 1
    assert samples["resident bytes, recent, as printed: last"][1] > 0


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    command = ["bench", "etalis", "--quick", "--write-docs", "--docs", str(tmp_path)]
    answer = CliRunner().invoke(app, command, catch_exceptions=False)
    assert answer.exit_code == 0
    assert "The stock ticker of the ETALIS paper" in answer.output
    assert (tmp_path / "images" / "bench-stock-rates.svg").exists()
    assert (tmp_path / "images" / "bench-stock-memory.svg").exists()
