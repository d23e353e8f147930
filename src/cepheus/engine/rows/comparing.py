"""Conditions that compare numbers of a row and of rows before it: one compiled pass each, without copies of columns.

``price < PREV(price)``, ``time - PREV(time) < INTERVAL '1' HOUR`` and what AND makes of such are most of what
conditions say. All others are computed by Arrow (``vectors.py``), which means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.rows.kernel import Places
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import subtract_overflows
from cepheus.plan.rows.conditions import COMPARISONS
from cepheus.rules.rows.expressions import At, Column, Literal, Operation, Operator, RowExpression

Flags = NDArray[np.uint8]
ValuesOf = Callable[[str], NDArray[Any] | None]
"""The numbers of a column, None if it has none or some are NULL."""

_CONSTANT = -1
_UNORDERED, _LESS_THAN, _SAME, _MORE_THAN, _NO_ROW = range(5)
_OUTCOMES = 5
_HOLDS = (
    {_SAME},
    {_UNORDERED, _LESS_THAN, _MORE_THAN},
    {_LESS_THAN},
    {_LESS_THAN, _SAME},
    {_MORE_THAN},
    {_MORE_THAN, _SAME},
)
"""By comparison, in the order of ``COMPARISONS``, the outcomes for which it holds."""


@dataclass(frozen=True, slots=True)
class _Term:
    """Numbers and how many rows back they are read; a constant is the only one, and is read at no row."""

    values: NDArray[Any]
    back: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left - minus`` compared with ``right``; ``minus``, if there is one, is an integer."""

    left: _Term
    minus: _Term | None
    comparison: int
    right: _Term

    def compares_as(self, other: Comparison) -> bool:
        """Whether another compares the same numbers, in whatever way."""
        pairs = ((self.left, other.left), (self.minus, other.minus), (self.right, other.right))
        return all(_same(one, another) for one, another in pairs)


def _same(one: _Term | None, other: _Term | None) -> bool:
    if one is None or other is None:
        return one is other
    plain = one.values is other.values or (len(one.values) == len(other.values) == 1 and one.values == other.values)
    return bool(plain) and one.back == other.back


@dataclass(frozen=True, slots=True)
class Compared:
    """Numbers that are compared once, for all variables that ask for it.

    ``kept`` has the variables (bits) that may take a row, by the outcome: no order between the numbers, less, equal,
    more, no such row.
    """

    of: Comparison
    kept: Flags

    def clear(self, masks: Flags, begin: int, before: Places) -> None:
        """Take the bits from the masks of rows from ``begin`` on whose comparisons do not hold."""
        of = self.of
        minus = of.minus or _Term(of.left.values[:0], _CONSTANT)
        clear_where_not(
            masks,
            self.kept,
            begin,
            before,
            of.left.values,
            of.left.back,
            minus.values,
            minus.back,
            of.right.values,
            of.right.back,
        )


def compared_once(conditions: Iterable[tuple[int, Comparison]]) -> list[Compared]:
    """Comparisons of variables, by their bits, put together where they compare the same numbers."""
    found: list[Compared] = []
    for bit, comparison in conditions:
        same = next((each for each in found if each.of.compares_as(comparison)), None)
        if same is None:
            same = Compared(comparison, np.full(_OUTCOMES, 255, np.uint8))
            found.append(same)
        for outcome in range(_OUTCOMES):
            if outcome not in _HOLDS[comparison.comparison]:
                same.kept[outcome] &= 255 - (1 << bit)
    return found


def comparisons_of(condition: RowExpression, values_of: ValuesOf) -> tuple[Comparison, ...] | None:
    """A condition as comparisons that must all hold; None if it says something else."""
    found = []
    for part in _parts(condition):
        comparison = _comparison(part, values_of)
        if comparison is None:
            return None
        found.append(comparison)
    return tuple(found)


def _parts(condition: RowExpression) -> Iterator[RowExpression]:
    if isinstance(condition, Operation) and condition.operator is Operator.AND:
        for operand in condition.operands:
            yield from _parts(operand)
    else:
        yield condition


def _comparison(part: RowExpression, values_of: ValuesOf) -> Comparison | None:
    if not isinstance(part, Operation) or part.operator not in COMPARISONS:
        return None
    left, right = part.operands
    minus: RowExpression | None = None
    if isinstance(left, Operation) and left.operator is Operator.SUBTRACT:
        left, minus = left.operands
    first = _column(left, values_of)
    if first is None:
        return None
    second = None if minus is None else _term(minus, values_of, first.values.dtype)
    other = _term(right, values_of, first.values.dtype)
    if other is None or (minus is not None and (second is None or second.values.dtype != np.int64)):
        return None
    return Comparison(first, second, COMPARISONS.index(part.operator), other)


def _term(part: RowExpression, values_of: ValuesOf, kind: np.dtype[Any]) -> _Term | None:
    if isinstance(part, Literal):
        number = part.value
        if isinstance(number, bool) or not isinstance(number, int | float):
            return None
        whole = isinstance(number, int) and part.type is not ValueType.FLOAT
        if kind == np.float64:
            return _Term(np.array([float(number)]), _CONSTANT)
        return _Term(np.array([number], np.int64), _CONSTANT) if kind == np.int64 and whole else None
    found = _column(part, values_of)
    return found if found is not None and found.values.dtype == kind else None


def _column(part: RowExpression, values_of: ValuesOf) -> _Term | None:
    if not isinstance(part, Column) or not isinstance(part.at, At) or part.at.physical > 0:
        return None
    values = values_of(part.name)
    return None if values is None else _Term(values, -part.at.physical)


@inlined
def _row_before(before: Places, row: int, count: int) -> int:
    """The row so many rows before one, -1 for none; the row itself for 0 and below."""
    if count <= 0:
        return row
    row = int(before[row])
    for _ in range(count - 1):
        row = int(before[row]) if row >= 0 else -1
    return row


@compiled
def clear_where_not(
    masks: Flags,
    kept: Flags,
    begin: int,
    before: Places,
    left: NDArray[Any],
    left_back: int,
    minus: NDArray[Any],
    minus_back: int,
    right: NDArray[Any],
    right_back: int,
) -> None:
    """Compare numbers of rows, and keep of the mask of each what is ``kept`` of it by the outcome."""
    for k in range(len(masks)):
        here = begin + k
        at = _row_before(before, here, left_back)
        other = _row_before(before, here, right_back)
        behind = _row_before(before, here, minus_back)
        outcome = _NO_ROW
        if at >= 0 and other >= 0 and behind >= 0:
            value, against = left[at], right[0 if right_back < 0 else other]
            beyond = False
            if len(minus):
                taken = minus[0 if minus_back < 0 else behind]
                beyond = subtract_overflows(int(value), int(taken))  # what is beyond 64 bits is undefined
                value = value - taken
            if not beyond:  # without a branch: nobody can guess how most rows compare
                outcome = _LESS_THAN * (value < against) + _SAME * (value == against) + _MORE_THAN * (value > against)
        masks[k] &= kept[outcome]
