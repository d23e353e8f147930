"""Possible worlds: values drawn for uncertain quantities, and what holds in which of them.

All worlds are worked out at once, a column of values for each quantity. What joins numbers and conditions has a form
for columns; a function that has none is called world by world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from cepheus.core.calculus import Calculus
from cepheus.core.values import Value, as_float
from cepheus.rules.aggregates import Form
from cepheus.rules.evaluate import evaluator, tester
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.functions import AND, NOT, OR
from cepheus.uncertainty.laws import Floats
from cepheus.uncertainty.quantities import Key, UncertainSituation, links
from cepheus.uncertainty.trials import (
    Aggregation,
    Aggregations,
    Condition,
    Few,
    HasValue,
    Occurrence,
    Part,
    SourceFinder,
    Sources,
    Trial,
)
from cepheus.uncertainty.verdict import Estimate, Method

Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A number or a truth in every world, and where it is defined."""

    values: Floats
    known: Truths


class _NoColumnsError(Exception):
    """An expression that has no form for columns."""


def draw(sources: Sources, generator: np.random.Generator, count: int) -> dict[Key, Floats]:
    """Draw values for quantities, in so many worlds."""
    return {key: law.draw(generator, count) for key, law in sources.items()}


class Worlds:
    """So many worlds, in each of which every quantity that is asked about has a value."""

    def __init__(self, count: int, values: Mapping[Key, Floats], aggregations: Aggregations) -> None:
        self.count = count
        self._values = values
        self._aggregations = aggregations
        self._finder = SourceFinder(aggregations)
        self._computed: dict[str, Column] = {}

    # ---- What holds ------------------------------------------------------------------------------------------------

    def hold(self, part: Part) -> Truths:
        """Where a factor holds."""
        match part:
            case Condition(constraint=constraint, situation=situation):
                return self.truth(constraint, situation)
            case Occurrence(key=key):
                return np.asarray(self._values[key] == 1.0)
            case Few(trials=trials, most=most):
                fitting = sum((self.fits(trial).astype(np.int64) for trial in trials), np.zeros(self.count, np.int64))
                return np.asarray(fitting <= most)
            case HasValue(aggregate=name):
                return self.aggregate(name).known
            case _:
                assert_never(part)

    def fits(self, trial: Trial) -> Truths:
        """Where an event took place and satisfies its conditions."""
        found = np.ones(self.count, np.bool_)
        if trial.occurrence is not None:
            found &= self._values[trial.occurrence.key] == 1.0
        for condition in trial.conditions:
            found &= self.truth(condition, trial.situation)
        return found

    def truth(self, constraint: Constraint, situation: UncertainSituation) -> Truths:
        """Where a constraint is true."""
        if not self._finder.of_node(constraint, situation):
            return np.full(self.count, tester(constraint)(situation))
        try:
            found = self._column(constraint, situation)
        except _NoColumnsError:
            test = tester(constraint)
            return np.array([test(row) for row in self._rows(situation)], np.bool_)
        return np.asarray((found.values != 0.0) & found.known)

    # ---- Expressions -----------------------------------------------------------------------------------------------

    def numbers(self, expression: Expression, situation: UncertainSituation) -> Column | list[Value | None]:
        """What an expression is worth in every world: a column of numbers, or whatever values they are."""
        try:
            return self._column(expression, situation)
        except _NoColumnsError:
            compute = evaluator(expression)
            return [compute(row) for row in self._rows(situation)]

    def _column(self, node: Constraint, situation: UncertainSituation) -> Column:
        if not self._finder.of_node(node, situation):
            return self._constant(evaluator(node)(situation))
        match node:
            case Parameter(name=name) if name in self._aggregations:
                return self.aggregate(name)
            case AttributeRef() | Parameter():
                quantity = situation.quantity(node)
                assert quantity is not None
                return self._everywhere(quantity.value(self._values))
            case Negative(operand=operand):
                inner = self._column(operand, situation)
                return Column(-inner.values, inner.known)
            case Arithmetic(operator=symbol, left=left, right=right):
                return _arithmetic(symbol, self._column(left, situation), self._column(right, situation))
            case Comparison():
                found = [
                    _compared(symbol, self._column(left, situation), self._column(right, situation))
                    for left, symbol, right in links(node)
                ]
                return _all_of(found)
            case Call(function=function, arguments=arguments) if function in (AND, OR, NOT):
                return _JOINED[function]([self._column(argument, situation) for argument in arguments])
            case Call(function="in", arguments=(value, *choices)):
                own = self._column(value, situation)
                return _any_of([_compared("=", own, self._column(choice, situation)) for choice in choices])
            case Call(function="abs", arguments=(value,)):
                inner = self._column(value, situation)
                return Column(np.abs(inner.values), inner.known)
            case _:
                raise _NoColumnsError

    def _everywhere(self, values: Floats) -> Column:
        return Column(values, np.ones(self.count, np.bool_))

    def _constant(self, value: Value | None) -> Column:
        if isinstance(value, str | tuple):
            raise _NoColumnsError
        number = 0.0 if value is None else float(value)
        return Column(np.full(self.count, number), np.full(self.count, value is not None))

    def _rows(self, situation: UncertainSituation) -> list[_Row]:
        return [_Row(self, situation, place) for place in range(self.count)]

    def value_at(self, quantity_key: Key, place: int) -> float:
        """The value of a quantity in one world."""
        return float(self._values[quantity_key][place])

    # ---- Aggregates ------------------------------------------------------------------------------------------------

    def aggregate(self, name: str) -> Column:
        """What an aggregate comes to in every world."""
        if name not in self._computed:
            self._computed[name] = self._aggregate(self._aggregations[name])
        return self._computed[name]

    def is_uncertain(self, name: str) -> bool:
        """Whether there is an uncertain aggregate of that name."""
        return name in self._aggregations

    def _aggregate(self, aggregation: Aggregation) -> Column:
        form = aggregation.record.form
        there = np.array([self.fits(member.trial) for member in aggregation.members]).reshape(-1, self.count)
        if form is Form.COUNT:
            return self._everywhere(there.sum(axis=0, dtype=np.float64))
        found = [
            self._everywhere(np.ones(self.count))
            if member.value is None
            else self.numbers(member.value, member.trial.situation)
            for member in aggregation.members
        ]
        columns = [each for each in found if isinstance(each, Column)]
        if len(columns) < len(found) or not form.is_closed:
            return self._by_rows(aggregation, there, found)
        values = np.array([column.values for column in columns]).reshape(-1, self.count)
        known = np.array([column.known for column in columns]).reshape(-1, self.count)
        if not aggregation.even_undefined:
            there &= known
        return _combined(form, values, there, known)

    def _by_rows(self, aggregation: Aggregation, there: Truths, found: list[Column | list[Value | None]]) -> Column:
        """An aggregate that is a function of all its members, world by world."""
        rows = [each.values.tolist() if isinstance(each, Column) else each for each in found]
        known = [each.known.tolist() if isinstance(each, Column) else [v is not None for v in each] for each in found]
        times = [member.time for member in aggregation.members]
        record, end = aggregation.record, aggregation.even_undefined and aggregation.record.form.is_end
        results: list[Value | None] = []
        for place in range(self.count):
            present = [
                bool(mask[place]) and (end or is_known[place]) for mask, is_known in zip(there, known, strict=True)
            ]
            values = list(compress((row[place] for row in rows), present))
            if end and any(not flags[place] for flags, here in zip(known, present, strict=True) if here):
                kept = list(compress((flags[place] for flags in known), present))
                values = values if kept[0 if record.form is Form.FIRST else -1] else []
            results.append(record(values, list(compress(times, present))))
        return Column(
            np.array([0.0 if result is None else as_float(result) for result in results]),
            np.array([result is not None for result in results], np.bool_),
        )


@dataclass(frozen=True, slots=True)
class _Row:
    """The situation of one world."""

    worlds: Worlds
    situation: UncertainSituation
    place: int

    def attribute(self, event: str | None, name: str) -> Value | None:
        quantity = self.situation.quantity(AttributeRef(event, name))
        if quantity is None:
            return self.situation.attribute(event, name)
        return sum(self.worlds.value_at(part.key, self.place) for part in quantity.parts)

    def computed(self, name: str) -> Value | None:
        if self.worlds.is_uncertain(name):
            column = self.worlds.aggregate(name)
            return float(column.values[self.place]) if column.known[self.place] else None
        quantity = self.situation.quantity(Parameter(name))
        return self.situation.computed(name) if quantity is None else self.worlds.value_at(quantity.key, self.place)


def _combined(form: Form, values: Floats, there: Truths, known: Truths) -> Column:
    """An aggregate with a form for columns; there is a row for each member."""
    number = there.sum(axis=0, dtype=np.float64)
    some = number > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        match form:
            case Form.SUM:
                total = np.where(there, values, 0.0).sum(axis=0)
                return Column(total, np.isfinite(total))
            case Form.AVERAGE:
                total = np.where(there, values, 0.0).sum(axis=0) / np.maximum(number, 1.0)
                return Column(total, some & np.isfinite(total))
            case Form.LEAST | Form.GREATEST:
                least = form is Form.LEAST
                filled = np.where(there, values, np.inf if least else -np.inf)
                best = filled.min(axis=0, initial=np.inf) if least else filled.max(axis=0, initial=-np.inf)
                return Column(np.where(some, best, 0.0), some)
            case Form.FIRST | Form.LAST:
                if not len(values):
                    return Column(np.zeros(len(some)), some)
                order = there if form is Form.FIRST else there[::-1]
                which = order.argmax(axis=0)
                if form is Form.LAST:
                    which = len(there) - 1 - which
                places = np.arange(values.shape[1])
                return Column(values[which, places], some & known[which, places])
            case _:
                raise AssertionError(f"{form} has no form for columns")


def _arithmetic(symbol: str, left: Column, right: Column) -> Column:
    known = left.known & right.known
    with np.errstate(all="ignore"):
        match symbol:
            case "+":
                values = left.values + right.values
            case "-":
                values = left.values - right.values
            case "*":
                values = left.values * right.values
            case _:
                known = known & (right.values != 0.0)
                values = left.values / np.where(right.values == 0.0, 1.0, right.values)
    return Column(values, known & np.isfinite(values))


_COMPARE: dict[str, Callable[[Floats, Floats], Truths]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compared(symbol: str, left: Floats, right: Floats | float) -> Truths:
    """Compare numbers side by side."""
    return np.asarray(_COMPARE[symbol](left, np.asarray(right)))


def _compared(symbol: str, left: Column, right: Column) -> Column:
    return Column(_COMPARE[symbol](left.values, right.values).astype(np.float64), left.known & right.known)


def _all_of(columns: list[Column]) -> Column:
    false = np.any([(column.values == 0.0) & column.known for column in columns], axis=0)
    true = np.all([(column.values != 0.0) & column.known for column in columns], axis=0)
    return Column(true.astype(np.float64), false | true)


def _any_of(columns: list[Column]) -> Column:
    true = np.any([(column.values != 0.0) & column.known for column in columns], axis=0)
    false = np.all([(column.values == 0.0) & column.known for column in columns], axis=0)
    return Column(true.astype(np.float64), false | true)


def _not(columns: list[Column]) -> Column:
    (only,) = columns
    return Column((only.values == 0.0).astype(np.float64), only.known)


_JOINED: dict[str, Callable[[list[Column]], Column]] = {AND: _all_of, OR: _any_of, NOT: _not}


def simulated(parts: Sequence[Part], aggregations: Aggregations, calculus: Calculus) -> Estimate:
    """The probability that factors hold, all of them, as their share of worlds drawn from a set seed."""
    finder = SourceFinder(aggregations)
    sources: Sources = {}
    for part in parts:
        sources |= finder.of(part)
    worlds = Worlds(calculus.draws, draw(sources, np.random.default_rng(calculus.seed), calculus.draws), aggregations)
    held = np.ones(calculus.draws, np.bool_)
    for part in parts:
        held &= worlds.hold(part)
    share = float(held.mean())
    doubt = min(max(share, 1.0 / calculus.draws), 1.0 - 1.0 / calculus.draws)  # none of many is not never
    return Estimate(share, Method.SIMULATED, math.sqrt(max(doubt * (1.0 - doubt), 0.0) / calculus.draws))
