"""What can go either way in a match: single conditions, events that may fit, aggregates of those, and how they combine.

A match comes about in those possible worlds in which all of its factors hold. A factor is a condition, an occurrence,
that an aggregate has a value, or that few of some events fit: none for a negation and for whatever would take the place
of the last event. ``sources`` tells which uncertain quantities each depends on; factors that share one are no longer
independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.values import Value, ValueType
from cepheus.rules.aggregates import AggregateFunction
from cepheus.rules.expressions import AttributeRef, Call, Constant, Constraint, Expression, Parameter
from cepheus.rules.walk import transform, walk
from cepheus.uncertainty.laws import Component, Law, Spreads
from cepheus.uncertainty.quantities import Key, UncertainSituation

Sources = dict[Key, Law]
"""Uncertain quantities by key, each with the law of its value; an occurrence is 1 or 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Occurrence:
    """That an event took place, which has a probability below 1; ``text`` says so in words."""

    key: Key
    probability: float
    text: str = ""

    @property
    def law(self) -> Spreads:
        """The law of 1 if it did and 0 if it did not."""
        return Spreads((Component(self.probability, 1.0), Component(1.0 - self.probability, 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """An event that fits if it took place and satisfies conditions, all of them."""

    conditions: tuple[Constraint, ...]
    situation: UncertainSituation
    occurrence: Occurrence | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Belonging:
    """An event that may belong to an aggregate, the value it has there (None: it counts), as observed, and its time."""

    trial: Trial
    value: Expression | None
    observed: Value | None
    time: int


@dataclass(frozen=True, slots=True, eq=False)
class Aggregation:
    """An aggregate of events that may belong to it, in the order of the stream.

    ``even_undefined`` tells that the first or last of them is taken even if it has no value.
    """

    record: AggregateFunction
    members: tuple[Belonging, ...]
    even_undefined: bool = False
    argument: float | None = None


Aggregations = Mapping[str, Aggregation]
"""The aggregates of a match that are uncertain, by the names of their parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A constraint holds."""

    constraint: Constraint
    situation: UncertainSituation


@dataclass(frozen=True, slots=True, eq=False)
class Few:
    """Of some events, at most so many fit; ``text`` says so in words.

    They are absent, or else ``rivals`` of an event that is chosen.
    """

    trials: tuple[Trial, ...]
    most: int = 0
    text: str = ""
    rivals: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class HasValue:
    """An aggregate is defined."""

    aggregate: str


Part = Condition | Occurrence | Few | HasValue
"""A factor of a match."""


class SourceFinder:
    """Finds what uncertain quantities factors depend on, those of the members of aggregates included."""

    def __init__(self, aggregations: Aggregations) -> None:
        self._aggregations = aggregations
        self._known: dict[str, Sources] = {}

    def of(self, part: Part) -> Sources:
        """The sources of a factor."""
        match part:
            case Condition(constraint=constraint, situation=situation):
                return self.of_node(constraint, situation)
            case Occurrence(key=key):
                return {key: part.law}
            case Few(trials=trials):
                return _merged(map(self.of_trial, trials))
            case HasValue(aggregate=name):
                return self.of_aggregate(name)
            case _:
                assert_never(part)

    def of_trial(self, trial: Trial) -> Sources:
        """The sources of whether an event fits."""
        found = _merged(self.of_node(condition, trial.situation) for condition in trial.conditions)
        if trial.occurrence is not None:
            found[trial.occurrence.key] = trial.occurrence.law
        return found

    def of_member(self, member: Belonging) -> Sources:
        """The sources of whether an event belongs to an aggregate and of its value there."""
        value = {} if member.value is None else self.of_node(member.value, member.trial.situation)
        return self.of_trial(member.trial) | value

    def of_aggregate(self, name: str) -> Sources:
        """The sources of an aggregate, nothing if it is certain."""
        if name not in self._known:
            aggregation = self._aggregations.get(name)
            members = () if aggregation is None else aggregation.members
            self._known[name] = _merged(map(self.of_member, members))
        return self._known[name]

    def of_node(self, node: Constraint, situation: UncertainSituation) -> Sources:
        """The sources of a constraint or an expression."""
        found: Sources = {}
        for child in walk(without_presence(node)):
            if isinstance(child, Parameter) and child.name in self._aggregations:
                found |= self.of_aggregate(child.name)
            elif isinstance(child, AttributeRef | Parameter):
                quantity = situation.quantity(child)
                if quantity is not None:
                    found.update((part.key, part.law) for part in quantity.parts)
        return found

    def aggregates_in(self, node: Constraint) -> set[str]:
        """The uncertain aggregates that a constraint reads."""
        names = {child.name for child in walk(node) if isinstance(child, Parameter)}
        return names & self._aggregations.keys()


def _merged(sources: Iterable[Sources]) -> Sources:
    found: Sources = {}
    for each in sources:
        found |= each
    return found


def without_presence(constraint: Constraint) -> Constraint:
    """A constraint without its ``is null`` of attributes: that a number is off by an error does not make it doubtful
    whether it is there.
    """

    def change(node: Constraint) -> Constraint:
        match node:
            case Call(function="is null", arguments=(AttributeRef(),)):
                return Constant(False, ValueType.BOOL)
            case _:
                return node

    if not any(isinstance(node, Call) and node.function == "is null" for node in walk(constraint)):
        return constraint
    found: Constraint = transform(constraint, change)
    return found
