"""What must be reached on Spark, and whether it was: by the wall clock, as all cores are there for the job."""

from __future__ import annotations

from benchmarks.reports.bars import Bar
from benchmarks.reports.numbers import seconds
from benchmarks.spark.measure import SparkMeasured

MOST_OVER_IDENTITY = 2.0
LEAST_OF_BEST = 1.0
LEAST_OF_NATURAL = 5.0
MOST_START = 5.0


def spark_bars(measured: SparkMeasured) -> list[Bar]:
    """Judge every question, and what a first query costs beyond plain Spark."""
    bars = []
    for row in measured.rows:
        over = row.ours.wall / row.identity.wall
        expert = row.best.wall / row.ours.wall
        natural = row.natural.wall / row.ours_small.wall
        bars += [
            Bar(
                f"{row.name}, rows through Python",
                f"at most {MOST_OVER_IDENTITY:g}x the time",
                f"{over:.2f}x",
                over <= MOST_OVER_IDENTITY,
            ),
            Bar(
                f"{row.name}, the best Spark SQL",
                f"at least {LEAST_OF_BEST:g}x as fast",
                f"{expert:.2f}x",
                expert >= LEAST_OF_BEST,
            ),
            Bar(
                f"{row.name}, natural Spark SQL, {row.small:,} events",
                f"at least {LEAST_OF_NATURAL:g}x as fast",
                f"{natural:.1f}x",
                natural >= LEAST_OF_NATURAL,
            ),
        ]
    extra = measured.first - measured.first_plain
    bars.append(
        Bar(
            "first query, beyond plain Spark",
            f"under {seconds(MOST_START)}",
            seconds(max(extra, 0)),
            extra < MOST_START,
        )
    )
    return bars
