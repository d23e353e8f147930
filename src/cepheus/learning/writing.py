"""A draft as a rule of the ordinary model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheus.core.schema import Attribute, EventType
from cepheus.core.values import ValueType
from cepheus.learning.drafts import Absence, Bound, Condition, Draft, Link, Part, Place, Summary
from cepheus.learning.history import Column, History
from cepheus.learning.traces import TERMINATOR
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Parameter,
    Within,
)
from cepheus.rules.model import Aggregation, Assignment, Negation, Pattern, PatternItem, Rule, Selection
from cepheus.rules.policies import Policy

Outputs = Mapping[str, tuple[str, str]]
"""By attribute of the composite event, the place and the attribute that it comes from."""


@dataclass(frozen=True, slots=True)
class _Writer:
    history: History
    draft: Draft
    each: frozenset[str]
    names: dict[tuple[str, str], str] = field(default_factory=dict)

    def pattern(self) -> Pattern:
        self._name_parameters()
        terminator = EventPattern(
            self.draft.terminator, self._constraints(TERMINATOR, self.draft.terminator, self.draft.conditions)
        )
        return Pattern(terminator, tuple(self._item(part) for part in self.draft.parts))

    def _name_parameters(self) -> None:
        """One parameter for each attribute that others are compared with."""
        taken: set[str] = set()
        for part in self.draft.parts:
            for condition in part.conditions:
                if isinstance(condition, Link) and (condition.place, condition.other) not in self.names:
                    name, number = condition.other, 2
                    while name in taken:
                        name, number = f"{condition.other}{number}", number + 1
                    taken.add(name)
                    self.names[condition.place, condition.other] = name

    def event(self, place: str) -> str:
        return self.draft.terminator if place == TERMINATOR else place

    def _item(self, part: Part) -> PatternItem:
        window = Within(part.within, self.event(part.reference))
        if isinstance(part, Place):
            alias = part.name if part.name != part.type else None
            event = EventPattern(part.type, self._constraints(part.name, part.type, part.conditions), alias)
            return Selection(Policy.EACH if part.name in self.each else Policy.LAST, event, window)
        event = EventPattern(part.type, self._constraints(None, part.type, part.conditions))
        if isinstance(part, Absence):
            return Negation(event, window)
        value = None if part.attribute is None else AttributeRef(None, part.attribute)
        aggregate = Aggregate(part.function, event, value, window)
        return Aggregation(aggregate, None, Comparison((aggregate, self._threshold(part)), (part.operator,)))

    def _threshold(self, part: Summary) -> Constant:
        if part.attribute is None:
            return Constant(int(part.value), ValueType.INT)
        column = self.history.types[part.type].columns[part.attribute]
        if part.function != "Avg" and column.type is ValueType.INT and part.value == int(part.value):
            return Constant(int(part.value), ValueType.INT)
        return Constant(float(part.value), ValueType.FLOAT)

    def _constraints(
        self, place: str | None, event_type: str, conditions: tuple[Condition, ...]
    ) -> tuple[Constraint, ...]:
        columns = self.history.types[event_type].columns
        bound = [
            Comparison((AttributeRef(None, attribute), Parameter(name)), ("=",))
            for (owner, attribute), name in self.names.items()
            if owner == place
        ]
        links = [self._link(each, columns[each.attribute]) for each in conditions if isinstance(each, Link)]
        bounds = [
            _constant(each, columns[each.attribute], self.history) for each in conditions if isinstance(each, Bound)
        ]
        return (*bound, *links, *bounds)

    def _link(self, link: Link, column: Column) -> Constraint:
        own, parameter = AttributeRef(None, link.attribute), Parameter(self.names[link.place, link.other])
        if link.operator == "=":
            return Comparison((own, parameter), ("=",))
        other = self.history.types[self.draft.type_of(link.place)].columns[link.other]
        if link.operator == "near":
            amount = _amount(link.value, column, other)
            low, high = Arithmetic("-", parameter, amount), Arithmetic("+", parameter, amount)
            return Comparison((low, own, high), ("<", "<"))
        if link.value == 0:
            return Comparison((own, parameter), (link.operator,))
        shift = Arithmetic("+" if link.value > 0 else "-", parameter, _amount(abs(link.value), column, other))
        return Comparison((own, shift), (link.operator,))


def _amount(value: float, *columns: Column) -> Constant:
    if all(column.type is ValueType.INT for column in columns) and value == int(value):
        return Constant(int(value), ValueType.INT)
    return Constant(float(value), ValueType.FLOAT)


def _constant(bound: Bound, column: Column, history: History) -> Constraint:
    value: Expression
    if column.type is ValueType.STRING:
        value = Constant(history.text(bound.value), ValueType.STRING)
    elif column.type is ValueType.BOOL:
        value = Constant(bool(bound.value), ValueType.BOOL)
    else:
        value = _amount(bound.value, column)
    return Comparison((AttributeRef(None, bound.attribute), value), (bound.operator,))


def write_rule(
    draft: Draft, history: History, target: str, name: str, outputs: Outputs, each: frozenset[str] = frozenset()
) -> Rule:
    """A rule that says what a draft says and makes events of the target's type.

    Of the events at a place the last one is taken, of those in ``each`` all.

    >>> from cepheus.core.batch import EventBatch
    >>> from cepheus.core.event import Event
    >>> from cepheus.language.tesla.print import format_rule
    >>> events = [Event("Temp", 1, {"value": 1.5}), Event("Temp", 2, {"value": 2.5})]
    >>> history = History.of(EventBatch.from_events(events))
    >>> draft = Draft("Temp", (Bound("value", ">", 2.0),))
    >>> print(format_rule(write_rule(draft, history, "Hot", "R1", {"value": (TERMINATOR, "value")})))
    rule R1
    define Hot(value: double)
    from   Temp(value>2.0)
    where  value=Temp.value
    """
    writer = _Writer(history, draft, each)
    attributes, assignments = [], []
    for attribute, (place, own) in outputs.items():
        column = history.types[draft.type_of(place)].columns[own]
        attributes.append(Attribute(attribute, column.type))
        assignments.append(Assignment(attribute, AttributeRef(writer.event(place), own)))
    return Rule(EventType(target, tuple(attributes)), writer.pattern(), tuple(assignments), name=name)
