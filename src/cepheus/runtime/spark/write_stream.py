"""Starts the stream of a detection: looks at the checkpoint, and gives Spark what is to run in every micro-batch."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cepheus.core.errors import OptionError, SnapshotError
from cepheus.engine.base.snapshot import restoring
from cepheus.runtime.embedded.rule_changes import rule_texts
from cepheus.runtime.spark.checkpoint_rules import FILE, STREAM_FILE, CheckpointFolder, digest, refusal
from cepheus.runtime.spark.micro_batches import DetectionQuery, MicroBatches, Progress, timed_rows, timekeeping
from cepheus.runtime.spark.planning import Planned
from cepheus.runtime.spark.rule_cohorts import (
    WAY_OUT,
    Cohort,
    Regrouped,
    described_layout,
    first_cohorts,
    regroup,
)
from cepheus.runtime.spark.shard_files import StateFolder, has_manifest
from cepheus.runtime.spark.stream_notes import About, StreamNotes
from cepheus.runtime.spark.stream_sinks import FileSink, FormatSink, StreamSink
from cepheus.runtime.spark.streaming import Flow, stream_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOG = logging.getLogger("cepheus.spark")
_FORMAT = 1
FRESH = "fresh state"
"""Lets rules begin anew on a checkpoint that others have made: what was read stays read, what was remembered goes."""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """What a checkpoint says of its stream: the name of the query in all its runs, the cohorts of its rules, what every
    event has, and digests of how it is run.
    """

    query: str
    cohorts: tuple[Cohort, ...]
    layout: Mapping[str, Any]
    circumstances: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Write it down."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, indent=1).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> StreamRecord:
        """Read what was written down; SnapshotError if this Cepheus cannot."""
        with restoring():
            found = json.loads(data)
            if found["format"] != _FORMAT:
                raise SnapshotError.of(
                    "snapshot-version",
                    f"the checkpoint has version {found['format']}, this Cepheus reads version {_FORMAT}",
                    hint="go on with the Cepheus that wrote the checkpoint, or start with a new checkpoint",
                )
            cohorts = tuple(Cohort.from_json(cohort) for cohort in found["cohorts"])
            return cls(str(found["query"]), cohorts, dict(found["layout"]), dict(found["circumstances"]))


def start_stream(
    planned: Planned,
    flow: Flow,
    sink: StreamSink,
    chosen: Callable[[DataFrame], DataFrame],
    *,
    checkpoint: str,
    trigger: dict[str, Any],
    name: str | None = None,
    restart: str | None = None,
    composite: str | None = None,
    progress: Progress | None = None,
) -> DetectionQuery:
    """Start, or go on with, the stream of a detection; ``progress`` is that of a run before, if it is to be told on."""
    spark = flow.sources[0].frame.sparkSession
    _require_classic(spark)
    folder = CheckpointFolder(spark, checkpoint)
    state = StateFolder(folder.location).below("cepheus")
    state.open()  # or say why not
    _refuse_log_of_another(sink, spark, folder)
    record, regrouped, is_new = _record(folder, state, planned, flow, checkpoint, restart)
    if is_new:
        _LOG.info("rules: %s", regrouped.words)
        folder.write(STREAM_FILE, record.to_bytes())
    planned = regrouped.planned
    routed = stream_groups(planned)
    job = planned.job(routed)
    rows, read = timed_rows(planned, flow.sources, routed)
    notes = StreamNotes(state, _about(planned, sink, composite))
    notes.begin()
    batches = MicroBatches(
        job,
        routed,
        state,
        timekeeping(read, planned.options.run.lateness),
        sink,
        chosen,
        query=record.query,
        cohorts=record.cohorts,
        late=flow.late,
        notes=notes,
        progress=progress,
    )
    writer = rows.writeStream.foreachBatch(batches).option("checkpointLocation", checkpoint)
    writer = writer.queryName(name) if name is not None else writer
    writer = writer.trigger(**trigger) if trigger else writer
    query = writer.start()
    batches.wanted = lambda: bool(query.isActive)  # who stops a stream that waits does not wait for it
    return DetectionQuery(query, batches.progress, lambda: _end_between(query, batches, folder))


def refuse_changes(planned: Planned, flow: Flow, checkpoint: str) -> None:
    """Refuse rules that could not go on with a checkpoint whose stream is not running; nothing is changed."""
    folder = CheckpointFolder(flow.sources[0].frame.sparkSession, checkpoint)
    _record(folder, StateFolder(folder.location).below("cepheus"), planned, flow, checkpoint, None)


_GLANCE = 0.02


def _end_between(query: StreamingQuery, batches: MicroBatches, folder: CheckpointFolder) -> None:
    """End a stream when no micro-batch is under way, and the last one is known to be done."""
    batches.end()
    while batches.last is not None and query.isActive and folder.last("commits") != batches.last:
        time.sleep(_GLANCE)
    query.stop()


def _about(planned: Planned, sink: StreamSink, composite: str | None) -> About:
    """What is told of the stream to those who watch it."""
    texts = rule_texts(planned.checked.rules)
    if isinstance(sink, FileSink | FormatSink):
        return About(texts, sink.format, sink.path, composite)
    return About(texts, composite=composite)


def _require_classic(spark: SparkSession) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise OptionError.of(
            "spark",
            "write_stream needs Spark's own driver, and this session is one of Spark Connect",
            hint="write the DataFrame: detection.dataframe.writeStream",
        )


def _refuse_log_of_another(sink: StreamSink, spark: SparkSession, folder: CheckpointFolder) -> None:
    """Refuse files of another query: their log would have the first micro-batches of this one passed over."""
    if not isinstance(sink, FileSink) or folder.has_batches():
        return
    if CheckpointFolder(spark, sink.path).has("_spark_metadata"):
        raise OptionError.of(
            "sink",
            f"'{sink.path}' has the log of another query, by which the first micro-batches would be passed over",
            hint="write to a new path, or go on with the checkpoint of that query",
        )


def _record(
    folder: CheckpointFolder, state: StateFolder, planned: Planned, flow: Flow, checkpoint: str, restart: str | None
) -> tuple[StreamRecord, Regrouped, bool]:
    """What the checkpoint is to say of the stream from now on, the rules in their cohorts, and whether that is new."""
    _require_restart(restart)
    found = folder.read(STREAM_FILE)
    begun, done = folder.last("offsets"), folder.last("commits")
    following = 0 if done is None else done + 1
    if found is None:
        if begun is not None:
            made_by = "by Spark's writeStream of a detection" if folder.read(FILE) is not None else "by another query"
            raise refusal(
                f"the checkpoint was made {made_by}",
                "go on with that, or start this one with a new checkpoint",
                checkpoint,
            )
        return _new(planned, flow, first_cohorts(planned, 0), uuid4().hex)
    record = StreamRecord.from_bytes(found)
    if begun is None:  # nothing was ever run
        return _new(planned, flow, first_cohorts(planned, 0), record.query)
    now = circumstances(planned, flow)
    if record.circumstances.get(SOURCES) != now[SOURCES]:
        raise refusal(
            f"since the checkpoint was made, {SOURCES} have changed, and Spark knows by their order what it has read",
            "start with a new checkpoint, or give all events in one DataFrame with a column of types",
            checkpoint,
        )
    regrouped = first_cohorts(planned, following)
    if restart != FRESH:
        regrouped = regroup(planned, record.cohorts, record.layout, following, checkpoint)
        _refuse_other_circumstances(record.circumstances, now, checkpoint)
        if {name for cohort in record.cohorts for name in cohort.shards} == {
            name for cohort in regrouped.cohorts for name in cohort.shards
        } and not regrouped.ended:
            return record, regrouped, False
    if begun == following and _is_under_way(state, record.cohorts, following):
        raise refusal(
            f"micro-batch {following} was under way with the rules that made the checkpoint, and may have been written",
            "start once more with the rules of before and trigger='available now', then change them",
            checkpoint,
        )
    return _new(planned, flow, regrouped, record.query)


def _is_under_way(state: StateFolder, cohorts: Sequence[Cohort], batch: int) -> bool:
    """Whether a shard has written its state after a micro-batch: then a sink may have written what it found."""
    return any(has_manifest(state.below(name), batch) for cohort in cohorts for name in cohort.shards)


SOURCES = "the DataFrames that rules look at"


def circumstances(planned: Planned, flow: Flow) -> dict[str, str]:
    """Digests of what state depends on besides rules, in words that people know it by."""
    read = [source for source in flow.sources if any(name in planned.inputs for name in source.types)]
    knowledge = [rule.relations for rule in planned.checked.rules.interval_rules]
    return {
        SOURCES: digest(["" if source.typed else source.types[0] for source in read]),
        "the engine": planned.options.run.engine,
        "how probabilities are worked out": digest(repr(planned.options.run.calculus)),
        "facts that rules read": digest(sorted(repr(sorted(map(repr, each))) for each in knowledge)),
    }


def _refuse_other_circumstances(old: Mapping[str, str], new: Mapping[str, str], checkpoint: str) -> None:
    changed = [name for name in new if old.get(name) != new[name]]
    if changed:
        raise refusal(f"since the checkpoint was made, {changed[0]} has changed", WAY_OUT, checkpoint)


def _new(planned: Planned, flow: Flow, regrouped: Regrouped, query: str) -> tuple[StreamRecord, Regrouped, bool]:
    record = StreamRecord(query, regrouped.cohorts, described_layout(planned.events), circumstances(planned, flow))
    return record, regrouped, True


def _require_restart(restart: str | None, among: Sequence[str] = (FRESH,)) -> None:
    if restart is not None and restart not in among:
        raise OptionError.of("restart", f"'{restart}' is no way to restart", hint=f"leave it out, or write '{FRESH}'")
