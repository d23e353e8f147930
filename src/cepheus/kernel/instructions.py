"""The instructions of the expression machines: what code of expressions is made of, whichever language it comes from.

An instruction is three words: one of ``Op`` and two operands. There are two machines, each a loop over a stack. That of
patterns (``kernel/machine.py``) is told by lowering what every value is and works on plain words; that of interval
rules (``engine/goals/machine.py``) meets values of any type, with a tag each. What both can do has one code.
"""

from __future__ import annotations

from enum import IntEnum

from cepheus.kernel.tables import Fields, cell

MAX_STACK = 64
"""How many values an expression may hold at once, and one more."""

Instruction = tuple[int, int, int]
Code = tuple[Instruction, ...]


class Op(IntEnum):
    """What an instruction does."""

    # both machines
    END = 0
    CONSTANT = 3
    CALL = 30  # a compiled function, by its place in the table of addresses; the number of its arguments
    # values whose types are known: 64-bit words, each with a mark that tells whether it is defined
    SLOT = 1
    OPTIONAL_SLOT = 2
    RESULT = 4
    TO_FLOAT = 5
    ADD_INT = 6
    SUB_INT = 7
    MUL_INT = 8
    ADD_FLOAT = 9
    SUB_FLOAT = 10
    MUL_FLOAT = 11
    DIV_FLOAT = 12
    COMPARE_INT = 13
    COMPARE_FLOAT = 14
    ABS_INT = 15
    ABS_FLOAT = 16
    MIN_INT = 17
    MAX_INT = 18
    MIN_FLOAT = 19
    MAX_FLOAT = 20
    FLOOR = 21
    CEIL = 22
    ROUND = 23
    SQRT = 24
    MOD_INT = 25
    MOD_FLOAT = 26
    TABLE = 27
    JUMP_IF_DEFINED = 28
    CALENDAR = 29
    # values of any type: words with tags
    VARIABLE = 31
    ADD = 32
    SUBTRACT = 33
    MULTIPLY = 34
    DIVIDE = 35
    COMPARE = 36
    ASK = 37
    BOTH = 38
    EITHER = 39
    NOT = 40
    TRUTH = 41
    # conditions of values whose types are known; BOTH, EITHER and NOT are three-valued there
    JUMP_IF = 42  # over so many instructions if the topmost truth is the second operand; it stays on the stack
    JUMP_UNLESS = 43  # if the topmost truth, which is taken off, is not true
    JUMP = 44
    IS_NULL = 45


OPERATOR_CODES = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
"""Comparisons, as operands of instructions and fields of constraints."""


class DatePart(IntEnum):
    """A part of a time's date in UTC."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    WEEKDAY = 3
    HOUR = 4
    MINUTE = 5
    SECOND = 6


class FunctionField(Fields):
    """Of a function: where its code for doubles and for integers is, what it gives, which arguments are times.

    A function without code for integers takes them as doubles. ``TIMES`` has a bit for each argument, from the first
    on. What it gives is 0 for a number like its arguments.
    """

    OF_FLOATS = cell()
    OF_INTEGERS = cell()
    GIVES = cell()
    TIMES = cell()


class Gives(IntEnum):
    """What a compiled function gives."""

    AS_ARGUMENTS = 0
    BOOL = 1
    INT = 2
    FLOAT = 3
