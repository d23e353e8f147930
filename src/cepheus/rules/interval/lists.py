"""Patterns of lists in simpler terms: variables in their places, and conditions that take the lists apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import assert_never

from cepheus.core.values import ValueType
from cepheus.rules.expressions import Call, Comparison, Constant, Expression, Parameter
from cepheus.rules.functions import LIST_ITEM, LIST_REST, LIST_SIZE
from cepheus.rules.interval.model import Anything, Argument, Bind, Fits, Holds, ListPattern


def opened(arguments: Sequence[Argument], prefix: str = "") -> tuple[tuple[Argument, ...], tuple[Fits, ...]]:
    """Return arguments with variables for the patterns of lists, and the conditions on these.

    The names of the variables are none that anyone can write; ``prefix`` keeps them apart from those of others.

    >>> opened((Parameter("X"), ListPattern((Parameter("H"),))))
    ((Parameter(name='X'), Parameter(name='[1]')), (Fits(value=Parameter(name='[1]'), pattern=ListPattern(...)),))
    """
    plain: list[Argument] = []
    conditions: list[Fits] = []
    for place, argument in enumerate(arguments):
        if isinstance(argument, ListPattern):
            variable = Parameter(f"[{prefix}{place}]", argument.span)
            conditions.append(Fits(variable, argument, argument.span))
            plain.append(variable)
        else:
            plain.append(argument)
    return tuple(plain), tuple(conditions)


def is_hidden(variable: str) -> bool:
    """Whether a variable is one of ``opened``."""
    return variable.startswith("[")


def steps(value: Expression, pattern: ListPattern, bound: Collection[str]) -> tuple[Holds | Bind, ...]:
    """The conditions that take a list apart; ``bound`` are the variables that have a value before.

    ``[H|T] = L`` becomes ``size(L) >= 1, H = item(L, 0), T = rest(L, 1)``.
    """
    return tuple(_steps(value, pattern, set(bound)))


def _steps(value: Expression, pattern: ListPattern, bound: set[str]) -> Iterator[Holds | Bind]:
    count = len(pattern.items)
    size = Call(LIST_SIZE, (value,))
    yield Holds(Comparison((size, _number(count)), ("=" if pattern.rest is None else ">=",)))
    parts: list[tuple[Expression, Argument]]
    parts = [(Call(LIST_ITEM, (value, _number(place))), item) for place, item in enumerate(pattern.items)]
    if pattern.rest is not None:
        parts.append((Call(LIST_REST, (value, _number(count))), pattern.rest))
    for part, argument in sorted(parts, key=lambda each: isinstance(each[1], ListPattern)):  # as ``unify`` does
        yield from _part(part, argument, bound)


def _part(part: Expression, argument: Argument, bound: set[str]) -> Iterator[Holds | Bind]:
    match argument:
        case Anything():
            pass
        case Constant():
            yield Holds(Comparison((part, argument), ("=",)))
        case Parameter(name=name) if name in bound:
            yield Holds(Comparison((part, argument), ("=",)))
        case Parameter(name=name):
            bound.add(name)
            yield Bind(name, part)
        case ListPattern():
            yield from _steps(part, argument, bound)
        case _:
            assert_never(argument)


def _number(value: int) -> Constant:
    return Constant(value, ValueType.INT)
