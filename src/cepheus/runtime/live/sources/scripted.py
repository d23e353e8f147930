"""A source that does what a script says: give payloads, end, or fail. It makes a crash and its sequel a short test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from cepheus.runtime.live.contract import Disconnected, Messages, Position, Surroundings


class Mark(Enum):
    """What a script says besides payloads: the source is over, loses its connection, breaks down, or falls silent."""

    END = "end"
    LOST = "lost"
    ABORT = "abort"
    SILENT = "silent"


END, LOST, ABORT, SILENT = Mark.END, Mark.LOST, Mark.ABORT, Mark.SILENT


Steps = tuple[bytes | Mark, ...]
"""A script."""


class AbortedError(Exception):
    """The script said so; nothing in a run expects it."""


@dataclass(frozen=True, slots=True, eq=False)
class Scripted:
    """Payloads and marks; each step of the script is given by itself, or up to ``together`` payloads at once.

    Of every mark but END it is remembered, in ``passed``, that it was met, so that the next run goes on behind it.

    >>> Scripted((b"{}", ABORT, b"{}", END)).together
    1
    """

    steps: Steps
    together: int = 1
    passed: set[int] | None = None

    def build(self, around: Surroundings) -> ScriptReader:
        """Make the reader."""
        del around
        return ScriptReader(self)


class ScriptReader:
    """Goes through the script; a position is how many payloads were given."""

    def __init__(self, script: Scripted) -> None:
        self._script = script
        self._passed = script.passed if script.passed is not None else set()
        self._at = 0
        self._given = 0
        self.acknowledged: list[Position] = []

    async def open(self, position: Position) -> None:
        """Go to behind so many payloads."""
        self._given = position or 0
        self._at = 0
        left = self._given
        while left:
            left -= isinstance(self._script.steps[self._at], bytes)
            self._at += 1

    async def read(self) -> Messages | None:
        """The next payloads, or what the next mark says."""
        steps = self._script.steps
        while self._at < len(steps):
            step = steps[self._at]
            if isinstance(step, bytes):
                return self._messages(steps)
            if step is END:
                return None
            self._at += 1
            if self._at in self._passed:
                continue
            self._passed.add(self._at)
            await asyncio.sleep(0.05)  # what was given before may be processed
            if step is LOST:
                raise Disconnected("the script says so")
            if step is ABORT:
                raise AbortedError
            await asyncio.Event().wait()
        return None

    def _messages(self, steps: Sequence[bytes | Mark]) -> Messages:
        payloads: list[bytes] = []
        while self._at < len(steps) and len(payloads) < self._script.together:
            step = steps[self._at]
            if not isinstance(step, bytes):
                break
            payloads.append(step)
            self._at += 1
        first, self._given = self._given, self._given + len(payloads)
        return Messages(self._given, range(first, self._given), payloads, received=time.perf_counter())

    async def acknowledge(self, position: Position) -> None:
        """Note it."""
        self.acknowledged.append(position)

    async def close(self) -> None:
        """There is nothing to close."""
