"""The questions in Polars, in the best formulation that we know of each.

All take the Arrow tables ``events`` and ``rules`` (one row per rule), times in milliseconds, and give the columns
that our composite events have. Events come ordered by time, which as-of joins are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
import pyarrow as pa

_TYPE, _TIME, _VALUE = pl.col("type"), pl.col("time"), pl.col("value")
_HOT = (_TYPE == "Temp") & (_VALUE > 45)


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _asof(
    left: pl.DataFrame, right: pl.DataFrame, key: str, *, on: str = "time", tolerance: int | None = None
) -> pl.DataFrame:
    """Join each row with the latest strictly earlier row of the same key."""
    return left.join_asof(
        right,
        left_on=on,
        right_on="time",
        by=key,
        strategy="backward",
        allow_exact_matches=False,
        tolerance=tolerance,
        check_sortedness=False,
    )


def _f_last(events: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
    smoke = events.filter(_TYPE == "Smoke").select("time", "area")
    hot = events.filter(_HOT).select("time", "area", temp="value")
    return _asof(smoke, hot, "area", tolerance=300_000).drop_nulls("temp").select("time", "area", "temp")


def _f_not(events: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
    hot = events.filter(_HOT).select("time", "area", temp="value")
    rain = events.filter(_TYPE == "Rain").select("time", "area", wet="time")
    near = _asof(hot, rain, "area", tolerance=5_000)
    return near.filter(pl.col("wet").is_null()).select("time", "area", "temp")


def _f_each(events: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
    smoke = events.lazy().filter(_TYPE == "Smoke").select("time", "area", bucket=_TIME // 10_000)
    hot = events.lazy().filter(_HOT).select("area", hot="time", temp="value", bucket=_TIME // 10_000)
    twice = pl.concat([hot, hot.with_columns(bucket=pl.col("bucket") + 1)])
    near = (pl.col("hot") < _TIME) & (pl.col("hot") >= _TIME - 10_000)
    return smoke.join(twice, on=["area", "bucket"]).filter(near).select("time", "area", "temp").collect()


def _f_each_shifted(events: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
    span = int(events["time"][-1]) + 20_000
    shifted = _TIME + pl.col("area") * span
    smoke = events.lazy().filter(_TYPE == "Smoke").select("time", "area", until=shifted, since=shifted - 10_000)
    hot = events.lazy().filter(_HOT).select(hot=shifted, temp="value")
    joined = smoke.join_where(hot, pl.col("hot") < pl.col("until"), pl.col("hot") >= pl.col("since"))
    return joined.select("time", "area", "temp").collect()


def _f_avg(events: pl.DataFrame, _: pl.DataFrame) -> pl.DataFrame:
    value = pl.when(_TYPE == "Temp").then(_VALUE)
    mean = value.rolling_mean_by(_TIME, "300000i", closed="left").over("area")
    means = events.select("type", "time", "area", temp=mean)
    return means.filter((_TYPE == "Smoke") & (pl.col("temp") > 50)).select("time", "area", "temp")


def _step(events: pl.DataFrame, rules: pl.DataFrame, step: str) -> pl.DataFrame:
    """The events that enter a step, once for every rule."""
    kinds = rules.select("rule", "width", type=pl.col(step).cast(events.schema["type"]))
    return events.select("type", "time").join(kinds, on="type", maintain_order="left").drop("type")


def _s3_last(events: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    thirds = _step(events, rules, "third")
    seconds = _step(events, rules, "second").select("rule", "time", middle="time")
    firsts = _step(events, rules, "first").select("rule", "time", begin="time")
    pairs = _asof(thirds, seconds, "rule").filter(_TIME - pl.col("middle") <= pl.col("width"))
    pairs = pairs.sort("middle")
    triples = _asof(pairs, firsts, "rule", on="middle").filter(pl.col("middle") - pl.col("begin") <= pl.col("width"))
    return triples.select("rule", "time")


def _s3_each(events: pl.DataFrame, rules: pl.DataFrame) -> pl.DataFrame:
    bucket = _TIME // pl.col("width")
    thirds = _step(events, rules, "third").lazy().with_columns(bucket=bucket)
    seconds = _step(events, rules, "second").lazy().select("rule", bucket=bucket, middle="time")
    firsts = _step(events, rules, "first").lazy().select("rule", bucket=bucket, begin="time")
    pairs = _nearby(thirds, seconds, _TIME, pl.col("middle"))
    pairs = pairs.with_columns(bucket=pl.col("middle") // pl.col("width"))
    return _nearby(pairs, firsts, pl.col("middle"), pl.col("begin")).select("rule", "time").collect()


def _nearby(later: pl.LazyFrame, earlier: pl.LazyFrame, at: pl.Expr, before: pl.Expr) -> pl.LazyFrame:
    """Join each row with all earlier ones of its rule and within its width, each of which stands in two buckets."""
    twice = pl.concat([earlier, earlier.with_columns(bucket=pl.col("bucket") + 1)])
    return later.join(twice, on=["rule", "bucket"]).filter((before < at) & (before >= at - pl.col("width")))


BEST: dict[str, tuple[str, Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]]] = {
    "F-last": ("an as-of join by area", _f_last),
    "F-each": ("an equi-join on area and 10 s bucket, each Temp in two buckets", _f_each),
    "F-not": ("an as-of join by area, kept where no rain is near", _f_not),
    "F-avg": ("rolling_mean_by over area", _f_avg),
    "S3-last": ("two as-of joins by rule over the events of each rule's steps", _s3_last),
    "S3-each": ("two equi-joins on rule and bucket of the rule's window", _s3_each),
}
"""By workload: what the best formulation that we know does, and its function."""

OTHER: dict[str, tuple[str, Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]]] = {
    "F-each": ("an inequality join on a time axis shifted per area", _f_each_shifted),
}
"""By workload: another formulation that experts give."""


def query(
    formulation: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame], tables: Mapping[str, pa.Table]
) -> Callable[[], pa.Table]:
    """A function that runs a formulation over Arrow tables and gives its result as Arrow."""
    nothing = pa.table({})

    def run() -> pa.Table:
        result = formulation(_frame(tables["events"]), _frame(tables.get("rules", nothing)))
        return result.to_arrow()

    return run
