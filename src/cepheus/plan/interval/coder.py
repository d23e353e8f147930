"""Expressions and conditions of interval rules to instructions of the expression machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType
from cepheus.kernel.program import OPERATOR_CODES
from cepheus.plan.interval.constructs import IntervalConstruct, unsupported
from cepheus.plan.interval.functions import FunctionTable
from cepheus.plan.interval.layout import ANSWER_ARGUMENTS, MAX_STACK
from cepheus.plan.interval.program import Op
from cepheus.plan.interval.values import Texts
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.functions import LIST_BEFORE, LIST_ITEM, LIST_OF, LIST_REST

Instruction = tuple[int, int, int]
Code = tuple[Instruction, ...]

_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE}


class Coder:
    """Writes the code of expressions over variables, which are known by their number."""

    def __init__(self, variables: Mapping[str, int], texts: Texts, functions: FunctionTable) -> None:
        self._variables = variables
        self._texts = texts
        self._functions = functions
        self._code: list[Instruction] = []
        self._depth = 0
        self._deepest = 0

    def value(self, expression: Expression, *, as_float: bool = False) -> Code:
        """Give the code that computes an expression, if asked for as a float."""
        self._begin()
        self._emit(Arithmetic("*", expression, Constant(1.0, ValueType.FLOAT)) if as_float else expression)
        return self._end(expression.span)

    def test(self, constraint: Constraint) -> Code:
        """Give the code that tells whether a constraint holds."""
        self._begin()
        self._emit_test(constraint)
        return self._end(constraint.span)

    def equality(self, variable: str, expression: Expression) -> Code:
        """Give the code that compares a variable with an expression."""
        return self.test(Comparison((Parameter(variable), expression), ("=",)))

    def member(self, value: Expression, options: tuple[Expression, ...]) -> Code:
        """Give the code that tells whether a value is among others."""
        self._begin()
        for place, option in enumerate(options):
            self._emit_test(Comparison((value, option), ("=",)))
            if place:
                self._add(Op.EITHER, -1)
        if not options:
            self._constant(False)
        return self._end(value.span)

    def call(self, function: int, names: tuple[str, ...], span: Span | None) -> Code:
        """Give the code that asks a function of variables."""
        self._begin()
        if len(names) > ANSWER_ARGUMENTS:
            raise unsupported(IntervalConstruct.MANY_VARIABLES, span)
        for name in names:
            self._emit(Parameter(name))
        if not names:
            self._constant(False)  # an answer needs a place on the stack
        self._add(Op.CALL, 1 - max(1, len(names)), function, max(1, len(names)))
        self._add(Op.TRUTH, 0)
        return self._end(span)

    def _begin(self) -> None:
        self._code, self._depth, self._deepest = [], 0, 0

    def _end(self, span: Span | None) -> Code:
        if self._deepest >= MAX_STACK:
            raise unsupported(IntervalConstruct.DEEP_EXPRESSIONS, span)
        return (*self._code, (Op.END, 0, 0))

    def _add(self, op: Op, change: int, a: int = 0, b: int = 0) -> None:
        self._code.append((op, a, b))
        self._depth += change
        self._deepest = max(self._deepest, self._depth)

    def _constant(self, value: Value) -> None:
        self._add(Op.CONSTANT, 1, *self._texts.constant(value))

    def _emit_test(self, constraint: Constraint) -> None:
        if not isinstance(constraint, Comparison):
            self._emit(constraint)
            self._add(Op.TRUTH, 0)
            return
        pairs = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
        for place, (left, operator, right) in enumerate(pairs):
            self._emit(left)
            self._emit(right)
            self._add(Op.COMPARE, -1, OPERATOR_CODES[operator])
            if place:
                self._add(Op.BOTH, -1)

    def _emit(self, expression: Expression) -> None:
        match expression:
            case Constant(value=value):
                self._constant(value)
            case Parameter(name=name):
                self._add(Op.VARIABLE, 1, self._variables[name])
            case Negative(operand=operand):
                self._emit(Arithmetic("-", Constant(0, ValueType.INT), operand))
            case Arithmetic(operator=operator, left=left, right=right):
                self._emit(left)
                self._emit(right)
                self._add(_ARITHMETIC[operator], -1)
            case Call(function=function, arguments=arguments) if _is_long_list(expression):
                first, others = arguments[: ANSWER_ARGUMENTS - 1], arguments[ANSWER_ARGUMENTS - 1 :]
                self._emit(Call(LIST_BEFORE, (*first, Call(function, others, expression.span)), expression.span))
            case Call(function=function, arguments=arguments):
                if len(arguments) > ANSWER_ARGUMENTS:
                    raise unsupported(IntervalConstruct.MANY_VARIABLES, expression.span)
                for argument in arguments:
                    self._emit(argument)
                if function in (LIST_ITEM, LIST_REST) and isinstance(place := arguments[1], Constant):
                    self._functions.part_of_list(function, int(str(place.value)))
                self._add(Op.CALL, 1 - len(arguments), self._functions.built_in(function), len(arguments))
            case AttributeRef() | Aggregate():
                raise AssertionError("interval rules have variables instead")
            case _:
                assert_never(expression)


def _is_long_list(call: Call) -> bool:
    """Tell whether a list has more elements than a function has arguments."""
    return call.function in (LIST_OF, LIST_BEFORE) and len(call.arguments) > ANSWER_ARGUMENTS
