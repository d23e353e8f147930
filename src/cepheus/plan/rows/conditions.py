"""Conditions that look back at the match, as programs: what is kept of an open match, and how it decides for a row.

What a condition reads of the rows before is kept in a few words for each open match and brought up to date row by row:
places of rows that FIRST and LAST find, variables that took rows, sums, counts and extremes. Two open matches in one
state whose words are equal have one future, whatever their rows are. What can be computed from a row and its neighbours
alone is computed for many rows at once, as a vector; the rest of a condition is a program for a stack of values.

What has no such program (functions of values of the match, aggregates that need all members) is ``asked``: the
condition is computed as its definition says, from all rows of the match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeVar, assert_never

from cepheus.core.values import Value, ValueType
from cepheus.plan.rows.near import is_near
from cepheus.rules.rows.expressions import (
    Aggregated,
    At,
    Case,
    Cast,
    Classifier,
    Column,
    FunctionCall,
    Literal,
    MatchNumber,
    Operation,
    Operator,
    RowExpression,
    walk,
)
from cepheus.rules.rows.model import RowQuery
from cepheus.rules.rows.types import type_of

T = TypeVar("T")

MOST_VECTORS = 62
"""As many as there are bits to tell which are NULL."""

SUM_WORDS = 6
"""Of an exact sum: four limbs, how many members it could not take in, how many members there are."""


class Op(IntEnum):
    """What an instruction does to the stack; ``a`` and ``b`` are its operands."""

    CONSTANT = 0
    ROW = 1
    """The vector ``a`` at the row at hand."""
    AT = 2
    """The vector ``a`` at the place in word ``b``."""
    WORD = 3
    """Word ``a``, NULL if word ``b`` is 0."""
    LABEL = 4
    """The text of the variable in word ``a``, NULL if that is negative."""
    NUMBER = 5
    SUM_INT = 6
    SUM_FLOAT = 7
    AVERAGE = 8
    TO_FLOAT = 9
    ADD = 10
    SUBTRACT = 11
    MULTIPLY = 12
    REMAINDER = 13
    NEGATIVE = 14
    ADD_FLOAT = 15
    SUBTRACT_FLOAT = 16
    MULTIPLY_FLOAT = 17
    REMAINDER_FLOAT = 18
    DIVIDE = 19
    NEGATIVE_FLOAT = 20
    COMPARE = 21
    """Two integers, by the comparison ``a``."""
    COMPARE_FLOAT = 22
    AND = 23
    OR = 24
    NOT = 25
    IS_NULL = 26
    SAME = 27
    SAME_FLOAT = 28
    CHOOSE = 29
    """Of a condition and two values, the first value where the condition holds."""


class Keep(IntEnum):
    """How words are brought up to date when a variable takes a row."""

    LAST_PLACES = 0
    FIRST_PLACE = 1
    LAST_LABELS = 2
    FIRST_LABEL = 3
    COUNT = 4
    SUM_INT = 5
    SUM_FLOAT = 6
    LEAST = 7
    GREATEST = 8
    LEAST_FLOAT = 9
    GREATEST_FLOAT = 10
    HISTORY = 11
    """A number for all variables so far."""


COMPARISONS = (
    Operator.EQUAL,
    Operator.UNEQUAL,
    Operator.LESS,
    Operator.LESS_OR_EQUAL,
    Operator.GREATER,
    Operator.GREATER_OR_EQUAL,
)
_INT_OPS = {
    Operator.ADD: Op.ADD,
    Operator.SUBTRACT: Op.SUBTRACT,
    Operator.MULTIPLY: Op.MULTIPLY,
    Operator.REMAINDER: Op.REMAINDER,
}
_FLOAT_OPS = {
    Operator.ADD: Op.ADD_FLOAT,
    Operator.SUBTRACT: Op.SUBTRACT_FLOAT,
    Operator.MULTIPLY: Op.MULTIPLY_FLOAT,
    Operator.REMAINDER: Op.REMAINDER_FLOAT,
    Operator.DIVIDE: Op.DIVIDE,
}


@dataclass(frozen=True, slots=True)
class RowVector:
    """An expression that is computed for each row as if ``variable`` took it."""

    expression: RowExpression
    variable: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Kept:
    """Words that are kept: from ``word`` on, brought up to date when one of ``variables`` (bits) takes a row.

    ``size`` is how many places or labels are kept, or which one from the start on; ``value`` and ``filter`` are
    vectors, -1 for none.
    """

    keep: Keep
    word: int
    variables: int
    size: int = 0
    value: int = -1
    filter: int = -1


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a variable: what of it is near, the rest, and the program of that; ``asked`` has none."""

    near: tuple[RowExpression, ...] = ()
    far: RowExpression | None = None
    code: tuple[tuple[int, int, int], ...] = ()

    @property
    def asked(self) -> bool:
        """Whether it is computed from all rows of the match."""
        return self.far is not None and not self.code


@dataclass(slots=True)
class Conditions:
    """The conditions of a query as programs.

    ``initial`` has the words of a match without rows; ``places`` are those of them that are places of rows.
    """

    names: tuple[str, ...]
    of: dict[str, Condition] = field(default_factory=dict)
    vectors: list[RowVector] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    initial: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    constants: list[tuple[Value | None, ValueType | None]] = field(default_factory=list)

    @property
    def asks(self) -> bool:
        """Whether some condition is computed from all rows of the match."""
        return any(condition.asked for condition in self.of.values())


def conditions_of(query: RowQuery, types: Mapping[str, ValueType]) -> Conditions:
    """Lower the conditions of a query over rows with these columns."""
    made = Conditions(query.variables)
    for definition in query.definitions:
        if definition.variable in made.names:
            made.of[definition.variable] = _lowered(definition.condition, definition.variable, made, types)
    if made.asks:
        made.kept.append(Kept(Keep.HISTORY, _words(made, [0]), (1 << len(made.names)) - 1))
    return made


def _lowered(condition: RowExpression, variable: str, made: Conditions, types: Mapping[str, ValueType]) -> Condition:
    parts = _conjuncts(condition)
    near = tuple(part for part in parts if is_near(part, variable))
    far = [part for part in parts if not is_near(part, variable)]
    if not far:
        return Condition(near)
    whole = far[0] if len(far) == 1 else Operation(Operator.AND, tuple(far))
    code = _Writer(made, types, variable)
    try:
        code.write(whole)
    except _AskedError:
        return Condition(near, whole)
    return Condition(near, whole, tuple(code.code))


def _conjuncts(condition: RowExpression) -> Sequence[RowExpression]:
    if isinstance(condition, Operation) and condition.operator is Operator.AND:
        return [part for operand in condition.operands for part in _conjuncts(operand)]
    return [condition]


def _words(made: Conditions, initial: Sequence[int]) -> int:
    first = len(made.initial)
    made.initial += initial
    return first


class _AskedError(Exception):
    """The condition has no program."""


class _Writer:
    """Writes the program of one condition."""

    def __init__(self, made: Conditions, types: Mapping[str, ValueType], variable: str) -> None:
        self._made, self._types, self._variable = made, types, variable
        self.code: list[tuple[int, int, int]] = []

    def write(self, expression: RowExpression) -> None:
        """Write what puts the value of an expression on the stack."""
        if not isinstance(expression, Literal) and is_near(expression, self._variable):
            self._add(Op.ROW, self._vector(expression, self._variable))
            return
        match expression:
            case Literal(value=value, type=kind):
                self._add(Op.CONSTANT, _index(self._made.constants, (value, kind)))
            case Column(name=name, at=at):
                if at is None:
                    raise _AskedError
                own = Column(name, At(physical=at.physical))
                self._add(Op.AT, self._vector(own, ""), self._place(at))
            case Classifier(at=at):
                self._classifier(at)
            case MatchNumber():
                self._add(Op.NUMBER)
            case Aggregated():
                self._aggregated(expression)
            case Operation():
                self._operation(expression)
            case Case(branches=branches, otherwise=otherwise):
                kind = self._kind(expression)
                for condition, outcome in branches:
                    self.write(condition)
                    self._write_as(outcome, kind)
                self._write_as(otherwise, kind)
                for _ in branches:
                    self._add(Op.CHOOSE)
            case FunctionCall() | Cast():
                raise _AskedError
            case _:
                assert_never(expression)

    def _add(self, op: Op, a: int = 0, b: int = 0) -> None:
        self.code.append((int(op), a, b))

    def _kind(self, expression: RowExpression) -> ValueType | None:
        return type_of(expression, self._types)

    def _write_as(self, expression: RowExpression, kind: ValueType | None) -> None:
        """Write an expression, as a float if that is wanted and it is none."""
        self.write(expression)
        if kind is ValueType.FLOAT and self._kind(expression) is not ValueType.FLOAT:
            self._add(Op.TO_FLOAT)

    def _vector(self, expression: RowExpression, variable: str) -> int:
        kind = self._kind(expression) or ValueType.INT
        if kind is ValueType.LIST:
            raise _AskedError
        if not any(isinstance(part, Classifier) for part in walk(expression)):
            variable = ""
        place = _index(self._made.vectors, RowVector(expression, variable, kind))
        if place >= MOST_VECTORS:
            raise _AskedError
        return place

    def _mask(self, variables: tuple[str, ...] | None) -> int:
        names = self._made.names
        return sum(1 << bit for bit, name in enumerate(names) if variables is None or name in variables)

    def _keep(self, wanted: Kept, initial: Sequence[int], *, places: Sequence[int] = ()) -> int:
        """The first of the words that are kept, which several conditions may read."""
        for kept in self._made.kept:
            if replace(kept, word=0) == wanted:
                return kept.word
        word = _words(self._made, initial)
        self._made.kept.append(replace(wanted, word=word))
        self._made.places += [word + place for place in places]
        return word

    def _place(self, at: At) -> int:
        """The word that has the place of a row, which FIRST and LAST find."""
        mask = self._mask(at.variables)
        if at.last:
            size = at.logical + 1
            first = self._keep(Kept(Keep.LAST_PLACES, 0, mask, size), [-1] * size, places=range(size))
            return first + at.logical
        return self._keep(Kept(Keep.FIRST_PLACE, 0, mask, at.logical), [-1, 0], places=[0])

    def _classifier(self, at: At | None) -> None:
        """The variable of a row; rows of the match that lie beside one another are counted as rows of all variables."""
        if at is None or (at.physical and at.variables is not None):
            raise _AskedError
        logical, mask = at.logical, self._mask(at.variables)
        if at.physical:
            logical = at.logical - at.physical if at.last else at.logical + at.physical
            if at.physical > 0 or logical < 0:
                raise _AskedError
        if at.last:
            size = logical + 1
            self._add(Op.LABEL, self._keep(Kept(Keep.LAST_LABELS, 0, mask, size), [-1] * size) + logical)
        elif at.physical:
            raise _AskedError
        else:
            self._add(Op.LABEL, self._keep(Kept(Keep.FIRST_LABEL, 0, mask, logical), [-1, 0]))

    def _aggregated(self, expression: Aggregated) -> None:
        inner = [
            part
            for operand in (*expression.arguments, expression.condition or Literal(None, None))
            for part in walk(operand)
        ]
        if expression.distinct or any(isinstance(part, Classifier | MatchNumber | Aggregated) for part in inner):
            raise _AskedError
        chosen = -1 if expression.condition is None else self._vector(expression.condition, "")
        value = -1
        kind: ValueType | None = None
        if expression.arguments:
            argument = expression.arguments[0]
            kind = self._kind(argument)
            if kind is ValueType.FLOAT:  # what is not a number does not equal itself, and does not count
                argument = Case(((Operation(Operator.EQUAL, (argument, argument)), argument),), Literal(None, None))
            value = self._vector(argument, "")
        kept = Kept(Keep.COUNT, 0, self._mask(expression.variables), 0, value, chosen)
        match expression.function:
            case "count":
                self._add(Op.WORD, self._keep(kept, [0]), -1)
            case "sum" | "avg":
                keep = Keep.SUM_FLOAT if kind is ValueType.FLOAT else Keep.SUM_INT
                word = self._keep(replace(kept, keep=keep), [0] * SUM_WORDS)
                one = Op.SUM_FLOAT if kind is ValueType.FLOAT else Op.SUM_INT
                self._add(one if expression.function == "sum" else Op.AVERAGE, word)
            case "min" | "max" if kind in (ValueType.INT, ValueType.FLOAT, ValueType.TIMESTAMP):
                keep = Keep.LEAST if expression.function == "min" else Keep.GREATEST
                if kind is ValueType.FLOAT:
                    keep = Keep.LEAST_FLOAT if keep is Keep.LEAST else Keep.GREATEST_FLOAT
                word = self._keep(replace(kept, keep=keep), [0, 0])
                self._add(Op.WORD, word, word + 1)
            case _:
                raise _AskedError

    def _operation(self, expression: Operation) -> None:
        operator, operands = expression.operator, expression.operands
        kinds = {self._kind(operand) for operand in operands}
        number = ValueType.FLOAT if ValueType.FLOAT in kinds else None
        match operator:
            case Operator.AND | Operator.OR:
                self.write(operands[0])
                for operand in operands[1:]:
                    self.write(operand)
                    self._add(Op.AND if operator is Operator.AND else Op.OR)
            case Operator.NOT | Operator.IS_NULL:
                self.write(operands[0])
                self._add(Op.NOT if operator is Operator.NOT else Op.IS_NULL)
            case Operator.NEGATIVE:
                self.write(operands[0])
                self._add(Op.NEGATIVE_FLOAT if number else Op.NEGATIVE)
            case Operator.LIKE | Operator.JOIN:
                raise _AskedError
            case _:
                self._binary(operator, operands, kinds)

    def _binary(self, operator: Operator, operands: tuple[RowExpression, ...], kinds: set[ValueType | None]) -> None:
        equality = operator in (Operator.EQUAL, Operator.UNEQUAL, Operator.SAME)
        if ValueType.LIST in kinds or (ValueType.STRING in kinds and not equality):
            raise _AskedError
        as_float = ValueType.FLOAT in kinds or operator is Operator.DIVIDE
        for operand in operands:
            self._write_as(operand, ValueType.FLOAT if as_float else None)
        if operator is Operator.SAME:
            self._add(Op.SAME_FLOAT if as_float else Op.SAME)
        elif operator.is_arithmetic:
            self._add((_FLOAT_OPS if as_float else _INT_OPS)[operator])
        else:
            self._add(Op.COMPARE_FLOAT if as_float else Op.COMPARE, COMPARISONS.index(operator))


def _index(known: list[T], item: T) -> int:
    """The place of an item, which is added if it is new."""
    for place, each in enumerate(known):
        if each == item and repr(each) == repr(item):  # 1 and True and 1.0 are equal, but not the same
            return place
    known.append(item)
    return len(known) - 1
