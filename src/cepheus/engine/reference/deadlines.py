"""The moments at which rules with timers are evaluated, in the order in which time reaches them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME
from cepheus.engine.base.limits import require_few_moments
from cepheus.engine.reference.state import Deployed, Stored
from cepheus.rules.timers import After, Every, moment_id


@dataclass(frozen=True, slots=True, order=True)
class _Deadline:
    """A moment that an event has set for a rule: by time, then by rule, then by the order of the events."""

    time: int
    place: int
    ordinal: int


class Deadlines:
    """The moments that are still to come, of all rules.

    Moments of one time come in the order of the rules' deployment, those of one rule in the order of the events.
    """

    def __init__(self) -> None:
        self._waiting: list[_Deadline] = []
        self._set: dict[_Deadline, tuple[Deployed, Stored]] = {}
        self._ticks: dict[int, tuple[Deployed, Every, int]] = {}

    def set(self, deployed: Deployed, place: int, stored: Stored) -> None:
        """Note that an event has come for which a rule waits some time; the rule has the place in deployment."""
        timer = deployed.resolved.timer
        assert isinstance(timer, After)
        deadline = _Deadline(stored.event.time + timer.duration, place, stored.ordinal)
        if deadline.time < MAX_TIME:  # the end of time is never reached
            heappush(self._waiting, deadline)
            self._set[deadline] = deployed, stored

    def start(self, deployed: Deployed, place: int, time: int) -> None:
        """Have a rule evaluated at regular moments, from a time on."""
        timer = deployed.resolved.timer
        assert isinstance(timer, Every)
        self._ticks[place] = deployed, timer, timer.first(time)

    def rebuild(
        self, rules: Iterable[tuple[int, Deployed]], history: Mapping[str, list[Stored]], time: int, *, started: bool
    ) -> None:
        """Find out what waits at a time, from the events that rules remember; ``started`` if any has come yet."""
        self._waiting, self._set, self._ticks = [], {}, {}
        for place, deployed in rules:
            match deployed.resolved.timer:
                case After(duration=duration):
                    event_type = deployed.resolved.terminator.type
                    for stored in history.get(event_type, []):
                        if stored.ordinal >= deployed.first(event_type) and stored.event.time + duration > time:
                            self.set(deployed, place, stored)
                case Every() if started:
                    self.start(deployed, place, time + 1)
                case _:
                    pass

    def require_few(self, before: int, time: int, limit: int) -> None:
        """Refuse a time that comes after another with more regular moments of a rule between them than the limit."""
        every = {deployed.resolved.name: timer for _, (deployed, timer, _) in sorted(self._ticks.items())}
        require_few_moments(every, (before, time), limit)

    def next(self) -> int | None:
        """The time of the next moment, None if nothing waits."""
        times = [next_time for _, _, next_time in self._ticks.values() if next_time < MAX_TIME]
        if self._waiting:
            times.append(self._waiting[0].time)
        return min(times, default=None)

    def last_set(self) -> int | None:
        """The time of the last moment that an event has set, None if there is none."""
        return max((deadline.time for deadline in self._waiting), default=None)

    def take(self, time: int) -> tuple[Deployed, Stored]:
        """Take the first of the moments at a time: the rule and its terminator."""
        ticks = [place for place, (_, _, due) in self._ticks.items() if due == time]
        waiting = self._waiting and self._waiting[0].time == time
        if ticks and (not waiting or min(ticks) < self._waiting[0].place):
            place = min(ticks)
            deployed, timer, _ = self._ticks[place]
            self._ticks[place] = deployed, timer, timer.first(time + 1)
            return deployed, Stored(Event(timer.type, time, {}, id=moment_id(timer.type, time)), -1)
        return self._set.pop(heappop(self._waiting))

    def forget(self, name: str) -> None:
        """Let a rule's moments go."""
        self._ticks = {place: tick for place, tick in self._ticks.items() if tick[0].resolved.name != name}
        self._set = {deadline: due for deadline, due in self._set.items() if due[0].resolved.name != name}
        self._waiting = list(self._set)
        heapify(self._waiting)
