"""Row patterns in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.reports.section import Bar, Part, Section, Table, amount, judge, seconds
from benchmarks.rows.speed import PARTITIONS, Pace

LEAST_RATES = {"valleys": 5e6, "sessions": 8e6, "spending": 1e6}
MOST_TIMES_BY_HAND = {"valleys": 3.0}
TEXT = (
    f"MATCH_RECOGNIZE over rows of {PARTITIONS:,} partitions, mixed, Arrow in memory, on one core. Beside each pattern "
    "stands a loop that was written by hand for that one pattern and compiled by Numba: one pass over the same arrays, "
    "a few words for each partition, the same matches. Times are CPU time from the table to the table of results.",
)
COLUMNS = ("<pattern", "rows", "matches", "engine", "rows/s", "by hand", "times by hand")


def rows_section(paces: Sequence[Pace], *, judged: bool) -> Section:
    """Report on the speed of row patterns."""
    return Section(
        Part.ROWS,
        "Row patterns: MATCH_RECOGNIZE",
        TEXT,
        (Table("Patterns, by CPU time", COLUMNS, pace_cells(paces)),),
        judge(pace_bars(paces), judged=judged),
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
