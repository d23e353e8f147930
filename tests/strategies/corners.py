"""The corners of every type: values at the edges of ranges, where engines that disagree at all disagree first.

A case that is generated from a seed draws its corners by a random number generator of its own, so that the cases
without any stay as they are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from random import Random

from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.language.tesla.print import format_expression
from cepheus.rules.expressions import Constant

_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_LARGEST, _SMALLEST = sys.float_info.max, sys.float_info.min

INTEGERS = (
    *(INT_MAX, INT_MAX - 1, INT_MIN, INT_MIN + 1, 2**62, -(2**62), 3 * 2**61),
    *(2**53, 2**53 + 1, 2**53 + 2, 2**53 - 1, -(2**53) - 1, 2**32, 2**31, -(2**31) - 1, 3037000500, 0, -1, 1),
)
"""Ends of the range, where doubles begin to tell integers apart no longer, and a number whose square does not fit."""

DOUBLES = (
    *(0.0, -0.0, 5e-324, -5e-324, 1.5e-320, _SMALLEST, -_SMALLEST, 2.225073858507201e-308),
    *(_LARGEST, -_LARGEST, _LARGEST / 2, 1.3e154, -1.4e154, 1e308, -1e308, 8.98846567431158e307),
    *(1e20, 6.02e23, 1e-25, 6.6e-34, -1e20, -1e-25, 2.0**63, -(2.0**63), 2.0**64, 2.0**127, 2.0**-128, 2.0**-129),
    *(2.0**53, 2.0**53 + 2, 2.0**52 + 0.5, 0.1, 1.0 + 2.0**-52, 1.0 - 2.0**-53, 0.5, 1.5, 2.5, -0.5, 1e16, 1.0),
)
"""Subnormal and largest numbers, what does not fit exact sums, squares at the edge, halves, and both zeros."""

TEXTS = (
    *("", " ", "a", "A", "\0", "a\0", "a\0b", "\t\n", "'", '"', "\\", "%", "a" * 300, "None", "0"),
    *("\u00e9", "e\u0301", "\u00df", "\u0130", "\u03c3", "\u03c2", "\ufeff", "\u2028", "\U0001f600", "\U0010ffff", "z"),
)
"""Empty, blank and long texts, texts with NUL, accents written in two ways, letters that change length with case."""

TIMES = (
    *(0, -1, 1, INT_MAX, INT_MIN, INT_MAX - 1, INT_MIN + 1, 2**53 + 1),
    *(_YEAR_1, _YEAR_1 - 1, _YEAR_10000, _YEAR_10000 - 1, 951_782_400_000_000, 68_169_600_000_000, -86_400_000_001),
)
"""Ends of the range and of the calendar, and the 29th of February of a year that has one."""

CORNERS: dict[ValueType, tuple[Value, ...]] = {
    ValueType.BOOL: (True, False),
    ValueType.INT: INTEGERS,
    ValueType.FLOAT: DOUBLES,
    ValueType.STRING: TEXTS,
    ValueType.TIMESTAMP: TIMES,
}

BEGINNINGS = (INT_MIN, INT_MIN + 3, INT_MAX - 150, INT_MAX - 20, -40, _YEAR_1 - 10, 2**53)
"""When a stream may begin so that its times are at an edge."""

IDS: tuple[int | str, ...] = (
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    -(2**63) - 1,
    "",
    "\0",
    "0",
    "P1:00000000000000ff",
    "\u00e9",
)
"""Ids that are no plain positions."""

SHARE = 0.3
"""How many cases have corners."""


@dataclass(frozen=True)
class Corners:
    """What a case has of corners: some values of each type, that come up often enough to meet one another."""

    random: Random
    values: dict[ValueType, tuple[Value, ...]] = field(default_factory=dict)
    often: float = 0.0

    def value(self, kind: ValueType, usual: Value) -> Value:
        """Give a corner of a type every so often, else the usual value."""
        if self.values and self.random.random() < self.often:
            return self.random.choice(self.values[kind])
        return usual

    def comes(self, probability: float) -> bool:
        """Tell whether something that only cases with corners have comes up."""
        return bool(self.values) and self.random.random() < probability


def literal(value: Value, kind: ValueType) -> str:
    """Write a value as rules of TESLA have it.

    >>> literal(-0.0, ValueType.FLOAT), literal(0, ValueType.TIMESTAMP)
    ('-0.0', "timestamp '1970-01-01T00:00:00Z'")
    """
    return format_expression(Constant(value, kind))


def corners_of(seed: int, share: float = SHARE) -> Corners:
    """Give the corners of the case of a seed; a ``share`` of the seeds have any."""
    random = Random(f"corners {seed}")
    if random.random() >= share:
        return Corners(random)
    values = {kind: tuple(random.choices(known, k=random.choice((2, 4, 8)))) for kind, known in CORNERS.items()}
    return Corners(random, values, random.choice((0.1, 0.3, 0.8)))
