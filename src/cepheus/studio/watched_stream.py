"""A stream of Spark, seen by its checkpoint."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cepheus.core.errors import UnsupportedError
from cepheus.runtime.embedded.figures import Figures
from cepheus.runtime.embedded.rule_changes import RuleChange
from cepheus.runtime.spark.stream_watch import WatchedStream
from cepheus.studio.workspace import program_of


class StreamRun:
    """What a checkpoint tells of a stream: its micro-batches, and the composite events that it writes to files."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._stream = WatchedStream(checkpoint)
        self._figures = Figures()
        self._lock = threading.Lock()

    def state(self, since: int) -> dict[str, Any]:
        """How it is."""
        with self._lock:
            self._figures.count(0, tuple(self._stream.new()))
            told = self._stream.state()
            seen = self._figures.told(since)
        planned, done = (-1 if told[log] is None else told[log] for log in ("planned", "batches"))
        return {
            **seen,
            **told,
            "kind": "stream",
            "name": f"stream of Spark, checkpoint {self._checkpoint.name}",
            "paused": self._stream.paused,
            "error": None,
            "skipped": None,
            "waiting": None,
            "under_way": max(0, planned - done),
            "rules": list(self._stream.rules()),
            "can_pause": self._stream.has_notes,
            "can_deploy": False,
            "note": self._note(),
        }

    def _note(self) -> str:
        if not self._stream.has_notes:
            return (
                "This stream goes through Spark's own operator: its checkpoint tells its micro-batches and watermark. "
                "Streams of write_stream tell their counts and matches, too."
            )
        if not self._stream.sees_matches:
            return "What the stream writes cannot be read from here: matches are counted, and not shown."
        return "Matches are shown from the moment on at which watching began."

    def pause(self, *, paused: bool) -> None:
        """Let it begin no micro-batch, or go on: what comes stays with its sources."""
        self._stream.pause(paused=paused)

    def rules(self) -> Mapping[str, str]:
        """The texts of its rules."""
        return self._stream.rules()

    def plan(self, text: str) -> list[dict[str, str]]:
        """What starting it again with the rules of a text would change."""
        return list(RuleChange.between(self.rules(), program_of(text).rules).told)

    def apply(self, text: str) -> None:
        """Not from here: the driver of the stream has its rules."""
        del text
        hint = "stop it and start it with these rules on the same checkpoint: those that are the same keep their state"
        raise UnsupportedError.of("rule-change", "a stream of Spark takes other rules when it is started", hint=hint)

    def stop(self) -> None:
        """Leave it; it goes on."""
