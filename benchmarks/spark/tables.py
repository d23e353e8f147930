"""What was measured on Spark, as rows of tables."""

from __future__ import annotations

from benchmarks.measuring.timing import Timing
from benchmarks.reports.numbers import amount, seconds
from benchmarks.spark.measure import SparkMeasured

TEXT = (
    "Spark in local mode on two cores reads Parquet files and throws the result away. The natural query runs on fewer "
    "events, as it compares every event with every other of its area; ours beside it has the same. Rows through Python "
    "are the rows that our engine gets, chosen, pruned and dealt out in the same way, sent through an identity "
    "mapInArrow. Numbers of composite events are compared. Times are on the wall clock, the best after a warm-up; CPU "
    "time is of Spark and all its Python workers."
)
COLUMNS = ("<question", "<who", "events", "composite events", "events/s", "wall", "CPU")


def spark_cells(measured: SparkMeasured) -> tuple[tuple[str, ...], ...]:
    """Give a line for each question and contender."""
    cells: list[tuple[str, ...]] = []
    for row in measured.rows:
        whole = (f"{row.composites:,}",)
        cells += [
            _line(row.name, "ours", row.events, whole, row.ours),
            _line(row.name, "rows through Python", row.events, ("",), row.identity),
            _line(row.name, f"Spark SQL: {row.how}", row.events, whole, row.best),
            _line(row.name, "ours", row.small, ("",), row.ours_small),
            _line(row.name, "Spark SQL, as it comes to mind", row.small, ("",), row.natural),
        ]
    return tuple(cells)


def _line(name: str, who: str, events: int, composites: tuple[str, ...], timing: Timing) -> tuple[str, ...]:
    return (
        name,
        who,
        f"{events:,}",
        *composites,
        amount(events / timing.wall),
        seconds(timing.wall),
        seconds(timing.cpu),
    )
