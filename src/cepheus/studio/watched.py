"""Rules at work in this process on a file that grows; and what all that can be watched has in common."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from cepheus.api import Program
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError, OptionError
from cepheus.core.time import TimeUnit
from cepheus.runtime.embedded.figures import Figures
from cepheus.runtime.embedded.rule_changes import RuleChange, rule_texts
from cepheus.runtime.embedded.session import Session
from cepheus.studio.workspace import program_of

_MOST_LINES = 5000
PAUSE = 0.1
"""Seconds between two looks at what has nothing new."""


class Target(Protocol):
    """Rules at work somewhere: what the page of live asks of it."""

    def state(self, since: int) -> dict[str, Any]:
        """How it is, with the matches behind a number."""

    def pause(self, *, paused: bool) -> None:
        """Take no more events, or take them again; none is lost."""

    def rules(self) -> Mapping[str, str]:
        """The texts of the rules at work, by name."""

    def plan(self, text: str) -> list[dict[str, str]]:
        """What would be done for the rules of a text to be at work."""

    def apply(self, text: str) -> None:
        """Do it: withdraw some rules and deploy others."""

    def stop(self) -> None:
        """End it, or leave it if it is the work of another process."""


class Coming(Protocol):
    """Where events come from: the interface by which other sources join."""

    name: str

    def take(self) -> list[Mapping[str, Any]]:
        """The events that have come since the last call, not too many at once; none if there are none."""

    def waiting(self) -> int:
        """How many bytes or events are there and not taken."""


class FollowedFile:
    """The lines that are appended to a file of JSON lines; half a line waits for its other half."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".jsonl":
            raise OptionError.of(
                "live", f"'{path.name}' cannot be followed", hint="follow a file of JSON lines, .jsonl"
            )
        self.name = path.name
        self.bad = 0
        self._path = path
        self._offset = 0

    def take(self) -> list[Mapping[str, Any]]:
        """The events of whole lines that were appended."""
        found: list[Mapping[str, Any]] = []
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._offset:  # it was cut, and is written anew
                self._offset = 0
            file.seek(self._offset)
            for line in islice(file, _MOST_LINES):
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError):
                    event = None
                if isinstance(event, dict):
                    found.append(event)
                elif line.strip():
                    self.bad += 1
        return found

    def waiting(self) -> int:
        """How many bytes are there and not taken."""
        try:
            size = self._path.stat().st_size
        except OSError:  # which the next take tells
            return 0
        return size - self._offset if size >= self._offset else size


class FileRun:
    """Rules at work in this process on what comes from a source."""

    def __init__(self, program: Program, source: Coming, unit: TimeUnit) -> None:
        self._source = source
        self._session: Session = program.start(time_unit=unit.value, on_bad_event="skip")
        self._session.tap(self._tapped)
        self._texts = rule_texts(self._session.rules)
        self._figures = Figures()
        self._lock = threading.Lock()
        self._paused = False
        self._error: str | None = None
        self._latest: int | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="cepheus-studio-live", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._ended.is_set():
            taken = 0
            if not self._paused:
                try:
                    with self._lock:
                        taken = self._step()
                except Exception as error:  # whatever it is, the page is told
                    self._error = said(error, self._source.name)
                    return
            if not taken:
                self._ended.wait(PAUSE)

    def _step(self) -> int:
        events = self._source.take()
        if events:
            self._session.feed(events)
        return len(events)

    def _tapped(self, fed: EventBatch, made: EventBatch, _until: int | None) -> None:
        if len(fed):
            self._latest = int(fed.times[-1])
        self._figures.count(len(fed), made)

    def state(self, since: int) -> dict[str, Any]:
        """How it is."""
        with self._lock:
            counts = self._session.counts
            return {
                **self._figures.told(since),
                "kind": "file",
                "name": f"file {self._source.name}",
                "paused": self._paused,
                "error": self._error,
                "events": counts.events,
                "late": counts.late,
                "skipped": counts.skipped + getattr(self._source, "bad", 0),
                "waiting": self._source.waiting(),
                "watermark": self._latest,
                "rules": list(self._texts),
                "can_deploy": True,
            }

    def pause(self, *, paused: bool) -> None:
        """Leave events where they are, or take them again."""
        self._paused = paused

    def rules(self) -> Mapping[str, str]:
        """The texts of the rules at work."""
        return dict(self._texts)

    def plan(self, text: str) -> list[dict[str, str]]:
        """What would be done for the rules of a text to be at work."""
        return list(RuleChange.of(self._session.rules, program_of(text).rules).told)

    def apply(self, text: str) -> None:
        """Withdraw some rules and deploy others, between two events."""
        with self._lock:
            RuleChange.of(self._session.rules, program_of(text).rules).apply(self._session)
            self._texts = rule_texts(self._session.rules)

    def stop(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join(timeout=5)


def said(error: Exception, source: str) -> str:
    """What ended the work on a source, in words."""
    if isinstance(error, CepheusError):
        return error.diagnostics[0].message
    if isinstance(error, OSError):
        return f"{source} cannot be read: {error.strerror or error}"
    return f"following {source} ended, this is a mistake in Cepheus: {error}"
