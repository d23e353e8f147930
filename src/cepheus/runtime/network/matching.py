"""Evaluates a rule or partial rule for one event at its top, over the events that a processor remembers.

The steps are those of the reference engine (``cepheus.engine.reference``); here they find their candidates by
bisection, because remembered events come out of order, and can tell which events they looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.event import Event, composite_event, composite_id
from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.time import MIN_TIME
from cepheus.core.values import Value, ValueType
from cepheus.rules.aggregates import aggregate
from cepheus.rules.evaluate import Test, evaluator, tester
from cepheus.rules.expressions import Between, Constraint, Scope, Within
from cepheus.rules.model import Pattern, Policy, Rule
from cepheus.rules.resolve import Absent, Choose, Compute, Require, ResolvedRule, resolve
from cepheus.runtime.network.store import Record, Store

Looked = list[Record]


class Match:
    """Chosen events and computed values; also the situation that constraints are tested in."""

    __slots__ = ("events", "under_test", "values")

    def __init__(self, events: dict[str, Record], values: dict[str, Value | None]) -> None:
        self.events = events
        self.values = values
        self.under_test: Record | None = None

    def attribute(self, event: str | None, name: str) -> Value | None:
        """Give an attribute of a chosen event, or of the one under test."""
        record = self.under_test if event is None else self.events[event]
        assert record is not None
        return record.time if name == TIME_ATTRIBUTE else record.event.attributes.get(name)

    def computed(self, name: str) -> Value | None:
        """Give the value of an aggregate."""
        return self.values[name]


@dataclass(slots=True)
class _Step:
    """A step with its constraints made into functions."""

    step: Choose | Compute | Require | Absent
    tests: tuple[Test, ...]
    value: Callable[[Match], Value | None] | None = None


class Matcher:
    """A rule or a partial rule, ready to be evaluated.

    ``since`` is the time from which events count. A matcher of a rule remembers in the events what the rule consumed.
    """

    def __init__(self, rule: Rule, since: int | None = MIN_TIME) -> None:
        self.rule = rule
        self.since = since
        self.resolved: ResolvedRule = resolve(rule)
        self.type = self.resolved.terminator.type
        self._name = self.resolved.terminator.name
        self._top = _tests(self.resolved.terminator.constraints)
        self._steps = [_prepare(step) for step in self.resolved.steps]
        self._absences = [_prepare(absent) for absent in self.resolved.absences]
        self._values = [(a.attribute, evaluator(a.value)) for a in self.resolved.assignments]
        self.is_leaf = not self._steps and not self._absences
        ends_with_choice = bool(self._steps) and isinstance(self._steps[-1].step, Choose) and not self._absences
        self._last = self._steps[-1] if ends_with_choice else None
        self._before_last = self._steps[:-1]

    @classmethod
    def of_pattern(cls, pattern: Pattern, since: int | None = MIN_TIME) -> Matcher:
        """Make the matcher of a partial rule."""
        return cls(Rule(EventType("#"), pattern, name="#"), since)

    def accepts(self, record: Record) -> bool:
        """Tell whether an event of the right type can be at the top."""
        if self.since is None or record.time < self.since:
            return False
        if not self._top:
            return True
        match = Match({self._name: record}, {})
        return all(test(match) for test in self._top)

    def matches(self, top: Record, store: Store, looked: Looked | None = None) -> list[Match]:
        """Give the combinations for an accepted event; ``looked`` collects what other choices it depends on."""
        found = self._follow(self._steps, top, store, looked)
        for step in self._absences:
            found = [match for match in found if not self._occurred(step, match, store, looked)]
        return found

    def leads_on(self, top: Record, store: Store, looked: Looked) -> bool:
        """Tell whether there are combinations for an accepted event; ``looked`` is as for ``matches``."""
        if self._last is None:
            return bool(self.matches(top, store, looked))
        found = False
        for _, chosen in self._nearly(self._last, top, store, looked):
            found = found or bool(chosen)
            looked += chosen
        return found

    def partakers(self, top: Record, store: Store) -> list[Record]:
        """Give the events of all combinations for an accepted event, that event first."""
        if self._last is None:
            return [record for match in self.matches(top, store) for record in match.events.values()]
        found: list[Record] = []
        for match, chosen in self._nearly(self._last, top, store, None):
            if chosen:
                found += match.events.values()
                found += chosen
        return found

    def _nearly(
        self, last: _Step, top: Record, store: Store, looked: Looked | None
    ) -> Iterator[tuple[Match, Sequence[Record]]]:
        """Give what comes before the last choice, with all that it chooses: far fewer than the combinations."""
        choose = last.step
        assert isinstance(choose, Choose)
        for match in self._follow(self._before_last, top, store, looked):
            yield match, self._choose(last, choose, match, store)

    def _follow(self, steps: Sequence[_Step], top: Record, store: Store, looked: Looked | None) -> list[Match]:
        found = [Match({self._name: top}, {})]
        for step in steps:
            if not found:
                return found
            match step.step:
                case Choose() as choose:
                    found = self._extend(step, choose, found, store, looked)
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

    def fire(self, top: Record, store: Store) -> list[Event]:
        """Give the composite events of a rule for an event that may be its terminator, and consume."""
        if not self.accepts(top):
            return []
        fired = [(match, event) for match in self.matches(top, store) if (event := self._produce(match)) is not None]
        for match, _ in fired:
            for name in self.resolved.consuming:
                record = match.events[name]
                if record.consumed is None:
                    record.consumed = set()
                record.consumed.add(self.resolved.name)
        return [event for _, event in fired]

    def _places(self, event_type: str, scope: Scope, match: Match, store: Store) -> tuple[list[Record], int, int]:
        """Give the events of a type and the part of them that lies in a scope."""
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
        self, event_type: str, scope: Scope, match: Match, store: Store, *, latest_first: bool
    ) -> Iterator[Record]:
        records, low, high = self._places(event_type, scope, match, store)
        rule = self.resolved.name
        for place in range(high - 1, low - 1, -1) if latest_first else range(low, high):
            record = records[place]
            if record.consumed is None or rule not in record.consumed:
                yield record

    def _extend(
        self, step: _Step, choose: Choose, matches: list[Match], store: Store, looked: Looked | None
    ) -> list[Match]:
        extended = []
        for match in matches:
            chosen = self._choose(step, choose, match, store)
            if looked is not None:
                looked += chosen
            extended += [Match(match.events | {choose.name: record}, match.values) for record in chosen]
        return extended

    def _choose(self, step: _Step, choose: Choose, match: Match, store: Store) -> Sequence[Record]:
        if not step.tests and choose.count is None and not self.resolved.consuming:
            records, low, high = self._places(choose.type, choose.window, match, store)
            if choose.policy is Policy.EACH:
                return records[low:high]
            place = high - 1 if choose.policy is Policy.LAST else low
            return records[place : place + 1] if high > low else []
        latest_first = choose.policy is Policy.LAST
        wanted = -1 if choose.policy is Policy.EACH else 1 if choose.count is None else choose.count
        chosen: list[Record] = []
        situation = Match(dict(match.events), match.values)
        for record in self._candidates(choose.type, choose.window, match, store, latest_first=latest_first):
            situation.events[choose.name] = record
            if all(test(situation) for test in step.tests):
                chosen.append(record)
                if len(chosen) == wanted:
                    break
        if latest_first:
            chosen.reverse()
        return chosen

    def _occurred(self, step: _Step, match: Match, store: Store, looked: Looked | None) -> bool:
        absent = step.step
        assert isinstance(absent, Absent)
        situation = Match(match.events, match.values)
        for record in self._candidates(absent.type, absent.scope, match, store, latest_first=True):
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
        values: list[Value] = []
        for record in self._candidates(compute.type, compute.scope, match, store, latest_first=False):
            situation.under_test = record
            if all(test(situation) for test in step.tests):
                if looked is not None:
                    looked.append(record)
                value = 1 if step.value is None else step.value(situation)
                if value is not None:
                    values.append(value)
        return aggregate(compute.function, values)

    def _produce(self, match: Match) -> Event | None:
        rule = self.resolved
        attributes: dict[str, Value | None] = {}
        for name, compute in self._values:
            declared = rule.composite.attribute(name)
            assert declared is not None
            value = compute(match)
            if value is None and not declared.optional:
                return None
            attributes[name] = float(value) if declared.type is ValueType.FLOAT and value is not None else value
        parts = [match.events[position.name].event for position in rule.positions]
        made_of = tuple(part.id for part in parts if part.id is not None)
        return composite_event(
            rule.composite.name,
            parts[0].time,
            attributes,
            composite_id(rule.composite.name, rule.name, made_of),
            min(part.time if part.start is None else part.start for part in parts),
            rule.name,
            made_of,
        )


def _tests(constraints: Sequence[Constraint]) -> tuple[Test, ...]:
    return tuple(tester(constraint) for constraint in constraints)


def _prepare(step: Choose | Compute | Require | Absent) -> _Step:
    match step:
        case Require(constraint=constraint):
            return _Step(step, _tests((constraint,)))
        case Compute(value=value):
            return _Step(step, _tests(step.constraints), None if value is None else evaluator(value))
        case _:
            return _Step(step, _tests(step.constraints))
