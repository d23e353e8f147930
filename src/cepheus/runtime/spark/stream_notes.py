"""What a written stream notes down in its checkpoint for whoever watches it, and how it is told to wait.

Below ``cepheus/watch`` there is a file ``about``, one for each of the last micro-batches, and, as long as the stream is
to wait, one that is called ``pause``. A stream that waits begins no micro-batch: what comes stays with its source. None
of this is part of the state: if it cannot be written, the stream goes on.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyarrow import fs

from cepheus.core.errors import OptionError
from cepheus.runtime.spark.shard_files import StateFolder

if TYPE_CHECKING:
    from cepheus.runtime.spark.micro_batches import BatchProgress

_LOG = logging.getLogger("cepheus.spark")

WATCH = "watch"
"""The folder of these files, in the folder of what is ours in a checkpoint."""

ABOUT, PAUSE, BATCH = "about", "pause", "batch-"

KEPT = 300
"""Of so many micro-batches there is a file."""

_GLANCE = 0.5
"""Seconds between two looks whether a stream that waits may go on."""


@dataclass(frozen=True, slots=True)
class About:
    """What a stream is: its rules, as text by name, and the ``format`` and ``path`` of its sink, if it has them."""

    rules: Mapping[str, str]
    format: str | None = None
    path: str | None = None
    composite: str | None = None


@dataclass(slots=True)
class StreamNotes:
    """Writes the notes of a stream that runs here; ``folder`` is what is ours in its checkpoint."""

    folder: StateFolder
    about: About
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _totals: dict[str, Any] = field(default_factory=dict)
    _given_up: bool = False

    def begin(self) -> None:
        """Tell what the stream is; counting goes on where the last run of it ended."""
        files = WatchFolder(self.folder)
        try:
            last = files.last_batch()
            self._totals = {} if last is None else dict(files.batch(last).get("totals", {}))
            about = {"rules": dict(self.about.rules), "format": self.about.format, "path": self.about.path}
            files.write(ABOUT, {**about, "composite": self.about.composite, "began": self.clock()})
        except (OSError, OptionError) as error:
            self._give_up(error)

    def done(self, progress: BatchProgress) -> None:
        """Note what a micro-batch did."""
        if self._given_up:
            return
        totals = self._totals
        if totals.get("batch", -1) < progress.batch:  # one that is run again was counted
            composites: dict[str, int] = dict(totals.get("composites", {}))
            for name, count in progress.composites.items():
                composites[name] = composites.get(name, 0) + count
            events = int(totals.get("events", 0)) + progress.events
            late = int(totals.get("late", 0)) + progress.late
            self._totals = {"batch": progress.batch, "events": events, "late": late, "composites": composites}
        told = {
            "batch": progress.batch,
            "at": self.clock(),
            "events": progress.events,
            "late": progress.late,
            "composites": dict(progress.composites),
            "state_bytes": progress.state_bytes,
            "watermark": progress.watermark,
            "seconds": progress.seconds,
            "totals": self._totals,
        }
        files = WatchFolder(self.folder)
        try:
            files.write(f"{BATCH}{progress.batch}", told)
            files.remove(f"{BATCH}{progress.batch - KEPT}")
        except OSError as error:
            self._give_up(error)

    def wait_while_paused(self, wanted: Callable[[], bool]) -> None:
        """Wait as long as the stream is told to, and is ``wanted`` at all."""
        told = False
        while not self._given_up and self._is_paused() and wanted():
            if not told:
                _LOG.info("the stream waits: %s is there", PAUSE)
                told = True
            self.sleep(_GLANCE)

    def _is_paused(self) -> bool:
        try:
            return WatchFolder(self.folder).has(PAUSE)
        except OSError as error:
            self._give_up(error)
            return False

    def _give_up(self, error: Exception) -> None:
        self._given_up = True
        _LOG.warning("nothing is noted down for those who watch the stream: %s", error)


class WatchFolder:
    """The notes of a stream in its checkpoint, to be read and written."""

    def __init__(self, folder: StateFolder) -> None:
        self._system, path = folder.below(WATCH).open()
        self._path = path

    def write(self, name: str, told: Mapping[str, Any]) -> None:
        """Write a note, whole or not at all."""
        self._system.create_dir(self._path, recursive=True)
        part = f"{self._path}/.{name}.part"
        with self._system.open_output_stream(part) as stream:
            stream.write(json.dumps(told).encode())
        self._system.move(part, f"{self._path}/{name}")

    def remove(self, name: str) -> None:
        """Remove a note, if it is there."""
        if self.has(name):
            self._system.delete_file(f"{self._path}/{name}")

    def has(self, name: str) -> bool:
        """Whether there is a note."""
        return bool(self._system.get_file_info(f"{self._path}/{name}").type is fs.FileType.File)

    def batches(self) -> list[int]:
        """The numbers of the micro-batches of which there are notes, the first one first."""
        chosen = fs.FileSelector(self._path, allow_not_found=True)
        names = (info.base_name for info in self._system.get_file_info(chosen))
        return sorted(int(name.removeprefix(BATCH)) for name in names if name.removeprefix(BATCH).isdigit())

    def last_batch(self) -> int | None:
        """The last micro-batch of which there is a note."""
        return max(self.batches(), default=None)

    def batch(self, number: int) -> dict[str, Any]:
        """What is noted of a micro-batch; nothing if it cannot be read."""
        return self.read(f"{BATCH}{number}")

    def read(self, name: str) -> dict[str, Any]:
        """A note; empty if there is none that can be read."""
        try:
            with self._system.open_input_stream(f"{self._path}/{name}") as stream:
                found = json.loads(stream.readall())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
