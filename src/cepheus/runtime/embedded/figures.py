"""What is told of rules at work to whoever watches: counts, a figure for each of the last seconds, the latest matches.

All of it is bounded, whatever comes. Every match has a number, so that a watcher that was away knows how many it has
missed. Matches are kept as they were made and written out only when somebody asks.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.plain_event import event_told

MOST_MATCHES = 20_000
"""How many of the latest matches are kept."""

MOST_TOLD = 1_000
"""How many matches one answer holds, the oldest first: who is behind asks on."""

SECONDS = 300
"""For how many of the last seconds rates are kept."""

Made = EventBatch | Sequence[Event]


class Figures:
    """What was counted while rules were at work; may be asked from any thread."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.began = clock()
        self.events = 0
        self.matched = 0
        self.by_type: Counter[str] = Counter()
        self._kept: deque[tuple[int, Made]] = deque()
        self._seconds: deque[list[int]] = deque(maxlen=SECONDS)
        self._lock = threading.Lock()

    def count(self, events: int, made: Made = ()) -> None:
        """Count some events and the matches that they completed."""
        with self._lock:
            self.events += events
            if len(made):
                self._kept.append((self.matched + 1, made))
                self.matched += len(made)
                self.by_type.update(_by_type(made))
                while self.matched - self._kept[0][0] - len(self._kept[0][1]) + 1 >= MOST_MATCHES:
                    self._kept.popleft()
            now = int(self._clock())
            if not self._seconds or self._seconds[-1][0] != now:
                self._seconds.append([now, 0, 0])
            self._seconds[-1][1] += events
            self._seconds[-1][2] += len(made)

    def told(self, since: int) -> dict[str, Any]:
        """The figures, and the matches behind a number that the watcher has."""
        with self._lock:
            told = {
                "began": self.began,
                "now": self._clock(),
                "events": self.events,
                "matched": self.matched,
                "by_type": dict(self.by_type),
                "rates": [list(each) for each in self._seconds],
            }
            newer = list(self._newer(since))
        numbered = ((first + place, event) for first, events in newer for place, event in enumerate(events))
        return {**told, "matches": [{"number": number, **event_told(event)} for number, event in numbered]}

    def _newer(self, since: int) -> Iterator[tuple[int, list[Event]]]:
        """Matches behind a number, in the pieces in which they were made, each with the number of its first."""
        left = MOST_TOLD
        for first, made in self._kept:
            start = max(0, since - first + 1, self.matched - MOST_MATCHES - first + 1)
            end = min(len(made), start + left)
            if start >= end:
                continue
            piece = made.slice(start, end).to_events() if isinstance(made, EventBatch) else list(made[start:end])
            yield first + start, piece
            left -= end - start
            if not left:
                return


def _by_type(made: Made) -> dict[str, int]:
    if not isinstance(made, EventBatch):
        return dict(Counter(event.type for event in made))
    counts: Counter[str] = Counter()
    for part in made.parts:
        for code, count in enumerate(np.bincount(part.codes, minlength=len(part.types)).tolist() if len(part) else ()):
            if count:
                counts[part.types[code]] += count
    return dict(counts)
