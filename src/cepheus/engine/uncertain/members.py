"""The law of an aggregate whose members are listed with their probabilities and errors, compiled.

Every subset of the members counts with its probability, as in ``cepheus.uncertainty.aggregates``, which says it all.
"""

from __future__ import annotations

import math
import sys

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.spread import inside
from cepheus.engine.uncertain.state import ASKED_LIST, Of
from cepheus.engine.uncertain.tables import ListedField, ListField, SpreadField
from cepheus.kernel.calls import call_2
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, fixed_float, peek, peek_float, poke, poke_float, table, whole
from cepheus.kernel.program import FunctionCode

WEIGHED = len(ErrorKind)
"""The kind of the error of an aggregate that has a list of members."""


MEMBER_WORDS = ListedField.row_words()
HEADER_WORDS = ListField.row_words()
_MEMBER_BYTES = ListedField.row_bytes()
_HEADER_BYTES = ListField.row_bytes()
_SPREAD_BYTES = SpreadField.row_bytes()
_MOST = sys.float_info.max
_NONE, _NORMAL, _UNIFORM = int(ErrorKind.NONE), int(ErrorKind.NORMAL), int(ErrorKind.UNIFORM)


@inlined
def member_at(members: int, k: int) -> int:
    """The address of a member of the list at an address."""
    return members + _HEADER_BYTES + _MEMBER_BYTES * k


@compiled
def weighed_inside(
    memory: int, members: int, low: float, low_inside: bool, high: float, high_inside: bool, excluded: float
) -> float:
    """Work out the probability that an aggregate, given that it is defined, lies in an interval."""
    upper = 1.0 if high == math.inf else _below(memory, members, high, high_inside)
    lower = 0.0 if low == -math.inf else _below(memory, members, low, not low_inside)
    total = upper - lower
    if low < excluded < high or (excluded == low and low_inside) or (excluded == high and high_inside):
        total -= _below(memory, members, excluded, True) - _below(memory, members, excluded, False)
    return max(total, 0.0)


@compiled
def _below(memory: int, members: int, bound: float, inclusive: bool) -> float:
    """The probability of an aggregate that is less than a bound, or equal to it where inclusive."""
    function, count = peek(members, ListField.FUNCTION), peek(members, ListField.COUNT)
    defined = peek_float(members, ListField.DEFINED)
    if function == FunctionCode.COUNT:
        return _fewer(members, count, bound, inclusive)
    if function == FunctionCode.SUM or function == FunctionCode.AVG:
        if peek(members, ListField.UNSURE) <= fixed(memory, Of.EXACT_MEMBERS):
            return _by_subsets(memory, members, count, bound, inclusive)
        return _ask(memory, members, bound, inclusive)
    if function == FunctionCode.MAX or function == FunctionCode.MIN:
        product = 1.0
        for k in range(count):
            member = member_at(members, k)
            chance = _member_below(memory, member, bound, inclusive)
            if function == FunctionCode.MAX:
                chance = 1.0 - chance
            product *= 1.0 - peek_float(member, ListedField.PROBABILITY) * chance
        return (product - (1.0 - defined) if function == FunctionCode.MAX else 1.0 - product) / defined
    missing, total = 1.0, 0.0
    for k in range(count):
        member = member_at(members, k if function == FunctionCode.FIRST else count - 1 - k)
        probability = peek_float(member, ListedField.PROBABILITY)
        total += missing * probability * _member_below(memory, member, bound, inclusive)
        missing *= 1.0 - probability
        if missing == 0.0:
            break
    return total / defined


@compiled
def _member_below(memory: int, member: int, bound: float, inclusive: bool) -> float:
    """Work out the probability that the true value of a member is less than a bound, or equal to it where inclusive."""
    gaussian = fixed(memory, Of.GAUSSIAN)
    value, kind = peek_float(member, ListedField.VALUE), peek(member, ListedField.KIND)
    first, second = peek_float(member, ListedField.FIRST), peek_float(member, ListedField.SECOND)
    low, none = -math.inf, math.nan
    if kind == _NONE:
        return inside(gaussian, value, 0.0, 0.0, 0.0, low, False, bound, inclusive, none)
    if kind == _NORMAL:
        return inside(gaussian, value - first, second, 0.0, 0.0, low, False, bound, inclusive, none)
    if kind == _UNIFORM:
        mean, wide = value - 0.5 * (first + second), 0.5 * (second - first)
        return inside(gaussian, mean, 0.0, wide, 0.0, low, False, bound, inclusive, none)
    total = 0.0
    which = 2 * whole(first)
    for at in range(table(memory, Of.RANGES, which), table(memory, Of.RANGES, which + 1)):
        spread = fixed(memory, Of.SPREADS) + _SPREAD_BYTES * at
        mean = value - fixed_float(spread, SpreadField.MEAN)
        variance = fixed_float(spread, SpreadField.VARIANCE)
        wide, narrow = fixed_float(spread, SpreadField.WIDE), fixed_float(spread, SpreadField.NARROW)
        chance = inside(gaussian, mean, variance, wide, narrow, low, False, bound, inclusive, none)
        total += fixed_float(spread, SpreadField.WEIGHT) * chance
    return total


@compiled
def _fewer(members: int, count: int, bound: float, inclusive: bool) -> float:
    """The probability of fewer members than a bound: the chances of all numbers stand behind the list."""
    chances = member_at(members, count)
    total = 0.0
    for number in range(count + 1):
        if number < bound or (inclusive and number == bound):
            total += peek_float(chances, number)
    return total


@compiled
def write_chances(members: int, count: int) -> None:
    """Write behind a list the chances of all numbers of members: a convolution of as many coins."""
    chances = member_at(members, count)
    poke_float(chances, 0, 1.0)
    for k in range(count):
        p = peek_float(member_at(members, k), ListedField.PROBABILITY)
        poke_float(chances, k + 1, p * peek_float(chances, k))
        for number in range(k, 0, -1):
            poke_float(chances, number, peek_float(chances, number) * (1.0 - p) + peek_float(chances, number - 1) * p)
        poke_float(chances, 0, peek_float(chances, 0) * (1.0 - p))


@inlined
def _mean_of(member: int) -> float:
    """The mean of a member's true value, whose error is Normal or nothing."""
    value = peek_float(member, ListedField.VALUE)
    return value if peek(member, ListedField.KIND) == _NONE else value - peek_float(member, ListedField.FIRST)


@inlined
def _variance_of(member: int) -> float:
    return 0.0 if peek(member, ListedField.KIND) == _NONE else peek_float(member, ListedField.SECOND)


@inlined
def _plus(total: float, lost: float, value: float) -> tuple[float, float]:
    """Add a value to a total; what rounding takes away is kept beside it, as large values may cancel out."""
    grown = total + value
    if abs(total) >= abs(value):
        return grown, lost + ((total - grown) + value)
    return grown, lost + ((value - grown) + total)


@inlined
def _bounded(total: float, lost: float) -> float:
    """A total with what was lost, at most the largest double."""
    if math.isfinite(total):
        total += lost
    return min(max(total, -_MOST), _MOST)


@compiled
def _by_subsets(memory: int, members: int, count: int, bound: float, inclusive: bool) -> float:
    """Work out the probability of a sum or average of members of Normal errors, subset by subset of the unsure ones."""
    gaussian, average = fixed(memory, Of.GAUSSIAN), peek(members, ListField.FUNCTION) == FunctionCode.AVG
    unsure = peek(members, ListField.UNSURE)
    total = 0.0
    for subset in range(1 << unsure):
        weight, mean, lost, variance = 1.0, 0.0, 0.0, 0.0
        present, bit = 0, 0
        for k in range(count):
            member = member_at(members, k)
            p = peek_float(member, ListedField.PROBABILITY)
            there = True
            if p < 1.0:
                there = (subset >> bit) & 1 == 1
                weight *= p if there else 1.0 - p
                bit += 1
            if there:
                present += 1
                mean, lost = _plus(mean, lost, _mean_of(member))
                variance += _variance_of(member)
        mean = _bounded(mean, lost)
        if present == 0 and average:
            continue
        scale = 1.0 / present if average else 1.0
        total += weight * inside(
            gaussian,
            scale * mean,
            scale * scale * variance,
            0.0,
            0.0,
            -math.inf,
            False,
            bound,
            inclusive,
            math.nan,
        )
    return total / peek_float(members, ListField.DEFINED) if average else total


@compiled
def _ask(memory: int, members: int, bound: float, inclusive: bool) -> float:
    """The probability of a sum or average of many unsure members, which Python works out."""
    question = fixed(memory, Of.QUESTION)
    poke_float(question, 1, bound)
    poke(question, 2, 1 if inclusive else 0)
    call_2(fixed(memory, Of.ASK), ASKED_LIST, members)
    return peek_float(question, 0)
