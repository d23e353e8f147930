"""Lanes of a run that is behind: partitions and sources are read side by side, and one may get far ahead of another.

While a source knows that more of a lane is there, time goes no further than that lane has come; else what it still
gives would be late, after every longer stop. A lane that has no more, or gives nothing for a while, holds nobody up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cepheus.core.time import MIN_TIME

PATIENCE_SECONDS = 10.0
"""A lane that gives nothing for so long, though more of it is there, is not waited for."""

LaneName = tuple[str, str | None]
"""A source, and a lane of it."""


@dataclass(slots=True)
class _Lane:
    reached: int
    heard: float


@dataclass(slots=True)
class Lanes:
    """The lanes of which more is there, and how far each has come; ``lateness`` is in microseconds.

    >>> lanes = Lanes(5, lambda: 0.0)
    >>> lanes.hear(("readings", "0")); lanes.hear(("readings", "1"))
    >>> lanes.reached(("readings", "0"), 100); lanes.reached(("readings", "1"), 70)
    >>> lanes.bound
    65
    >>> lanes.end(("readings", "1")); lanes.bound
    95
    """

    lateness: int
    clock: Callable[[], float] = time.monotonic
    _behind: dict[LaneName, _Lane] = field(default_factory=dict)

    def hear(self, name: LaneName) -> None:
        """More of a lane is there, or has come."""
        now = self.clock()
        self._behind.setdefault(name, _Lane(MIN_TIME, now)).heard = now

    def reached(self, name: LaneName, time: int) -> None:
        """A lane has come so far."""
        lane = self._behind.get(name)
        if lane is not None:
            lane.reached = max(lane.reached, time)

    def held_up(self, seconds: float) -> None:
        """So long the run itself took nothing, because it was paused or a sink was away: lanes were not silent then.

        >>> now = [0.0]
        >>> lanes = Lanes(5, lambda: now[0])
        >>> lanes.hear(("readings", "0")); lanes.reached(("readings", "0"), 100)
        >>> now[0] += 60; lanes.held_up(60); lanes.bound
        95
        >>> now[0] += 60; lanes.bound
        """
        for lane in self._behind.values():
            lane.heard += seconds

    def end(self, name: LaneName) -> None:
        """No more of a lane is there now."""
        self._behind.pop(name, None)

    @property
    def bound(self) -> int | None:
        """The time before which events may be late, None if any may."""
        patient = self.clock() - PATIENCE_SECONDS
        waited_for = [lane.reached for lane in self._behind.values() if lane.heard >= patient]
        return max(MIN_TIME, min(waited_for) - self.lateness) if waited_for else None
