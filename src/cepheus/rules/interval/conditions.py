"""When the conditions of WHERE hold, and what they bind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.lists import Key, distinct, value_key
from cepheus.core.values import Value
from cepheus.rules.aggregates import aggregate, is_aggregable
from cepheus.rules.comparisons import compare
from cepheus.rules.evaluate import Evaluator, Test, evaluator, tester
from cepheus.rules.expressions import Constant, Constraint, Expression, Parameter
from cepheus.rules.interval.matches import Binding, Instance, Match, fits, unify
from cepheus.rules.interval.model import (
    Aggregated,
    AllOf,
    AnyOf,
    Argument,
    Bind,
    Condition,
    Element,
    Fits,
    Holds,
    Known,
    Member,
    NoneOf,
    Relation,
    Unknown,
)

Row = tuple[Value, ...]
"""A row of a relation."""

History = Callable[[str, int, int], Sequence[Instance]]
"""Gives the events of a type that lie in an interval, by (end, start, order of arrival)."""


@dataclass(frozen=True, slots=True)
class _Values:
    """Variables as the situation that expressions are evaluated in."""

    binding: Binding

    def attribute(self, event: str | None, name: str) -> Value | None:
        """Interval rules have variables instead."""
        raise AssertionError(f"{event}.{name} in an interval rule")

    def computed(self, name: str) -> Value | None:
        """The value of a variable."""
        return self.binding.get(name)


class Conditions:
    """Tests and extends matches; expressions are made into functions once."""

    def __init__(self, relations: Sequence[Relation] = (), history: History | None = None) -> None:
        self._relations: Mapping[str, Relation] = {relation.name: relation for relation in relations}
        self._history = history
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Key, list[Row]]] = {}
        self._evaluators: dict[Expression, Evaluator] = {}
        self._tests: dict[Constraint, Test] = {}

    def value(self, expression: Expression, binding: Binding) -> Value | None:
        """The value of an expression, None if it is undefined."""
        if expression not in self._evaluators:
            self._evaluators[expression] = evaluator(expression)
        return self._evaluators[expression](_Values(binding))

    def satisfy(self, conditions: Sequence[Condition], match: Match) -> Iterator[Match]:
        """Yield the match with each way to bind the variables of the conditions that makes all of them hold."""
        for binding in self.bindings(conditions, match.binding, match.end):
            yield Match(match.start, match.end, binding, match.parts)

    def bindings(self, conditions: Sequence[Condition], binding: Binding, end: int = 0) -> Iterator[Binding]:
        """Yield the bindings that extend one and make all conditions hold; ``end`` is where sliding windows end."""
        if not conditions:
            yield binding
            return
        first, *rest = conditions
        for extended in self._ways(first, binding, end):
            yield from self.bindings(rest, extended, end)

    def _ways(self, condition: Condition, binding: Binding, end: int) -> Iterator[Binding]:
        match condition:
            case Holds(constraint=constraint):
                if self._test(constraint, binding):
                    yield binding
            case Bind(variable=variable, value=value):
                yield from _bound(variable, self.value(value, binding), binding)
            case Known(relation=relation, arguments=arguments):
                for row in self._rows(relation, arguments, binding):
                    extended = unify(arguments, row, binding)
                    if extended is not None:
                        yield extended
            case Unknown(relation=relation, arguments=arguments):
                rows = self._rows(relation, arguments, binding)
                if all(unify(arguments, row, binding) is None for row in rows):
                    yield binding
            case Member(value=value, options=options):
                if condition.gives is not None and condition.gives not in binding:
                    for given in distinct(option.value for option in options if isinstance(option, Constant)):
                        yield {**binding, condition.gives: given}
                    return
                found = self.value(value, binding)
                if any(compare("=", found, self.value(option, binding)) for option in options):
                    yield binding
            case Fits(value=value, pattern=pattern):
                if isinstance(value, Parameter) and value.name not in binding:
                    yield from _bound(value.name, self.value(pattern.built(), binding), binding)
                    return
                taken = unify((pattern,), (self.value(value, binding),), binding)
                if taken is not None:
                    yield taken
            case Element(value=value, elements=elements):
                among = self.value(elements, binding)
                if not isinstance(among, tuple):
                    return
                if isinstance(value, Parameter) and value.name not in binding:
                    for given in distinct(among):
                        yield {**binding, value.name: given}
                    return
                found = self.value(value, binding)
                if any(compare("=", found, given) for given in among):
                    yield binding
            case AnyOf(alternatives=alternatives):
                if any(self._holds(alternative, binding, end) for alternative in alternatives):
                    yield binding
            case NoneOf(conditions=conditions):
                if not self._holds(AllOf(conditions), binding, end):
                    yield binding
            case Aggregated(variable=variable):
                yield from _bound(variable, self._aggregate(condition, binding, end), binding)
            case _:
                assert_never(condition)

    def _rows(self, name: str, arguments: Sequence[Argument], binding: Binding) -> Sequence[Row]:
        """The rows that may fit: those with the values of the arguments that have one, by an index."""
        known: dict[int, Value] = {}
        for place, argument in enumerate(arguments):
            if isinstance(argument, Constant):
                known[place] = argument.value
            elif isinstance(argument, Parameter) and argument.name in binding:
                known[place] = binding[argument.name]
        if not known:
            return self._relations[name].rows
        places = tuple(known)
        if (name, places) not in self._indexes:
            index: dict[Key, list[Row]] = {}
            for row in self._relations[name].rows:
                index.setdefault(tuple(_index_key(row[place]) for place in places), []).append(row)
            self._indexes[name, places] = index
        return self._indexes[name, places].get(tuple(map(_index_key, known.values())), ())

    def _test(self, constraint: Constraint, binding: Binding) -> bool:
        if constraint not in self._tests:
            self._tests[constraint] = tester(constraint)
        return self._tests[constraint](_Values(binding))

    def _holds(self, alternative: AllOf, binding: Binding, end: int) -> bool:
        return next(self.bindings(alternative.conditions, binding, end), None) is not None

    def _aggregate(self, condition: Aggregated, binding: Binding, end: int) -> Value | None:
        assert self._history is not None
        members = []
        for instance in self._history(condition.atom.type, end - condition.window, end):
            fitting = fits(condition.atom, instance, binding)
            if fitting is None:
                continue
            value = 1 if condition.value is None else self.value(condition.value, fitting)
            if value is not None:
                members.append(value)
        return aggregate(condition.function, members) if is_aggregable(condition.function, members) else None


def _index_key(value: Value) -> Key:
    """Return a key that values which may be equal have in common: an integer may meet a float, and is then one."""
    return value_key(float(value) if type(value) is int else value)


def _bound(variable: str, value: Value | None, binding: Binding) -> Iterator[Binding]:
    if value is None:
        return
    if variable not in binding:
        yield {**binding, variable: value}
    elif compare("=", binding[variable], value):
        yield binding
