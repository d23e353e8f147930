"""Evaluates a rule or partial rule for one event at its top, over remembered events.

The steps are those of the reference engine (``cepheus.engine.reference.meaning``); here they find their candidates by
bisection, because remembered events come out of order, and can tell which events they looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.event import Event, composite_digest, composite_event, text_digest, with_counted
from cepheus.core.lists import list_refused
from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.time import MIN_TIME
from cepheus.core.values import Value, ValueType, as_float
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.matching.store import Record, Store
from cepheus.rules.aggregates import aggregate_named
from cepheus.rules.evaluate import Test, evaluator, group_of, tester
from cepheus.rules.expressions import AttributeRef, Between, Comparison, Constraint, Scope, Within
from cepheus.rules.model import Pattern, Rule
from cepheus.rules.policies import Take
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Absent, Choose, Compute, Gather, Require, ResolvedRule

Looked = list[Record]
_ALL, _LATEST, _EARLIEST = Take.ALL, Take.LATEST, Take.EARLIEST  # to look a member up in its class takes a while
_BY_MEANING = Take.BY_MEANING

_LARGEST_EXACT = 1 << 53


class Match:
    """Chosen events and computed values; also the situation that constraints are tested in."""

    __slots__ = ("events", "members", "under_test", "values")

    def __init__(self, events: dict[str, Record], values: dict[str, Value | None]) -> None:
        self.events = events
        self.values = values
        self.under_test: Record | None = None
        self.members: dict[str, list[Record]] = {}

    def attribute(self, event: str | None, name: str) -> Value | None:
        """An attribute of a chosen event, or of the one under test."""
        record = self.under_test if event is None else self.events[event]
        assert record is not None
        if name == TIME_ATTRIBUTE:
            return record.time
        value = record.event.attributes.get(name)
        if type(value) is tuple:
            raise list_refused(record.type, name)
        return value

    def computed(self, name: str) -> Value | None:
        """The value of an aggregate; None if it is undefined."""
        return self.values[name]


@dataclass(slots=True)
class _Step:
    """A step with its constraints made into functions; ``plain``: a choice by nothing but type, window and policy.

    What a policy is takes a while to look up: of a choice the step knows how it ``takes`` events, and at most how many.
    """

    step: Choose | Compute | Require | Absent
    tests: tuple[Test, ...]
    value: Callable[[Match], Value | None] | None = None
    same: tuple[str, Callable[[Match], Value | None]] | None = None
    """An attribute that must be equal to what is known before: most candidates fall at it, so it is looked at first."""
    plain: bool = False
    takes: Take | None = None
    most: int | None = None


@dataclass(slots=True)
class _Gathered:
    """Whom to name among what a composite event is made of, with its constraints made into functions."""

    step: Gather
    tests: tuple[Test, ...]
    value: Callable[[Match], Value | None] | None


class Matcher:
    """A rule or a partial rule, ready to be evaluated.

    ``since`` is the time from which events count (None: none does yet). A matcher of a rule remembers in the events
    what the rule consumed; ``all_seen`` says that no event is gone for it before it begins. ``limit`` is the number of
    composite events that one event may make.
    """

    def __init__(
        self, rule: Rule, since: int | None = MIN_TIME, *, all_seen: bool = True, limit: int | None = None
    ) -> None:
        self.rule = rule
        self.since = since
        self._most = None if limit is None else 10 * limit  # combinations, whatever negations rule out later
        self.resolved: ResolvedRule = resolve(rule)
        self.type = self.resolved.terminator.type
        self._name = self.resolved.terminator.name
        self._top = _tests(self.resolved.terminator.constraints)
        self._steps = [_prepare(step) for step in self.resolved.steps]
        self._absences = [_prepare(absent) for absent in self.resolved.absences]
        self._gathers = [
            _Gathered(gather, _tests(gather.constraints), None if gather.value is None else evaluator(gather.value))
            for gather in self.resolved.gathers
        ]
        self._values = [(a.attribute, evaluator(a.value)) for a in self.resolved.assignments]
        self.is_leaf = not self._steps and not self._absences
        self._digest = text_digest(self.resolved.name)
        for step in self._steps:
            step.plain = all_seen and not self.resolved.consuming and _is_plain(step)
        ends_with_choice = bool(self._steps) and isinstance(self._steps[-1].step, Choose) and not self._absences
        # what it chooses is looked at as it stands, without making the combinations, of which there are far more
        self._last = self._steps[-1] if ends_with_choice else None
        self._before_last = self._steps[:-1]
        self._last_each = _each_of(self._last)
        self._single = all(step.plain and _each_of(step) is None for step in self._steps)

    @classmethod
    def of_pattern(cls, pattern: Pattern, since: int | None = MIN_TIME) -> Matcher:
        """The matcher of a partial rule."""
        return cls(Rule(EventType("#"), pattern, name="#"), since)

    def accepts(self, record: Record) -> bool:
        """Whether an event of the right type can be at the top."""
        if self.since is None or record.time < self.since:
            return False
        if not self._top:
            return True
        match = Match({self._name: record}, {})
        return all(test(match) for test in self._top)

    def matches(self, top: Record, store: Store, looked: Looked | None = None) -> list[Match]:
        """The combinations for an accepted event; ``looked`` collects the events that their choices depend on."""
        found = self._follow(self._steps, top, store, looked)
        for step in self._absences:
            found = [match for match in found if not self._occurred(step, match, store, looked)]
        return found

    def leads_on(self, top: Record, store: Store, looked: Looked, at: int) -> bool:
        """Whether there are combinations for an accepted event.

        ``looked`` is as for ``matches``, but may do without events that have been sent up to the moment ``at``.
        """
        last = self._last
        if last is None:
            return bool(self.matches(top, store, looked))
        found = False
        for match in self._follow(self._before_last, top, store, looked):
            chosen: Sequence[Record]
            if self._last_each is not None:
                column = store.column(self._last_each.type)
                low, high = column.within(*self._window(self._last_each, match))
                found = found or high > low
                chosen = column.unsent(low, high, at)
            else:
                chosen = self._choose(last, match, store)
                found = found or bool(chosen)
            looked += chosen
        return found

    def partakers(self, top: Record, store: Store) -> list[Record]:
        """The events of all combinations for an accepted event, that event first."""
        last = self._last
        if last is None:
            return [record for match in self.matches(top, store) for record in match.events.values()]
        found: list[Record] = []
        for match in self._follow(self._before_last, top, store, None):
            chosen = self._choose(last, match, store)
            if chosen:
                found += match.events.values()
                found += chosen
        return found

    def _follow(self, steps: Sequence[_Step], top: Record, store: Store, looked: Looked | None) -> list[Match]:
        found = [Match({self._name: top}, {})]
        if self._single:
            return self._follow_singly(steps, found, store, looked)
        for step in steps:
            if not found:
                return found
            match step.step:
                case Choose() as choose:
                    found = self._extend(step, choose.name, found, store, looked)
                case Compute() as compute:
                    for match in found:
                        match.values = match.values | {compute.name: self._compute(step, compute, match, store, looked)}
                case Require():
                    (test,) = step.tests
                    found = [match for match in found if test(match)]
                case Absent():
                    raise AssertionError("negations come after all steps")
                case other:
                    assert_never(other)
        return found

    def _follow_singly(
        self, steps: Sequence[_Step], found: list[Match], store: Store, looked: Looked | None
    ) -> list[Match]:
        """Do the same where no step can choose more than one event: there is one combination, or none."""
        (match,) = found
        for step in steps:
            choose = step.step
            assert isinstance(choose, Choose)
            chosen = self._choose_plainly(step, choose, match, store)
            if not chosen:
                return []
            if looked is not None:
                looked += chosen
            match.events[choose.name] = chosen[0]
        return found

    def fire(self, top: Record, store: Store) -> list[Event]:
        """Make the composite events of a rule for an event that may be its terminator, and consume."""
        if not self.accepts(top):
            return []
        found = self.matches(top, store)
        if not found:
            return []
        fired = [(match, event) for match in found if (event := self._produce(match, store)) is not None]
        for match, _ in fired if self.resolved.consuming else ():
            consumed = [match.events[name] for name in self.resolved.consuming & match.events.keys()]
            for name in self.resolved.consuming & match.members.keys():
                consumed += match.members[name]
            for record in consumed:
                if record.consumed is None:
                    record.consumed = set()
                record.consumed.add(self.resolved.name)
        return [event for _, event in fired]

    def _places(self, event_type: str, scope: Scope, match: Match, store: Store) -> tuple[list[Record], int, int]:
        """The events of a type, and where those begin and end that lie in a scope."""
        match scope:
            case Within(duration=duration, reference=reference):
                end = match.events[reference].time
                start = end - duration
            case Between(first=first, second=second):
                start, end = sorted((match.events[first].time, match.events[second].time))
                start += 1
            case _:
                assert_never(scope)
        column = store.columns.get(event_type)
        if column is None:
            return [], 0, 0
        if self.since is not None and start < self.since:
            start = self.since
        return column.records, *column.within(start, end)

    def _candidates(
        self, step: _Step | None, event_type: str, scope: Scope, match: Match, store: Store, *, latest_first: bool
    ) -> Iterator[Record]:
        """Go through the events of a type in a scope, but for some of those that the tests will turn down."""
        records, low, high = self._places(event_type, scope, match, store)
        rule = self.resolved.name
        same = None if step is None else step.same
        name, wanted = (None, None) if same is None else (same[0], same[1](match))
        if name is not None and not _compares_exactly(wanted):
            name = None
        for place in range(high - 1, low - 1, -1) if latest_first else range(low, high):
            record = records[place]
            if name is not None:
                value = record.event.attributes.get(name)
                if value != wanted and type(value) is not tuple:  # a list is refused where it is tested
                    continue
            if record.consumed is None or rule not in record.consumed:
                yield record

    def _extend(self, step: _Step, name: str, matches: list[Match], store: Store, looked: Looked | None) -> list[Match]:
        extended = []
        for match in matches:
            chosen = self._choose(step, match, store)
            if looked is not None:
                looked += chosen
            extended += [Match(match.events | {name: record}, match.values) for record in chosen]
            if self._most is not None and len(extended) > self._most:
                raise too_many_composites(self.rule, self._most // 10)
        return extended

    def _choose(self, step: _Step, match: Match, store: Store) -> Sequence[Record]:
        choose = step.step
        assert isinstance(choose, Choose)
        choosing = self._choose_plainly if step.plain else self._try
        return choosing(step, choose, match, store)

    def _choose_plainly(self, step: _Step, choose: Choose, match: Match, store: Store) -> Sequence[Record]:
        column = store.columns.get(choose.type)
        if column is None:
            return ()
        start, end = self._window(choose, match)
        times, takes = column.times, step.takes
        high = bisect_left(times, end)
        if takes is _LATEST:
            return (column.records[high - 1],) if high and times[high - 1] >= start else ()
        low = bisect_left(times, start, 0, high)
        if takes is _ALL:
            return column.records[low:high]
        if takes is _EARLIEST:
            return column.records[low : min(low + 1, high)]
        return choose.policy.record.meaning(column.records[low:high], 1)

    def _window(self, choose: Choose, match: Match) -> tuple[int, int]:
        """The times from which and before which a choice is made."""
        end = match.events[choose.window.reference].time
        start = end - choose.window.duration
        return start if self.since is None or start >= self.since else self.since, end

    def _try(self, step: _Step, choose: Choose, match: Match, store: Store) -> Sequence[Record]:
        latest_first = step.takes is _LATEST
        chosen: list[Record] = []
        situation = Match(dict(match.events), match.values)
        for record in self._candidates(step, choose.type, choose.window, match, store, latest_first=latest_first):
            situation.events[choose.name] = record
            if all(test(situation) for test in step.tests):
                chosen.append(record)
                if len(chosen) == step.most and not choose.per:
                    break
        if latest_first:
            chosen.reverse()
        if choose.per:
            return _by_group(choose, chosen)
        if step.takes is _BY_MEANING:
            return choose.policy.record.meaning(chosen, 1 if choose.count is None else choose.count)
        return chosen

    def _occurred(self, step: _Step, match: Match, store: Store, looked: Looked | None) -> bool:
        absent = step.step
        assert isinstance(absent, Absent)
        situation = Match(match.events, match.values)
        for record in self._candidates(step, absent.type, absent.scope, match, store, latest_first=True):
            situation.under_test = record
            if all(test(situation) for test in step.tests):
                if looked is not None:
                    looked.append(record)
                return True
        return False

    def _compute(
        self, step: _Step, compute: Compute, match: Match, store: Store, looked: Looked | None
    ) -> Value | None:
        situation = Match(match.events, match.values)
        values: list[Value | None] = []
        times: list[int] = []
        for record in self._candidates(step, compute.type, compute.scope, match, store, latest_first=False):
            situation.under_test = record
            if all(test(situation) for test in step.tests):
                if looked is not None:
                    looked.append(record)
                value = 1 if step.value is None else step.value(situation)
                if value is not None or compute.even_undefined:
                    values.append(value)
                    times.append(record.event.time)
        return aggregate_named(compute.function).given(compute.argument)(values, times)

    def _gather(self, gather: _Gathered, match: Match, store: Store) -> list[Record]:
        situation = Match(match.events, match.values)
        found: list[Record] = []
        step = gather.step
        for record in self._candidates(None, step.type, step.scope, match, store, latest_first=False):
            situation.under_test = record
            if all(test(situation) for test in gather.tests) and (
                gather.value is None or gather.value(situation) is not None
            ):
                found.append(record)
        return found

    def _produce(self, match: Match, store: Store) -> Event | None:
        rule = self.resolved
        attributes: dict[str, Value | None] = {}
        for name, compute in self._values:
            declared = rule.composite.attribute(name)
            assert declared is not None
            value = compute(match)
            if value is None and not declared.optional:
                return None
            attributes[name] = as_float(value) if declared.type is ValueType.FLOAT and value is not None else value
        match.members = {gather.step.name: self._gather(gather, match, store) for gather in self._gathers}
        parts = [match.events[position.name] for position in rule.positions]
        for gather in rule.gathers:
            parts += () if gather.counted else match.members[gather.name]
        counted = [record for gather in rule.gathers if gather.counted for record in match.members[gather.name]]
        named = [part for part in parts if part.event.id is not None]
        digest = composite_digest(self._digest, [part.word for part in named])
        return composite_event(
            rule.composite.name,
            parts[0].time,
            attributes,
            f"{rule.composite.name}:{digest:016x}",
            min([part.start for part in parts]),
            rule.name,
            with_counted(
                tuple([part.event.id for part in named if part.event.id is not None]),
                [record.event.id for record in counted if record.event.id is not None],
            ),
        )


def _by_group(choose: Choose, fitting: Sequence[Record]) -> Sequence[Record]:
    """Those that are chosen of each group, given all events that will do; both are in the order of the stream."""
    groups: dict[tuple[Value | None, ...], list[int]] = {}
    for place, record in enumerate(fitting):
        groups.setdefault(group_of(choose.per, Match({choose.name: record}, {})), []).append(place)
    meaning, wanted = choose.policy.record.meaning, 1 if choose.count is None else choose.count
    return [fitting[place] for place in sorted(place for group in groups.values() for place in meaning(group, wanted))]


def _tests(constraints: Sequence[Constraint]) -> tuple[Test, ...]:
    return tuple(tester(constraint) for constraint in constraints)


def _is_plain(step: _Step) -> bool:
    return isinstance(step.step, Choose) and not step.tests and step.step.count is None and not step.step.per


def _each_of(step: _Step | None) -> Choose | None:
    """The choice that a step makes, if it takes all events of a window."""
    if step is None or not step.plain or not isinstance(step.step, Choose):
        return None
    return step.step if step.step.policy.takes_all else None


def _prepare(step: Choose | Compute | Require | Absent) -> _Step:
    match step:
        case Require(constraint=constraint):
            return _Step(step, _tests((constraint,)))
        case Compute(value=value):
            compute = None if value is None else evaluator(value)
            return _Step(step, _tests(step.constraints), compute, _same(None, step.constraints))
        case Choose(name=name, policy=policy, count=count):
            same = _same(name, step.constraints)
            return _Step(step, _tests(step.constraints), same=same, takes=policy.takes, most=policy.most(count))
        case Absent():
            return _Step(step, _tests(step.constraints), same=_same(None, step.constraints))
        case _:
            assert_never(step)


def _same(event: str | None, constraints: Sequence[Constraint]) -> tuple[str, Callable[[Match], Value | None]] | None:
    """Find an attribute of an event that a constraint wants to be equal to one of an event chosen before."""
    for constraint in constraints:
        if not isinstance(constraint, Comparison) or constraint.operators != ("=",):
            continue
        for own, other in (constraint.operands, constraint.operands[::-1]):
            if not isinstance(own, AttributeRef) or own.event != event or own.name == TIME_ATTRIBUTE:
                continue
            if isinstance(other, AttributeRef) and other.event not in (event, None):
                return own.name, evaluator(other)
    return None


def _compares_exactly(value: Value | None) -> bool:
    """Whether what equals a value in a rule equals it in Python: not so integers that no float holds."""
    return not isinstance(value, int | float) or abs(value) < _LARGEST_EXACT
