"""Expressions and conditions of interval rules to code for values of any type, each with a tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType
from cepheus.kernel.instructions import OPERATOR_CODES, Code, Op
from cepheus.plan.emit import Emitter, Type, compiled_function
from cepheus.plan.interval.constructs import IntervalConstruct, unsupported
from cepheus.plan.interval.layout import ANSWER_ARGUMENTS
from cepheus.plan.interval.python_calls import FunctionTable
from cepheus.plan.interval.values import Texts
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Parameter,
)
from cepheus.rules.function_record import (
    CalendarPart,
    Compiled,
    FirstDefined,
    Joined,
    MachineOps,
    OnlyPython,
    TextTable,
)
from cepheus.rules.functions import LIST_BEFORE, LIST_ITEM, LIST_OF, LIST_REST, function_of

_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE}
_ONE = Constant(1.0, ValueType.FLOAT)


class Coder:
    """Writes the code of expressions over variables, which are known by their number."""

    def __init__(self, variables: Mapping[str, int], texts: Texts, functions: FunctionTable) -> None:
        machine = _TaggedMachine(variables, texts, functions)
        self._emitter = Emitter(machine, lambda span: unsupported(IntervalConstruct.DEEP_EXPRESSIONS, span))

    def value(self, expression: Expression, *, as_float: bool = False) -> Code:
        """Write the code that computes an expression, if asked for as a float."""
        self._emitter.begin()
        self._emitter.expression(Arithmetic("*", expression, _ONE) if as_float else expression)
        return self._emitter.end(expression.span)

    def test(self, constraint: Constraint) -> Code:
        """Write the code that tells whether a constraint holds."""
        self._emitter.begin()
        self._test(constraint)
        return self._emitter.end(constraint.span)

    def equality(self, variable: str, expression: Expression) -> Code:
        """Write the code that compares a variable with an expression."""
        return self.test(Comparison((Parameter(variable), expression), ("=",)))

    def member(self, value: Expression, options: tuple[Expression, ...]) -> Code:
        """Write the code that tells whether a value is among others."""
        self._emitter.begin()
        for place, option in enumerate(options):
            self._test(Comparison((value, option), ("=",)))
            if place:
                self._emitter.add(Op.EITHER, -1)
        if not options:
            self._emitter.value(False)
        return self._emitter.end(value.span)

    def call(self, function: int, names: tuple[str, ...], span: Span | None) -> Code:
        """Write the code that asks a function of variables."""
        emitter = self._emitter
        emitter.begin()
        if len(names) > ANSWER_ARGUMENTS:
            raise unsupported(IntervalConstruct.MANY_VARIABLES, span)
        for name in names:
            emitter.expression(Parameter(name))
        if not names:
            emitter.value(False)  # an answer needs a place on the stack
        emitter.add(Op.ASK, 1 - max(1, len(names)), function, max(1, len(names)))
        emitter.add(Op.TRUTH, 0)
        return emitter.end(span)

    def _test(self, constraint: Constraint) -> None:
        if not isinstance(constraint, Comparison):
            self._emitter.expression(constraint)
            self._emitter.add(Op.TRUTH, 0)
            return
        pairs = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
        for place, (left, operator, right) in enumerate(pairs):
            self._emitter.comparison(left, operator, right)
            if place:
                self._emitter.add(Op.BOTH, -1)


class _TaggedMachine:
    """Writes what is special to values with tags: the machine looks at these itself, and asks Python where it must."""

    def __init__(self, variables: Mapping[str, int], texts: Texts, functions: FunctionTable) -> None:
        self._variables = variables
        self._texts = texts
        self._functions = functions

    def constant(self, value: Value) -> tuple[int, int]:
        return self._texts.constant(value)

    def read(self, emitter: Emitter, source: AttributeRef | Parameter) -> Type:
        assert isinstance(source, Parameter), "interval rules have variables instead"
        emitter.add(Op.VARIABLE, 1, self._variables[source.name])
        return None

    def arithmetic(self, emitter: Emitter, operator: str, _left: Type, _right: Type, /) -> Type:
        emitter.add(_ARITHMETIC[operator], -1)
        return None

    def compare(self, emitter: Emitter, operator: str, left: Expression, right: Expression) -> None:
        emitter.expression(left)
        emitter.expression(right)
        emitter.add(Op.COMPARE, -1, OPERATOR_CODES[operator])

    def call(self, emitter: Emitter, call: Call) -> Type:
        if _is_long_list(call):
            first, others = call.arguments[: ANSWER_ARGUMENTS - 1], call.arguments[ANSWER_ARGUMENTS - 1 :]
            call = Call(LIST_BEFORE, (*first, Call(call.function, others, call.span)), call.span)
        count = len(call.arguments)
        if count > ANSWER_ARGUMENTS:
            raise unsupported(IntervalConstruct.MANY_VARIABLES, call.span)
        for argument in call.arguments:
            emitter.expression(argument)
        number = self._by_address(call)
        if number is not None:
            emitter.add(Op.CALL, 1 - count, number, count)
        else:
            emitter.add(Op.ASK, 1 - count, self._functions.built_in(call.function), count)
            if call.function in (LIST_ITEM, LIST_REST) and isinstance(place := call.arguments[1], Constant):
                self._functions.part_of_list(call.function, int(str(place.value)))
        return None

    def _by_address(self, call: Call) -> int | None:
        """Return the row of a function among the compiled ones; None if Python is asked for it."""
        function = function_of(call.function)
        match function.lowering:
            case Compiled():
                return compiled_function(function, len(call.arguments))
            case MachineOps() | CalendarPart() | TextTable() | FirstDefined() | Joined() | OnlyPython():
                return None  # asked once for each combination of arguments
            case _:
                assert_never(function.lowering)


def _is_long_list(call: Call) -> bool:
    """Whether a list has more elements than a function has arguments."""
    return call.function in (LIST_OF, LIST_BEFORE) and len(call.arguments) > ANSWER_ARGUMENTS
