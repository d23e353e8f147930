"""The row patterns that are measured: loops by hand find the same, and what is reported on them."""

from benchmarks.measuring.timing import Timing
from benchmarks.reports.section import Part
from benchmarks.rows.on_spark import SparkPace
from benchmarks.rows.report import pace_bars, rows_section, spark_bars
from benchmarks.rows.speed import CASES, Pace, paces


def test_engine_and_loops_find_the_same() -> None:
    found = paces(20_000, 1)
    assert [pace.name for pace in found] == [case.name for case in CASES]
    assert all(pace.matches > 1000 and pace.ratio > 0 for pace in found)
    section = rows_section(found, [_on_spark(2.0, 2.0)], judged=False)
    assert section.part is Part.ROWS
    assert [len(each.rows) for each in section.tables] == [len(CASES), 4]
    assert {bar.verdict for bar in section.bars} == {"not judged"}


def test_rates_and_the_distance_from_a_loop_are_judged() -> None:
    pace = Pace("valleys", "STRT DOWN+ UP+", 10_000_000, 1, Timing(1.0, 1.0), Timing(0.1, 0.1))
    assert [(bar.met, bar.measured) for bar in pace_bars([pace])] == [(True, "10.0M rows/s"), (False, "10.0 times")]


def _on_spark(by_files: float, shuffled: float) -> SparkPace:
    times = (Timing(wall, 1.0) for wall in (by_files, shuffled, 1.0, 8.0))
    return SparkPace("valleys", 20_000_000, 1, *times)


def test_the_distance_from_moving_rows_and_from_sql_is_judged() -> None:
    assert [bar.met for bar in spark_bars([_on_spark(1.6, 1.5)])] == [True, True, True]
    found = [(bar.met, bar.measured) for bar in spark_bars([_on_spark(1.7, 2.0)])]
    assert found == [(False, "2.00x"), (False, "4.7x"), (False, "4.00x")]
