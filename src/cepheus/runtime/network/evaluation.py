"""What one processor does with the events of one tree: remember, evaluate in total order, let through."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.plan.partial import anatomy, input_types
from cepheus.plan.partial.anatomy import item_event
from cepheus.runtime.network.filtering import PartialFilter
from cepheus.runtime.network.matching import Matcher
from cepheus.runtime.network.messages import Assigned, Ordered
from cepheus.runtime.network.sharing import RELAY, order_of
from cepheus.runtime.network.store import Record, Store

Pending = tuple[int, int, list[Record]]
"""A moment, the number of an arrival and its events."""

_NUMBERS = ("exact", "done", "keep_from", "horizon", "_arrivals", "_forgotten")

Sent = tuple[int, Record]
"""A moment and an event that is let through at it."""


@dataclass(slots=True)
class _Hosted:
    """A rule that is evaluated here; ``relays`` primitive events instead of making composite ones."""

    ordered: Ordered
    matcher: Matcher
    relays: bool


@dataclass(slots=True)
class Evaluation:
    """The events of one tree at one processor.

    ``done`` is the time up to which events have been evaluated. ``sent`` and ``made`` collect what is to be sent to the
    father and to sinks.
    """

    exact: bool
    done: int = MIN_TIME
    store: Store = field(default_factory=Store)
    filters: dict[str, PartialFilter] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    made: list[Event] = field(default_factory=list)
    keep_from: int = MIN_TIME
    horizon: int = 0
    _rules: dict[str, _Hosted] = field(default_factory=dict)
    _by_terminator: dict[str, list[_Hosted]] = field(default_factory=dict)
    _by_root: dict[str, list[PartialFilter]] = field(default_factory=dict)
    _fed: frozenset[str] = frozenset()
    _types: frozenset[str] = frozenset()
    _eager: frozenset[str] = frozenset()
    _pulls: bool = False
    _pending: list[Pending] = field(default_factory=list)
    _arrivals: int = 0
    _forgotten: int = MIN_TIME

    @property
    def rules(self) -> list[Ordered]:
        """The rules that are evaluated here, in the order of deployment."""
        return [hosted.ordered for hosted in self._rules.values()]

    @property
    def waits_for(self) -> int | None:
        """The moment of the earliest events that have not been evaluated."""
        return self._pending[0][0] if self._pending else None

    @property
    def last_pending(self) -> int:
        """The moment of the latest events that have not been evaluated."""
        return max((at for at, _, _ in self._pending), default=MIN_TIME)

    @property
    def waits_to_be_asked(self) -> bool:
        """Whether a partial rule here is in pull mode."""
        return self._pulls

    def expect(self, rules: Iterable[Ordered], parts: Iterable[Assigned]) -> None:
        """Remember from now on also what these need."""
        for ordered in rules:
            self._types |= input_types(ordered.rule)
            self.horizon = max(self.horizon, anatomy(ordered.rule).reach)
        for assigned in parts:
            self._types |= _types_of(assigned)
            self.horizon = max(self.horizon, anatomy(assigned.part.rule).reach)

    def keep_only(self, rules: Iterable[Ordered]) -> None:
        """Stop evaluating rules that are not among these."""
        names = {str(ordered.rule.name) for ordered in rules}
        self._rules = {name: hosted for name, hosted in self._rules.items() if name in names}
        self._index()

    def adopt(self, rules: Sequence[Ordered], parts: Sequence[Assigned]) -> None:
        """Evaluate these rules and partial rules from now on.

        Those that were there before go on. A partial rule that has changed starts anew with all that is remembered.
        """
        self._types, self.horizon = frozenset(), 0
        self.expect(rules, parts)
        self._rules = {str(ordered.rule.name): self._hosted(ordered) for ordered in sorted(rules, key=order_of)}
        before, self.filters = self.filters, {}
        changed = []
        for assigned in parts:
            name = assigned.part.name
            old = before.get(name)
            if old is not None and old.part == assigned.part and (old.since is None) == (assigned.since is None):
                self.filters[name] = old
            else:
                self.filters[name] = PartialFilter(assigned.part, assigned.since, pull=False, exact=self.exact)
                changed.append(self.filters[name])
            self.filters[name].will_pull = assigned.pull and not self.filters[name].pull
        self._index()
        for assigned in parts:
            kept = self.filters[assigned.part.name]
            if kept.pull and not assigned.pull:
                kept.pull, kept.live = False, self.done
                self.pull(kept, MIN_TIME, self.done)
        self._index()
        for changed_filter in changed:
            self.resend(changed_filter)

    def activate(self, since: int) -> None:
        """Let what was installed last see events from a time on."""
        for hosted in self._rules.values():
            if hosted.matcher.since is None:
                hosted.matcher.since = since
                hosted.ordered = Ordered(
                    hosted.ordered.rule, hosted.ordered.moment, hosted.ordered.origin, hosted.ordered.place, since
                )
        for each in self.filters.values():
            if each.since is None:
                each.activate(since, self.done)
            each.settle_mode(self.done)
        self._index()

    def state(self) -> tuple[dict[str, int], frozenset[str], list[Pending]]:
        """Give what a snapshot keeps besides rules, filters and remembered events: numbers, types, waiting events."""
        return {name: getattr(self, name) for name in _NUMBERS}, self._types, list(self._pending)

    @classmethod
    def from_state(
        cls,
        numbers: dict[str, int],
        types: frozenset[str],
        rules: Iterable[Ordered],
        filters: Iterable[PartialFilter],
        pending: list[Pending],
    ) -> Evaluation:
        """Go on from a snapshot; remembered events are put into ``store`` afterwards."""
        evaluation = cls(exact=bool(numbers["exact"]))
        for name, number in numbers.items():
            setattr(evaluation, name, number)
        evaluation._types, evaluation._pending = types, pending
        evaluation._rules = {str(ordered.rule.name): evaluation._hosted(ordered) for ordered in rules}
        evaluation.filters = {each.part.name: each for each in filters}
        evaluation._index()
        return evaluation

    def wants(self, event_type: str) -> bool:
        """Tell whether events of a type matter here."""
        return event_type in self._types

    def arrive(self, at: int, records: list[Record]) -> None:
        """Take events in, to be evaluated when it is safe."""
        self._arrivals += 1
        heapq.heappush(self._pending, (at, self._arrivals, records))

    def advance(self, through: int) -> None:
        """Evaluate everything up to a time."""
        pending = self._pending
        while pending and pending[0][0] <= through:
            at, _, records = heapq.heappop(pending)
            if pending and pending[0][0] == at:
                records = list(records)
                while pending and pending[0][0] == at:
                    records += heapq.heappop(pending)[2]
            self.instant(at, records)
        if through > self.done:
            self.done = through
            self._forget()

    def instant(self, at: int, records: Sequence[Record]) -> None:
        """Evaluate the events that come to be known at one moment."""
        insert = self.store.insert
        new = [record for record in records if insert(record)]
        if len(new) > 1:
            new.sort(key=attrgetter("key"))
        by_terminator, by_root = self._by_terminator, self._by_root
        for record in new:
            if record.time == at:
                if record.type in by_terminator:
                    self._fire(record)
                for each in by_root.get(record.type, ()):
                    if each.matcher.accepts(record):
                        each.count += 1
                        if not each.pull or not each.waiting(record):
                            self._send(each.root(record, self.store), at)
            if record.type in self._eager:
                self._send([record], at)

    def resend(self, each: PartialFilter) -> None:
        """Let through all that a new partial rule has of what is remembered; it is known from now on."""
        kinds = _types_of(Assigned(each.part)) if each.since is None else {each.matcher.type}
        for kind in sorted(kinds):
            column = self.store.columns.get(kind)
            for record in list(column.records) if column is not None else ():
                if each.since is None:
                    self._send([record], self.done)
                elif each.matcher.accepts(record) and not (each.pull and each.waiting(record)):
                    self._send(each.root(record, self.store), self.done)

    def pull(self, each: PartialFilter, first: int, last: int) -> None:
        """Let through what a partial rule has of a span of time; each event is known from its own time on."""
        column = self.store.columns.get(each.matcher.type)
        if column is None or each.since is None:
            return
        low, high = column.within(first, min(last, self.done) + 1)
        for record in column.records[low:high]:
            if each.matcher.accepts(record) and not each.waiting(record):
                self._send(each.root(record, self.store), record.time)

    def _fire(self, record: Record) -> None:
        queue = [record]
        for current in queue:
            for hosted in self._by_terminator.get(current.type, ()):
                if hosted.relays:
                    if current is record and hosted.matcher.accepts(current):
                        self.made.append(current.event)
                    continue
                for choice, event in enumerate(hosted.matcher.fire(current, self.store)):
                    self.made.append(event)
                    if event.type in self._fed:
                        place = hosted.ordered
                        path = (*current.key[4], place.moment, place.origin, place.place, choice)
                        queue.append(Record(event, record.source, record.counter, current.key[3] + 1, path))
        for made in queue[1:]:
            self.store.insert(made)

    def _send(self, records: Iterable[Record], at: int) -> None:
        """Let events through, with all that they look at."""
        waiting = list(records)
        for record in waiting:
            if record.sent is not None and record.sent <= at:
                continue  # sent again only if the father must know it from an earlier moment on
            record.sent = at
            self.sent.append((at, record))
            if self.exact:
                for each in self._by_root.get(record.type, ()):
                    if not each.matcher.is_leaf:
                        waiting += each.looked_at(record, self.store)

    def _hosted(self, ordered: Ordered) -> _Hosted:
        found = self._rules.get(str(ordered.rule.name))
        if found is not None and found.ordered.rule == ordered.rule:
            return found
        return _Hosted(ordered, Matcher(ordered.rule, ordered.since), str(ordered.rule.name).startswith(RELAY))

    def _index(self) -> None:
        self._by_terminator = {}
        for hosted in self._rules.values():
            self._by_terminator.setdefault(hosted.matcher.type, []).append(hosted)
        self._by_root = {}
        for each in self.filters.values():
            if each.since is not None:
                self._by_root.setdefault(each.matcher.type, []).append(each)
        pending = [each for each in self.filters.values() if each.since is None]
        self._pulls = any(each.pull for each in self.filters.values())
        self._eager = frozenset(kind for each in pending for kind in _types_of(Assigned(each.part)))
        self._fed = frozenset(kind for hosted in self._rules.values() for kind in input_types(hosted.ordered.rule))

    def take_counts(self) -> tuple[tuple[str, int], ...]:
        """Give how many events matched the root of each partial rule since the last time."""
        counts = tuple((name, each.count) for name, each in self.filters.items())
        for each in self.filters.values():
            each.count = 0
        return counts

    def remembered(self, event_type: str, since: int) -> list[Record]:
        """Give the remembered events of a type from a time on, and those that wait to be evaluated."""
        column = self.store.columns.get(event_type)
        known = [] if column is None else column.records[bisect_left(column.times, since) :]
        waiting = [record for _, _, records in sorted(self._pending, key=itemgetter(0, 1)) for record in records]
        return [*known, *(record for record in waiting if record.type == event_type)]

    def _forget(self) -> None:
        """Drop what no rule can reach any more, now and then."""
        horizon = (min(self.done, self.keep_from) if self.waits_to_be_asked else self.done) - 2 * self.horizon
        if horizon > self._forgotten + self.horizon // 4:
            self._forgotten = horizon
            self.store.forget(horizon)
            for each in self.filters.values():
                each.close_openings(self.done)


def _types_of(assigned: Assigned) -> frozenset[str]:
    pattern = assigned.part.pattern
    return frozenset({pattern.terminator.type, *(item_event(item).type for item in pattern.items)})
