"""What a live run counts, for its health and its metrics."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LATENCY_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""In seconds: the upper bounds of the classes in which latencies are counted."""


@dataclass(slots=True)
class Spread:
    """How values are spread: how many lie up to each bound, and their sum.

    >>> spread = Spread((1.0, 2.0))
    >>> spread.add(1.5, 3)
    >>> spread.classes, spread.total
    ([0, 3, 0], 4.5)
    """

    bounds: tuple[float, ...] = LATENCY_BOUNDS
    classes: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.classes = self.classes or [0] * (len(self.bounds) + 1)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value, or as many of the same."""
        self.classes[bisect_left(self.bounds, value)] += times
        self.total += value * times


@dataclass(slots=True)
class Link:
    """How a source or a sink is connected, and what has passed it."""

    kind: str
    connected: bool = False
    passed: int = 0
    bad: int = 0
    reconnects: int = 0
    trouble: str = ""
    last: float = 0.0
    over: bool = False

    @property
    def is_sink(self) -> bool:
        """Whether it is a sink."""
        return self.kind != "source"

    def told(self) -> dict[str, Any]:
        """What is told of it: trouble only while it lasts."""
        trouble = "" if self.connected else self.trouble
        return {"kind": self.kind, "connected": self.connected, "passed": self.passed, "trouble": trouble}


@dataclass(slots=True)
class LiveCounts:
    """All that is counted, since the process was started.

    ``latency`` is the time from the receipt of an event to when what it completed was handed to the sinks, in seconds.
    ``event_time`` is the latest time of any event, ``waiting`` how many messages were read and not yet processed.
    """

    clock: Callable[[], float] = time.time
    links: dict[str, Link] = field(default_factory=dict)
    composites: Counter[str] = field(default_factory=Counter)
    late: int = 0
    latency: Spread = field(default_factory=Spread)
    save_seconds: Spread = field(default_factory=Spread)
    state_bytes: int = 0
    saved_at: float = 0.0
    event_time: int | None = None
    waiting: int = 0
    started: float = 0.0
    stopping: bool = False
    paused: bool = False
    ready: bool = False

    def link(self, name: str, kind: str) -> Link:
        """What is counted of a source or sink."""
        return self.links.setdefault(name, Link(kind))

    def health(self, overdue: float) -> tuple[bool, dict[str, Any]]:
        """Whether all is well, and how everything is; it is not if state was not saved for ``overdue`` seconds."""
        now = self.clock()
        since_saved = now - self.saved_at if self.saved_at else None
        cut_off = [name for name, link in self.links.items() if not link.connected and not link.over]
        late_save = since_saved is not None and since_saved > overdue and self.waiting > 0 and not self.paused
        well = self.ready and not cut_off and not late_save
        status = "ok" if well else "starting" if not self.ready else "disconnected" if cut_off else "state not saved"
        return well, {
            "status": "stopping" if self.stopping else "paused" if well and self.paused else status,
            "seconds": round(now - self.started, 3),
            "links": {name: link.told() for name, link in self.links.items()},
            "saved_seconds_ago": None if since_saved is None else round(since_saved, 3),
            "waiting": self.waiting,
        }
