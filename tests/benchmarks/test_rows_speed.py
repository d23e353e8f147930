"""The row patterns that are measured: loops by hand find the same, and what is reported on them."""

from benchmarks.measuring.timing import Timing
from benchmarks.reports.section import Part
from benchmarks.rows.report import pace_bars, rows_section
from benchmarks.rows.speed import CASES, Pace, paces


def test_engine_and_loops_find_the_same() -> None:
    found = paces(20_000, 1)
    assert [pace.name for pace in found] == [case.name for case in CASES]
    assert all(pace.matches > 1000 and pace.ratio > 0 for pace in found)
    section = rows_section(found, judged=False)
    assert section.part is Part.ROWS
    assert len(section.tables[0].rows) == len(CASES)
    assert {bar.verdict for bar in section.bars} == {"not judged"}


def test_rates_and_the_distance_from_a_loop_are_judged() -> None:
    pace = Pace("valleys", "STRT DOWN+ UP+", 10_000_000, 1, Timing(1.0, 1.0), Timing(0.1, 0.1))
    assert [(bar.met, bar.measured) for bar in pace_bars([pace])] == [(True, "10.0M rows/s"), (False, "10.0 times")]
