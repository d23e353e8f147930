"""Functions and an aggregate that are added to the language, as the documentation tells: each function is one record.

Those of ``COMPILED`` say in their records how engines run them, those of ``SCRATCH`` do not.
"""

from __future__ import annotations

import pytest

from cepheus.core.event import Event
from cepheus.core.values import ValueType, representable
from cepheus.rules.aggregates import AGGREGATES, AggregateFunction, Form, Takes
from cepheus.rules.function_record import Compiled, Function, Kind, TextTable
from cepheus.rules.functions import FUNCTIONS

NUMBER, STRING, SAME = (Kind.NUMBER,), (Kind.STRING,), (Kind.SAME, Kind.SAME)
SCRATCH = (
    Function("cube", NUMBER, ValueType.FLOAT, lambda number: representable(float(number) ** 3), "the third power"),
    Function("twice", NUMBER, None, lambda number: representable(2 * number), "two times the number"),
    Function("half_length", STRING, ValueType.FLOAT, lambda text: len(text) / 2, "half the number of characters"),
    Function("turned", STRING, ValueType.STRING, lambda text: text[::-1], "the other way round"),
    Function("either", SAME, None, lambda one, other: other if one is None else one, "one of the two"),
)


def _clamped(number: float, low: float, high: float) -> float | None:
    return None if low > high else low if number < low else high if number > high else number


def _worded(number: float) -> float:
    return float(f"{number:.3e}")


COMPILED = (
    Function("clamp", NUMBER * 3, None, _clamped, "the number, no further than two bounds", lowering=Compiled()),
    Function("inverse", NUMBER, ValueType.FLOAT, lambda number: 1 / number, "undefined at zero", lowering=Compiled()),
    Function("is_even", NUMBER, ValueType.BOOL, lambda n: n % 2 == 0, "whether it is even", lowering=Compiled()),
    Function("quarter", (Kind.TIMESTAMP,), ValueType.INT, lambda at: at // 7_889_400_000_000, "", lowering=Compiled()),
    Function(
        "moved",
        (Kind.TIMESTAMP, Kind.NUMBER),
        ValueType.FLOAT,
        lambda at, n: at + n,
        "in a double",
        lowering=Compiled(),
    ),
    Function("vowels", STRING, ValueType.INT, lambda s: sum(c in "aeiou" for c in s), "how many", lowering=TextTable()),
    Function(
        "left",
        (Kind.STRING, Kind.NUMBER),
        ValueType.STRING,
        lambda text, count: text[:count],
        "the first characters",
        lowering=TextTable(),
    ),
)
"""Functions whose records say how compiled engines run them."""

BEYOND_NUMBA = Function("worded", NUMBER, ValueType.FLOAT, _worded, "to four digits", lowering=Compiled())
"""A function whose record says that it is compiled, which cannot be done."""

DECLARED = "event A(x: double, s: string, o: double?) event B(x: double)\n"
RULES = {
    "cube": "define R(y: double) from A(cube(x) > 8) where y = cube(A.x)",
    "twice": "define R(y: double) from B() and each A(twice(x) > 2) within 9 us from B where y = A.x",
    "half_length": "define R(y: double) from A(half_length(s) > 0.5) where y = half_length(A.s)",
    "turned": "define R(y: double) from A(turned(s) = 'ba') where y = A.x",
    "either": "define R(y: double) from A(either(o, 3) = 3) where y = A.x",
    "Range": "define R(y: double) from B() and $r = Range(A().x within 9 us from B) > 1 where y = $r",
}
EXPECTED = {
    "cube": [27.0, 64.0],
    "twice": [2.0, 3.0, 4.0],
    "half_length": [1.0, 1.0, 1.0, 1.0, 1.0],
    "turned": [0.0, 1.0, 2.0, 3.0, 4.0],
    "either": [0.0, 2.0, 4.0],
    "Range": [4.0],
}
EVENTS = [Event("A", n, {"x": float(n), "s": "ab", "o": None if n % 2 == 0 else 1.0}, id=n) for n in range(5)]
EVENTS.append(Event("B", 5, {"x": 1.0}, id=5))
RANGE = AggregateFunction(
    "Range",
    Takes.NUMBERS,
    None,
    Form.OVER_NUMBERS,
    lambda values: representable(max(values) - min(values)),
    "the largest value minus the smallest",
)


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add them until the end of a test."""
    for function in (*SCRATCH, *COMPILED, BEYOND_NUMBA):
        monkeypatch.setitem(FUNCTIONS, function.name, function)
    monkeypatch.setitem(AGGREGATES, "range", RANGE)
