"""Runs a pipeline: Spark reads, rules find, Spark writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cepheus.core.errors import OptionError
from cepheus.core.time import SECOND, TimeUnit
from cepheus.engine.base.ties import TieCounts
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark.checkpoint_rules import FILE
from cepheus.runtime.spark.detect import Detection, detect
from cepheus.runtime.spark.micro_batches import DetectionQuery, Progress
from cepheus.runtime.spark.pipeline_file import Pipeline, SinkSpec, SourceSpec
from cepheus.runtime.spark.pipeline_queries import await_all, start_all, stopping
from cepheus.runtime.spark.pipeline_rules import rules_at, whole_rules_at
from cepheus.runtime.spark.rule_reload import FollowedRules, Start
from cepheus.runtime.spark.stream_metrics import serve_metrics
from cepheus.runtime.spark.stream_sinks import is_possible
from cepheus.runtime.spark.streaming_answer import ties_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_AVAILABLE_NOW = "available now"
_GLANCE = 5
"""Seconds between two looks at streams: whether one has failed, and at the progress, of which Spark keeps the last
hundred micro-batches."""


def detection_of(spark: SparkSession, pipeline: Pipeline) -> Detection:
    """Read the sources and plan the rules; nothing is written yet."""
    return _planned(spark, pipeline, rules_at(pipeline.rules, spark, _unit(pipeline)))


def _unit(pipeline: Pipeline) -> TimeUnit:
    return TimeUnit(pipeline.detect.time_unit or "us")


def _planned(spark: SparkSession, pipeline: Pipeline, rules: RuleSet) -> Detection:
    frames = [_read(spark, source) for source in pipeline.sources]
    names = [source.type for source in pipeline.sources]
    events: DataFrame | Mapping[str, DataFrame] = frames[0]
    if names[0] is not None:
        events = dict(zip(cast("list[str]", names), frames, strict=True))
    given = {each.name: getattr(pipeline.detect, each.name) for each in fields(pipeline.detect)}
    return detect(rules, events, **given)


def run_pipeline(pipeline: Pipeline, found: Detection) -> TieCounts:
    """Write what was found to every sink; a stream runs until it is stopped, or its sources have no more.

    Gives what was counted of simultaneous events.
    """
    if not pipeline.is_stream:
        frame = found.dataframe.cache() if len(pipeline.sinks) > 1 else found.dataframe  # found once, written often
        for sink in pipeline.sinks:
            _write(_chosen(found, frame, sink), sink)
        return found.ties()
    if pipeline.reload is not None:
        followed = followed_rules(found.dataframe.sparkSession, pipeline)
        with stopping(followed.queries):
            _serve_metrics(pipeline, followed.queries)
        followed.follow(pipeline.reload / SECOND)
        return followed.queries[0].progress.ties
    queries = start_all(partial(_started, found, sink) for sink in pipeline.sinks)
    with stopping(queries):
        _serve_metrics(pipeline, queries)
        return _counted(queries, found)


def _serve_metrics(pipeline: Pipeline, queries: Sequence[StreamingQuery | DetectionQuery]) -> None:
    for number, query in enumerate(queries):
        if pipeline.spark.metrics is not None and isinstance(query, DetectionQuery):
            port = pipeline.spark.metrics + number if pipeline.spark.metrics else 0
            serve_metrics(query, port, name=f"{pipeline.spark.name}-{number}" if number else pipeline.spark.name)


def followed_rules(spark: SparkSession, pipeline: Pipeline) -> FollowedRules:
    """Start the queries of a stream whose rules are looked at again while it runs."""

    def starting(sink: SinkSpec) -> tuple[str, Start]:
        def start(now: Detection, before: Progress | None) -> DetectionQuery:
            return _written(now, sink if before is None else replace(sink, restart=None), before)

        assert sink.checkpoint is not None  # such a pipeline has checkpoints
        return sink.checkpoint, start

    return FollowedRules(
        [starting(sink) for sink in pipeline.sinks],
        lambda: whole_rules_at(pipeline.rules, spark, _unit(pipeline)),
        lambda rules: _planned(spark, pipeline, rules),
    )


def _started(found: Detection, sink: SinkSpec) -> StreamingQuery | DetectionQuery:
    """Start the query of a sink: micro-batches of our own, where they can be written."""
    ours = sink.writer == "micro-batches" or (sink.writer == "auto" and _can_be_ours(sink))
    return _written(found, sink) if ours else _start(_chosen(found, found.dataframe, sink), sink)


def _written(found: Detection, sink: SinkSpec, progress: Progress | None = None) -> DetectionQuery:
    assert sink.checkpoint is not None
    return found.write_stream(
        sink.format,
        sink.path,
        checkpoint=sink.checkpoint,
        composite=sink.composite,
        trigger=sink.trigger,
        options=sink.options,
        restart=cast("Any", sink.restart),
        progress=progress,
    )


def _can_be_ours(sink: SinkSpec) -> bool:
    """Whether micro-batches can be written to a sink; one whose checkpoint an operator made goes on with that."""
    if not is_possible(sink.format) or sink.checkpoint is None:
        return False
    return not Path(sink.checkpoint, FILE).exists()


def _counted(queries: Sequence[StreamingQuery | DetectionQuery], found: Detection) -> TieCounts:
    """Wait for the end of all queries; gives what one, and hence each, has counted of simultaneous events."""
    first = queries[0]
    if isinstance(first, DetectionQuery):
        await_all(queries, _GLANCE)
        return first.progress.ties
    assert found.metrics is not None  # a stream has metrics
    metrics, ties = found.metrics, dict[int, TieCounts]()
    await_all(queries, _GLANCE, lambda: ties.update(ties_of(first, metrics)))
    return sum(ties.values(), TieCounts.none())


def _read(spark: SparkSession, source: SourceSpec) -> DataFrame:
    reader: Any = spark.readStream if source.stream else spark.read
    reader = reader.format(source.format).options(**source.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    try:
        frame: DataFrame = reader.load(source.path) if source.path is not None else reader.load()
        frame.schema  # noqa: B018  # Spark looks for the files now
    except Exception as error:
        what = f"'{source.path}'" if source.path else f"the source of format '{source.format}'"
        reason = (str(error).splitlines() or ["it gave no reason"])[0]
        raise OptionError.of("source", f"Spark cannot read {what}: {reason}") from None
    return frame


def _chosen(found: Detection, frame: DataFrame, sink: SinkSpec) -> DataFrame:
    if sink.composite is None:
        return frame
    return found.of(sink.composite, frame)


def _write(frame: DataFrame, sink: SinkSpec) -> None:
    writer = frame.write.format(sink.format).mode(sink.mode).options(**sink.options)
    writer.save(sink.path) if sink.path is not None else writer.save()


def _start(frame: DataFrame, sink: SinkSpec) -> StreamingQuery:
    writer = frame.writeStream.format(sink.format).outputMode("append").options(**sink.options)
    if sink.checkpoint is not None:
        writer = writer.option("checkpointLocation", sink.checkpoint)
    if sink.trigger == _AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    elif sink.trigger is not None:
        writer = writer.trigger(processingTime=sink.trigger)
    return writer.start(sink.path) if sink.path is not None else writer.start()
