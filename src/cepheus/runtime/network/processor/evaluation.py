"""What one processor does with the events of one tree: remember, evaluate in total order, let through."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.matching.at_work import RuleAtWork, RulesAtWork
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Arrival, Record, Store, Waiting
from cepheus.plan.partial import shape_of
from cepheus.plan.partial.shape import whole_pattern
from cepheus.runtime.network.processor.filtering import PartialFilter
from cepheus.runtime.network.processor.sharing import RELAY, order_of
from cepheus.runtime.network.protocol.interests import Contents, contents_of, either
from cepheus.runtime.network.protocol.messages import Assigned, Ordered

_NUMBERS = ("exact", "timely", "done", "retained_from", "keep_from", "horizon", "forgotten")

Sent = tuple[int, Record]
"""A moment and an event that is let through at it."""


@dataclass(slots=True)
class _Hosted:
    """A rule that is evaluated here: as it was deployed, and at work."""

    ordered: Ordered
    at_work: RuleAtWork

    @classmethod
    def of(cls, ordered: Ordered, first: int | None, until: int | None = None) -> _Hosted:
        """Put a rule to work, from a first moment on (None: not yet) and until a last one."""
        relays = str(ordered.rule.name).startswith(RELAY)
        matcher = Matcher(ordered.rule, ordered.since)
        return cls(ordered, RuleAtWork(matcher, order_of(ordered), first, until, relays))

    def begin(self, since: int, first: int | None) -> None:
        """Begin at a time, if that has not been settled; in a renewed tree from ``first`` on, unless it is younger."""
        if self.at_work.first is None:
            self.at_work.first = since if first is None else max(first, self.ordered.since or MIN_TIME)
        if self.at_work.matcher.since is None:
            self.at_work.matcher.since = since
            self.ordered = replace(self.ordered, since=since)

    def kept(self) -> tuple[Ordered, int | None, int | None]:
        """The rule with its first and last moment, as a snapshot keeps it."""
        return self.ordered, self.at_work.first, self.at_work.until


@dataclass(slots=True)
class State:
    """What a snapshot keeps of an evaluation; rules come with their first and last moment."""

    numbers: dict[str, int]
    contents: Contents
    rules: list[tuple[Ordered, int | None, int | None]]
    leaving: list[tuple[Ordered, int | None, int | None]]
    filters: list[PartialFilter]
    leaving_filters: list[PartialFilter]
    waiting: list[Arrival]
    arrivals: int


@dataclass(slots=True)
class Evaluation:
    """The events of one tree at one processor.

    ``timely`` says that fathers evaluate in the order of time, so that it matters from which moment on an event is
    known. ``done`` is the time up to which events have been evaluated, ``contents`` what events must be like to
    matter here, ``forgotten`` the time before which events may have been dropped; those from ``retained_from`` on are
    kept for trees that take the place of this one.
    ``sent`` and ``made`` collect what is to be sent to the father and to sinks.
    """

    exact: bool
    timely: bool = True
    done: int = MIN_TIME
    retained_from: int = MAX_TIME
    store: Store = field(default_factory=Store)
    filters: dict[str, PartialFilter] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    made: list[Event] = field(default_factory=list)
    keep_from: int = MIN_TIME
    horizon: int = 0
    contents: Contents = field(default_factory=dict)
    _rules: dict[str, _Hosted] = field(default_factory=dict)
    _leaving: list[_Hosted] = field(default_factory=list)
    _leaving_filters: list[PartialFilter] = field(default_factory=list)
    _at_work: RulesAtWork = field(init=False)
    _by_root: dict[str, list[PartialFilter]] = field(default_factory=dict)
    _looking: dict[str, list[PartialFilter]] = field(default_factory=dict)
    _pulls: bool = False
    _waiting: Waiting = field(default_factory=Waiting)
    forgotten: int = MIN_TIME

    def __post_init__(self) -> None:
        self._at_work = RulesAtWork(self.store)

    @property
    def rules(self) -> list[Ordered]:
        """The rules that are evaluated here, in the order of deployment."""
        return [hosted.ordered for hosted in self._rules.values()]

    def hosted(self) -> list[Ordered]:
        """Return the rules that are evaluated here, and those that are leaving."""
        return [hosted.ordered for hosted in (*self._rules.values(), *self._leaving)]

    @property
    def waits_for(self) -> int | None:
        """The moment of the earliest events that have not been evaluated."""
        return self._waiting.earliest

    @property
    def waits_until(self) -> int:
        """The moment of the latest events that have not been evaluated."""
        return self._waiting.latest

    @property
    def waits_to_be_asked(self) -> bool:
        """Whether a partial rule here is in pull mode."""
        return self._pulls

    def expect(self, rules: Iterable[Ordered], parts: Iterable[Assigned]) -> None:
        """Remember from now on also what these need."""
        patterns = []
        for ordered in rules:
            patterns.append(whole_pattern(ordered.rule))
            self.horizon = max(self.horizon, shape_of(ordered.rule).reach)
        for assigned in parts:
            patterns.append(assigned.part.pattern)
            self.horizon = max(self.horizon, shape_of(assigned.part.rule).reach)
        self.contents = either(self.contents, contents_of(patterns))

    def adopt(self, rules: Sequence[Ordered], parts: Sequence[Assigned]) -> None:
        """Evaluate these rules and partial rules from now on.

        Those that were there before go on. A partial rule that has changed starts anew with all that is remembered.
        What is no longer wanted goes on until the moment that ``activate`` will set, so that there is no gap.
        """
        self.contents, self.horizon = {}, 0
        self.expect(rules, parts)
        self._adopt_rules(rules)
        changed = self._adopt_parts(parts)
        for hosted in self._leaving:
            self.expect([hosted.ordered], ())
        for each in self._leaving_filters:
            self.expect((), [Assigned(each.part)])
        self._index()
        for each in (*self.filters.values(), *self._leaving_filters):
            if each.pull and not each.stays_pulled:
                each.pull, each.live = False, self.done
                self.pull(each, MIN_TIME, self.done)
        self._index()
        for each in changed:
            self.resend(each)

    def _adopt_rules(self, rules: Sequence[Ordered]) -> None:
        before, self._rules = self._rules, {}
        for ordered in sorted(rules, key=order_of):
            name = str(ordered.rule.name)
            old = before.get(name)
            if old is not None and old.ordered.rule == ordered.rule:
                self._rules[name] = before.pop(name)
            else:
                self._rules[name] = _Hosted.of(ordered, first=None)
        self._leaving += before.values()

    def _adopt_parts(self, parts: Sequence[Assigned]) -> list[PartialFilter]:
        before, self.filters = self.filters, {}
        changed = []
        for assigned in parts:
            name = assigned.part.name
            old = before.get(name)
            if old is not None and old.part == assigned.part:
                self.filters[name] = before.pop(name)
            else:
                self.filters[name] = PartialFilter(assigned.part, assigned.since, pull=False, exact=self.exact)
                changed.append(self.filters[name])
            self.filters[name].will_pull = assigned.pull and not self.filters[name].pull
            self.filters[name].stays_pulled = assigned.pull
        for old in before.values():
            old.stays_pulled = False
            self._leaving_filters.append(old)
        return changed

    def activate(self, since: int, first: int | None = None) -> None:
        """Begin with what was installed last, and end what it replaces, at a time that nobody has reached.

        In a renewed tree that time has passed; rules are evaluated from ``first`` on, unless they are younger.
        """
        for hosted in self._rules.values():
            hosted.begin(since, first)
        for hosted in self._leaving:
            hosted.at_work.until = since if hosted.at_work.until is None else hosted.at_work.until
        for each in self._leaving_filters:
            each.until = since if each.until is None else each.until
        for each in self.filters.values():
            if each.since is None:
                each.activate(since, self.done)
            each.settle_mode(self.done)
        self._index()

    def _let_go(self) -> None:
        """Drop what has come to its end."""
        end = self.done + 1
        staying = [each for each in self._leaving if each.at_work.until is None or each.at_work.until > end]
        filters = [each for each in self._leaving_filters if each.until is None or each.until > end]
        if len(staying) < len(self._leaving) or len(filters) < len(self._leaving_filters):
            self._leaving, self._leaving_filters = staying, filters
            self._index()

    def state(self) -> State:
        """What a snapshot keeps besides remembered events."""
        return State(
            numbers={name: getattr(self, name) for name in _NUMBERS},
            contents=self.contents,
            rules=[each.kept() for each in self._rules.values()],
            leaving=[each.kept() for each in self._leaving],
            filters=list(self.filters.values()),
            leaving_filters=self._leaving_filters,
            waiting=self._waiting.in_order(),
            arrivals=self._waiting.arrivals,
        )

    @classmethod
    def from_state(cls, state: State) -> Evaluation:
        """Go on from a snapshot; remembered events are put into ``store`` afterwards."""
        evaluation = cls(exact=bool(state.numbers["exact"]))
        for name, number in state.numbers.items():
            setattr(evaluation, name, number)
        evaluation.contents, evaluation._waiting = state.contents, Waiting(state.waiting, state.arrivals)
        for ordered, first, until in state.rules:
            evaluation._rules[str(ordered.rule.name)] = _Hosted.of(ordered, first, until)
        for ordered, first, until in state.leaving:
            evaluation._leaving.append(_Hosted.of(ordered, first, until))
        evaluation.filters = {each.part.name: each for each in state.filters}
        evaluation._leaving_filters = state.leaving_filters
        evaluation._index()
        return evaluation

    def wants(self, event_type: str) -> bool:
        """Whether events of a type matter here."""
        return event_type in self.contents

    def is_waiting(self, through: int) -> bool:
        """Whether events up to a time have not been evaluated."""
        return self._waiting.any_until(through)

    def arrive(self, at: int, records: list[Record]) -> None:
        """Take events in, to be evaluated when it is safe."""
        self._waiting.add(at, records)

    def advance(self, through: int) -> None:
        """Evaluate everything up to a time."""
        for at, records in self._waiting.take(through):
            self.instant(at, records)
        if through > self.done:
            self.done = through
            if through - self.forgotten > 2 * self.horizon + self.horizon // 4:
                self._forget()
            if self._leaving or self._leaving_filters:
                self._let_go()

    def instant(self, at: int, records: Sequence[Record]) -> None:
        """Evaluate the events that come to be known at one moment."""
        insert = self.store.insert
        if len(records) > 1:
            records = sorted(filter(insert, records), key=attrgetter("key"))
        elif not insert(records[0]):
            return
        for record in records:
            if record.time == at:
                if record.type in self._at_work.terminators:
                    self.made += self._at_work.fire(record)
                if record.type in self._by_root:
                    self._let_through(record, at)

    def _let_through(self, record: Record, at: int) -> None:
        """Send what partial rules have because of an event at their root."""
        for each in self._by_root[record.type]:
            matcher = each.matcher
            if (each.until is None or at < each.until) and matcher.accepts(record):
                each.count += 1
                if matcher.is_leaf and record.sent is not None and record.sent <= at:
                    continue  # nothing more to send than another partial rule has sent
                if not each.pull or not each.waiting(record):
                    self._send(each, record, at)

    def resend(self, each: PartialFilter) -> None:
        """Let through all that a new partial rule has of what is remembered; it is known from now on."""
        column = self.store.columns.get(each.matcher.type)
        for record in list(column.records) if column is not None else ():
            if each.matcher.accepts(record):
                self._send(each, record, self.done)

    def pull(self, each: PartialFilter, first: int, last: int) -> None:
        """Let through what a partial rule has of a span of time; each event is known from its own time on."""
        column = self.store.columns.get(each.matcher.type)
        if column is None or each.since is None:
            return
        low, high = column.within(first, min(last, self.done) + 1)
        for record in column.records[low:high]:
            if each.matcher.accepts(record) and not each.waiting(record):
                self._send(each, record, record.time)

    def _send(self, by: PartialFilter, root: Record, at: int) -> None:
        """Let through what a partial rule sends because of an event at its root, with all that these look at."""
        known = at if self.timely else MAX_TIME
        waiting = by.root(root, self.store, known)
        for record in waiting:
            if record.sent is None or record.sent > known:
                record.sent = at
                self.sent.append((at, record))
                if self.exact:
                    for each in self._looking.get(record.type, ()):
                        if record is not root or each is not by:
                            waiting += each.looked_at(record, self.store, known)

    def _index(self) -> None:
        self._at_work.use(hosted.at_work for hosted in (*self._rules.values(), *self._leaving))
        self._by_root, self._looking = {}, {}
        for each in (*self.filters.values(), *self._leaving_filters):
            self._by_root.setdefault(each.matcher.type, []).append(each)
            if not each.matcher.is_leaf:
                self._looking.setdefault(each.matcher.type, []).append(each)
        self._pulls = any(each.pull for each in self.filters.values())

    def take_counts(self) -> tuple[tuple[str, int], ...]:
        """How many events matched the root of each partial rule since the last time."""
        counts = tuple((name, each.count) for name, each in self.filters.items())
        for each in self.filters.values():
            each.count = 0
        return counts

    def remembered(self, event_type: str, since: int) -> list[Record]:
        """Return the remembered events of a type from a time on, and those that wait to be evaluated."""
        column = self.store.columns.get(event_type)
        known = [] if column is None else column.records[bisect_left(column.times, since) :]
        waiting = [record for _, _, records in self._waiting.in_order() for record in records]
        return [*known, *(record for record in waiting if record.type == event_type)]

    def all_records(self) -> Iterator[Record]:
        """Return all remembered events and those that wait to be evaluated."""
        yield from self.store
        for _, _, records in self._waiting.in_order():
            yield from records

    def _forget(self) -> None:
        """Drop what no rule can reach any more, now and then."""
        horizon = (min(self.done, self.keep_from) if self.waits_to_be_asked else self.done) - 2 * self.horizon
        horizon = min(horizon, self.retained_from)
        if horizon > self.forgotten + self.horizon // 4:
            self.forgotten = horizon
            self.store.forget(horizon)
            for each in self.filters.values():
                each.close_openings(self.done)
