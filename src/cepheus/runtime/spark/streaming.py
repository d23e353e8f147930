"""A stream: events packed, ordered by the watermark and fed to the engines of shards whose state Spark keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.time import MILLISECOND
from cepheus.plan.split import ByBand
from cepheus.runtime.spark.checkpoint_rules import describe, watch_starts
from cepheus.runtime.spark.metrics import METRICS
from cepheus.runtime.spark.planning import Planned, place_groups
from cepheus.runtime.spark.routing import Cells, Routed, route
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.sources import Naming, Source, column, micros
from cepheus.runtime.spark.streaming_pack import PACKED, pack, spread_slots

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_WATERMARK = "spark.watermarkDelayMs"
_EVENT_TIME = "__cepheus_event_time"

_BESIDE = 1 << 14
"""How many bytes Spark sends beside the rules, at most."""

_CELLS_PER_MARGIN = 8
"""How many times as wide as the margin a cell of a stream's bands is: one event in four goes to a neighbour, too."""


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """The sources of a stream as they came, and whether late events are given."""

    sources: tuple[Source, ...]
    late: bool


def stream_settings(shards: int) -> Mapping[str, str]:
    """What a session must be set to when a query with so many shards starts.

    Each shard is one partition of the state, which is kept in RocksDB; a micro-batch writes down only what it changed.
    Exchanges are not shared: of two stateful operators that share one, Spark 4.3 tells the second nothing of the
    watermark, and it would wait for ever without a word.
    """
    return {
        "spark.sql.exchange.reuse": "false",
        "spark.sql.shuffle.partitions": str(shards),
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }


def watermarked(sources: Sequence[Source], naming: Naming, lateness: int | None, metrics: str) -> tuple[Source, ...]:
    """Set the watermarks of streaming sources; OptionError if there is none, or two for one source.

    A watermark counts every event of a source, also those that no rule looks at: they tell what time it is. So filters
    must not be moved to before the watermark, which counting the events on the way prevents.
    """
    delay = None if lateness is None else f"{-(-lateness // MILLISECOND)} milliseconds"
    of_whom = "" if metrics == METRICS else f"{metrics}."
    return tuple(
        replace(source, frame=_counted(_watermarked(source, naming, delay), f"{of_whom}source{number}"))
        for number, source in enumerate(sources)
    )


def _watermarked(source: Source, naming: Naming, delay: str | None) -> DataFrame:
    field = source.frame.schema[naming.time]
    present = any(_WATERMARK in other.metadata for other in source.frame.schema.fields)
    if present and delay is not None:
        raise OptionError.of(
            "watermark",
            f"{source.what} have a watermark already",
            hint="leave out withWatermark, or the option lateness",
        )
    if present:
        return source.frame
    if delay is None:
        raise OptionError.of(
            "watermark",
            f"{source.what} are a stream without a watermark, so nobody knows how long to wait for stragglers",
            hint="say how late events may be: lateness='10 seconds'",
        )
    from pyspark.sql import functions as f

    if field.dataType.typeName() == "timestamp":
        return source.frame.withWatermark(naming.time, delay)
    moment = f.timestamp_micros(micros(column(naming.time), field.dataType, naming.unit))
    return source.frame.withColumn(_EVENT_TIME, moment).withWatermark(_EVENT_TIME, delay)


def _counted(frame: DataFrame, name: str) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.observe(name, f.count(f.lit(1)).alias("rows"))


def stream(planned: Planned, metrics: str, *, late: bool) -> DataFrame:
    """Find the composite events of a stream, and on request its late events."""
    routed = stream_groups(planned)
    rows = route(planned.sources, routed, planned.inputs, planned.events)
    return run_stream(rows, planned.job(routed), metrics, late=late)


def stream_groups(planned: Planned) -> list[Routed]:
    """The groups of rules of a stream and their shards; bands are cells of equal width."""
    cells = {
        number: Cells(_CELLS_PER_MARGIN * max(group.way.margins.values()) or 1, planned.options.shards)
        for number, group in enumerate(planned.split.groups)
        if isinstance(group.way, ByBand)
    }
    return place_groups(planned, cells)


def run_stream(routed: DataFrame, job: Job, metrics: str, *, late: bool) -> DataFrame:
    """Find the composite events in a stream of rows that know their shards, and on request the late events.

    The session is set for the query: Spark reads the settings when the query starts, and has no other place for them.
    """
    _require_protobuf()
    from cepheus.runtime.spark.streaming_answer import answer_schema, finished
    from cepheus.runtime.spark.streaming_processor import ShardProcessor

    slots = spread_slots(max(group.shards.stop for group in job.groups))
    for key, value in stream_settings(len(slots)).items():
        routed.sparkSession.conf.set(key, value)

    def packing(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return pack(slots, rows)

    if hasattr(routed, "_jdf"):  # not over Spark Connect, where the client sees no plans
        watch_starts()
    processor = ShardProcessor(job, slots, late=late)
    _require_size(processor, routed)
    packed = routed.mapInArrow(packing, PACKED)
    answers = packed.groupBy("slot").transformWithStateInPandas(
        processor, answer_schema(job.composites, describe(job)), "append", "eventTime"
    )
    return finished(answers, job.composites, metrics, late=late)


def _require_size(processor: object, frame: DataFrame) -> None:
    """Refuse rules that are too large for what Spark sends to its stateful operators."""
    from pyspark import cloudpickle

    context = getattr(frame.sparkSession, "_sc", None)
    if context is None:  # Spark Connect
        return
    most = int(context._jvm.PythonUtils.getBroadcastThreshold(context._jsc))
    size = len(cloudpickle.dumps(processor)) + _BESIDE  # type: ignore[no-untyped-call]
    if size > most:
        raise OptionError.of(
            "spark",
            f"the rules take {size} bytes on their way to Spark's stateful operator, which fails beyond {most}",
            hint="give the session spark.broadcast.UDFCompressionThreshold=100m, or cut the rules into several queries",
        )


def _require_protobuf() -> None:
    """Refuse early what Spark would fail with, deep inside a micro-batch."""
    try:
        import_module("google.protobuf.message")
    except ImportError:
        raise OptionError.of(
            "spark",
            "streams need the package protobuf, by which Spark and Python speak of state, and it is not installed here",
            hint="install it, on every machine that runs the query: pip install 'protobuf>=6.33,<7'",
        ) from None
