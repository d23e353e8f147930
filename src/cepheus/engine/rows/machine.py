"""Words of open matches brought up to date, and conditions on them decided: compiled, programs as data.

A word is an integer or the bits of a float; a program knows which it reads.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.engine.rows.looking import Look
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import (
    add_overflows,
    fixed,
    float_of_bits,
    multiply_overflows,
    peek,
    peek_float,
    poke,
    poke_float,
    subtract_overflows,
    word,
)
from cepheus.kernel.sums import add_float, add_integer, read_float, read_integer
from cepheus.plan.rows.conditions import Keep, Op

HOLDS_NOT, HOLDS, ASKS = 0, 1, 2
MASK, NULLS, VECTORS = 0, 1, 2
"""Of a row's values: the variables whose near conditions hold, the vectors that are NULL, and the vectors."""

KEPT_WIDTH = 6
_WORD_BYTES = 8
_INEXACT, _MEMBERS = 4, 5


@inlined
def _is_null(values: int, vector: int) -> bool:
    """Whether a vector is NULL, given the address of a row's values."""
    return (peek(values, NULLS) >> vector) & 1 != 0


@inlined
def values_of(look: int, row: int) -> int:
    """The address of a row's values."""
    return fixed(look, Look.VALUES) + _WORD_BYTES * fixed(look, Look.VALUES_WIDTH) * row


@inlined
def bring_up_to_date(look: int, words: int, variable: int, row: int, values: int) -> None:
    """Change words, given by their address, as they are after a variable took a row."""
    kept = fixed(look, Look.KEPT)
    for _ in range(fixed(look, Look.KEPT_COUNT)):
        if (peek(kept, 2) >> variable) & 1:
            _keep(kept, words, variable, row, values)
        kept += _WORD_BYTES * KEPT_WIDTH


@inlined
def _keep(kept: int, words: int, variable: int, row: int, values: int) -> None:
    keep, size, value, chosen = peek(kept, 0), peek(kept, 3), peek(kept, 4), peek(kept, 5)
    at = words + _WORD_BYTES * peek(kept, 1)
    if chosen >= 0 and (_is_null(values, chosen) or peek(values, VECTORS + chosen) == 0):
        return
    if value >= 0 and _is_null(values, value):
        return
    if keep == Keep.LAST_PLACES or keep == Keep.LAST_LABELS:
        for k in range(size - 1, 0, -1):
            poke(at, k, peek(at, k - 1))
        poke(at, 0, row if keep == Keep.LAST_PLACES else variable)
    elif keep == Keep.FIRST_PLACE or keep == Keep.FIRST_LABEL:
        if peek(at, 1) == size:
            poke(at, 0, row if keep == Keep.FIRST_PLACE else variable)
        if peek(at, 1) <= size:
            poke(at, 1, peek(at, 1) + 1)
    elif keep == Keep.COUNT:
        poke(at, 0, peek(at, 0) + 1)
    elif keep == Keep.SUM_INT:
        add_integer(at, peek(values, VECTORS + value), False)
        poke(at, _MEMBERS, peek(at, _MEMBERS) + 1)
    elif keep == Keep.SUM_FLOAT:
        if not add_float(at, peek(values, VECTORS + value), False):
            poke(at, _INEXACT, peek(at, _INEXACT) + 1)
        poke(at, _MEMBERS, peek(at, _MEMBERS) + 1)
    elif keep == Keep.HISTORY:
        poke(at, 0, (peek(at, 0) + variable + 1) * 0x5851F42D4C957F2D + 0x14057B7EF767814F)
    else:
        found = peek(values, VECTORS + value)
        if peek(at, 1) == 0 or _is_better(keep, found, peek(at, 0)):
            poke(at, 0, found)
        poke(at, 1, 1)


@inlined
def _is_better(keep: int, found: int, best: int) -> bool:
    """Whether a value is a new extreme; its words are those of a float or not."""
    if keep == Keep.LEAST:
        return found < best
    if keep == Keep.GREATEST:
        return found > best
    if keep == Keep.LEAST_FLOAT:
        return float_of_bits(found) < float_of_bits(best)
    return float_of_bits(found) > float_of_bits(best)


@compiled
def decide(look: int, words: int, variable: int, row: int, number: int) -> int:
    """Whether the condition of a variable holds, given the words after it would take the row; ``ASKS`` if unknown."""
    stack, null = fixed(look, Look.STACK), fixed(look, Look.STACK_NULL)
    code = fixed(look, Look.INSTRUCTIONS)
    top = -1
    for at in range(word(look, Look.CODE_BEGINS, variable), word(look, Look.CODE_BEGINS, variable + 1)):
        op, a, b = peek(code, 3 * at), peek(code, 3 * at + 1), peek(code, 3 * at + 2)
        if op <= Op.AVERAGE:
            top += 1
            if not _push(look, words, row, number, op, a, b, top, stack, null):
                return ASKS
        elif op == Op.TO_FLOAT:
            poke_float(stack, top, float(peek(stack, top)))
        elif op == Op.NOT:
            poke(stack, top, 1 - peek(stack, top))
        elif op == Op.IS_NULL:
            poke(stack, top, peek(null, top))
            poke(null, top, 0)
        elif op == Op.NEGATIVE:
            if subtract_overflows(0, peek(stack, top)):
                poke(null, top, 1)
            poke(stack, top, -peek(stack, top))
        elif op == Op.NEGATIVE_FLOAT:
            poke_float(stack, top, -peek_float(stack, top))
        elif op == Op.CHOOSE:
            top -= 2
            taken = top + 1 if peek(null, top) == 0 and peek(stack, top) != 0 else top + 2
            poke(stack, top, peek(stack, taken))
            poke(null, top, peek(null, taken))
        else:
            top -= 1
            _two(op, a, stack + _WORD_BYTES * top, null + _WORD_BYTES * top)
    return HOLDS if peek(null, top) == 0 and peek(stack, top) != 0 else HOLDS_NOT


@inlined
def _push(
    look: int, words: int, row: int, number: int, op: int, a: int, b: int, top: int, stack: int, null: int
) -> bool:
    """Put a value on the stack; False if it is not known."""
    poke(null, top, 0)
    if op == Op.CONSTANT:
        poke(stack, top, word(look, Look.CONSTANTS, a))
        poke(null, top, word(look, Look.CONSTANTS_NULL, a))
    elif op == Op.ROW or op == Op.AT:
        place = row if op == Op.ROW else peek(words, b)
        if place < 0:
            poke(null, top, 1)
        else:
            values = values_of(look, place)
            poke(stack, top, peek(values, VECTORS + a))
            poke(null, top, 1 if _is_null(values, a) else 0)
    elif op == Op.WORD:
        poke(stack, top, peek(words, a))
        if b >= 0 and peek(words, b) == 0:
            poke(null, top, 1)
    elif op == Op.LABEL:
        label = peek(words, a)
        if label < 0:
            poke(null, top, 1)
        else:
            poke(stack, top, word(look, Look.LABELS, label))
    elif op == Op.NUMBER:
        poke(stack, top, number)
    else:
        limbs = words + _WORD_BYTES * a
        members = peek(limbs, _MEMBERS)
        if peek(limbs, _INEXACT) != 0:
            return False
        if members == 0:
            poke(null, top, 1)
        elif op == Op.SUM_INT:
            total, fits = read_integer(limbs)
            poke(stack, top, total)
            poke(null, top, 0 if fits else 1)
        else:
            exact = read_float(limbs)
            poke_float(stack, top, exact if op == Op.SUM_FLOAT else exact / members)
            poke(null, top, 0 if math.isfinite(peek_float(stack, top)) else 1)
    return True


@inlined
def _two(op: int, a: int, stack: int, null: int) -> None:
    """An operation on the two uppermost values, at addresses; the result takes their place."""
    left, right = peek(stack, 0), peek(stack, 1)
    left_null, right_null = peek(null, 0) != 0, peek(null, 1) != 0
    if op == Op.AND or op == Op.OR:
        decisive = 1 if op == Op.OR else 0
        if (not left_null and left == decisive) or (not right_null and right == decisive):
            poke(stack, 0, decisive)
            poke(null, 0, 0)
        else:
            poke(stack, 0, 1 - decisive)
            poke(null, 0, 1 if left_null or right_null else 0)
        return
    if op == Op.SAME or op == Op.SAME_FLOAT:
        same = left_null == right_null
        if not left_null and not right_null:
            same = left == right if op == Op.SAME else float_of_bits(left) == float_of_bits(right)
        poke(stack, 0, 1 if same else 0)
        poke(null, 0, 0)
        return
    if left_null or right_null:
        poke(null, 0, 1)
        return
    if op == Op.COMPARE:
        poke(stack, 0, 1 if _compared(a, left, right) else 0)
    elif op == Op.COMPARE_FLOAT:
        poke(stack, 0, 1 if _compared(a, float_of_bits(left), float_of_bits(right)) else 0)
    elif op <= Op.NEGATIVE:
        _of_integers(op, left, right, stack, null)
    else:
        found = _of_floats(op, float_of_bits(left), float_of_bits(right))
        poke_float(stack, 0, found)
        poke(null, 0, 0 if math.isfinite(found) else 1)


@inlined
def _compared(a: int, left: float, right: float) -> bool:
    if a == 0:
        return left == right
    if a == 1:
        return left != right
    if a == 2:
        return left < right
    if a == 3:
        return left <= right
    if a == 4:
        return left > right
    return left >= right


@inlined
def _of_integers(op: int, left: int, right: int, stack: int, null: int) -> None:
    """Arithmetic of integers; what is beyond 64 bits is undefined. A remainder has the sign of what is divided."""
    if op == Op.ADD:
        poke(stack, 0, left + right)
        poke(null, 0, 1 if add_overflows(left, right) else 0)
    elif op == Op.SUBTRACT:
        poke(stack, 0, left - right)
        poke(null, 0, 1 if subtract_overflows(left, right) else 0)
    elif op == Op.MULTIPLY:
        poke(stack, 0, left * right)
        poke(null, 0, 1 if multiply_overflows(left, right) else 0)
    elif right == 0:
        poke(null, 0, 1)
    elif right == -1:
        poke(stack, 0, 0)
    else:
        rest = left % right
        poke(stack, 0, rest - right if rest != 0 and (rest < 0) != (left < 0) else rest)


@inlined
def _of_floats(op: int, left: float, right: float) -> float:
    """Arithmetic of floats; what is not finite is undefined."""
    if op == Op.ADD_FLOAT:
        return left + right
    if op == Op.SUBTRACT_FLOAT:
        return left - right
    if op == Op.MULTIPLY_FLOAT:
        return left * right
    if right == 0.0:
        return math.nan
    if op == Op.DIVIDE:
        return left / right
    return float(np.fmod(left, right))
