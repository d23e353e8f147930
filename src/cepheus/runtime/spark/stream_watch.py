"""Watches a stream of another process by what is in its checkpoint: micro-batches, watermark, rules, what it wrote.

A stream of ``write_stream`` notes down what it does (see ``stream_notes``). Of one that goes through Spark's own
operator there are only Spark's logs: which micro-batches were planned and done, and the watermark. No Spark is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cepheus.core.errors import OptionError, Place
from cepheus.core.event import Event
from cepheus.core.time import from_datetime
from cepheus.runtime.spark.shard_files import StateFolder
from cepheus.runtime.spark.stream_notes import ABOUT, PAUSE, WatchFolder

_OURS = "cepheus"
_SPARK_DESCRIBED = "cepheus.json"
_LOG_OF_FILES = "_spark_metadata"
_READABLE = ("parquet", "json", "orc")
MOST_READ = 5_000
"""How many composite events of one micro-batch are read for watching; more are counted."""


@dataclass(slots=True)
class WatchedStream:
    """A stream, seen by its checkpoint, which must be a folder that can be read from here."""

    checkpoint: Path
    _notes: WatchFolder = field(init=False)
    _files: set[str] = field(default_factory=set)
    _batch: int = field(default=-1)

    def __post_init__(self) -> None:
        if not (self.checkpoint / "offsets").is_dir() and not (self.checkpoint / _OURS).is_dir():
            raise OptionError.of(
                "checkpoint",
                "this is no checkpoint of a stream of Spark",
                place=Place(str(self.checkpoint)),
                hint="name the folder given as checkpoint, and start the stream once",
            )
        self._notes = WatchFolder(StateFolder(str(self.checkpoint / _OURS)))
        done = self._done()
        self._batch = -1 if done is None else done
        self._files = set(self._written())  # what was written before is history

    @property
    def has_notes(self) -> bool:
        """Whether the stream notes down what it does."""
        return self._notes.has(ABOUT)

    @property
    def paused(self) -> bool:
        """Whether it was told to wait."""
        return self._notes.has(PAUSE)

    def pause(self, *, paused: bool) -> None:
        """Tell it to wait before the next micro-batch, or to go on."""
        if not self.has_notes:
            hint = "streams that write_stream writes can"
            raise OptionError.of("checkpoint", "this stream of Spark's own operator cannot wait", hint=hint)
        if paused:
            self._notes.write(PAUSE, {})
        else:
            self._notes.remove(PAUSE)

    def rules(self) -> dict[str, str]:
        """The texts of its rules; of a stream through Spark's operator only their names are known."""
        found = self._notes.read(ABOUT).get("rules")
        if isinstance(found, dict):
            return {str(name): str(text) for name, text in found.items()}
        return {name: f"{name}, whose text is not in the checkpoint" for name in self._described()}

    def state(self) -> dict[str, Any]:
        """How it is, by its last micro-batch, and of each of the last ones when it was done and what it did."""
        numbers = self._notes.batches()
        notes = [note for number in numbers[-60:] if (note := self._notes.batch(number))]
        last = notes[-1] if notes else {}
        totals = last.get("totals", {})
        return {
            "batches": self._done(),
            "planned": self._last("offsets"),
            "events": totals.get("events"),
            "late": totals.get("late"),
            "by_type": totals.get("composites", {}),
            "state_bytes": last.get("state_bytes"),
            "watermark": last.get("watermark") or self._spark_watermark(),
            "batch_seconds": last.get("seconds"),
            "at": last.get("at"),
            "rates": [
                [round(n["at"]), round(n["events"] / _since(notes, place)), sum(n["composites"].values())]
                for place, n in enumerate(notes)
            ],
        }

    def new(self) -> Iterator[Event]:
        """The composite events that its micro-batches have written to files since the last call."""
        done = self._done()
        if done is None or done == self._batch:
            return
        self._batch = done
        about = self._notes.read(ABOUT)
        fresh = [path for path in self._written() if path not in self._files]
        self._files.update(fresh)
        for path in fresh:
            yield from _events_of(path, str(about.get("format")), about.get("composite"))

    @property
    def sees_matches(self) -> bool:
        """Whether what it writes can be read from here."""
        about = self._notes.read(ABOUT)
        path = about.get("path")
        return about.get("format") in _READABLE and bool(path) and Path(_local(str(path))).is_dir()

    def _written(self) -> list[str]:
        """The files that the sink's log names."""
        path = self._notes.read(ABOUT).get("path")
        if not path:
            return []
        log = Path(_local(str(path))) / _LOG_OF_FILES
        found: dict[str, None] = {}
        for file in sorted(log.glob("[0-9]*"), key=lambda each: int(each.name.partition(".")[0])):
            for entry in _json_lines(file):
                if entry.get("action", "add") == "add" and entry.get("path"):
                    found[_local(str(entry["path"]))] = None
        return list(found)

    def _done(self) -> int | None:
        return self._last("commits")

    def _last(self, log: str) -> int | None:
        names = (path.name for path in (self.checkpoint / log).glob("[0-9]*"))
        return max((int(name) for name in names if name.isdigit()), default=None)

    def _spark_watermark(self) -> int | None:
        """The watermark of the last micro-batch that was planned, in microseconds, by Spark's log."""
        planned = self._last("offsets")
        if planned is None:
            return None
        for entry in _json_lines(self.checkpoint / "offsets" / str(planned)):
            if "batchWatermarkMs" in entry:
                return int(entry["batchWatermarkMs"]) * 1000 or None
        return None

    def _described(self) -> list[str]:
        try:
            found = json.loads((self.checkpoint / _SPARK_DESCRIBED).read_bytes())
            return [name for each in found["detections"] for name in each["rules"]]
        except (OSError, ValueError, KeyError, TypeError):
            return []


def _since(notes: list[dict[str, Any]], place: int) -> float:
    """Seconds since the micro-batch before, for rates."""
    note = notes[place]
    before = notes[place - 1]["at"] if place else note["at"] - note["seconds"]
    return max(float(note["at"]) - float(before), 1e-3)


def _json_lines(file: Path) -> Iterator[Mapping[str, Any]]:
    """The objects in a log of Spark's, whose first line is a version."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def _local(path: str) -> str:
    """The path of a file by its URI."""
    return unquote(urlsplit(path).path) if path.startswith("file:") else path


def _events_of(path: str, kind: str, composite: object) -> Iterator[Event]:
    """The composite events in a file that a stream has written."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    try:
        rows = ds.dataset(path, format=kind).head(MOST_READ).to_pylist()
    except (OSError, pa.ArrowInvalid):  # not there any more, or empty
        return
    for row in rows:
        if row.get("late") is None and row.get("time") is not None:
            yield _event(row, composite)


def _event(row: dict[str, Any], composite: object) -> Event:
    known = {name: row.pop(name, None) for name in ("type", "time", "id", "start", "rule", "probability", "from")}
    row.pop("late", None)
    attributes = {name: str(value) if isinstance(value, list | dict) else value for name, value in row.items()}
    for name, value in attributes.items():
        if isinstance(value, datetime):
            attributes[name] = _microseconds(value)
    return Event(
        str(known["type"] or composite or "composite event"),
        _microseconds(known["time"]),
        attributes,
        id=known["id"],
        probability=1.0 if known["probability"] is None else float(known["probability"]),
        start=None if known["start"] is None else _microseconds(known["start"]),
        rule=str(known["rule"] or composite or known["type"]),
    )


def _microseconds(value: Any) -> int:
    if isinstance(value, datetime):
        return from_datetime(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    if isinstance(value, str):
        return from_datetime(datetime.fromisoformat(value))
    return int(value)
