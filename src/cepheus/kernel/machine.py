"""The expression machine and the test of constraints, compiled."""

from __future__ import annotations

import math

import numpy as np

from cepheus.kernel.calls import call_1
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.instructions import DatePart, Op
from cepheus.kernel.memory import (
    At,
    add_overflows,
    fixed,
    fixed_float,
    multiply_overflows,
    number,
    peek,
    peek_float,
    poke,
    poke_float,
    subtract_overflows,
    whole,
    word,
)
from cepheus.kernel.program import UNFILLED, ConstraintField, ConstraintKind

_INT_MIN = -(2**63)
_CONSTRAINT_BYTES = ConstraintField.row_bytes()
_YEAR_1 = -62135596800000000  # the calendar of Python: years 1 to 9999, in microseconds since the epoch
_YEAR_10000 = 253402300800000000
_DAY = 86_400_000_000


@inlined
def compare_ints(operator: int, left: int, right: int) -> bool:
    """Compare two integers by operator code."""
    if operator == 0:
        return left == right
    if operator == 1:
        return left != right
    if operator == 2:
        return left < right
    if operator == 3:
        return left <= right
    if operator == 4:
        return left > right
    return left >= right


@inlined
def compare_floats(operator: int, left: float, right: float) -> bool:
    """Compare two floats by operator code."""
    if operator == 0:
        return left == right
    if operator == 1:
        return left != right
    if operator == 2:
        return left < right
    if operator == 3:
        return left <= right
    if operator == 4:
        return left > right
    return left >= right


@compiled
def calendar(part: int, time: int) -> tuple[int, bool]:
    """A part of a time's UTC date, and whether the calendar reaches that far."""
    if time < _YEAR_1 or time >= _YEAR_10000:
        return 0, False
    days = time // _DAY
    microseconds = time - days * _DAY
    if part == DatePart.HOUR:
        return microseconds // 3_600_000_000, True
    if part == DatePart.MINUTE:
        return microseconds // 60_000_000 % 60, True
    if part == DatePart.SECOND:
        return microseconds // 1_000_000 % 60, True
    if part == DatePart.WEEKDAY:
        return (days + 3) % 7 + 1, True
    # civil date from a count of days, in eras of 400 years that begin in March
    shifted = days + 719468
    era = shifted // 146097
    day_of_era = shifted - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    if part == DatePart.YEAR:
        return year_of_era + era * 400 + (1 if month <= 2 else 0), True
    if part == DatePart.MONTH:
        return month, True
    return day_of_year - (153 * shifted_month + 2) // 5 + 1, True


@compiled
def compute(context: int, start: int) -> bool:
    """Run the code from ``start``; the result is left at the bottom of the stack. False if it is undefined."""
    stack, defined = fixed(context, At.STACK), fixed(context, At.STACK_DEFINED)
    bound, store, code = fixed(context, At.BOUND), fixed(context, At.STORE), fixed(context, At.CODE)
    top = -1
    at = start
    while True:
        op, a, b = fixed(code, 3 * at), fixed(code, 3 * at + 1), fixed(code, 3 * at + 2)
        at += 1
        if op == Op.END:
            return peek(defined, 0) != 0
        if op == Op.SLOT:
            top += 1
            poke(stack, top, peek(store, peek(bound, a) + b))
            poke(defined, top, 1)
        elif op == Op.CONSTANT:
            top += 1
            poke(stack, top, a)
            poke(defined, top, 1)
        elif op == Op.OPTIONAL_SLOT:
            top += 1
            poke(stack, top, peek(store, peek(bound, a) + b))
            poke(defined, top, peek(store, peek(bound, a) + b + 1))
        elif op == Op.RESULT:
            top += 1
            poke(stack, top, word(context, At.RESULTS, a))
            poke(defined, top, word(context, At.RESULTS_DEFINED, a))
        elif op == Op.TO_FLOAT:
            poke_float(stack, top - a, float(peek(stack, top - a)))
        elif op == Op.JUMP_IF_DEFINED:
            if peek(defined, top):
                at += a - 1
            else:
                top -= 1
        elif op == Op.TABLE:
            if peek(defined, top):
                entry = word(context, At.TABLES, a * fixed(context, At.TABLE_WIDTH) + peek(stack, top))
                if entry == UNFILLED:  # ask for it; the event is taken again once it is there
                    poke(context, At.NEEDED_TABLE, a)
                    poke(context, At.NEEDED_CODE, peek(stack, top))
                poke(stack, top, entry)
                poke(defined, top, entry > UNFILLED)
        elif op == Op.CALENDAR:
            if peek(defined, top):
                part, reached = calendar(a, peek(stack, top))
                poke(stack, top, part)
                poke(defined, top, reached)
        elif op == Op.CALL:
            top -= b - 1
            known = 1
            for k in range(b):
                known &= peek(defined, top + k)
            if known:
                known = call_1(word(context, At.FUNCTIONS, a), stack + 8 * top)
            poke(defined, top, known)
        elif op == Op.ABS_INT or op == Op.ABS_FLOAT or (op >= Op.FLOOR and op <= Op.SQRT):
            if peek(defined, top):
                _unary(op, stack, defined, top)
        elif op >= Op.BOTH:
            if op == Op.JUMP_IF:
                if peek(defined, top) and peek(stack, top) == b:
                    at += a - 1
            elif op == Op.JUMP_UNLESS:
                if peek(defined, top) == 0 or peek(stack, top) == 0:
                    at += a - 1
                top -= 1
            elif op == Op.JUMP:
                at += a - 1
            elif op == Op.NOT:
                poke(stack, top, peek(stack, top) == 0)
            elif op == Op.IS_NULL:
                poke(stack, top, peek(defined, top) == 0)
                poke(defined, top, 1)
            else:
                top -= 1
                _join(1 if op == Op.EITHER else 0, stack, defined, top)
        else:
            top -= 1
            _binary(op, a, stack, defined, top)


@compiled
def _unary(op: int, stack: int, defined: int, top: int) -> None:
    if op == Op.ABS_INT:
        value = peek(stack, top)
        poke(defined, top, value != _INT_MIN)
        poke(stack, top, abs(value))
        return
    x = peek_float(stack, top)
    if op == Op.ABS_FLOAT:
        poke_float(stack, top, abs(x))
    elif op == Op.SQRT:
        poke(defined, top, x >= 0.0)
        if x >= 0.0:
            poke_float(stack, top, math.sqrt(x))
    else:
        if op == Op.FLOOR:
            x = np.floor(x)
        elif op == Op.CEIL:
            x = np.ceil(x)
        else:
            x = np.rint(x)
        fits = x >= -9223372036854775808.0 and x < 9223372036854775808.0
        poke(defined, top, fits)
        if fits:
            poke(stack, top, whole(x))


@compiled
def _binary(op: int, operator: int, stack: int, defined: int, top: int) -> None:
    both = peek(defined, top) != 0 and peek(defined, top + 1) != 0
    if op == Op.COMPARE_INT:
        poke(stack, top, both and compare_ints(operator, peek(stack, top), peek(stack, top + 1)))
        poke(defined, top, both)
    elif op == Op.COMPARE_FLOAT:
        poke(stack, top, both and compare_floats(operator, peek_float(stack, top), peek_float(stack, top + 1)))
        poke(defined, top, both)
    elif not both:
        poke(defined, top, 0)
    elif op <= Op.MUL_INT or op == Op.MIN_INT or op == Op.MAX_INT or op == Op.MOD_INT:
        result, fits = _integers(op, peek(stack, top), peek(stack, top + 1))
        poke(stack, top, result)
        poke(defined, top, fits)
    else:
        x = _floats(op, peek_float(stack, top), peek_float(stack, top + 1))
        poke_float(stack, top, x)
        poke(defined, top, math.isfinite(x))


@compiled
def _join(decisive: int, stack: int, defined: int, top: int) -> None:
    """Join two truths: the decisive one, true for ``or`` and false for ``and``, settles it even beside an unknown."""
    settled = (peek(defined, top) != 0 and peek(stack, top) == decisive) or (
        peek(defined, top + 1) != 0 and peek(stack, top + 1) == decisive
    )
    poke(defined, top, settled or (peek(defined, top) != 0 and peek(defined, top + 1) != 0))
    poke(stack, top, decisive if settled else 1 - decisive)


@compiled
def _integers(op: int, left: int, right: int) -> tuple[int, bool]:
    if op == Op.ADD_INT:
        return (0, False) if add_overflows(left, right) else (left + right, True)
    if op == Op.SUB_INT:
        return (0, False) if subtract_overflows(left, right) else (left - right, True)
    if op == Op.MUL_INT:
        return (0, False) if multiply_overflows(left, right) else (left * right, True)
    if op == Op.MIN_INT:
        return min(left, right), True
    if op == Op.MAX_INT:
        return max(left, right), True
    if right == 0:
        return 0, False
    return (0 if right == -1 else left % right), True


@compiled
def _floats(op: int, left: float, right: float) -> float:
    if op == Op.ADD_FLOAT:
        return left + right
    if op == Op.SUB_FLOAT:
        return left - right
    if op == Op.MUL_FLOAT:
        return left * right
    if op == Op.MIN_FLOAT:
        return min(left, right)
    if op == Op.MAX_FLOAT:
        return max(left, right)
    if right == 0.0:
        return math.nan
    return left / right if op == Op.DIV_FLOAT else left % right


@inlined
def holds(context: int, at: int) -> bool:
    """Whether one constraint holds for the events bound so far."""
    row = fixed(context, At.CONSTRAINTS) + _CONSTRAINT_BYTES * at
    kind = fixed(row, ConstraintField.KIND)
    if kind == ConstraintKind.CODE:
        return compute(context, fixed(row, ConstraintField.CODE)) and word(context, At.STACK, 0) != 0
    operator = fixed(row, ConstraintField.OPERATOR)
    place = word(context, At.BOUND, fixed(row, ConstraintField.POSITION)) + fixed(row, ConstraintField.SLOT)
    if kind == ConstraintKind.FLOAT_CONSTANT:
        return compare_floats(operator, number(context, At.STORE, place), fixed_float(row, ConstraintField.CONSTANT))
    if kind == ConstraintKind.INT_CONSTANT:
        return compare_ints(operator, word(context, At.STORE, place), fixed(row, ConstraintField.CONSTANT))
    other = word(context, At.BOUND, fixed(row, ConstraintField.OTHER_POSITION)) + fixed(row, ConstraintField.OTHER_SLOT)
    if kind == ConstraintKind.INT_SLOT:
        return compare_ints(operator, word(context, At.STORE, place), word(context, At.STORE, other))
    return compare_floats(operator, number(context, At.STORE, place), number(context, At.STORE, other))


@inlined
def all_hold(context: int, start: int, end: int) -> bool:
    """Whether all constraints of a range hold."""
    for at in range(start, end):
        if not holds(context, at):
            return False
    return True
