"""What Spark can leave out by itself: events that no rule can match, found by conditions that Catalyst understands.

For each event type the condition is the union, over all the places where rules look at the type, of what each place
asks of an event alone. It may let through more than the rules do, since the engine looks again, but never less.
Conditions that are plain comparisons of a column with a constant reach the files: Parquet skips what cannot match.

Comparisons of uncertain numbers are widened so far that no row is left out that may pass with enough probability. The
true value is the observed one less its error. With an error N(m, s^2) the probability of ``value > c`` is at least t
where ``value - m - s * z(t) >= c``, z being the quantile of the standard Gaussian; with U(low, high) where
``value - low - t * (high - low) >= c``. An error that Spark does not know the form of lets every row through.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from cepheus.core import error_columns
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.error_columns import ErrorSource, Parameter
from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.values import ValueType, as_int
from cepheus.language.tesla.print import format_condition
from cepheus.plan.split.component import AttributeKey
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
)
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.walk import transform, walk
from cepheus.runtime.spark.event_filters import EventFilter
from cepheus.runtime.spark.sources import Naming, Source, as_kind, column, micros

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A condition on the rows of an event type, for Spark and in words."""

    column: Column
    words: str


def _joined(conditions: Iterable[Condition], word: Literal["and", "or"]) -> Condition:
    """The conjunction or disjunction of conditions."""
    conditions = list(conditions)
    if len(conditions) == 1:
        return conditions[0]
    combine = operator.and_ if word == "and" else operator.or_
    inner = (f"({c.words})" if word == "and" and " or " in c.words else c.words for c in conditions)
    together: Column = reduce(combine, [condition.column for condition in conditions])
    return Condition(together, f" {word} ".join(dict.fromkeys(inner)))


class Pushdown:
    """Makes the conditions on the events of a source; ``inputs`` are the event types as engines meet them."""

    def __init__(
        self,
        filters: Sequence[EventFilter],
        inputs: Mapping[str, EventType],
        naming: Naming,
        *,
        skip_bad: bool,
        uncertain: frozenset[AttributeKey] = frozenset(),
    ) -> None:
        self._filters = filters
        self._inputs = inputs
        self._naming = naming
        self._skip_bad = skip_bad
        self._uncertain = uncertain
        self.left_to_engine: dict[str, list[str]] = {}
        """By event type, what rules ask of uncertain numbers and only the engine can tell."""

    def condition(self, source: Source, type_name: str, declared: bool) -> Condition | None:
        """Say what an event of a type must meet to matter; None if all may matter.

        An event that lacks what its declaration demands, or its time, goes through to be refused, unless bad events
        are skipped.
        """
        uncertain = frozenset(name for owner, name in self._uncertain if owner == type_name)
        translator = _Translator(source, self._inputs[type_name], self._naming, uncertain)
        nullable = {f.name for f in source.frame.schema.fields if f.nullable or source.has_errors(f.name)}
        required = [a.name for a in self._inputs[type_name].attributes if not a.optional and a.name in nullable]
        choices = [translator.all_of(asked) for asked in self._filters if asked.type == type_name]
        told = [choice for choice in choices if choice is not None]
        self.left_to_engine[type_name] = list(dict.fromkeys(translator.left_to_engine))
        parts: list[Condition] = []
        if told and len(told) == len(choices):
            distinct = {choice.words: choice for choice in told}
            matters = _joined(distinct.values(), "or")
            if declared and not self._skip_bad:
                lacking = [Condition(source.value(name).isNull(), f"{name} is missing") for name in required]
                matters = _joined([matters, *lacking], "or")
            parts.append(matters)
        if not declared or self._skip_bad:
            parts += [Condition(source.value(name).isNotNull(), f"{name} is there") for name in required]
        if self._skip_bad:
            parts += [Condition(sound, "all is well") for sound in self._sound(source, type_name)]
        return _joined(parts, "and") if parts else None

    def sound(self, source: Source, type_name: str, declared: bool) -> Condition | None:
        """Say what an event of a type must be to be no bad one; None where bad events are not skipped."""
        if not self._skip_bad:
            return None
        parts = [Condition(sound, "all is well") for sound in self._sound(source, type_name)]
        if declared:
            own = source.frame.columns
            required = (a.name for a in self._inputs[type_name].attributes if not a.optional and a.name in own)
            parts += [Condition(source.value(name).isNotNull(), f"{name} is there") for name in required]
        return _joined(parts, "and")

    def _sound(self, source: Source, type_name: str) -> list[Column]:
        """What makes an event sound: time and start, a sequence number, an id, finite numbers, probabilities."""
        from pyspark.sql import functions as f

        own = (self._naming.time, self._naming.sequence, self._naming.id)
        parts = [column(name).isNotNull() for name in own if name is not None]
        if self._naming.start is not None and self._naming.start in source.frame.columns:
            start, time = (
                micros(column(name), source.frame.schema[name].dataType, self._naming.unit)
                for name in (self._naming.start, self._naming.time)
            )
            parts.append(start.isNull() | (start <= time))
        for attribute in self._inputs[type_name].attributes:
            if attribute.name not in source.frame.columns:
                continue
            if attribute.type is ValueType.FLOAT:
                value = source.value(attribute.name).cast("double")
                parts.append(value.isNull() | (~f.isnan(value) & (f.abs(value) < float("inf"))))
            if attribute.name in self._naming.uncertain:
                parts.append(_has_sound_parameters(self._naming.uncertain[attribute.name]))
        if self._naming.probability is not None and self._naming.probability in source.frame.columns:
            probability = column(self._naming.probability)
            parts.append(probability.isNull() | probability.between(0, 1))
        return parts


_MIRRORED = str.maketrans("<>", "><")
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _UntranslatableError(Exception):
    """An expression that has no counterpart in Spark with the same meaning."""


class _Translator:
    """Translates what rules ask of an event alone; the result must hold whenever the constraint does."""

    def __init__(
        self, source: Source, event_type: EventType, naming: Naming, uncertain: frozenset[str] = frozenset()
    ) -> None:
        self._source = source
        self._schema = source.frame.schema
        self._event_type = event_type
        self._naming = naming
        self._uncertain = uncertain
        self.left_to_engine: list[str] = []

    def all_of(self, asked: EventFilter) -> Condition | None:
        """Join the constraints that can be told; None if none can."""
        parts = []
        for constraint in asked.constraints:
            try:
                parts += self._constraint(constraint, asked)
            except _UntranslatableError:
                continue
        return _joined(parts, "and") if parts else None

    def _constraint(self, constraint: Constraint, asked: EventFilter) -> list[Condition]:
        own = asked.own
        if not isinstance(constraint, Comparison):
            if not asked.observed and self._has_uncertain(constraint, own):
                # one of several may hold with a probability that none of them has by itself
                self.left_to_engine.append(_words(constraint, own))
                raise _UntranslatableError
            return [Condition(self._truth(constraint, own), _words(constraint, own))]
        parts = []
        links = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
        for left, symbol, right in links:
            if left == right and isinstance(left, AttributeRef):
                continue  # where a parameter is bound; that the attribute is there is asked for elsewhere
            words = f"{_words(left, own)} {symbol} {_words(right, own)}"
            try:
                if asked.observed or not (self._has_uncertain(left, own) or self._has_uncertain(right, own)):
                    parts.append(Condition(self._compare(left, symbol, right, own), words))
                else:
                    parts.append(self._uncertain_comparison(left, symbol, right, asked, words))
            except _UntranslatableError:
                continue
        return parts

    def _has_uncertain(self, expression: Expression, own: str | None) -> bool:
        """Whether uncertain numbers of the event are part of an expression."""
        refs = (node for node in walk(expression) if isinstance(node, AttributeRef) and node.event == own)
        return any(ref.name in self._uncertain for ref in refs)

    def _uncertain_comparison(
        self, left: Expression, symbol: str, right: Expression, asked: EventFilter, words: str
    ) -> Condition:
        """Translate a comparison of an uncertain number with what is certain, widened; leave others to the engine."""
        if self._has_uncertain(right, asked.own):
            left, symbol, right = right, symbol.translate(_MIRRORED), left
        alone = isinstance(left, AttributeRef) and not self._has_uncertain(right, asked.own) and symbol[0] in "<>"
        if not alone or asked.least is None:
            self.left_to_engine.append(words)
            raise _UntranslatableError
        assert isinstance(left, AttributeRef)
        attribute = self._event_type.attribute(left.name)
        compared = UncertainComparison(
            self._value(left, asked.own).cast("double"),
            symbol[0] == ">",
            self._value(right, asked.own).cast("double"),
            asked.least,
        )
        widened = compared.condition(
            self._compare(left, symbol, right, asked.own),
            self._source,
            left.name,
            self._naming.uncertain.get(left.name),
            None if attribute is None else attribute.error,
        )
        if self._source.has_errors(left.name):
            self.left_to_engine.append(words)
        chance = f"with a probability of {asked.least:g}" if asked.least > 0 else "as far as possible"
        return Condition(widened, f"{words} {chance}")

    def _truth(self, expression: Expression, own: str | None, *, exact: bool = False) -> Column:
        """Translate a condition; one that has to be exact may not let through more either."""
        match expression:
            case Call(function="and" | "or" as word, arguments=parts):
                return self._join(word, parts, own, exact=exact)
            case Call(function="not", arguments=(part,)):
                return ~self._truth(part, own, exact=True)
            case Call(function="is null", arguments=(AttributeRef() as value,)):
                return self._value(value, own).isNull()  # what is computed may be infinite, which to rules is undefined
            case Call(function="in", arguments=(value, *choices)):
                return reduce(operator.or_, [self._compare(value, "=", choice, own) for choice in choices])
            case Comparison(operands=operands, operators=operators):
                links = zip(operands, operators, operands[1:], strict=False)
                return reduce(operator.and_, [self._compare(left, symbol, right, own) for left, symbol, right in links])
            case Call(function=name, arguments=(text, Constant(value=str(part)))) if (
                name in FUNCTIONS and (method := FUNCTIONS[name].spark) is not None
            ):
                found: Column = getattr(self._value(text, own), method)(part)
                return found
            case AttributeRef():
                return self._value(expression, own)
            case _:
                raise _UntranslatableError

    def _join(self, word: str, parts: Sequence[Expression], own: str | None, *, exact: bool) -> Column:
        """Join conditions: with ``and`` some of them may be left to the engine, with ``or`` none."""
        found = []
        for part in parts:
            try:
                found.append(self._truth(part, own, exact=exact))
            except _UntranslatableError:
                if exact or word == "or":
                    raise
        if not found:
            raise _UntranslatableError
        return reduce(operator.and_ if word == "and" else operator.or_, found)

    def _compare(self, left: Expression, symbol: str, right: Expression, own: str | None) -> Column:
        compared: Column = _COMPARE[symbol](self._side(left, right, own), self._side(right, left, own))
        return compared

    def _side(self, expression: Expression, other: Expression, own: str | None) -> Column:
        """Translate one side of a comparison; a timestamp meets a constant as it stands in the file."""
        from pyspark.sql import functions as f

        if self._is_timestamp(expression, own) and _is_time(other):
            assert isinstance(expression, AttributeRef)
            return column(self._column_name(expression))
        if _is_time(expression) and self._is_timestamp(other, own):
            assert isinstance(expression, Constant)
            return f.timestamp_micros(f.lit(as_int(expression.value)))
        return self._value(expression, own)

    def _is_timestamp(self, expression: Expression, own: str | None) -> bool:
        if not isinstance(expression, AttributeRef) or expression.event != own:
            return False
        name = self._column_name(expression)
        return name in self._schema.names and self._schema[name].dataType.typeName() == "timestamp"

    def _column_name(self, attribute: AttributeRef) -> str:
        return self._naming.time if attribute.name == TIME_ATTRIBUTE else attribute.name

    def _value(self, expression: Expression, own: str | None) -> Column:
        from pyspark.sql import functions as f

        match expression:
            case Constant(value=value):
                return f.lit(value)
            case AttributeRef(event=event) if event == own:
                return self._attribute(expression)
            case Negative(operand=operand):
                return f.try_subtract(f.lit(0), self._value(operand, own))
            case Arithmetic(operator="+", left=left, right=right):
                return f.try_add(self._value(left, own), self._value(right, own))
            case Arithmetic(operator="-", left=left, right=right):
                return f.try_subtract(self._value(left, own), self._value(right, own))
            case Arithmetic(operator="*", left=left, right=right):
                return f.try_multiply(self._value(left, own), self._value(right, own))
            case _:
                raise _UntranslatableError

    def _attribute(self, attribute: AttributeRef) -> Column:
        """Return an attribute's column as the type that rules compare it as."""
        name = self._column_name(attribute)
        if name not in self._schema.names:
            raise _UntranslatableError
        data_type = self._source.value_type(name)
        if attribute.name == TIME_ATTRIBUTE:
            return micros(column(name), data_type, self._naming.unit)
        known = self._event_type.attribute(name)
        if known is None or known.type is None:
            raise _UntranslatableError
        return as_kind(self._source.value(name), data_type, known.type, self._naming.unit)


def _words(expression: Expression, own: str | None) -> str:
    """Write an expression; the event's own attributes go without its name."""

    def plain(node: object) -> object:
        return replace(node, event=None) if isinstance(node, AttributeRef) and node.event == own else node

    return format_condition(transform(expression, plain))


def _is_time(expression: Expression) -> bool:
    return isinstance(expression, Constant) and expression.type is ValueType.TIMESTAMP


_BEYOND = 40.0
"""So many standard deviations away the probability of a Gaussian is less than the least double above 0."""

_SLACK = 1e-9
"""Rounding moves a sum of doubles by far less than this part of it."""


@dataclass(frozen=True, slots=True, eq=False)
class UncertainComparison:
    """A comparison ``value > bound`` or ``value < bound`` that is to hold with a probability of ``least`` at least."""

    value: Column
    upward: bool
    bound: Column
    least: float

    def condition(
        self, plain: Column, source: Source, attribute: str, error: ErrorSource | None, declared: Distribution | None
    ) -> Column:
        """Write the condition, whatever error a row has; ``plain`` is that for a certain number.

        An error in the value goes before one in columns, and that before what is declared.
        """
        from pyspark.sql import functions as f

        found = self._declared(declared) if declared is not None else plain
        if error is not None and set(error.columns) <= set(source.frame.columns):
            there = reduce(lambda one, other: one & other, map(_there, error.columns), f.lit(True))
            found = f.when(there, self._error_source(error)).otherwise(found)
        if source.has_errors(attribute):
            found = f.when(source.error(attribute).isNotNull(), f.lit(True)).otherwise(found)
        return found

    def _declared(self, error: Distribution) -> Column:
        from pyspark.sql import functions as f

        match error:
            case Normal(mean=mean, variance=variance):
                return self._normal(f.lit(mean), f.lit(sqrt(variance)))
            case Uniform(low=low, high=high):
                return self._uniform(f.lit(low), f.lit(high))
            case _:
                return f.lit(True)

    def _error_source(self, error: ErrorSource) -> Column:
        """The condition for parameters in columns; those that are none go through, to be refused."""
        from pyspark.sql import functions as f

        if isinstance(error, error_columns.Uniform):
            low, high = _parameter(error.low), _parameter(error.high)
            return (low > high) | self._uniform(low, high)
        if error.sd is not None:
            spread = _parameter(error.sd)
            return (spread < 0) | self._normal(_parameter(error.mean), spread)
        assert error.variance is not None
        variance = _parameter(error.variance)
        return (variance < 0) | self._normal(_parameter(error.mean), f.sqrt(variance))

    def _normal(self, mean: Column, spread: Column) -> Column:
        quantile = NormalDist().inv_cdf(self.least) if self.least > 0 else -_BEYOND
        shift = spread * quantile
        moved = self.value - mean - shift if self.upward else self.value - mean + shift
        return self._passes(moved, mean, shift)

    def _uniform(self, low: Column, high: Column) -> Column:
        part = (high - low) * self.least
        moved = self.value - low - part if self.upward else self.value - high + part
        return self._passes(moved, low, high)

    def _passes(self, moved: Column, one: Column, other: Column) -> Column:
        from pyspark.sql import functions as f

        slack = (f.abs(self.value) + f.abs(self.bound) + f.abs(one) + f.abs(other)) * _SLACK
        return moved >= self.bound - slack if self.upward else moved <= self.bound + slack


def _there(name: str) -> Column:
    from pyspark.sql import functions as f

    value = column(name).cast("double")
    return value.isNotNull() & ~f.isnan(value)


def _parameter(given: Parameter) -> Column:
    from pyspark.sql import functions as f

    return column(given).cast("double") if isinstance(given, str) else f.lit(float(given))


def _has_sound_parameters(error: ErrorSource) -> Column:
    """What makes the parameters of a row sound: they are those of an error, or not all there."""
    from pyspark.sql import functions as f

    if isinstance(error, error_columns.Uniform):
        low, high = _parameter(error.low), _parameter(error.high)
        fits = low <= high
    else:
        given = error.variance if error.sd is None else error.sd
        assert given is not None
        fits = _parameter(given) >= 0
    lacking = [~_there(name) for name in error.columns]
    return reduce(lambda one, other: one | other, lacking, f.coalesce(fits, f.lit(True)))
