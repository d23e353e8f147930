"""Terms as they are written, and what they mean where they stand: a value, an argument, a condition or an atom.

The text does not tell these apart: ``located(X, hall)`` may be an event, a row of background knowledge or a function
that does not exist. The parser builds ``Term`` trees, and the place in the rule decides how one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from cepheus.core.errors import Diagnostic, did_you_mean
from cepheus.core.lists import list_value
from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.language.common.literals import LiteralError, read_duration
from cepheus.rules.aggregates import AGGREGATES, AggregateFunction, aggregate_named
from cepheus.rules.expressions import Arithmetic, Call, Comparison, Constant, Expression, Negative, Parameter
from cepheus.rules.functions import FUNCTIONS, LIST_BEFORE, LIST_OF
from cepheus.rules.interval.model import (
    Aggregated,
    AllOf,
    AnyOf,
    Anything,
    Argument,
    Atom,
    Bind,
    Condition,
    Element,
    Fits,
    Holds,
    Known,
    ListPattern,
    Member,
    NoneOf,
    Unknown,
)


class Kind(Enum):
    """What a term is made of."""

    CONSTANT = auto()
    NAME = auto()
    CALL = auto()
    ARITHMETIC = auto()
    NEGATIVE = auto()
    COMPARED = auto()
    BOTH = auto()
    EITHER = auto()
    NOT = auto()
    IS = auto()
    IN = auto()
    ELEMENT = auto()
    LIST = auto()
    LIST_BEFORE = auto()
    AGGREGATE = auto()
    TOO_DEEP = auto()


@dataclass(frozen=True, slots=True)
class Term:
    """A node of a term: ``what`` is a constant's node, a name, an operator or operators; ``below`` are its operands.

    ``lists`` is how deep lists are nested in it. What is nested too deep has been reported and is no more than that.
    """

    kind: Kind
    what: Any
    below: tuple[Term, ...]
    span: Span
    window: int = 0
    depth: int = 1
    lists: int = 0


_UNDEFINED = Constant(0, ValueType.INT)


def is_variable(name: str) -> bool:
    """Whether a name is that of a variable: it begins with a capital letter or an underscore."""
    return name[0] == "_" or name[0].isupper()


def _is_pattern(term: Term) -> bool:
    """Whether a term is a list that nothing needs to be computed for."""
    if term.kind not in (Kind.LIST, Kind.LIST_BEFORE):
        return False
    return all(each.kind in (Kind.CONSTANT, Kind.NAME) or _is_pattern(each) for each in term.below)


def _constant_list(parts: Sequence[Argument | Expression], span: Span) -> Constant | None:
    """The list of some constants as a constant; None if not all of them are, or if it is too large."""
    constants = tuple(part for part in parts if isinstance(part, Constant))
    value = list_value(part.value for part in constants) if len(constants) == len(parts) else None
    return None if value is None else Constant(value, ValueType.LIST, span, constants)


def _aggregate_example(record: AggregateFunction) -> str:
    name = record.name.upper()
    if not record.needs_value:
        return f"{name}(stock(X, _, _) WITHIN 10 s)"
    return f"{name}(P, stock(X, P, _) WITHIN 10 s)"


class TermReader:
    """Reads terms of one statement; ``report`` takes the mistakes."""

    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self._report = report
        self._aggregates: list[Aggregated] = []
        self._fresh = 0

    def _error(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self._report(Diagnostic(code, message, span, hint))

    # ---- Values --------------------------------------------------------------------------------------------------

    def expression(self, term: Term) -> Expression:
        """Read a term as a value."""
        match term.kind:
            case Kind.CONSTANT:
                constant: Constant = replace(term.what, span=term.span)
                return constant
            case Kind.NAME:
                return self._name(term)
            case Kind.CALL:
                return self._call(term)
            case Kind.ARITHMETIC:
                left, right = map(self.expression, term.below)
                return Arithmetic(term.what, left, right, term.span)
            case Kind.NEGATIVE:
                return Negative(self.expression(term.below[0]), term.span)
            case Kind.LIST | Kind.LIST_BEFORE:
                return self._list(term)
            case Kind.AGGREGATE:
                self._fresh += 1
                variable = f"_{term.what.lower()}{self._fresh}"
                self._aggregates.append(self._aggregate(term, variable))
                return Parameter(variable, term.span)
            case Kind.TOO_DEEP:
                return replace(_UNDEFINED, span=term.span)
            case _:
                self._error("value", "this is a condition, but a value is expected here", term.span)
                return replace(_UNDEFINED, span=term.span)

    def head(self, terms: Sequence[Term]) -> tuple[Expression, ...]:
        """Read the arguments of a head as values, of which none is an aggregate."""
        values = tuple(map(self.expression, terms))
        for aggregate in self._aggregates:
            assert aggregate.span is not None
            message = "an aggregate cannot stand in the head of a rule"
            hint = f"write N = {aggregate.span.text} in WHERE of a rule for events, and N in its head"
            self._error("misplaced-aggregate", message, aggregate.span, hint)
        self._aggregates = []
        return values

    def _name(self, term: Term) -> Expression:
        if term.what == "_":
            self._error("anonymous", "_ has no value", term.span, "give the variable a name")
            return replace(_UNDEFINED, span=term.span)
        if is_variable(term.what):
            return Parameter(term.what, term.span)
        return Constant(term.what, ValueType.STRING, term.span)

    def _list(self, term: Term) -> Expression:
        """Read a list as a value; one of constants is a constant."""
        parts = tuple(map(self.expression, term.below))
        if term.kind is Kind.LIST_BEFORE:
            return Call(LIST_BEFORE, parts, term.span)
        return _constant_list(parts, term.span) or Call(LIST_OF, parts, term.span)

    def _call(self, term: Term) -> Expression:
        name = term.what.lower()
        if name not in FUNCTIONS:
            hint = did_you_mean(name, FUNCTIONS)
            if name in AGGREGATES:
                hint = f"an aggregate needs a window: {_aggregate_example(AGGREGATES[name])}"
            self._error("function", f"there is no function '{term.what}'", term.span, hint)
            return replace(_UNDEFINED, span=term.span)
        return Call(name, tuple(map(self.expression, term.below)), term.span)

    # ---- Atoms and arguments -------------------------------------------------------------------------------------

    def argument(self, term: Term) -> Argument:
        """Read a term as an argument of an atom: a constant, a variable, ``_`` or a list of these."""
        if term.kind is Kind.TOO_DEEP or (term.kind is Kind.NAME and term.what == "_"):
            return Anything(term.span)
        if term.kind in (Kind.LIST, Kind.LIST_BEFORE):
            return self._pattern(term)
        if term.kind in (Kind.CONSTANT, Kind.NAME):
            found = self.expression(term)
            assert isinstance(found, Constant | Parameter)
            return found
        self._error(
            "argument",
            "an argument of an event is a constant, a variable, _ or a list of these",
            term.span,
            "name it with a variable and say in WHERE what that equals",
        )
        return Anything(term.span)

    def _pattern(self, term: Term) -> Constant | ListPattern:
        """Read a list as the pattern of an argument; one of constants is a constant."""
        items: list[Argument] = list(map(self.argument, term.below))
        rest = items.pop() if term.kind is Kind.LIST_BEFORE else None
        if rest is not None and not isinstance(rest, Parameter | Anything):
            message = "behind the bar of a list stands a variable, which is the list of all further elements"
            self._error("list", message, term.below[-1].span, "write [H|T]")
            rest = Anything(term.span)
        constant = _constant_list(items, term.span) if rest is None else None
        return constant or ListPattern(tuple(items), rest, term.span)

    def atom(self, term: Term) -> Atom:
        """Read a term as an event: a name with or without arguments."""
        if term.kind in (Kind.NAME, Kind.CALL):
            return Atom(term.what, tuple(map(self.argument, term.below)), term.span)
        if term.kind is not Kind.TOO_DEEP:
            self._error("event", "an event such as stock(X, P, _) is expected here", term.span)
        return Atom("_", (), term.span)

    # ---- Conditions ----------------------------------------------------------------------------------------------

    def conditions(self, terms: list[Term]) -> tuple[Condition, ...]:
        """Read terms as conditions that hold together."""
        return tuple(condition for term in terms for condition in self._with_aggregates(term))

    def _with_aggregates(self, term: Term) -> Iterator[Condition]:
        """The conditions of a term, those that compute the aggregates in it first."""
        if term.kind is Kind.BOTH:
            for each in term.below:
                yield from self._with_aggregates(each)
            return
        held, self._aggregates = self._aggregates, []
        condition = self._condition(term)
        found, self._aggregates = self._aggregates, held
        yield from found
        if condition is not None:
            yield condition

    def _condition(self, term: Term) -> Condition | None:
        match term.kind:
            case Kind.COMPARED:
                return self._comparison(term)
            case Kind.IS:
                return self._bind(term.below[0], term.below[1], term.span)
            case Kind.IN:
                value, *options = map(self.expression, term.below)
                return Member(value, tuple(options), term.span)
            case Kind.ELEMENT:
                value, elements = map(self.expression, term.below)
                return Element(value, elements, term.span)
            case Kind.EITHER:
                return AnyOf(tuple(self._alternative(each) for each in term.below), term.span)
            case Kind.NOT:
                return self._denied(term)
            case Kind.CALL if term.what.lower() not in FUNCTIONS:
                return Known(term.what, tuple(map(self.argument, term.below)), term.span)
            case Kind.NAME if not is_variable(term.what):
                return Known(term.what, (), term.span)
            case Kind.TOO_DEEP:
                return None
            case Kind.LIST | Kind.LIST_BEFORE:
                self._error("not-a-condition", "a list is not a condition", term.span, "write X in [..] or L = [..]")
                return None
            case Kind.ARITHMETIC | Kind.NEGATIVE:
                self._error("not-a-condition", "arithmetic gives a number, not a condition", term.span, "compare it")
                return None
            case Kind.CONSTANT if term.what.type is not ValueType.BOOL:
                self._error("not-a-condition", "a constant is not a condition", term.span, "compare it with something")
                return None
            case _:
                return Holds(self.expression(term), term.span)

    def _alternative(self, term: Term) -> AllOf:
        return AllOf(self.conditions([term]), term.span)

    def _denied(self, term: Term) -> Condition:
        (inner,) = term.below
        conditions = self.conditions([inner])
        if len(conditions) == 1 and isinstance(conditions[0], Known):
            return Unknown(conditions[0].relation, conditions[0].arguments, term.span)
        return NoneOf(conditions, term.span)

    def _comparison(self, term: Term) -> Condition | None:
        if term.what == ("=",):
            left, right = term.below
            for pattern, value in ((left, right), (right, left)):
                read = self._pattern(pattern) if _is_pattern(pattern) else None
                if isinstance(read, ListPattern):
                    return Fits(self.expression(value), read, term.span)
            if left.kind is Kind.NAME and is_variable(left.what):
                return self._bind(left, right, term.span)
            if right.kind is Kind.NAME and is_variable(right.what):
                return self._bind(right, left, term.span)
        return Holds(Comparison(tuple(map(self.expression, term.below)), term.what, term.span), term.span)

    def _bind(self, variable: Term, value: Term, span: Span) -> Condition | None:
        if variable.kind is not Kind.NAME or not is_variable(variable.what) or variable.what == "_":
            self._error("binding", "'is' needs a variable on its left", variable.span, "compare values with =")
            return None
        if value.kind is Kind.AGGREGATE:
            self._aggregates.append(self._aggregate(value, variable.what))
            return None
        return Bind(variable.what, self.expression(value), span)

    def _aggregate(self, term: Term, variable: str) -> Aggregated:
        record = aggregate_named(term.what)
        *value, atom = term.below
        if bool(value) != record.needs_value:
            hint = f"write {_aggregate_example(record)}"
            self._error("aggregate", f"{record.name} takes {'only an event' if value else 'a value'}", term.span, hint)
        read = self.expression(value[0]) if value else None
        return Aggregated(variable, record.name, read, self.atom(atom), term.window, term.span)


_UNITS = ("us", "s")  # the shortest and the longest unit that a command may give to such a number


class BareDuration(int):
    """``20`` in ``(p).20``: a number of microseconds that remembers how it was written.

    What it is worth is said elsewhere, by the command that reads the file, so that a text that is laid out anew must
    leave it as it is.

    >>> read_bare_duration("0.5").written
    '0.5'
    """

    written: str


def read_bare_duration(number: str) -> BareDuration:
    """Read a number without a unit, which must be a length of time in some unit that a command may give to it."""
    try:
        bare = BareDuration(read_duration(number, _UNITS[0]))
    except LiteralError:
        bare = BareDuration(read_duration(number, _UNITS[1]))
    bare.written = number
    return bare
