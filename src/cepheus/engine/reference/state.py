"""The state of the reference engine: stored events, deployed rules, matches under test, and the form of snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Biased, Distribution
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.lists import list_refused
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import Value, as_float
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.restored_rules import check_restored, require_values
from cepheus.engine.base.snapshot import unpack
from cepheus.rules.evaluate import Test, evaluator, tester
from cepheus.rules.expressions import AttributeRef, Constraint, Parameter
from cepheus.rules.model import Rule
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Choose, Compute, Require, ResolvedRule, needed_aggregates, reach
from cepheus.rules.walk import walk
from cepheus.uncertainty.aggregates import Computed
from cepheus.uncertainty.joint import probability_of
from cepheus.uncertainty.judge import Judgement, judge
from cepheus.uncertainty.quantities import Quantity
from cepheus.uncertainty.trials import Few, Occurrence, Part, Trial
from cepheus.uncertainty.verdict import IMPOSSIBLE, conjunction


@dataclass(slots=True, eq=False)
class Stored:
    """An event in the order of the stream; ``consumed_by`` names the rules for which it is gone."""

    event: Event
    ordinal: int
    consumed_by: set[str] = field(default_factory=set)
    quantities: dict[str, Quantity] = field(init=False)

    def __post_init__(self) -> None:
        values = self.event.attributes
        self.quantities = {
            name: self._quantity(name, float(value), error)
            for name, error in self.event.errors.items()
            if isinstance(value := values.get(name), int | float)
        }

    def _quantity(self, name: str, value: float, error: Distribution) -> Quantity:
        if not isinstance(error, Biased):
            return Quantity.observed((self.ordinal, name), value, error)
        source = tuple(self.event.attributes.get(each) for each in error.per)
        bias = Quantity.observed((self.event.type, name, error, source), 0.0, error.bias)
        return replace(Quantity.observed((self.ordinal, name), value, error.own), bias=bias)

    @property
    def occurrence(self) -> float:
        """How likely the event occurred. A composite event counts as certain where it feeds a rule."""
        return 1.0 if self.event.rule is not None or self.event.made_of else self.event.probability

    def occurred(self, name: str) -> Occurrence | None:
        """That the event which a rule calls so occurred; None if that is certain."""
        probability = self.occurrence
        return None if probability == 1.0 else Occurrence((self.ordinal, None), probability, f"{name} occurred")


@dataclass(slots=True)
class Match:
    """A combination of chosen events and computed values; also the situation that constraints are tested in."""

    events: dict[str, Stored]
    values: dict[str, Computed]
    under_test: Stored | None = None
    members: dict[str, list[Stored]] = field(default_factory=dict)
    rivals: tuple[Few, ...] = ()
    parts: tuple[Part, ...] = ()

    def extended(self, name: str, stored: Stored, rivals: Few | None = None) -> Match:
        """The match with another event, which is chosen if few of its rivals fit."""
        more = self.rivals if rivals is None else (*self.rivals, rivals)
        return Match(self.events | {name: stored}, self.values, rivals=more)

    def testing(self, stored: Stored) -> Match:
        """The situation in which an event is tested that takes no part."""
        return Match(self.events, self.values, stored)

    def _chosen(self, event: str | None) -> Stored:
        stored = self.under_test if event is None else self.events[event]
        assert stored is not None
        return stored

    def attribute(self, event: str | None, name: str) -> Value | None:
        """An attribute of a chosen event, or of the one under test."""
        stored = self._chosen(event)
        value = stored.event.time if name == TIME_ATTRIBUTE else stored.event.attributes.get(name)
        if isinstance(value, tuple):
            raise list_refused(stored.event.type, name)
        return value

    def computed(self, name: str) -> Value | None:
        """The value of an aggregate."""
        return self.values[name].value

    def quantity(self, reference: AttributeRef | Parameter) -> Quantity | None:
        """The uncertain quantity that something stands for; None if it is certain."""
        if isinstance(reference, AttributeRef):
            return self._chosen(reference.event).quantities.get(reference.name)
        computed = self.values[reference.name]
        if computed.law is None:
            return None
        assert computed.value is not None
        return Quantity.computed(reference.name, as_float(computed.value), computed.law)

    def is_certain(self) -> bool:
        """Whether nothing about the match is uncertain, so that constraints hold or do not."""
        stored = [*self.events.values(), *([self.under_test] if self.under_test is not None else [])]
        return not any(each.quantities for each in stored) and not any(v.law is not None for v in self.values.values())


class Deployed:
    """A rule with its constraints made into functions, and the moment from which it sees events."""

    def __init__(self, rule: Rule, since: int, earlier: Mapping[str, int] | None = None) -> None:
        self.rule = rule
        self.earlier = earlier or {}
        self.resolved: ResolvedRule = resolve(rule)
        self.since = since
        self.factor = 1.0
        self.reach = reach(self.resolved)
        self._tests: dict[Constraint, Test] = {}
        self.values = [(a.attribute, a.value, evaluator(a.value)) for a in self.resolved.assignments]
        steps = [step for step in self.resolved.steps if not isinstance(step, Compute)]
        self.constraints = [*self.resolved.terminator.constraints, *(c for step in steps for c in _constraints(step))]
        self.needed = needed_aggregates(self.resolved)
        nodes = (node for constraint in self.constraints for node in walk(constraint))
        read = {node.name for node in nodes if isinstance(node, Parameter)}
        self.dispensable = tuple(sorted(read.difference(self.needed)))
        self.members = {
            step.name: evaluator(step.value)
            for step in self.resolved.steps
            if isinstance(step, Compute) and step.value is not None
        }

    def refuse_doubtful(self, values: Mapping[str, Computed]) -> None:
        """Refuse a condition that does without an aggregate of which it is uncertain whether it has a value."""
        for name in self.dispensable:
            if 0.0 < values[name].defined < 1.0:
                called = self.resolved.called(name)
                message = f"whether {called} has a value is uncertain here, and a condition does without it"
                hint = f"let the rule need it: ask for {called} outside of 'or', 'is null' and coalesce"
                raise UnsupportedError.of("unsupported", message, span=self.rule.span, hint=hint)

    def first(self, event_type: str) -> int:
        """The place in the stream of the first event of a type that the rule sees."""
        return self.earlier.get(event_type, self.since)

    def test(self, constraint: Constraint) -> Test:
        """Return the function that tests a constraint."""
        if constraint not in self._tests:
            self._tests[constraint] = tester(constraint)
        return self._tests[constraint]

    def judge(self, constraints: Iterable[Constraint], match: Match, calculus: Calculus) -> tuple[Judgement, ...]:
        """Judge how likely constraints hold, those that share an uncertain quantity jointly."""
        if match.is_certain():
            held = all(self.test(constraint)(match) for constraint in constraints)
            return () if held else (Judgement((), IMPOSSIBLE),)
        return judge([(constraint, match) for constraint in constraints], calculus)

    def worth(self, trial: Trial, calculus: Calculus) -> float:
        """How likely an event occurred and satisfies what is asked of it."""
        match = trial.situation
        assert isinstance(match, Match)
        if trial.occurrence is None and match.is_certain():
            return 1.0 if all(self.test(condition)(match) for condition in trial.conditions) else 0.0
        return probability_of(trial, match.values, calculus).probability

    def probability(self, constraints: Iterable[Constraint], match: Match, calculus: Calculus) -> float:
        """Compute how likely constraints hold, all of them."""
        judgements = self.judge(constraints, match, calculus)
        return conjunction(judgement.estimate for judgement in judgements).probability if judgements else 1.0


def _constraints(step: Choose | Require) -> tuple[Constraint, ...]:
    return step.constraints if isinstance(step, Choose) else (step.constraint,)


_HEADER = form.record(
    rules=form.rules,
    since=form.listing(form.count),
    earlier=form.listing(form.by_name(form.integer)),
    errors=form.by_name(form.by_name(form.distribution)),
    factors=form.listing(form.probability),
    fed=form.count,
    ordinal=form.count,
    time=form.time,
    history=form.listing(form.record(event=form.event, ordinal=form.count, consumed_by=form.listing(form.text))),
)


def stored_to_json(event: Event, ordinal: int, consumed_by: set[str]) -> dict[str, Any]:
    """A remembered event as JSON."""
    return {"event": form.event_to_json(event), "ordinal": ordinal, "consumed_by": sorted(consumed_by)}


def read(kind: str, data: bytes) -> dict[str, Any]:
    """Read the header of a snapshot, each field as what it stands for; an error if it does not hold together."""
    header, blobs = unpack(kind, data)
    form.only_blobs(blobs, ())
    found = _HEADER(header, "$")
    history = found["history"]
    require_values((each["event"] for each in history), check_restored(found["rules"]))
    by_type: dict[str, list[tuple[int, int]]] = {}
    for each in history:
        ordinal, event = each["ordinal"], each["event"]
        has_come = ordinal < found["ordinal"] and event.time <= found["time"]
        form.require(has_come, "$.history", "a remembered event has not come yet")
        by_type.setdefault(event.type, []).append((ordinal, event.time))
    for places in by_type.values():
        in_order = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(places))
        form.require(in_order, "$.history", "the events are not in the order of the stream")
    return found
