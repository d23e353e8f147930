"""Functions of a program in rules: every engine computes the same, or none has a value, or they are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import cepheus
from cepheus.core.errors import RuleError
from cepheus.typed import Composite, Event, PythonRule, Udf, rule, udf

START = datetime(2026, 1, 31, tzinfo=UTC)
NUMBERS = (0, 1, -1, 2, 7, -7, 60, 64, 2**31, 2**32 + 1, 2**53 + 1, -(2**62), 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.5, -2.5, 3.5, 1e19, -1e300, 709.9, 2.0**63, -(2.0**63), 0.5, 7.0, 1e-300, 2.0)


class Given(Event):
    x: int
    k: int
    y: float


class Whole(Composite):
    value: int | None


class Real(Composite):
    value: float | None


EVENTS = [
    Given(x=x, k=k, y=y, time=START + timedelta(seconds=len(NUMBERS) * at + place))
    for at, k in enumerate(NUMBERS)
    for place, (x, y) in enumerate(zip(NUMBERS, REALS, strict=True))
]


def sums(x: int, k: int) -> int:
    return x + k - 1


def products(x: int, k: int) -> int:
    return x * k * 3


def quotients(x: int, k: int) -> int:
    return x // k + x % k


def powers(x: int, k: int) -> int:
    return int(x ** (k % 5) + x**2)


def shifts(y: float) -> int:
    return (int(y) << 3) + (int(y) >> 70)


def signs(x: int, k: int) -> int:
    return max(abs(x), -k)


def loops(x: int, k: int) -> int:
    found = 0
    for step in range(k % 7):
        found += x * step
    return found


def choices(x: int, k: int) -> int:
    if x > k:
        raise ValueError("too large")
    return k


def wholes(y: float) -> int:
    return int(y) + round(y / 3) + math.floor(y) - math.ceil(y)


def roots(y: float) -> float:
    return math.sqrt(y) + 1 / y


@pytest.mark.parametrize("function", [sums, products, quotients, powers, shifts, signs, loops, choices, wholes])
def test_every_engine_has_the_integer_of_python_or_none(function: Callable[..., int]) -> None:
    known: Udf[..., int] = udf(function)

    @rule
    def found(given: Given) -> Whole:
        return Whole(value=known(given.y) if function in (wholes, shifts) else known(given.x, given.k))

    assert known.compiled
    check(found, lambda event: function(event.y) if function in (wholes, shifts) else function(event.x, event.k))


def test_every_engine_has_the_real_number_of_python_or_none() -> None:
    known: Udf[..., float] = udf(roots)

    @rule
    def found(given: Given) -> Real:
        return Real(value=known(given.y))

    check(found, lambda event: roots(event.y))


def check(made: PythonRule[Any], function: Callable[[Given], float]) -> None:
    program = cepheus.compile(made)
    answers = [program.detect(EVENTS, engine=name).to_dicts() for name in ("reference", "columns", "automata")]
    assert answers[0] == answers[1] == answers[2]
    known = [each.get("value") for each in answers[0]]
    assert len(known) == len(EVENTS)
    assert all(value is None or value == function(event) for value, event in zip(known, EVENTS, strict=True))
    assert sum(value is not None for value in known) > 20


def test_a_literal_beyond_64_bits_with_a_sign_leaves_no_value() -> None:
    @udf
    def distant(x: int) -> int:
        far = 18446744073709551615
        return x if x < 7 else x + far

    @rule
    def found(given: Given) -> Whole:
        return Whole(value=distant(given.x))

    assert distant.compiled
    program = cepheus.compile(found)
    for engine in ("reference", "columns", "automata"):
        answers = [each.get("value") for each in program.detect(EVENTS, engine=engine).to_dicts()]
        assert answers == [given.x if given.x < 7 else None for given in EVENTS]


def test_a_function_gives_what_it_says() -> None:
    with pytest.raises(RuleError, match="'halves' gives a double, and says that it gives another type"):

        @udf
        def halves(x: int) -> int:
            return x / 2  # type: ignore[return-value]

    @udf(slow=True)
    def letters(y: float) -> str:
        return y  # type: ignore[return-value]

    class Lettered(Composite):
        text: str

    @rule
    def lettered(given: Given) -> Lettered:
        return Lettered(text=letters(given.y))

    with pytest.raises(RuleError, match="'letters' gives 0"):
        cepheus.compile(lettered).detect(EVENTS)


def test_a_name_stands_for_one_function() -> None:
    def declare(more: int) -> None:
        @udf
        def score(x: int) -> int:
            return x + more

    declare(1)
    declare(2)  # the same place anew, as in a notebook
    with pytest.raises(RuleError, match="rules call another function 'score' already"):

        @udf
        def score(x: int) -> int:
            return x
