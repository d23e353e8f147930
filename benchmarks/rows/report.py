"""Row patterns in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measuring.timing import Timing
from benchmarks.reports.section import Bar, Part, Section, Table, amount, judge, seconds
from benchmarks.rows.on_spark import CORES, SparkPace
from benchmarks.rows.speed import PARTITIONS, Pace

LEAST_RATES = {"valleys": 5e6, "sessions": 8e6, "spending": 1e6}
MOST_TIMES_BY_HAND = {"valleys": 3.0}
MOST_OVER_IDENTITY = 1.5
LEAST_OF_SQL = 5.0
TEXT = (
    f"MATCH_RECOGNIZE over rows of {PARTITIONS:,} partitions, mixed, Arrow in memory, on one core. Beside each pattern "
    "stands a loop that was written by hand for that one pattern and compiled by Numba: one pass over the same arrays, "
    "a few words for each partition, the same matches. Times are CPU time from the table to the table of results.",
    f"The same on Spark, local[{CORES}], from Parquet files in order of time to nowhere. Tasks that read the files "
    "themselves shuffle nothing; behind Spark's shuffle, as from any other source, the rows go the way of an identity "
    "mapInArrow behind the same shuffle and sort. The SQL with window functions finds the same number of matches. "
    "Times are on the wall clock, the best after a first run.",
)
SPARK_COLUMNS = ("<pattern", "<who", "rows", "matches", "wall", "CPU", "rows/s")
COLUMNS = ("<pattern", "rows", "matches", "engine", "rows/s", "by hand", "times by hand")


def rows_section(paces: Sequence[Pace], on_spark: Sequence[SparkPace], *, judged: bool) -> Section:
    """Report on the speed of row patterns, in one process and on Spark."""
    return Section(
        Part.ROWS,
        "Row patterns: MATCH_RECOGNIZE",
        TEXT,
        (
            Table("Patterns, by CPU time", COLUMNS, pace_cells(paces)),
            Table("Patterns on Spark", SPARK_COLUMNS, spark_cells(on_spark)),
        ),
        judge([*pace_bars(paces), *spark_bars(on_spark)], judged=judged),
    )


def pace_cells(paces: Sequence[Pace]) -> tuple[tuple[str, ...], ...]:
    """The rows of the table."""
    return tuple(
        (
            pace.pattern.replace("|", "or"),
            f"{pace.rows:,}",
            f"{pace.matches:,}",
            seconds(pace.engine.cpu),
            amount(pace.rows_per_second),
            seconds(pace.by_hand.cpu),
            f"{pace.ratio:.1f}",
        )
        for pace in paces
    )


def pace_bars(paces: Sequence[Pace]) -> list[Bar]:
    """Judge rates, and how far the engine is from a loop by hand."""
    bars = []
    for pace in paces:
        least, most = LEAST_RATES[pace.name], MOST_TIMES_BY_HAND.get(pace.name)
        bars.append(
            Bar(
                f"row pattern {pace.pattern.replace('|', 'or')}",
                f"at least {amount(least)} rows/s",
                f"{amount(pace.rows_per_second)} rows/s",
                pace.rows_per_second >= least,
            )
        )
        if most is not None:
            bars.append(
                Bar(
                    f"row pattern {pace.pattern} beside a loop by hand",
                    f"at most {most:g} times its CPU time",
                    f"{pace.ratio:.1f} times",
                    pace.ratio <= most,
                )
            )
    return bars


def spark_cells(paces: Sequence[SparkPace]) -> tuple[tuple[str, ...], ...]:
    """Four lines for each pattern: the engine both ways, moving the rows alone, the SQL."""
    return tuple(
        _spark_line(pace, *line)
        for pace in paces
        for line in (
            ("match_recognize, files read by tasks", f"{pace.matches:,}", pace.by_files),
            ("match_recognize, behind a shuffle", f"{pace.matches:,}", pace.shuffled),
            ("rows through Python", "", pace.identity),
            ("SQL with window functions", f"{pace.matches:,}", pace.sql),
        )
    )


def _spark_line(pace: SparkPace, who: str, matches: str, timing: Timing) -> tuple[str, ...]:
    rate = amount(pace.rows / timing.wall)
    return pace.name, who, f"{pace.rows:,}", matches, seconds(timing.wall), seconds(timing.cpu), rate


def spark_bars(paces: Sequence[SparkPace]) -> list[Bar]:
    """Judge how far the engine is from moving rows alone, and from the SQL, both ways."""
    return [
        bar
        for pace in paces
        for bar in (
            Bar(
                f"{pace.name} on Spark behind a shuffle, rows through Python",
                f"at most {MOST_OVER_IDENTITY:g}x the time",
                f"{pace.of_identity:.2f}x",
                pace.of_identity <= MOST_OVER_IDENTITY,
            ),
            Bar(
                f"{pace.name} on Spark, files read by tasks, SQL with window functions",
                f"at least {LEAST_OF_SQL:g}x as fast",
                f"{pace.of_sql:.1f}x",
                pace.of_sql >= LEAST_OF_SQL,
            ),
            Bar(
                f"{pace.name} on Spark behind a shuffle, SQL with window functions",
                f"at least {LEAST_OF_SQL:g}x as fast",
                f"{pace.shuffled_of_sql:.2f}x",
                pace.shuffled_of_sql >= LEAST_OF_SQL,
            ),
        )
    ]
