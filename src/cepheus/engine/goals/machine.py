"""The expression machine, compiled: conditions and computed values over the variables of a match.

It works on a stack of words with a tag each, so that a value may be of any type. What it cannot compute itself (a
function of texts, a look into background knowledge) it looks up among earlier answers; where there is none, it asks
for one, and the event is taken again once the answer is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cepheus.kernel.calls import call_1, call_2
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.instructions import FunctionField, Gives, Op
from cepheus.kernel.machine import compare_floats, compare_ints
from cepheus.kernel.memory import (
    add_overflows,
    fixed,
    multiply_overflows,
    peek,
    poke,
    poke_float,
    signed,
    subtract_overflows,
)
from cepheus.plan.interval.layout import AnswerField, At, Need, Tag

_BOOL, _INT, _FLOAT, _STRING, _LIST = (int(tag) for tag in (Tag.BOOL, Tag.INT, Tag.FLOAT, Tag.STRING, Tag.LIST))
_ANSWER_BYTES = AnswerField.row_bytes()
_FUNCTION_BYTES = FunctionField.row_bytes()
_TWO_TO_63 = 9223372036854775808.0


def _bitcast(target: ir.Type, given: types.Type, result: types.Type) -> Callable[[Any], Any]:
    def typing(_context: Any, _value: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], target)

        return result(given), generate

    return cast(Callable[[Any], Any], intrinsic(typing))


float_of: Callable[[int], float] = _bitcast(ir.DoubleType(), types.int64, types.float64)
"""Read the bits of a word as a float."""

bits_of: Callable[[float], int] = _bitcast(ir.IntType(64), types.float64, types.int64)
"""The bits of a float as a word."""


@inlined
def stir(digest: np.uint64, word: int) -> np.uint64:
    """Stir a word into a hash."""
    digest = (digest ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15)
    return digest ^ (digest >> np.uint64(29))


@compiled
def stir_value(digest: np.uint64, tag: int, word: int) -> np.uint64:
    """Stir a value into a hash, so that equal numbers of either kind have equal hashes."""
    if tag == _INT:
        return stir(digest, bits_of(float(word)))
    if tag == _FLOAT:
        return stir(digest, bits_of(float_of(word) + 0.0))
    return stir(digest, word + tag)


@compiled
def same_value(left_tag: int, left: int, right_tag: int, right: int) -> bool:
    """Whether two values are equal; an integer and a float are compared as floats."""
    if left_tag == right_tag and left_tag != _FLOAT:
        return left == right
    if left_tag == _FLOAT and is_number(right_tag):
        return float_of(left) == (float_of(right) if right_tag == _FLOAT else float(right))
    return left_tag == _INT and right_tag == _FLOAT and float(left) == float_of(right)


@compiled
def order_exactly(left_tag: int, left: int, right_tag: int, right: int) -> int:
    """Order two numbers by their exact worth, which is the same for all orders of events: -1, 0 or 1.

    As floats, two different integers may both be equal to a third number.
    """
    if left_tag == _INT and right_tag == _INT:
        return (left > right) - (left < right)
    x, y = as_float(left_tag, left), as_float(right_tag, right)
    if x != y or left_tag == right_tag:
        return (x > y) - (x < y)
    if x == _TWO_TO_63:  # one of the two is an integer, and thus smaller
        return 1 if left_tag == _FLOAT else -1
    one, other = int(x) if left_tag == _FLOAT else left, int(y) if right_tag == _FLOAT else right
    return (one > other) - (one < other)


@compiled
def identical(left_tag: int, left: int, right_tag: int, right: int) -> bool:
    """Whether two values are one and the same: 2 and 2.0 are, an integer and a float that rounds it are not."""
    if left_tag == right_tag and left_tag != _FLOAT:
        return left == right
    both = is_number(left_tag) and is_number(right_tag)
    return both and order_exactly(left_tag, left, right_tag, right) == 0


@inlined
def is_number(tag: int) -> bool:
    """Whether a value with that tag is a number."""
    return tag in (_INT, _FLOAT)


@inlined
def as_float(tag: int, word: int) -> float:
    """A number as a float."""
    return float_of(word) if tag == _FLOAT else float(word)


@compiled
def _arithmetic(op: int, stack: int, tags: int, top: int) -> None:
    """Replace the two topmost values (the second at ``top + 1``) by what an operator makes of them."""
    left_tag, right_tag = peek(tags, top), peek(tags, top + 1)
    if not (is_number(left_tag) and is_number(right_tag)):
        poke(tags, top, 0)
        return
    if left_tag == _INT and right_tag == _INT and op != Op.DIVIDE:
        left, right = peek(stack, top), peek(stack, top + 1)
        if op == Op.ADD:
            fits, result = not add_overflows(left, right), left + right
        elif op == Op.SUBTRACT:
            fits, result = not subtract_overflows(left, right), left - right
        else:
            fits, result = not multiply_overflows(left, right), left * right
        poke(stack, top, result)
        poke(tags, top, _INT if fits else 0)
        return
    x, y = as_float(left_tag, peek(stack, top)), as_float(right_tag, peek(stack, top + 1))
    if op == Op.ADD:
        x += y
    elif op == Op.SUBTRACT:
        x -= y
    elif op == Op.MULTIPLY:
        x *= y
    else:
        x = x / y if y != 0.0 else math.nan
    poke_float(stack, top, x)
    poke(tags, top, _FLOAT if math.isfinite(x) else 0)


@compiled
def compare_values(context: int, operator: int, left_tag: int, left: int, right_tag: int, right: int) -> bool:
    """Compare two values by operator code; values of different kinds do not compare."""
    if left_tag == 0 or right_tag == 0:
        return False
    if left_tag == _FLOAT or right_tag == _FLOAT:
        if not (is_number(left_tag) and is_number(right_tag)):
            return False
        return compare_floats(operator, as_float(left_tag, left), as_float(right_tag, right))
    if left_tag != right_tag or (left_tag == _LIST and operator > 1):
        return False
    if left_tag == _STRING and operator > 1 and left != right:
        known = fixed(context, At.RANKS_SIZE)
        if left >= known or right >= known:
            poke(context, At.NEED, Need.RANKS)
            return False
        left, right = peek(fixed(context, At.RANKS), left), peek(fixed(context, At.RANKS), right)
    return compare_ints(operator, left, right)


@compiled
def _find_answer(context: int, function: int, packed: int, arguments: int, count: int) -> int:
    """Find the address of the answer to a question, or of the empty place where it belongs."""
    digest = stir(stir(np.uint64(function), packed), count)
    for k in range(count):
        digest = stir(digest, peek(arguments, k))
    mask = fixed(context, At.ANSWERS_SIZE) - 1
    at = signed(digest >> np.uint64(1)) & mask
    while True:
        entry = fixed(context, At.ANSWERS) + _ANSWER_BYTES * at
        same = peek(entry, AnswerField.FUNCTION) == function + 1 and peek(entry, AnswerField.TAGS) == packed
        for k in range(count):
            same = same and peek(entry, AnswerField.ARGUMENT + k) == peek(arguments, k)
        if same or peek(entry, AnswerField.FUNCTION) == 0:
            return entry
        at = (at + 1) & mask


@compiled
def ask(context: int, function: int, count: int, stack: int, tags: int, base: int) -> None:
    """Replace the arguments on the stack from ``base`` on by the answer of a function, or ask for it."""
    packed = 0
    for k in range(count):
        packed = packed * 16 + peek(tags, base + k)
    entry = _find_answer(context, function, packed, stack + 8 * base, count)
    if peek(entry, AnswerField.FUNCTION) != 0:
        poke(tags, base, peek(entry, AnswerField.RESULT_TAG))
        poke(stack, base, peek(entry, AnswerField.RESULT))
        return
    asked = peek(context, At.REQUEST_COUNT)
    if asked < fixed(context, At.REQUESTS_SIZE):
        entry = fixed(context, At.REQUESTS) + _ANSWER_BYTES * asked
        poke(entry, AnswerField.FUNCTION, function + 1)
        poke(entry, AnswerField.TAGS, packed)
        poke(entry, AnswerField.COUNT, count)
        for k in range(count):
            poke(entry, AnswerField.ARGUMENT + k, peek(stack, base + k))
        poke(context, At.REQUEST_COUNT, asked + 1)
    poke(context, At.NEED, Need.ANSWER)
    poke(tags, base, 0)


@compiled
def place_answer(context: int, answer: int) -> None:
    """Put an answer, given by its address, into the table of answers; there must be room."""
    function, count = peek(answer, AnswerField.FUNCTION) - 1, peek(answer, AnswerField.COUNT)
    arguments = answer + 8 * AnswerField.ARGUMENT
    entry = _find_answer(context, function, peek(answer, AnswerField.TAGS), arguments, count)
    for k in range(AnswerField.ARGUMENT + count):
        poke(entry, k, peek(answer, k))


@compiled
def _call(context: int, function: int, count: int, stack: int, tags: int, base: int) -> None:
    """Replace the arguments on the stack from ``base`` on by what a compiled function gives."""
    row = fixed(context, At.FUNCTIONS) + _FUNCTION_BYTES * function
    times, gives = fixed(row, FunctionField.TIMES), fixed(row, FunctionField.GIVES)
    floating = fixed(row, FunctionField.OF_INTEGERS) == 0
    for k in range(count):
        tag = peek(tags, base + k)
        is_time = (times >> k) & 1 != 0
        if not is_number(tag) or (is_time and tag != _INT):
            poke(tags, base, 0)
            return
        floating = floating or tag == _FLOAT
    if floating:
        for k in range(count):
            if peek(tags, base + k) == _INT and (times >> k) & 1 == 0:
                poke_float(stack, base + k, float(peek(stack, base + k)))
    code = fixed(row, FunctionField.OF_FLOATS) if floating else fixed(row, FunctionField.OF_INTEGERS)
    if call_1(code, stack + 8 * base) == 0:
        poke(tags, base, 0)
    elif gives == Gives.BOOL:
        poke(tags, base, _BOOL)
    else:
        of_floats = gives == Gives.FLOAT or (gives == Gives.AS_ARGUMENTS and floating)
        poke(tags, base, _FLOAT if of_floats else _INT)


@inlined
def compute(context: int, start: int) -> int:
    """Run the code from ``start``; the result is left at the bottom of the stack and its tag is given."""
    return call_2(fixed(context, At.COMPUTE), context, start)


def compute_behind(context: int, start: int) -> int:
    """Do what ``compute`` says, behind a seam."""
    stack, tags = fixed(context, At.STACK), fixed(context, At.STACK_TAGS)
    values, value_tags, code = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS), fixed(context, At.CODE)
    top = -1
    at = start
    while True:
        op, a, b = fixed(code, 3 * at), fixed(code, 3 * at + 1), fixed(code, 3 * at + 2)
        at += 1
        if op == Op.END:
            return peek(tags, 0)
        if op == Op.VARIABLE:
            top += 1
            poke(stack, top, peek(values, a))
            poke(tags, top, peek(value_tags, a))
        elif op == Op.CONSTANT:
            top += 1
            poke(stack, top, b)
            poke(tags, top, a)
        elif op == Op.CALL:
            top -= b - 1
            _call(context, a, b, stack, tags, top)
        elif op == Op.ASK:
            top -= b - 1
            ask(context, a, b, stack, tags, top)
        elif op == Op.NOT:
            poke(stack, top, 1 - peek(stack, top))
        elif op == Op.TRUTH:
            poke(stack, top, peek(tags, top) == _BOOL and peek(stack, top) != 0)
            poke(tags, top, _BOOL)
        else:
            top -= 1
            if op == Op.COMPARE:
                poke(
                    stack,
                    top,
                    compare_values(
                        context, a, peek(tags, top), peek(stack, top), peek(tags, top + 1), peek(stack, top + 1)
                    ),
                )
                poke(tags, top, _BOOL)
            elif op == Op.BOTH:
                poke(stack, top, peek(stack, top) & peek(stack, top + 1))
            elif op == Op.EITHER:
                poke(stack, top, peek(stack, top) | peek(stack, top + 1))
            else:
                _arithmetic(op, stack, tags, top)


@inlined
def test(context: int, start: int) -> bool:
    """Whether a condition holds."""
    return compute(context, start) == _BOOL and peek(fixed(context, At.STACK), 0) != 0
