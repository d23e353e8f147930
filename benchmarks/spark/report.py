"""What was measured on Spark: tables, and what must be reached by the wall clock, as all cores are there for it."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.measuring.timing import Timing
from benchmarks.reports.section import Bar, Part, Section, Table, amount, judge, seconds
from benchmarks.spark.files import FilesRow
from benchmarks.spark.measure import SparkMeasured
from benchmarks.spark.stream import Load, StreamMeasured

MOST_OVER_IDENTITY = 2.0
LEAST_OF_BEST = 1.0
LEAST_OF_NATURAL = 5.0
MOST_START = 5.0
LEAST_SHARE = 0.99
MOST_LAG = 10.0
MOST_BATCH = 3.0
LEAST_OF_STREAM = 0.4
LEAST_OF_SHUFFLE = 4.0
MOST_STATE_GROWTH = 1.1

SPARK_TEXT = (
    "Spark in local mode on two cores reads Parquet files and throws the result away. The natural query runs on fewer "
    "events, as it compares every event with every other of its area; ours beside it has the same. Rows through Python "
    "are the rows that our engine gets, chosen, pruned and dealt out in the same way, sent through an identity "
    "mapInArrow. Numbers of composite events are compared. Times are on the wall clock, the best after a warm-up; CPU "
    "time is of Spark and all its Python workers."
)
SPARK_COLUMNS = ("<question", "<who", "events", "composite events", "events/s", "wall", "CPU")
FILES_TEXT = (
    "Where rules look back for a bounded time and events lie in Parquet files about in order of time, tasks read "
    "slices of time themselves, without Spark's rows and without a shuffle. The same session asks the same questions "
    "of the same files in both ways, on two cores, and throws the result away; numbers of composite events are "
    "compared. Times are on the wall clock, the best after a warm-up; CPU time is of Spark and all its Python workers."
)
FILES_COLUMNS = ("<question", "<read", "events", "composite events", "events/s", "wall", "CPU")
STREAM_TEXT = (
    "Spark in local mode. Every second a Parquet file arrives with a second's worth of events, ready or not; the rule "
    "is F-last, written by write_stream, the result is thrown away. The load runs in the same process and on the same "
    "cores. The first part of the run is not counted. The backlog is the same stream with all files there: "
    "through an identity mapInArrow, by write_stream, and through Spark's operator that keeps state "
    "(transformWithState), which also gets a load of its own: an earlier version kept up with 100,000 events/s by it."
)
STREAM_COLUMNS = ("<what", "measured")


def spark_section(measured: SparkMeasured, *, judged: bool) -> Section:
    """Report on batches, beside Spark SQL."""
    return Section(
        Part.SPARK,
        "On Spark, beside Spark SQL",
        (SPARK_TEXT,),
        (Table("Ours and Spark's own", SPARK_COLUMNS, spark_cells(measured)),),
        judge(spark_bars(measured), judged=judged),
    )


def files_section(rows: Sequence[FilesRow], *, judged: bool) -> Section:
    """Report on files that tasks read themselves."""
    cells = [
        _line(row.name, how, row.events, (f"{row.composites:,}",), timing)
        for row in rows
        for how, timing in (("by the tasks themselves", row.files), ("by Spark, and shuffled", row.shuffled))
    ]
    return Section(
        Part.FILES,
        "Parquet files without a shuffle",
        (FILES_TEXT,),
        (Table("Two ways to read", FILES_COLUMNS, tuple(cells)),),
        judge(files_bars(rows), judged=judged),
    )


def files_bars(rows: Sequence[FilesRow]) -> list[Bar]:
    """Judge how much is gained."""
    return [
        Bar(
            f"{row.name}, files read by tasks",
            f"at least {LEAST_OF_SHUFFLE:g}x as fast as shuffled",
            f"{row.gain:.2f}x",
            row.gain >= LEAST_OF_SHUFFLE,
        )
        for row in rows
    ]


def stream_section(measured: StreamMeasured, *, judged: bool) -> Section:
    """Report on a stream."""
    return Section(
        Part.STREAMING,
        "A streaming query on Spark under load",
        (STREAM_TEXT,),
        (Table("A steady stream", STREAM_COLUMNS, stream_cells(measured)),),
        judge(stream_bars(measured), judged=judged),
    )


def spark_cells(measured: SparkMeasured) -> tuple[tuple[str, ...], ...]:
    """A line for each question and contender."""
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


def stream_cells(measured: StreamMeasured) -> tuple[tuple[str, str], ...]:
    """The lines of the table."""
    scale, load, operator = measured.scale, measured.load, measured.operator
    return (
        ("events offered", f"{amount(load.offered)} events/s for {scale.seconds - scale.warm_up} s"),
        ("keys, window", f"{scale.keys:,}, {seconds(scale.window)}"),
        ("events processed", f"{amount(load.taken)} events/s"),
        ("events that waited at the end", f"those of {seconds(max(load.lag, 0.0))}"),
        ("micro-batches", f"{len(load.batches):,}"),
        ("micro-batch, p50", seconds(load.batch_seconds(0.5))),
        ("micro-batch, p99", seconds(load.batch_seconds(0.99))),
        ("state, at the end", f"{(measured.state[-1] if measured.state else 0) / MEBIBYTE:.1f} MiB"),
        ("composite events, late events", f"{measured.composites:,}, {measured.late:,}"),
        ("backlog, identity query", f"{amount(measured.backlog.identity)} events/s"),
        ("backlog, write_stream", f"{amount(measured.backlog.micro_batches)} events/s"),
        ("backlog, operator of Spark's", f"{amount(measured.backlog.operator)} events/s"),
        ("operator of Spark's, events offered", f"{amount(operator.offered)} events/s"),
        ("operator of Spark's, events processed", f"{amount(operator.taken)} events/s"),
        ("operator of Spark's, events that waited at the end", f"those of {seconds(max(operator.lag, 0.0))}"),
        ("operator of Spark's, micro-batch, p50", seconds(operator.batch_seconds(0.5))),
    )


def stream_bars(measured: StreamMeasured) -> list[Bar]:
    """Judge whether the query keeps up, in short steps, without growing."""
    slowest = measured.load.batch_seconds(0.99)
    return [
        _keeps_up("streaming", measured.load),
        _keeps_up("streaming by Spark's operator, 1.5x what an earlier version kept up with", measured.operator),
        Bar(
            "streaming, a backlog beside an identity query",
            f"at least {LEAST_OF_STREAM:.0%} of its events/s",
            f"{measured.backlog.share:.0%}",
            measured.backlog.share >= LEAST_OF_STREAM,
        ),
        Bar("streaming, micro-batch p99", f"under {seconds(MOST_BATCH)}", seconds(slowest), slowest < MOST_BATCH),
        Bar(
            "streaming, state of the last third of the run",
            f"at most {MOST_STATE_GROWTH:g}x the third before",
            f"{measured.growth:.2f}x",
            measured.growth <= MOST_STATE_GROWTH,
        ),
    ]


def _keeps_up(what: str, load: Load) -> Bar:
    """Judge whether a query keeps up with its load."""
    return Bar(
        f"{what}, {amount(load.offered)} events/s offered",
        f"at least {LEAST_SHARE:.0%} processed, at most {seconds(MOST_LAG)} behind",
        f"{load.share:.1%}, {seconds(max(load.lag, 0.0))} behind",
        load.share >= LEAST_SHARE and load.lag <= MOST_LAG,
    )
