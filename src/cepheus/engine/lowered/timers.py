"""The timers of an engine: how far each of them has come, when rules change, time begins, or a snapshot is put back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.base.limits import least_long_gap, require_few_moments
from cepheus.kernel.context import Context, State
from cepheus.kernel.memory import At
from cepheus.kernel.state import EntryField, LaneState, TimerState
from cepheus.plan.pattern.lowered import LoweredRule, LoweredTimer
from cepheus.rules.timers import Every


class Timers:
    """Rules with timers by name, in the order of their deployment, and what the kernel knows of them.

    ``latest`` is the time of the latest event, ``promised`` the time before which none will come, as hosts have said.
    """

    def __init__(self, context: Context, state: State) -> None:
        self._context = context
        self._state = state
        self._timers: dict[str, LoweredTimer] = {}
        self.any = False
        self.latest = self.promised = MIN_TIME
        self._every: dict[str, Every] = {}
        self._limit = MAX_TIME
        self._long = least_long_gap((), self._limit)

    @property
    def reached(self) -> int:
        """The time that has been reached: no moment up to there is still to come."""
        return max(self.latest, self.promised)

    def fit(self, rules: Sequence[LoweredRule]) -> None:
        """Bring the timers in line with the rules; a new one waits for what comes from now on."""
        known = dict(zip(self._timers, self._state.timer_state.copy(), strict=True))
        self._timers = {rule.name: rule.timer for rule in rules if rule.timer is not None}
        self._every = {name: timer.every for name, timer in self._timers.items() if timer.every is not None}
        self._limit = self._context[At.LIMIT]
        self._long = least_long_gap([timer.period for timer in self._every.values()], self._limit)
        self.any = bool(self._timers)
        rows = TimerState.zeros(len(self._timers))
        for row, (name, timer) in zip(rows, self._timers.items(), strict=True):
            row[:] = known[name] if name in known else TimerState.row(entry=self._end(timer), time=self._tick(timer))
        self._state.timer_state = rows
        self._context.use_state(self._state)
        self._look_again()

    def forget(self, name: str) -> None:
        """Let the timer of a rule go, if it has one; ``fit`` follows."""
        if name in self._timers:
            kept = [place for place, other in enumerate(self._timers) if other != name]
            del self._timers[name]
            self._state.timer_state = self._state.timer_state[kept]

    def expect(self, first: int, last: int, times: NDArray[np.int64] | None = None) -> None:
        """Get ready for events from one time to another: with the first of all, regular moments begin.

        ``times`` are those of all of them, if they are more than one.
        """
        begun = self.latest != MIN_TIME
        if last - (self.reached if begun else first) >= self._long:
            self._require_few([first] if times is None else times, begun=begun)
        if not begun:
            for row, timer in zip(self._state.timer_state, self._timers.values(), strict=True):
                if timer.every is not None:
                    row[TimerState.TIME] = min(timer.every.first(first), MAX_TIME)
            self._look_again()
        self.latest = last
        self._context[At.UNTIL] = self.reached

    def promise(self, time: int) -> None:
        """Have all moments up to a time reached."""
        if self.latest != MIN_TIME and time - self.reached >= self._long:
            self._require_few([time], begun=True)
        self.promised = max(self.promised, time)
        self._context[At.UNTIL] = self.reached

    def put_back(self, time: int, latest: int) -> None:
        """Find out how far the timers had come at a time, when the events are back in their columns."""
        self.latest, self.promised = latest, time
        for row, timer in zip(self._state.timer_state, self._timers.values(), strict=True):
            row[TimerState.ENTRY] = self._pending(timer, time)
            row[TimerState.TIME] = self._tick(timer)
        self._look_again()

    def next_deadline(self) -> int | None:
        """The next moment of any timer, None if there is none."""
        found = []
        for row, timer in zip(self._state.timer_state, self._timers.values(), strict=True):
            lane = self._lane(timer)
            if timer.every is not None:
                found.append(int(row[TimerState.TIME]))
            elif lane is not None:
                entry = max(int(row[TimerState.ENTRY]), int(lane[LaneState.FIRST]))
                if entry < lane[LaneState.NEXT]:
                    place = int(lane[LaneState.OFFSET]) + (entry & int(lane[LaneState.MASK]))
                    found.append(int(self._state.entries[place, EntryField.TIME]) + timer.delay)
        return min((time for time in found if time < MAX_TIME), default=None)

    def last_deadline(self) -> int | None:
        """The last moment that an event has set and that is still to come, None if there is none."""
        found = []
        for row, timer in zip(self._state.timer_state, self._timers.values(), strict=True):
            lane = self._lane(timer)
            if lane is not None and max(int(row[TimerState.ENTRY]), int(lane[LaneState.FIRST])) < lane[LaneState.NEXT]:
                found.append(int(lane[LaneState.LAST_TIME]) + timer.delay)
        return max((time for time in found if time < MAX_TIME), default=None)

    def _require_few(self, times: Sequence[int] | NDArray[np.int64], *, begun: bool) -> None:
        """Refuse times that have too many regular moments between two of them, before anything has changed."""
        found = [*([self.reached] if begun else []), *np.asarray(times, np.int64).tolist()]
        require_few_moments(self._every, found, self._limit)

    def _look_again(self) -> None:
        """Have the kernel put the timers in order and find out when the next moment is."""
        self._context[At.DUE] = MIN_TIME if self._timers else MAX_TIME

    def _lane(self, timer: LoweredTimer) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
        if timer.every is not None or timer.column >= len(self._state.column_lane):
            return None
        number = int(self._state.column_lane[timer.column])
        return None if number < 0 else self._state.lanes[number]

    def _end(self, timer: LoweredTimer) -> int:
        """The number of the next entry of a timer's column."""
        lane = self._lane(timer)
        return 0 if lane is None else int(lane[LaneState.NEXT])

    def _pending(self, timer: LoweredTimer, time: int) -> int:
        """The first entry of a timer's column that the rule sees and whose moment comes after a time."""
        lane = self._lane(timer)
        if lane is None:
            return 0
        numbers = np.arange(int(lane[LaneState.FIRST]), int(lane[LaneState.NEXT]))
        entries = self._state.entries[int(lane[LaneState.OFFSET]) + (numbers & int(lane[LaneState.MASK]))]
        done = entries[:, EntryField.TIME] <= max(time - timer.delay, MIN_TIME)
        unseen = entries[:, EntryField.ROW] < timer.since
        return int(lane[LaneState.FIRST]) + int((done | unseen).sum())

    def _tick(self, timer: LoweredTimer) -> int:
        """The next regular moment of a timer; never, if it has none or time has not begun."""
        if timer.every is None or self.latest == MIN_TIME:
            return MAX_TIME
        return min(timer.every.first(self.reached + 1), MAX_TIME)
