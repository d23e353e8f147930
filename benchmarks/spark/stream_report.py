"""What was measured of a streaming query: as a table, and against what must be reached."""

from __future__ import annotations

from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.reports.bars import Bar
from benchmarks.reports.numbers import amount, seconds
from benchmarks.spark.stream import StreamMeasured

LEAST_SHARE = 0.99
MOST_LAG = 10.0
MOST_BATCH = 5.0
MOST_STATE_GROWTH = 1.1

TEXT = (
    "Spark in local mode. Every second a Parquet file arrives with a second's worth of events, ready or not; the rule "
    "is F-last, the state is kept in RocksDB, the result is thrown away. The load runs in the same process and on the "
    "same cores. What came in the first part of the run is not counted."
)
COLUMNS = ("<what", "measured")


def stream_cells(measured: StreamMeasured) -> tuple[tuple[str, str], ...]:
    """Give the lines of the table."""
    scale = measured.scale
    return (
        ("events offered", f"{amount(measured.offered)} events/s for {scale.seconds - scale.warm_up} s"),
        ("keys, window", f"{scale.keys:,}, {seconds(scale.window)}"),
        ("events processed", f"{amount(measured.taken)} events/s"),
        ("events that waited at the end", f"those of {seconds(max(measured.lag, 0.0))}"),
        ("micro-batches", f"{len(measured.batches):,}"),
        ("micro-batch, p50", seconds(measured.batch_seconds(0.5))),
        ("micro-batch, p99", seconds(measured.batch_seconds(0.99))),
        ("state, at the end", f"{(measured.state[-1] if measured.state else 0) / MEBIBYTE:.1f} MiB"),
        ("composite events, late events", f"{measured.composites:,}, {measured.late:,}"),
    )


def stream_bars(measured: StreamMeasured) -> list[Bar]:
    """Judge whether the query keeps up, in short steps, without growing."""
    share = measured.taken / measured.offered
    slowest = measured.batch_seconds(0.99)
    return [
        Bar(
            f"streaming, {amount(measured.offered)} events/s offered",
            f"at least {LEAST_SHARE:.0%} processed, at most {seconds(MOST_LAG)} behind",
            f"{share:.1%}, {seconds(max(measured.lag, 0.0))} behind",
            share >= LEAST_SHARE and measured.lag <= MOST_LAG,
        ),
        Bar("streaming, micro-batch p99", f"under {seconds(MOST_BATCH)}", seconds(slowest), slowest < MOST_BATCH),
        Bar(
            "streaming, state of the last third of the run",
            f"at most {MOST_STATE_GROWTH:g}x the third before",
            f"{measured.growth:.2f}x",
            measured.growth <= MOST_STATE_GROWTH,
        ),
    ]
