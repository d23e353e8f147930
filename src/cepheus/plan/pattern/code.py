"""Constraints to rows of the constraint table, and expressions to code for values whose types are known."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from cepheus.core.values import Value, ValueType, as_float, as_int
from cepheus.kernel.instructions import OPERATOR_CODES, Code, FunctionField, Op
from cepheus.kernel.program import SLOT_TIME, ConstraintKind
from cepheus.kernel.strings import StringTable
from cepheus.plan.emit import Emitter, Type, compiled_function
from cepheus.plan.pattern.constructs import Construct, not_lowered, unsupported
from cepheus.rules.comparisons import compare
from cepheus.rules.expressions import (
    FLIPPED,
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
    Function,
    Join,
    Joined,
    Kind,
    MachineOps,
    OnlyPython,
    TextTable,
)
from cepheus.rules.functions import function_of

_FLOAT_OPS = {"+": Op.ADD_FLOAT, "-": Op.SUB_FLOAT, "*": Op.MUL_FLOAT, "/": Op.DIV_FLOAT}
_INT_OPS = {"+": Op.ADD_INT, "-": Op.SUB_INT, "*": Op.MUL_INT}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attribute is found: the position of its event, its slot in the row, its type."""

    position: int
    slot: int
    type: ValueType | None
    optional: bool


def place_of_time(position: int) -> Place:
    """The place of an event's own time."""
    return Place(position, SLOT_TIME, ValueType.TIMESTAMP, False)


@dataclass(frozen=True, slots=True)
class LoweredConstraint:
    """A row of the constraint table; ``code`` holds the instructions of a general one.

    ``choices`` are the words of which the slot has to be one; that is all that the constraint asks unless it asks
    ``more``.
    """

    kind: ConstraintKind
    operator: int = 0
    position: int = 0
    slot: int = 0
    other_position: int = 0
    other_slot: int = 0
    constant: int = 0
    code: Code = ()
    choices: tuple[int, ...] = ()
    more: bool = False


def float_bits(number: float) -> int:
    """The 64 bits of a float as a signed integer."""
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
        self.locate = locate
        self._strings = strings
        machine = _TypedMachine(locate, results, strings)
        self._emitter = Emitter(machine, lambda span: unsupported(Construct.DEEP_EXPRESSIONS, span))

    def constraints(self, constraints: Sequence[Constraint]) -> tuple[LoweredConstraint, ...]:
        """Lower constraints to the comparisons that must all hold."""
        return tuple(lowered for constraint in constraints for lowered in self._constraint(constraint))

    def _constraint(self, constraint: Constraint) -> list[LoweredConstraint]:
        if not isinstance(constraint, Comparison):
            code, _ = self.expression(constraint)
            general = LoweredConstraint(ConstraintKind.CODE, code=code)
            return [self._with_choices(general, constraint)]
        pairs = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
        return [lowered for left, operator, right in pairs for lowered in self._comparison(left, operator, right)]

    def _with_choices(self, general: LoweredConstraint, constraint: Constraint) -> LoweredConstraint:
        """Note what an index can make use of: that an attribute must be one of several constants."""
        found = self._choices(constraint)
        if found is None:
            return general
        place, words, more = found
        return replace(
            general, position=place.position, slot=place.slot, choices=tuple(dict.fromkeys(words)), more=more
        )

    def _choices(self, constraint: Constraint) -> tuple[Place, tuple[int, ...], bool] | None:
        """An attribute that must be one of these words for the constraint to hold, and whether more is asked."""
        match constraint:
            case Call(function="in", arguments=(AttributeRef() as attribute, *choices)):
                return self._among(attribute, choices)
            case Comparison(operands=(AttributeRef() as attribute, Constant() as constant), operators=("=",)):
                return self._among(attribute, [constant])
            case Comparison(operands=(Constant() as constant, AttributeRef() as attribute), operators=("=",)):
                return self._among(attribute, [constant])
            case Call(function="and", arguments=parts):
                found = [choice for part in parts if (choice := self._choices(part)) is not None]
                best = min(found, key=lambda choice: len(choice[1]), default=None)
                return None if best is None else (best[0], best[1], best[2] or len(parts) > 1)
            case Call(function="or", arguments=parts):
                each = [choice for part in parts if (choice := self._choices(part)) is not None]
                if len(each) < len(parts) or len({place for place, _, _ in each}) > 1:
                    return None
                return each[0][0], tuple(word for _, words, _ in each for word in words), any(more for *_, more in each)
            case _:
                return None

    def _among(
        self, attribute: AttributeRef, choices: Sequence[Expression]
    ) -> tuple[Place, tuple[int, ...], bool] | None:
        place = self.locate(attribute.event, attribute.name)
        words = [self._word(place.type, "=", each) for each in choices if isinstance(each, Constant)]
        if place.optional or None in words or len(words) < len(choices) or place.type is ValueType.FLOAT:
            return None
        return place, tuple(word for word in words if word is not None), False

    def expression(self, expression: Expression, wanted: ValueType | None = None) -> tuple[Code, Type]:
        """Lower an expression; an integer becomes a float where a float is wanted."""
        self._emitter.begin()
        value_type = self._emitter.expression(expression)
        if wanted is ValueType.FLOAT and value_type is ValueType.INT:
            self._emitter.add(Op.TO_FLOAT, 0)
            value_type = ValueType.FLOAT
        return self._emitter.end(expression.span), value_type

    def _comparison(self, left: Expression, operator: str, right: Expression) -> list[LoweredConstraint]:
        if isinstance(left, Constant) and isinstance(right, AttributeRef):
            left, operator, right = right, FLIPPED[operator], left
        if isinstance(left, AttributeRef):
            place = self.locate(left.event, left.name)
            if isinstance(right, AttributeRef):
                other = self.locate(right.event, right.name)
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
        """The constant as a word of that type, None if it cannot be compared as such."""
        value = constant.value
        if isinstance(value, str):
            return self._strings.constant(value) if value_type is ValueType.STRING and operator in ("=", "!=") else None
        if value_type is ValueType.FLOAT:
            return float_bits(as_float(value))
        if isinstance(value, float) or value_type in (ValueType.STRING, None):
            return None
        return as_int(value)

    def _general(self, left: Expression, operator: str, right: Expression) -> LoweredConstraint:
        self._emitter.begin()
        self._emitter.comparison(left, operator, right)
        return LoweredConstraint(ConstraintKind.CODE, code=self._emitter.end(left.span))


class _TypedMachine:
    """Writes what is special to values whose types are known: instructions for doubles and for integers."""

    def __init__(
        self,
        locate: Callable[[str | None, str], Place],
        results: Mapping[str, tuple[int, ValueType | None]],
        strings: StringTable,
    ) -> None:
        self._locate = locate
        self._results = results
        self._strings = strings

    def constant(self, value: Value) -> tuple[int, int]:
        if isinstance(value, str):
            return self._strings.constant(value), 0
        return (float_bits(value) if isinstance(value, float) else as_int(value)), 0

    def read(self, emitter: Emitter, source: AttributeRef | Parameter) -> Type:
        if isinstance(source, Parameter):
            number, result_type = self._results[source.name]
            emitter.add(Op.RESULT, 1, number)
            return result_type
        place = self._locate(source.event, source.name)
        emitter.add(Op.OPTIONAL_SLOT if place.optional else Op.SLOT, 1, place.position, place.slot)
        return place.type

    def arithmetic(self, emitter: Emitter, operator: str, left: Type, right: Type, /) -> Type:
        if operator == "/" or ValueType.FLOAT in (left, right):
            _both_to_float(emitter, left, right)
            emitter.add(_FLOAT_OPS[operator], -1)
            return ValueType.FLOAT
        emitter.add(_INT_OPS[operator], -1)
        times = (left, right).count(ValueType.TIMESTAMP)
        return ValueType.TIMESTAMP if times == 1 else ValueType.INT

    def compare(self, emitter: Emitter, operator: str, left: Expression, right: Expression) -> None:
        if self._text_order(emitter, left, operator, right):
            return
        first, second = emitter.expression(left), emitter.expression(right)
        if None in (first, second):
            raise unsupported(Construct.UNTOLD_TYPES, left.span)
        if first is ValueType.STRING and operator not in ("=", "!="):
            raise unsupported(Construct.ORDER_OF_TWO_TEXTS, left.span)
        if ValueType.FLOAT in (first, second):
            _both_to_float(emitter, first, second)
            emitter.add(Op.COMPARE_FLOAT, -1, OPERATOR_CODES[operator])
        else:
            emitter.add(Op.COMPARE_INT, -1, OPERATOR_CODES[operator])

    def _text_order(self, emitter: Emitter, left: Expression, operator: str, right: Expression) -> bool:
        """Lower ``text < 'm'`` to a table over texts; False if it is another kind of comparison."""
        if operator in ("=", "!="):
            return False
        if isinstance(left, Constant):
            left, operator, right = right, FLIPPED[operator], left
        if not isinstance(right, Constant) or not isinstance(right.value, str):
            return False
        bound = right.value
        emitter.expression(left)
        table = self._strings.function((operator, bound), lambda text: compare(operator, text, bound))
        emitter.add(Op.TABLE, 0, table)
        return True

    def call(self, emitter: Emitter, call: Call) -> Type:
        function = function_of(call.function)
        match function.lowering:
            case MachineOps(of_floats=of_floats, of_integers=of_integers):
                return _repeated(emitter, function, call, of_floats, of_integers)
            case CalendarPart(part=part):
                emitter.expression(call.arguments[0])
                emitter.add(Op.CALENDAR, 0, part)
                return function.result
            case TextTable():
                return self._text_table(emitter, function, call)
            case FirstDefined():
                return _first_defined(emitter, call)
            case Joined(join=join):
                return self._joined(emitter, join, call)
            case Compiled():
                return _by_address(emitter, function, call)
            case OnlyPython():
                raise not_lowered("function", function.name, call.span)
            case _:
                assert_never(function.lowering)

    def _joined(self, emitter: Emitter, join: Join, call: Call) -> Type:
        """Lower conditions that are joined."""
        parts = [partial(emitter.expression, argument) for argument in call.arguments]
        match join:
            case Join.BOTH:
                emitter.all_of(parts)
            case Join.EITHER:
                emitter.any_of(parts)
            case Join.OPPOSITE:
                parts[0]()
                emitter.add(Op.NOT, 0)
            case Join.UNDEFINED:
                parts[0]()
                emitter.add(Op.IS_NULL, 0)
            case Join.AMONG:
                self._among(emitter, *call.arguments)
            case Join.CHOICE:
                return _choice(emitter, *call.arguments)
            case _:
                assert_never(join)
        return ValueType.BOOL

    def _among(self, emitter: Emitter, value: Expression, *choices: Expression) -> None:
        """Lower ``value in (..)``: constant texts to a table, anything else to one comparison after the other."""
        texts = [choice.value for choice in choices if isinstance(choice, Constant) and isinstance(choice.value, str)]
        if len(texts) == len(choices) and emitter.type_of(value) is ValueType.STRING:
            emitter.expression(value)
            among = frozenset(texts)
            emitter.add(Op.TABLE, 0, self._strings.function(("in", *sorted(among)), lambda text: text in among))
            return
        emitter.any_of([partial(emitter.comparison, value, "=", choice) for choice in choices])

    def _text_table(self, emitter: Emitter, function: Function, call: Call) -> Type:
        """Lower a function of texts to a table; all arguments but one text must be constants."""
        variable = [index for index, argument in enumerate(call.arguments) if not isinstance(argument, Constant)]
        if len(variable) > 1:
            raise unsupported(Construct.FUNCTIONS_OF_TWO_TEXTS, call.span)
        texts = [i for i in range(len(call.arguments)) if function.kind(i) in (Kind.STRING, Kind.SIZED)]
        at = variable[0] if variable else texts[0]
        if at not in texts:
            raise not_lowered("function", function.name, call.span)
        constants = [argument.value if isinstance(argument, Constant) else None for argument in call.arguments]

        def compute(text: str) -> Value | None:
            return function.apply([*constants[:at], text, *constants[at + 1 :]])

        emitter.expression(call.arguments[at])
        emitter.add(Op.TABLE, 0, self._strings.function((function.name, at, *map(repr, constants)), compute))
        return function.result


def _both_to_float(emitter: Emitter, left: Type, right: Type) -> None:
    """Make floats of the two topmost values."""
    if left is not ValueType.FLOAT:
        emitter.add(Op.TO_FLOAT, 0, 1)
    if right is not ValueType.FLOAT:
        emitter.add(Op.TO_FLOAT, 0, 0)


def _of_floats(emitter: Emitter, function: Function, call: Call) -> bool:
    """Whether a function of numbers is given floats."""
    return function.result is ValueType.FLOAT or ValueType.FLOAT in map(emitter.type_of, call.arguments)


def _repeated(emitter: Emitter, function: Function, call: Call, of_floats: Op, of_integers: Op | None) -> Type:
    """Lower a function that has an instruction of its own."""
    floating = _of_floats(emitter, function, call)
    op = of_floats if floating else of_integers
    for index, argument in enumerate(call.arguments):
        if emitter.expression(argument) is not ValueType.FLOAT and floating:
            emitter.add(Op.TO_FLOAT, 0, 0)
        if index > 0 and op is not None:
            emitter.add(op, -1)
    if len(call.arguments) == 1 and op is not None:
        emitter.add(op, 0)
    return function.result or (ValueType.FLOAT if floating else ValueType.INT)


def _first_defined(emitter: Emitter, call: Call) -> Type:
    types = [emitter.type_of(argument) for argument in call.arguments]
    result = ValueType.FLOAT if ValueType.FLOAT in types else types[0]
    jumps = []
    for index, argument in enumerate(call.arguments):
        value_type = emitter.expression(argument)
        if result is ValueType.FLOAT and value_type is not ValueType.FLOAT:
            emitter.add(Op.TO_FLOAT, 0, 0)
        if index < len(call.arguments) - 1:
            jumps.append(emitter.jump_if_defined())
    for to_here in jumps:
        to_here()
    return result


def _choice(emitter: Emitter, condition: Expression, then: Expression, otherwise: Expression) -> Type:
    """Lower ``if(condition, then, otherwise)``."""
    types = [emitter.type_of(then), emitter.type_of(otherwise)]
    result = ValueType.FLOAT if ValueType.FLOAT in types else types[0]

    def write(value: Expression) -> None:
        if emitter.expression(value) is not ValueType.FLOAT and result is ValueType.FLOAT:
            emitter.add(Op.TO_FLOAT, 0, 0)

    emitter.choice(condition, partial(write, then), partial(write, otherwise))
    return result


def _by_address(emitter: Emitter, function: Function, call: Call) -> Type:
    """Lower a function that is compiled by itself."""
    count = len(call.arguments)
    number = compiled_function(function, count)
    if number is None:
        raise not_lowered("function", function.name, call.span)
    floating = _of_floats(emitter, function, call)
    for position, argument in enumerate(call.arguments):
        value_type = emitter.expression(argument)
        if floating and value_type is not ValueType.FLOAT and function.kind(position) is Kind.NUMBER:
            emitter.add(Op.TO_FLOAT, 0, 0)
    field = FunctionField.OF_FLOATS if floating else FunctionField.OF_INTEGERS
    emitter.add(Op.CALL, 1 - count, FunctionField.row_words() * number + field, count)
    return function.result or (ValueType.FLOAT if floating else ValueType.INT)
