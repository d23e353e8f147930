"""Expressions to instructions of the expression machine, constraints to rows of the constraint table."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType, as_float, as_int
from cepheus.kernel.program import CALENDAR_PARTS, MAX_STACK, OPERATOR_CODES, SLOT_TIME, ConstraintKind, Op
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.constructs import Construct, not_lowered, unsupported
from cepheus.rules.evaluate import compare
from cepheus.rules.expressions import (
    FLIPPED,
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
from cepheus.rules.functions import FUNCTIONS

_FLOAT_OPS = {"+": Op.ADD_FLOAT, "-": Op.SUB_FLOAT, "*": Op.MUL_FLOAT}
_INT_OPS = {"+": Op.ADD_INT, "-": Op.SUB_INT, "*": Op.MUL_INT}

Instruction = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attribute is found: the position of its event, its slot in the row, its type."""

    position: int
    slot: int
    type: ValueType | None
    optional: bool


@dataclass(frozen=True, slots=True)
class LoweredConstraint:
    """A row of the constraint table; ``code`` holds the instructions of a general one."""

    kind: ConstraintKind
    operator: int = 0
    position: int = 0
    slot: int = 0
    other_position: int = 0
    other_slot: int = 0
    constant: int = 0
    code: tuple[Instruction, ...] = ()


def float_bits(number: float) -> int:
    """Give the 64 bits of a float as a signed integer."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return int(bits)


class Coder:
    """Lowers the expressions of one rule.

    ``locate`` finds an attribute, ``results`` maps computed values to their number and type.
    """

    def __init__(
        self,
        locate: Callable[[str | None, str], Place],
        results: Mapping[str, tuple[int, ValueType | None]],
        strings: StringTable,
    ) -> None:
        self._locate = locate
        self._results = results
        self._strings = strings
        self._code: list[Instruction] = []
        self._depth = 0
        self._deepest = 0
        self._known_types: dict[Expression, ValueType | None] = {}

    def constraint(self, constraint: Constraint) -> list[LoweredConstraint]:
        """Lower a constraint to the comparisons that must all hold."""
        if not isinstance(constraint, Comparison):
            code, _ = self.expression(constraint)
            return [LoweredConstraint(ConstraintKind.CODE, code=code)]
        pairs = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
        return [lowered for left, operator, right in pairs for lowered in self._comparison(left, operator, right)]

    def expression(
        self, expression: Expression, wanted: ValueType | None = None
    ) -> tuple[tuple[Instruction, ...], ValueType | None]:
        """Lower an expression; an integer becomes a float where a float is wanted."""
        self._code, self._depth, self._deepest = [], 0, 0
        value_type = self._emit_expression(expression)
        if wanted is ValueType.FLOAT and value_type is ValueType.INT:
            self._add(Op.TO_FLOAT, 0)
            value_type = ValueType.FLOAT
        return self._finish(expression.span), value_type

    def _finish(self, span: Span | None) -> tuple[Instruction, ...]:
        if self._deepest >= MAX_STACK:
            raise unsupported(Construct.DEEP_EXPRESSIONS, span)
        return (*self._code, (Op.END, 0, 0))

    def _comparison(self, left: Expression, operator: str, right: Expression) -> list[LoweredConstraint]:
        if isinstance(left, Constant) and isinstance(right, AttributeRef):
            left, operator, right = right, FLIPPED[operator], left
        if isinstance(left, AttributeRef):
            place = self._locate(left.event, left.name)
            if isinstance(right, AttributeRef):
                other = self._locate(right.event, right.name)
                if place == other and not place.optional and operator in ("=", "<=", ">="):
                    return []  # an attribute that binds a parameter, compared with itself
                simple = self._slots(place, operator, other)
            else:
                simple = self._with_constant(place, operator, right) if isinstance(right, Constant) else None
            if simple is not None:
                return [simple]
        return [self._general(left, operator, right)]

    def _slots(self, place: Place, operator: str, other: Place) -> LoweredConstraint | None:
        if place.optional or other.optional or place.type is not other.type or place.type is None:
            return None
        if place.type is ValueType.STRING and operator not in ("=", "!="):
            return None
        return LoweredConstraint(
            ConstraintKind.FLOAT_SLOT if place.type is ValueType.FLOAT else ConstraintKind.INT_SLOT,
            OPERATOR_CODES[operator],
            place.position,
            place.slot,
            other.position,
            other.slot,
        )

    def _with_constant(self, place: Place, operator: str, constant: Constant) -> LoweredConstraint | None:
        word = self._word(place.type, operator, constant)
        if place.optional or word is None:
            return None
        kind = ConstraintKind.FLOAT_CONSTANT if place.type is ValueType.FLOAT else ConstraintKind.INT_CONSTANT
        return LoweredConstraint(kind, OPERATOR_CODES[operator], place.position, place.slot, constant=word)

    def _word(self, value_type: ValueType | None, operator: str, constant: Constant) -> int | None:
        """Give the constant as a word of that type, if it can be compared as such."""
        value = constant.value
        if isinstance(value, str):
            return self._strings.constant(value) if value_type is ValueType.STRING and operator in ("=", "!=") else None
        if value_type is ValueType.FLOAT:
            return float_bits(as_float(value))
        if isinstance(value, float) or value_type in (ValueType.STRING, None):
            return None
        return as_int(value)

    def _general(self, left: Expression, operator: str, right: Expression) -> LoweredConstraint:
        self._code, self._depth, self._deepest = [], 0, 0
        text = self._string_order(left, operator, right)
        if not text:
            first = self._emit_expression(left)
            second = self._emit_expression(right)
            if None in (first, second):
                raise unsupported(Construct.UNTOLD_TYPES, left.span)
            if first is ValueType.STRING and operator not in ("=", "!="):
                raise unsupported(Construct.ORDER_OF_TWO_TEXTS, left.span)
            if ValueType.FLOAT in (first, second):
                if first is not ValueType.FLOAT:
                    self._add(Op.TO_FLOAT, 0, 1)
                if second is not ValueType.FLOAT:
                    self._add(Op.TO_FLOAT, 0, 0)
                self._add(Op.COMPARE_FLOAT, -1, OPERATOR_CODES[operator])
            else:
                self._add(Op.COMPARE_INT, -1, OPERATOR_CODES[operator])
        return LoweredConstraint(ConstraintKind.CODE, code=self._finish(left.span))

    def _string_order(self, left: Expression, operator: str, right: Expression) -> bool:
        """Lower ``text < 'm'`` to a table over texts; False if it is another kind of comparison."""
        if operator in ("=", "!="):
            return False
        if isinstance(left, Constant):
            left, operator, right = right, FLIPPED[operator], left
        if not isinstance(right, Constant) or not isinstance(right.value, str):
            return False
        bound = right.value
        self._emit_expression(left)
        self._add(Op.TABLE, 0, self._strings.function((operator, bound), lambda text: compare(operator, text, bound)))
        return True

    def _add(self, op: Op, change: int, a: int = 0, b: int = 0) -> None:
        self._code.append((op, a, b))
        self._depth += change
        self._deepest = max(self._deepest, self._depth)

    def _emit_expression(self, expression: Expression) -> ValueType | None:
        match expression:
            case Constant(value=value, type=value_type):
                self._add(Op.CONSTANT, 1, self._constant(value))
                return value_type
            case AttributeRef(event=event, name=name):
                place = self._locate(event, name)
                self._add(Op.OPTIONAL_SLOT if place.optional else Op.SLOT, 1, place.position, place.slot)
                return place.type
            case Parameter(name=name):
                number, result_type = self._results[name]
                self._add(Op.RESULT, 1, number)
                return result_type
            case Negative(operand=operand):
                return self._emit_arithmetic("-", Constant(0, ValueType.INT), operand)
            case Arithmetic(operator=operator, left=left, right=right):
                return self._emit_arithmetic(operator, left, right)
            case Call():
                return self._emit_call(expression)
            case Aggregate():
                raise AssertionError("aggregates are computed as steps of their own")
            case _:
                assert_never(expression)

    def _constant(self, value: Value) -> int:
        if isinstance(value, str):
            return self._strings.constant(value)
        return float_bits(value) if isinstance(value, float) else as_int(value)

    def _emit_arithmetic(self, operator: str, left: Expression, right: Expression) -> ValueType:
        first = self._emit_expression(left)
        second = self._emit_expression(right)
        if operator == "/" or ValueType.FLOAT in (first, second):
            if first is not ValueType.FLOAT:
                self._add(Op.TO_FLOAT, 0, 1)
            if second is not ValueType.FLOAT:
                self._add(Op.TO_FLOAT, 0, 0)
            self._add(Op.DIV_FLOAT if operator == "/" else _FLOAT_OPS[operator], -1)
            return ValueType.FLOAT
        self._add(_INT_OPS[operator], -1)
        times = (first, second).count(ValueType.TIMESTAMP)
        return ValueType.TIMESTAMP if times == 1 else ValueType.INT

    def _emit_call(self, call: Call) -> ValueType | None:
        name = call.function
        if name == "coalesce":
            return self._emit_coalesce(call)
        if name in CALENDAR_PARTS:
            self._emit_expression(call.arguments[0])
            self._add(Op.CALENDAR, 0, CALENDAR_PARTS[name])
            return ValueType.INT
        if name in _NUMERIC:
            return self._emit_numeric(call)
        if name in _OF_TEXTS:
            return self._emit_text_function(call)
        raise not_lowered("function", name, call.span)

    def _emit_coalesce(self, call: Call) -> ValueType | None:
        types = [self._type_of(argument) for argument in call.arguments]
        result = ValueType.FLOAT if ValueType.FLOAT in types else types[0]
        jumps = []
        for index, argument in enumerate(call.arguments):
            value_type = self._emit_expression(argument)
            if result is ValueType.FLOAT and value_type is not ValueType.FLOAT:
                self._add(Op.TO_FLOAT, 0, 0)
            if index < len(call.arguments) - 1:
                jumps.append(len(self._code))
                self._add(Op.JUMP_IF_DEFINED, -1)
        for jump in jumps:
            self._code[jump] = (Op.JUMP_IF_DEFINED, len(self._code) - jump, 0)
        return result

    def _type_of(self, expression: Expression) -> ValueType | None:
        """Give the type of an expression, found by lowering it once."""
        if expression not in self._known_types:
            saved = self._code, self._depth, self._deepest
            self._code = []
            self._known_types[expression] = self._emit_expression(expression)
            self._code, self._depth, self._deepest = saved
        return self._known_types[expression]

    def _emit_numeric(self, call: Call) -> ValueType:
        types = [self._type_of(argument) for argument in call.arguments]
        floating = ValueType.FLOAT in types or call.function == "sqrt"
        int_op, float_op = _NUMERIC[call.function]
        for index, argument in enumerate(call.arguments):
            if self._emit_expression(argument) is not ValueType.FLOAT and floating:
                self._add(Op.TO_FLOAT, 0, 0)
            if index > 0:
                self._add(float_op if floating else int_op, -1)
        if len(call.arguments) == 1 and (floating or call.function == "abs"):
            self._add(float_op if floating else int_op, 0)
        if call.function in ("floor", "ceil", "round"):
            return ValueType.INT
        return ValueType.FLOAT if floating else ValueType.INT

    def _emit_text_function(self, call: Call) -> ValueType:
        """Lower a function of texts to a table; all arguments but one must be constants."""
        variable = [index for index, argument in enumerate(call.arguments) if not isinstance(argument, Constant)]
        function = FUNCTIONS[call.function]
        if len(variable) > 1:
            raise unsupported(Construct.FUNCTIONS_OF_TWO_TEXTS, call.span)
        at = variable[0] if variable else 0
        constants = [argument.value if isinstance(argument, Constant) else None for argument in call.arguments]

        def compute(text: str) -> Value | None:
            return function.compute(*constants[:at], text, *constants[at + 1 :])

        self._emit_expression(call.arguments[at])
        self._add(Op.TABLE, 0, self._strings.function((call.function, at, *constants), compute))
        assert function.result is not None
        return function.result


_NUMERIC: dict[str, tuple[Op, Op]] = {
    "abs": (Op.ABS_INT, Op.ABS_FLOAT),
    "min": (Op.MIN_INT, Op.MIN_FLOAT),
    "max": (Op.MAX_INT, Op.MAX_FLOAT),
    "mod": (Op.MOD_INT, Op.MOD_FLOAT),
    "floor": (Op.FLOOR, Op.FLOOR),
    "ceil": (Op.CEIL, Op.CEIL),
    "round": (Op.ROUND, Op.ROUND),
    "sqrt": (Op.SQRT, Op.SQRT),
}

_OF_TEXTS = frozenset(("length", "lower", "upper", "trim", "concat", "contains", "starts_with", "ends_with", "matches"))
"""Functions that are tables over texts: all that they take are strings, and what they give is no double."""


def place_of_time(position: int) -> Place:
    """Give the place of an event's own time."""
    return Place(position, SLOT_TIME, ValueType.TIMESTAMP, False)
