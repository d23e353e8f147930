"""Starts the stream of a detection: looks at the checkpoint, and gives Spark what is to run in every micro-batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cepheus.core.errors import OptionError, SnapshotError
from cepheus.engine.base.snapshot import restoring
from cepheus.runtime.spark.checkpoint_rules import (
    FILE,
    STREAM_FILE,
    CheckpointFolder,
    Described,
    describe,
    refusal,
    refuse_changed,
)
from cepheus.runtime.spark.micro_batches import DetectionQuery, MicroBatches, timed_rows, timekeeping
from cepheus.runtime.spark.planning import Planned
from cepheus.runtime.spark.shard_files import StateFolder
from cepheus.runtime.spark.stream_sinks import StreamSink
from cepheus.runtime.spark.streaming import Flow, stream_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMAT = 1
FRESH = "fresh state"
"""Lets rules begin anew on a checkpoint that others have made: what was read stays read, what was remembered goes."""


@dataclass(frozen=True, slots=True)
class Era:
    """A time in the life of a checkpoint in which the same rules ran: since which micro-batch, and which they were."""

    number: int
    first: int
    described: Described


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """What a checkpoint says of its stream: the name of the query in all its runs, the eras, the shards' places."""

    query: str
    eras: tuple[Era, ...]

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
            eras = tuple(
                Era(int(era["number"]), int(era["first"]), Described.from_json(era["described"]))
                for era in found["eras"]
            )
            return cls(str(found["query"]), eras)


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
) -> DetectionQuery:
    """Start, or go on with, the stream of a detection."""
    spark = flow.sources[0].frame.sparkSession
    _require_classic(spark)
    routed = stream_groups(planned)
    job = planned.job(routed)
    rows, read = timed_rows(planned, flow.sources, routed)
    folder = CheckpointFolder(spark, checkpoint)
    record = _record(folder, describe(job), checkpoint, restart)
    era = record.eras[-1]
    state = StateFolder(folder.location).below("cepheus", f"era-{era.number}")
    state.open()  # or say why not
    batches = MicroBatches(
        job,
        routed,
        state,
        timekeeping(read, planned.options.run.lateness),
        sink,
        chosen,
        query=record.query,
        first=era.first,
        late=flow.late,
    )
    writer = rows.writeStream.foreachBatch(batches).option("checkpointLocation", checkpoint)
    writer = writer.queryName(name) if name is not None else writer
    writer = writer.trigger(**trigger) if trigger else writer
    return DetectionQuery(writer.start(), batches.progress)


def _require_classic(spark: SparkSession) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise OptionError.of(
            "spark",
            "write_stream needs Spark's own driver, and this session is one of Spark Connect",
            hint="write the DataFrame: detection.dataframe.writeStream",
        )


def _record(folder: CheckpointFolder, now: Described, checkpoint: str, restart: str | None) -> StreamRecord:
    """What the checkpoint says of the stream, with the era that begins now, if one does."""
    _require_restart(restart)
    found = folder.read(STREAM_FILE)
    planned = folder.last("offsets")
    done = folder.last("commits")
    following = 0 if done is None else done + 1
    if found is None:
        if planned is not None:
            made_by = "by Spark's writeStream of a detection" if folder.read(FILE) is not None else "by another query"
            raise refusal(
                f"the checkpoint was made {made_by}",
                "go on with that, or start this one with a new checkpoint",
                checkpoint,
            )
        return _written(folder, StreamRecord(uuid4().hex, (Era(0, 0, now),)))
    record = StreamRecord.from_bytes(found)
    if restart == FRESH:
        return _written(folder, _with_era(record, Era(record.eras[-1].number + 1, following, now)))
    if planned is None:  # nothing was ever run
        return _written(folder, StreamRecord(record.query, (Era(0, 0, now),)))
    refuse_changed([record.eras[-1].described], [now], checkpoint)
    return record


def _with_era(record: StreamRecord, era: Era) -> StreamRecord:
    return StreamRecord(record.query, (*record.eras, era)[-_MOST_ERAS:])


_MOST_ERAS = 20
"""So many eras a checkpoint tells of."""


def _written(folder: CheckpointFolder, record: StreamRecord) -> StreamRecord:
    folder.write(STREAM_FILE, record.to_bytes())
    return record


def _require_restart(restart: str | None, among: Sequence[str] = (FRESH,)) -> None:
    if restart is not None and restart not in among:
        raise OptionError.of("restart", f"'{restart}' is no way to restart", hint=f"leave it out, or write '{FRESH}'")
