"""The reference engine: the meaning of rules, transcribed. The oracle of every other engine.

Written to be read next to the semantics page of the documentation; no indexes, no cleverness. Each function below
is one paragraph of that page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, assert_never

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import parse_distribution
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.event import Event, composite_id
from cepheus.core.schema import TIME_ATTRIBUTE, Schema
from cepheus.core.time import MIN_TIME
from cepheus.core.values import Value, ValueType
from cepheus.engine.factors import require_factor
from cepheus.engine.limits import DEFAULT_LIMIT, too_many_composites
from cepheus.engine.snapshot import pack, unpack
from cepheus.rules.aggregates import aggregate
from cepheus.rules.evaluate import Test, evaluator, tester
from cepheus.rules.expressions import Between, Constraint, Scope, Within
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import Policy, Rule, RuleSet
from cepheus.rules.reach import reach
from cepheus.rules.resolve import Absent, Choose, Compute, Require, ResolvedRule, resolve


@dataclass(slots=True, eq=False)
class _Stored:
    """An event in the order of the stream; ``consumed_by`` names the rules for which it is gone."""

    event: Event
    ordinal: int
    consumed_by: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Match:
    """A combination of chosen events and computed values; also the situation that constraints are tested in."""

    events: dict[str, _Stored]
    values: dict[str, Value | None]
    under_test: _Stored | None = None

    def attribute(self, event: str | None, name: str) -> Value | None:
        stored = self.under_test if event is None else self.events[event]
        assert stored is not None
        return stored.event.time if name == TIME_ATTRIBUTE else stored.event.attributes.get(name)

    def computed(self, name: str) -> Value | None:
        return self.values[name]


class _Deployed:
    """A rule with its constraints made into functions, and the moment from which it sees events."""

    def __init__(self, rule: Rule, since: int) -> None:
        self.rule = rule
        self.resolved: ResolvedRule = resolve(rule)
        self.since = since
        self.factor = 1.0
        self.reach = reach(self.resolved)
        self._tests: dict[Constraint, Test] = {}
        self.values = [(a.attribute, evaluator(a.value)) for a in self.resolved.assignments]
        self.members = {
            step.name: evaluator(step.value)
            for step in self.resolved.steps
            if isinstance(step, Compute) and step.value is not None
        }

    def test(self, constraint: Constraint) -> Test:
        if constraint not in self._tests:
            self._tests[constraint] = tester(constraint)
        return self._tests[constraint]

    def holds(self, constraints: Iterable[Constraint], match: _Match) -> bool:
        return all(self.test(constraint)(match) for constraint in constraints)


class ReferenceEngine:
    """Runs every rule by the book; slow and obvious.

    ``limit`` is the number of composite events that one event may make.
    """

    name: ClassVar[str] = "reference"

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._rules: dict[str, _Deployed] = {}
        self._history: dict[str, list[_Stored]] = {}
        self._fed = 0
        self._ordinal = 0
        self._time = MIN_TIME

    def deploy(self, rules: Sequence[Rule], schema: Schema) -> None:  # noqa: ARG002  # values carry their types
        """Add rules; they see the events fed from now on."""
        deployed = {str(rule.name): _Deployed(rule, self._ordinal) for rule in rules}
        for name in deployed.keys() & self._rules.keys():
            raise OptionError.of("deploy", f"a rule named '{name}' is already deployed", hint="withdraw it first")
        self._rules |= deployed

    def withdraw(self, name: str) -> None:
        """Remove a rule and what it consumed."""
        if name not in self._rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        del self._rules[name]
        for stored in (stored for events in self._history.values() for stored in events):
            stored.consumed_by.discard(name)

    def set_factor(self, rule: str, factor: float) -> None:
        """Set what the probabilities of a rule's composite events are multiplied by from now on."""
        deployed = self._rules.get(rule)
        if deployed is None:
            raise OptionError.of("factor", f"no rule named '{rule}' is deployed", hint=did_you_mean(rule, self._rules))
        deployed.factor = require_factor(factor)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        return EventBatch.from_events(made for event in batch.to_events() for made in self.feed_event(event))

    def feed_event(self, event: Event) -> list[Event]:
        """Process the next event and the composite events it completes."""
        position = self._fed
        self._fed += 1
        return self._process(event, position)

    def advance(self, time: int) -> EventBatch:
        """Forget what no window can reach any more. Time alone completes no TESLA rule."""
        self._time = max(self._time, time)
        self._forget()
        return EventBatch.empty()

    # Hierarchies. A composite event enters the stream at its time and may feed any rule. It takes its place right
    # after the event that completed it; those completed by one event are ordered by rule, then by choice of parts.

    def _process(self, event: Event, position: int) -> list[Event]:
        queue = [event if event.id is not None else replace(event, id=position)]
        for current in queue:
            stored = _Stored(current, self._ordinal)
            self._ordinal += 1
            made: list[Event] = []
            for deployed in self._rules.values():
                if deployed.resolved.terminator.type == current.type:
                    made += self._fire(deployed, stored)
                if len(made) > self._limit:
                    raise too_many_composites(deployed.rule, self._limit)
            queue += made
            self._history.setdefault(current.type, []).append(stored)
        if event.time > self._time:
            self._time = event.time
            self._forget()
        return queue[1:]

    # Terminator. The rule is evaluated once for each event that matches its terminator.

    def _fire(self, deployed: _Deployed, terminator: _Stored) -> list[Event]:
        rule = deployed.resolved
        start = _Match({rule.terminator.name: terminator}, {})
        if not deployed.holds(rule.terminator.constraints, start):
            return []
        matches = [start]
        for step in rule.steps:
            match step:
                case Choose():
                    matches = self._extend(deployed, step, matches)
                case Compute():
                    matches = [
                        _Match(match.events, match.values | {step.name: self._compute(deployed, step, match)})
                        for match in matches
                    ]
                case Require(constraint=constraint):
                    matches = [match for match in matches if deployed.test(constraint)(match)]
                case _:
                    assert_never(step)
        matches = [m for m in matches if not any(self._occurred(deployed, absent, m) for absent in rule.absences)]
        fired = [(match, event) for match in matches if (event := self._produce(deployed, match)) is not None]
        # Consumption. What took part in a firing is gone for this rule's later terminators.
        for match, _ in fired:
            for name in rule.consuming:
                match.events[name].consumed_by.add(rule.name)
        return [event for _, event in fired]

    # Window. `P B within x from A` looks at every B with A.time - x <= B.time < A.time.
    # `between X and Y` looks at what lies strictly between the two.

    def _candidates(self, deployed: _Deployed, event_type: str, scope: Scope, match: _Match) -> Iterator[_Stored]:
        match scope:
            case Within(duration=duration, reference=reference):
                end = match.events[reference].event.time
                start = end - duration
            case Between(first=first, second=second):
                times = sorted((match.events[first].event.time, match.events[second].event.time))
                start, end = times[0] + 1, times[1]
            case _:
                assert_never(scope)
        for stored in reversed(self._history.get(event_type, [])):  # the latest first
            if stored.event.time < start or stored.ordinal < deployed.since:
                return
            if stored.event.time < end and deployed.resolved.name not in stored.consumed_by:
                yield stored

    # Selection. Of the events in the window that satisfy the constraints, each takes all, last/first the
    # latest/earliest, n last/n first up to n of them.

    def _choose(self, deployed: _Deployed, step: Choose, match: _Match) -> list[_Stored]:
        chosen: list[_Stored] = []
        situation = _Match(dict(match.events), match.values)
        wanted = 1 if step.count is None else step.count
        for candidate in self._candidates(deployed, step.type, step.window, match):
            situation.events[step.name] = candidate
            if deployed.holds(step.constraints, situation):
                chosen.append(candidate)
                if step.policy is Policy.LAST and len(chosen) == wanted:
                    break
        chosen.reverse()  # from the earliest to the latest
        return chosen[:wanted] if step.policy is Policy.FIRST else chosen

    # Every combination of choices gives one composite event.

    def _extend(self, deployed: _Deployed, step: Choose, matches: list[_Match]) -> list[_Match]:
        extended: list[_Match] = []
        for match in matches:
            extended += [
                _Match(match.events | {step.name: chosen}, match.values)
                for chosen in self._choose(deployed, step, match)
            ]
            if len(extended) > 10 * self._limit:  # more than memory may hold, whatever negations rule out later
                raise too_many_composites(deployed.rule, self._limit)
        return extended

    # Negation. Checked after selection.

    def _occurred(self, deployed: _Deployed, absent: Absent, match: _Match) -> bool:
        situation = _Match(match.events, match.values)
        for situation.under_test in self._candidates(deployed, absent.type, absent.scope, match):
            if deployed.holds(absent.constraints, situation):
                return True
        return False

    # Aggregates. Over the values of the matching events of a window or interval, in the order of the stream;
    # a member without a value does not count.

    def _compute(self, deployed: _Deployed, step: Compute, match: _Match) -> Value | None:
        situation = _Match(match.events, match.values)
        values: list[Value] = []
        for situation.under_test in self._candidates(deployed, step.type, step.scope, match):
            if deployed.holds(step.constraints, situation):
                value = deployed.members[step.name](situation) if step.value is not None else 1
                if value is not None:
                    values.append(value)
        values.reverse()
        return aggregate(step.function, values)

    # Production. The composite event carries the terminator's time; a rule that needs an undefined value does not
    # fire, unless the attribute is declared optional.

    def _produce(self, deployed: _Deployed, match: _Match) -> Event | None:
        rule = deployed.resolved
        attributes: dict[str, Value | None] = {}
        for name, compute in deployed.values:
            declared = rule.composite.attribute(name)
            assert declared is not None
            value = compute(match)
            if value is None and not declared.optional:
                return None
            attributes[name] = float(value) if declared.type is ValueType.FLOAT and value is not None else value
        probability = deployed.factor
        if probability == 0.0 or probability < rule.min_probability:
            return None
        parts = [match.events[position.name].event for position in rule.positions]
        made_of = tuple(part.id for part in parts if part.id is not None)
        return Event(
            rule.composite.name,
            parts[0].time,
            attributes,
            id=composite_id(rule.composite.name, rule.name, made_of),
            probability=probability,
            start=min(part.time if part.start is None else part.start for part in parts),
            rule=rule.name,
            made_of=made_of,
        )

    def _forget(self) -> None:
        """Drop the events that lie further back than any rule can look."""
        horizon = self._time - max((deployed.reach for deployed in self._rules.values()), default=0)
        for events in self._history.values():
            gone = 0
            while gone < len(events) and events[gone].event.time < horizon:
                gone += 1
            del events[:gone]

    def snapshot(self) -> bytes:
        """Give the rules and all that is remembered."""
        header = {
            "rules": to_json(RuleSet((), tuple(deployed.rule for deployed in self._rules.values()))),
            "since": [deployed.since for deployed in self._rules.values()],
            "factors": [deployed.factor for deployed in self._rules.values()],
            "fed": self._fed,
            "ordinal": self._ordinal,
            "time": self._time,
            "history": [_to_json(stored) for events in self._history.values() for stored in events],
        }
        return pack(self.name, header)

    def restore(self, data: bytes) -> None:
        """Take over a snapshot."""
        header, _ = unpack(self.name, data)
        rules = from_json(header["rules"]).rules
        self._rules = {}
        for rule, since, factor in zip(rules, header["since"], header["factors"], strict=True):
            deployed = _Deployed(rule, since)
            deployed.factor = factor
            self._rules[deployed.resolved.name] = deployed
        self._fed, self._ordinal, self._time = header["fed"], header["ordinal"], header["time"]
        self._history = {}
        for record in header["history"]:
            stored = _from_json(record)
            self._history.setdefault(stored.event.type, []).append(stored)


def _to_json(stored: _Stored) -> dict[str, Any]:
    event = stored.event
    record = asdict(event) | {"errors": {name: str(error) for name, error in event.errors.items()}}
    return {"event": record, "ordinal": stored.ordinal, "consumed_by": sorted(stored.consumed_by)}


def _from_json(record: dict[str, Any]) -> _Stored:
    fields = record["event"]
    errors = {name: parse_distribution(text) for name, text in fields["errors"].items()}
    event = Event(**(fields | {"errors": errors, "made_of": tuple(fields["made_of"])}))
    return _Stored(event, record["ordinal"], set(record["consumed_by"]))
