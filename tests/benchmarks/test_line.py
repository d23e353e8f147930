"""The line of three processes: what is measured, and how it is judged."""

from __future__ import annotations

from benchmarks.network.line import Load, Outcome, measure_line, verdict

SLOW, FAST = Load(5_000, 15.0, 0.1, 0.1), Load(60_000, 15.0, 0.1, 0.002)


def outcome(load: Load, *, rate: float, delay: float, lag: float = 0.0) -> Outcome:
    return Outcome(load, round(rate), 1.0, (delay,) * 100, lag)


def test_a_small_load_goes_through_three_processes() -> None:
    found = measure_line(Load(300, 2.5, 0.5, 0.2))
    assert found.published > 500
    assert found.keeps_up
    assert 0 < found.delay(0.5) <= found.delay(0.99)


def test_every_run_is_judged() -> None:
    good, bad = outcome(SLOW, rate=5_000, delay=0.02), outcome(SLOW, rate=5_000, delay=0.06)
    assert verdict([good, good]) == "met"
    assert verdict([good, bad, good]) == "met in 2 of 3 runs"
    assert verdict([bad]) == "missed"


def test_throughput_counts_only_if_nothing_piles_up() -> None:
    assert verdict([outcome(FAST, rate=59_000, delay=0.2)]) == "met"
    assert verdict([outcome(FAST, rate=59_000, delay=0.2, lag=3.0)]) == "missed"
    assert verdict([outcome(FAST, rate=49_000, delay=0.2)]) == "missed"
