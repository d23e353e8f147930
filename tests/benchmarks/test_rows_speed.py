"""The row patterns that are measured, and that the loops by hand find the same."""

from benchmarks.rows.speed import paces


def test_engine_and_loops_find_the_same() -> None:
    found = paces(20_000, 1)
    assert [pace.name for pace in found] == ["valleys", "sessions"]
    assert all(pace.matches > 1000 and pace.ratio > 0 for pace in found)
