"""Expressions to instructions: the one pass that the compilers of both languages share.

What an expression is made of is the same everywhere; where values are found, and whether their types are known
beforehand, is not. That is told by a ``Machine``, which writes the few instructions that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, assert_never

from cepheus.core.errors import UnsupportedError
from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType
from cepheus.kernel.functions import FUNCTION_ADDRESSES, NumberFunction
from cepheus.kernel.instructions import MAX_STACK, Code, Instruction, Op
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.function_record import Compiled, Function, Kind

_ZERO = Constant(0, ValueType.INT)

Type = ValueType | None
"""The type of a value; None where only the data tells it."""


class Machine(Protocol):
    """What is special to the machine that code is written for. All but ``constant`` write to the emitter."""

    def constant(self, value: Value) -> tuple[int, int]:
        """Return the operands of the instruction for a constant."""

    def read(self, emitter: Emitter, source: AttributeRef | Parameter) -> Type:
        """Write how an attribute or a variable is read."""

    def arithmetic(self, emitter: Emitter, operator: str, left: Type, right: Type, /) -> Type:
        """Write an operation on the two topmost values."""

    def compare(self, emitter: Emitter, operator: str, left: Expression, right: Expression) -> None:
        """Write a comparison of two expressions."""

    def call(self, emitter: Emitter, call: Call) -> Type:
        """Write a call, arguments included."""


class Emitter:
    """Writes the code of one expression after another, and sees to it that the stack of the machine has room."""

    def __init__(self, machine: Machine, too_deep: Callable[[Span | None], UnsupportedError]) -> None:
        self._machine = machine
        self._too_deep = too_deep
        self._code: list[Instruction] = []
        self._depth = 0
        self._deepest = 0
        self._types: dict[Expression, Type] = {}

    def begin(self) -> None:
        """Begin with the code of another expression."""
        self._code, self._depth, self._deepest = [], 0, 0

    def end(self, span: Span | None) -> Code:
        """Return the code written since ``begin``; the value is what it leaves on the stack."""
        if self._deepest >= MAX_STACK:
            raise self._too_deep(span)
        return (*self._code, (Op.END, 0, 0))

    def add(self, op: Op, change: int, a: int = 0, b: int = 0) -> None:
        """Write an instruction that leaves ``change`` more values on the stack than there were."""
        self._code.append((op, a, b))
        self._depth += change
        self._deepest = max(self._deepest, self._depth)

    def value(self, value: Value) -> None:
        """Write a constant."""
        self.add(Op.CONSTANT, 1, *self._machine.constant(value))

    def expression(self, expression: Expression) -> Type:
        """Write an expression and return the type of what it leaves on the stack."""
        match expression:
            case Constant(value=value, type=value_type):
                self.value(value)
                return value_type
            case AttributeRef() | Parameter():
                return self._machine.read(self, expression)
            case Negative(operand=operand):
                return self._arithmetic("-", _ZERO, operand)
            case Arithmetic(operator=operator, left=left, right=right):
                return self._arithmetic(operator, left, right)
            case Call():
                return self._machine.call(self, expression)
            case Comparison(operands=operands, operators=operators):
                links = zip(operands, operators, operands[1:], strict=False)
                self.all_of([partial(self.comparison, *link) for link in links])
                return ValueType.BOOL
            case Aggregate():
                raise AssertionError("aggregates are computed as steps of their own")
            case _:
                assert_never(expression)

    def _arithmetic(self, operator: str, left: Expression, right: Expression) -> Type:
        first, second = self.expression(left), self.expression(right)
        return self._machine.arithmetic(self, operator, first, second)

    def comparison(self, left: Expression, operator: str, right: Expression) -> None:
        """Write a comparison, which leaves a truth on the stack."""
        self._machine.compare(self, operator, left, right)

    def type_of(self, expression: Expression) -> Type:
        """Return the type of an expression, found by writing it once."""
        if expression not in self._types:
            saved = self._code, self._depth, self._deepest
            self._code = []
            self._types[expression] = self.expression(expression)
            self._code, self._depth, self._deepest = saved
        return self._types[expression]

    def all_of(self, parts: Sequence[Callable[[], object]]) -> None:
        """Write conditions that must all hold, no further than the first that is false."""
        self._join(parts, Op.BOTH, 0)

    def any_of(self, parts: Sequence[Callable[[], object]]) -> None:
        """Write conditions of which one must hold, no further than the first that is true."""
        self._join(parts, Op.EITHER, 1)

    def _join(self, parts: Sequence[Callable[[], object]], op: Op, decisive: int) -> None:
        jumps = []
        for place, write in enumerate(parts):
            write()
            if place:
                self.add(op, -1)
            if place < len(parts) - 1:
                jumps.append(self.jump(Op.JUMP_IF, 0, decisive))
        for to_here in jumps:
            to_here()

    def choice(self, condition: Expression, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Write one of two values, by a condition."""
        self.expression(condition)
        unless = self.jump(Op.JUMP_UNLESS, -1)
        then()
        end = self.jump(Op.JUMP, -1)  # what follows leaves the one value that is on the stack already
        unless()
        otherwise()
        end()

    def jump_if_defined(self) -> Callable[[], None]:
        """Write a jump that is taken if the topmost value is defined, else drops it; return what sets its target."""
        return self.jump(Op.JUMP_IF_DEFINED, -1)

    def jump(self, op: Op, change: int, operand: int = 0) -> Callable[[], None]:
        """Write a jump and return what sets its target to where the code then ends."""
        at = len(self._code)
        self.add(op, change, 0, operand)

        def to_here() -> None:
            self._code[at] = (op, len(self._code) - at, operand)

        return to_here


def compiled_function(function: Function, count: int) -> int | None:
    """Return the row of a function of so many numbers and times among the compiled ones; None if it has no code."""
    times = tuple(function.kind(position) is Kind.TIMESTAMP for position in range(count))
    lowering = function.lowering
    meaning = lowering.of if isinstance(lowering, Compiled) and lowering.of is not None else function.compute
    return FUNCTION_ADDRESSES.number(NumberFunction(function.name, meaning, times, function.result))
