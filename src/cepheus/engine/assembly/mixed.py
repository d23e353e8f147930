"""Rules of both families in one engine: each family has an engine of its own, and what one makes feeds the other.

A complex event goes to the other family right after the event that completed it, so that both see one stream in one
order. What time alone completes, or what is decided when its instant is over, goes there before the next event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch, IntArray
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.event import Event, EventId
from cepheus.core.schema import Schema
from cepheus.core.time import MIN_TIME
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.capabilities import MIXED
from cepheus.engine.base.declared_types import Kinds, batch_as_taken, event_as_taken, kinds_of, moments_of, with_moments
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.plan.pattern.constructs import require_rules
from cepheus.rules.check.rows import types_read
from cepheus.rules.interval.model import IntervalRule, TimePoint
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.rules.walk import walk

_KIND = "mixed"
_SIDE = form.record(
    {"kinds": form.by_name(form.by_name(form.value_type))},
    engine=form.text,
    rules=form.listing(form.row(form.text, form.text, form.listing(form.text), form.boolean, form.boolean)),
)
_HEADER = form.record(
    {"moments": form.by_name(form.listing(form.text))}, sides=form.row(_SIDE, _SIDE), time=form.time, fed=form.count
)

Make = Callable[[str, Sequence[AnyRule], Schema], Engine]
"""Makes an engine of one family, by name, with rules deployed."""


class _Deployed(NamedTuple):
    """A rule: the type that it makes, those that it reads, and where in an instant it may be decided.

    ``late`` says that it is decided when its instant is over, ``timed`` that points in time may decide it, which come
    before all events of their instants.
    """

    makes: str
    reads: frozenset[str]
    late: bool
    timed: bool


def _deployed(rule: AnyRule) -> _Deployed:
    late = isinstance(rule, IntervalRule) and rule.decided_late > 0
    timed = any(isinstance(node, TimePoint) for node in walk(rule))
    return _Deployed(rule.composite.name, types_read(rule), late, timed)


class _Side:
    """The rules of one family and their engine, which is made when the first of them is deployed."""

    def __init__(self, name: str, make: Make) -> None:
        self.name = name
        self._make = make
        self.engine: Engine | None = None
        self.rules: dict[str, _Deployed] = {}
        self.reads: frozenset[str] = frozenset()
        self.makes: frozenset[str] = frozenset()
        self.late: frozenset[str] = frozenset()
        self.timed = False
        self._kinds: dict[str, Kinds] = {}
        self._earlier = TieCounts.none()

    @property
    def ties(self) -> TieCounts:
        """What the family's engines have counted of simultaneous events."""
        return self._earlier if self.engine is None else self._earlier + self.engine.ties

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        if not rules:
            return
        if self.engine is None:
            self.engine = self._make(self.name, rules, schema)
        else:
            self.engine.deploy(rules, schema)
        self._set({**self.rules, **{str(rule.name): _deployed(rule) for rule in rules}})
        for event_type in schema.values():
            if event_type.name in self.reads:
                self._kinds.setdefault(event_type.name, kinds_of(event_type))

    def withdraw(self, name: str) -> None:
        assert self.engine is not None
        self.engine.withdraw(name)
        self._set({other: kept for other, kept in self.rules.items() if other != name})

    def _set(self, rules: dict[str, _Deployed]) -> None:
        """Take over which rules there are, and so the types of events that they look at and make."""
        self.rules = rules
        self.reads = frozenset().union(*(rule.reads for rule in rules.values()))
        self.makes = frozenset(rule.makes for rule in rules.values())
        self.late = frozenset(name for name, rule in rules.items() if rule.late)
        self.timed = any(rule.timed for rule in rules.values())
        self._kinds = {name: kinds for name, kinds in self._kinds.items() if name in self.reads}

    def saved(self) -> dict[str, Any]:
        """What a snapshot keeps besides the engine's own."""
        name = self.name if self.engine is None else self.engine.name
        rules = [[name, rule.makes, sorted(rule.reads), rule.late, rule.timed] for name, rule in self.rules.items()]
        kinds = {name: {key: kind.value for key, kind in own.items()} for name, own in self._kinds.items()}
        return {"engine": name, "rules": rules, "kinds": kinds}

    def restore(self, saved: dict[str, Any], state: bytes | None) -> None:
        """Take over what a snapshot kept."""
        self._earlier, self.engine = self.ties, None
        if state is not None:
            self.engine = self._make(saved["engine"], (), Schema())
            self.engine.restore(state)
        self._kinds = saved.get("kinds", {})
        self._set({name: _Deployed(made, frozenset(reads), *when) for name, made, reads, *when in saved["rules"]})

    def seen(self, event: Event) -> Event | None:
        """Return an event that the other family made as this one takes it, None if it is of no type that it knows."""
        return event_as_taken(event, self._kinds.get(event.type, {}))

    def feed(self, batch: EventBatch, made: frozenset[str] = frozenset()) -> EventBatch:
        """Feed what the family reads of a batch; ``made`` are the types of events that the other family makes."""
        wanted = batch_as_taken(_of_types(batch, self.reads), {name: self._kinds.get(name, {}) for name in made})
        return self.engine.feed(wanted) if self.engine is not None and len(wanted) else EventBatch.empty()


class MixedEngine:
    """Runs interval rules, and rules of TESLA beside them.

    ``tesla`` and ``intervals`` are the names of the engines, given to ``make_tesla`` and ``make_intervals``.
    """

    def __init__(self, tesla: str, make_tesla: Make, intervals: str, make_intervals: Make) -> None:
        self._tesla = _Side(tesla, make_tesla)
        self._intervals = _Side(intervals, make_intervals)
        self._time = MIN_TIME
        self._fed = 0
        self._moments: dict[str, tuple[str, ...]] = {}

    @property
    def name(self) -> str:
        """The names of both engines with a plus sign between them, or that of the interval rules' if it works alone."""
        tesla, intervals = (side.name if side.engine is None else side.engine.name for side in self._sides)
        alone = self._tesla.engine is None and self._intervals.engine is not None
        return intervals if alone else f"{tesla}+{intervals}"

    @property
    def ties(self) -> TieCounts:
        """What both families have counted of simultaneous events; engines of interval rules do not count."""
        counts = self._tesla.ties + self._intervals.ties
        return TieCounts() if counts == TieCounts.none() else counts

    @property
    def _sides(self) -> tuple[_Side, _Side]:
        return self._tesla, self._intervals

    @property
    def intervals(self) -> Engine | None:
        """The engine of the interval rules, if there are any."""
        return self._intervals.engine

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules of either family, all or none."""
        tesla = [rule for rule in rules if isinstance(rule, Rule)]
        require_rules(MIXED, RuleSet.of(tesla))
        self._tesla.deploy(tesla, schema)
        try:
            self._intervals.deploy([rule for rule in rules if isinstance(rule, IntervalRule)], schema)
        except Exception:
            for rule in tesla:
                self._tesla.withdraw(str(rule.name))
            raise
        made = self._intervals.makes | self._tesla.makes
        self._moments |= {each.name: moments_of(each) for each in schema.values() if each.name in made}

    def withdraw(self, name: str) -> None:
        """Remove a rule of either family."""
        self._side_of(name, "withdraw").withdraw(name)

    def set_factor(self, rule: str, factor: float) -> None:
        """Set what the probabilities of a rule's events are multiplied by."""
        engine = self._side_of(rule, "factor").engine
        assert engine is not None
        engine.set_factor(rule, factor)

    def _side_of(self, name: str, code: str) -> _Side:
        for side in self._sides:
            if name in side.rules:
                return side
        hint = did_you_mean(name, [*self._tesla.rules, *self._intervals.rules])
        raise OptionError.of(code, f"no rule named '{name}' is deployed", hint=hint)

    # ---- Events

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order: at once where one family waits for the other in whole batches only."""
        return with_moments(self._feed(self._numbered(batch)), self._moments) if len(batch) else EventBatch.empty()

    def _feed(self, batch: EventBatch) -> EventBatch:
        to_intervals, to_tesla = self._links()
        if not to_intervals and not to_tesla:
            made, complex_events = self._tesla.feed(batch), self._feed_intervals(batch)
            if not len(made) or not len(complex_events):
                return in_time_order([made, complex_events])
            side = self._intervals
            return in_order_of_completion(batch, made, complex_events, late=side.late, timed=side.timed)
        if (to_intervals and to_tesla) or not self._is_strictly_later(batch):
            return EventBatch.from_events(made for event in batch.to_events() for made in self._feed_numbered(event))
        if to_intervals:
            made = self._tesla.feed(batch)
            return in_time_order([made, self._feed_intervals(in_time_order([batch, made]))])
        made = self._feed_intervals(batch)
        return in_time_order([made, self._tesla.feed(in_time_order([batch, made]), self._intervals.makes)])

    def _links(self) -> tuple[bool, bool]:
        """Whether TESLA makes what interval rules read, and the other way round."""
        to_intervals = not self._tesla.makes.isdisjoint(self._intervals.reads)
        to_tesla = not self._intervals.makes.isdisjoint(self._tesla.reads)
        return to_intervals, to_tesla

    def _feed_intervals(self, batch: EventBatch) -> EventBatch:
        """Feed interval rules, and let time go on for them to the end of the batch."""
        made = self._intervals.feed(batch)
        self._time = int(batch.times[-1])
        if self._intervals.engine is None:
            return made
        return EventBatch.concat([made, self._intervals.engine.advance(self._time)])

    def _is_strictly_later(self, batch: EventBatch) -> bool:
        """Whether no two events have the same time, so that the order of their consequences is that of time."""
        return int(batch.times[0]) > self._time and bool(np.all(np.diff(batch.times) > 0))

    def _numbered(self, batch: EventBatch) -> EventBatch:
        first = self._fed
        self._fed += len(batch)
        return batch if batch.ids is not None else replace(batch, ids=range(first, self._fed))

    def feed_event(self, event: Event) -> list[Event]:
        """Process the next event and all that follows from it in both families."""
        position = self._fed
        self._fed += 1
        return self._feed_numbered(event if event.id is not None else replace(event, id=position))

    def _feed_numbered(self, event: Event) -> list[Event]:
        if self._tesla.engine is None and self._intervals.engine is not None and event.type in self._intervals.reads:
            self._time = event.time
            return self._intervals.engine.feed_event(event)  # which lets time pass by itself
        made = self._let_time_pass(event.time)
        return made + self._spread([(event, None)])

    def _spread(self, work: Sequence[tuple[Event, _Side | None]]) -> list[Event]:
        """Bring events to the families that have not made them, until nothing new follows."""
        queue = deque(work)
        made: list[Event] = []
        to_intervals, to_tesla = self._links()
        # where only one family feeds the other it goes first, as it does with whole batches
        order = self._sides if to_intervals or not to_tesla else (self._intervals, self._tesla)
        while queue:
            event, source = queue.popleft()
            for side in order:
                if side is not source and side.engine is not None and event.type in side.reads:
                    taken = event if source is None else side.seen(event)
                    found = [] if taken is None else side.engine.feed_event(taken)
                    made += found
                    queue.extend((each, side) for each in found)
        return made

    def _let_time_pass(self, time: int) -> list[Event]:
        if time <= self._time or self._intervals.engine is None:
            return []
        self._time = time
        made = self._intervals.engine.advance(time).to_events()
        return made + self._spread([(event, self._intervals) for event in made])

    def advance(self, time: int) -> EventBatch:
        """Return what time alone completes, in both families."""
        made = EventBatch.from_events(self._let_time_pass(time))
        if self._tesla.engine is not None:
            made = EventBatch.concat([made, self._tesla.engine.advance(time)])
        return with_moments(made, self._moments)

    # ---- Snapshots

    def snapshot(self) -> bytes:
        """The snapshots of both engines as one."""
        states = {str(index): side.engine.snapshot() for index, side in enumerate(self._sides) if side.engine}
        sides = [side.saved() for side in self._sides]
        header = {"sides": sides, "time": self._time, "fed": self._fed, "moments": self._moments}
        return pack(_KIND, header, states)

    def restore(self, data: bytes) -> None:
        """Take over the snapshots of both engines."""
        with restoring(self):
            header, states = unpack(_KIND, data)
            found = _HEADER(header, "$")
            form.only_blobs(states, ("0", "1"))
            for index, (side, saved) in enumerate(zip(self._sides, found["sides"], strict=True)):
                form.require(str(index) in states or not saved["rules"], "$.sides", "rules have no engine")
                side.restore(saved, states.get(str(index)))
            self._time, self._fed = found["time"], found["fed"]
            self._moments = {name: tuple(moments) for name, moments in found.get("moments", {}).items()}


def in_time_order(batches: Sequence[EventBatch]) -> EventBatch:
    """Put batches together by time; of equal times those of the first batch come first."""
    together = EventBatch.concat(batches)
    if not len(together) or bool(np.all(np.diff(together.times) >= 0)):
        return together
    return together.take(np.argsort(together.times, kind="stable"))


def _of_types(batch: EventBatch, types: frozenset[str]) -> EventBatch:
    codes = [code for code, name in enumerate(batch.types) if name in types]
    if len(codes) == len(batch.types):
        return batch
    return batch.take(np.flatnonzero(np.isin(batch.codes, codes)))


def feed_each_other(rules: Sequence[AnyRule]) -> bool:
    """Whether each family looks at events that the other makes."""
    made = {family: {rule.composite.name for rule in rules if isinstance(rule, family)} for family in _FAMILIES}
    return all(
        any(not types_read(rule).isdisjoint(made[other]) for rule in rules if isinstance(rule, family))
        for family, other in zip(_FAMILIES, reversed(_FAMILIES), strict=True)
    )


_FAMILIES: tuple[type[Rule], type[IntervalRule]] = (Rule, IntervalRule)


def in_order_of_completion(
    batch: EventBatch, tesla: EventBatch, intervals: EventBatch, *, late: Collection[str], timed: bool
) -> EventBatch:
    """Put what both families make of a batch together: by time, of one time by the events that completed it.

    What one event completes in both families comes in the order of the families. ``late`` are the rules whose complex
    events are decided when their instant is over; ``timed`` says that points in time decide some. Where there are no
    such points, only what several events of one time complete in both families needs a closer look.
    """
    together = EventBatch.concat([tesla, intervals])
    family = np.repeat([0, 1], [len(tesla), len(intervals)])
    tied = np.intersect1d(tesla.times, intervals.times)
    if not timed:
        tied = np.intersect1d(tied, batch.times[1:][np.diff(batch.times) == 0])
    completed = np.zeros(len(together), np.int64)
    if len(tied):
        rows = _rows(batch, tied)
        completed[: len(tesla)] = _completed(tesla, tied, rows, (), len(batch))
        completed[len(tesla) :] = _completed(intervals, tied, rows, late, len(batch))
    order = np.lexsort((family, completed, together.times))
    return together if np.array_equal(order, np.arange(len(order))) else together.take(order)


def _rows(batch: EventBatch, times: IntArray) -> dict[EventId, int]:
    """The rows of a batch's events of some times by their ids."""
    assert batch.ids is not None
    return {batch.ids[row]: row for row in np.flatnonzero(np.isin(batch.times, times)).tolist()}


def _completed(
    made: EventBatch, times: IntArray, rows: dict[EventId, int], late: Collection[str], end: int
) -> NDArray[np.int64]:
    """Find for each composite event of some times the row of the event that completed it.

    That is the last of its parts; -1 if none is of its time, as where a point in time completed it.
    """
    found = np.zeros(len(made), np.int64)
    provenance = made.provenance
    ids = made.ids
    assert provenance is not None
    assert ids is not None
    known = dict(rows)
    before, last = None, -1
    for place in np.flatnonzero(np.isin(made.times, times)).tolist():
        row = max((known.get(part, -1) for part in provenance.made_of[place]), default=-1)
        if provenance.rules[provenance.rule_codes[place]] in late:
            row = end
        # a family gives its composite events in the order in which they are completed
        last = row if made.times[place] != before else max(row, last)
        before = made.times[place]
        found[place] = known[ids[place]] = last
    return found
