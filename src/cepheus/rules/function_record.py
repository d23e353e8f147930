"""The record of a built-in function: what it takes and gives, what it means, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

from cepheus.core.values import Value, ValueType, representable
from cepheus.kernel.instructions import DatePart, Op


class Kind(Enum):
    """What an argument must be: one type, any number, or anything (all arguments of one call alike).

    Lists are values of rules over intervals alone.
    """

    NUMBER = "a number"
    STRING = "a string"
    TIMESTAMP = "a time"
    SIZED = "a string or a list"
    LIST = "a list"
    TRUTH = "a condition"
    SAME = "any type, the same for all"


@dataclass(frozen=True, slots=True)
class MachineOps:
    """An instruction for doubles and one for integers, taken again for each further argument.

    None for integers: an integer is its own result, as that of ``floor``.
    """

    of_floats: Op
    of_integers: Op | None


@dataclass(frozen=True, slots=True)
class CalendarPart:
    """A part of a time's date, which has an instruction."""

    part: DatePart


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table that is filled as texts come up: one argument is a text, the others are constants."""


@dataclass(frozen=True, slots=True)
class FirstDefined:
    """The first argument that has a value: jumps over the others."""


class Join(Enum):
    """How conditions are joined, which the machine does by itself: three-valued as in SQL, no further than needed."""

    BOTH = "and"
    EITHER = "or"
    OPPOSITE = "not"
    AMONG = "in"
    UNDEFINED = "is null"
    CHOICE = "if"


@dataclass(frozen=True, slots=True)
class Joined:
    """Conditions joined: jumps over what no longer matters."""

    join: Join


@dataclass(frozen=True, slots=True)
class Compiled:
    """Numbers and times: ``compute`` itself is compiled, and called by its address.

    It may use arithmetic, comparisons and the module ``math``, and gives None where its result is undefined. Integers
    must not leave 64 bits on the way: compiled code would not notice. Of a function of the program ``of`` is compiled,
    so that it does notice, and ``compute`` asks what came of it.
    """

    of: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class OnlyPython:
    """No compiled form: where Python cannot be asked, a rule that needs it is refused."""


Lowering = MachineOps | CalendarPart | TextTable | FirstDefined | Joined | Compiled | OnlyPython


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in function.

    ``result`` is a type, or None where it is the type of the arguments. ``compute`` is the meaning. It is asked only
    with what the function takes, numbers all of one type (doubles, if the result is one); what it rejects with an
    error of arithmetic or of its domain is undefined, as is None. ``variadic`` functions take further arguments like
    the last one.
    """

    name: str
    arguments: tuple[Kind, ...]
    result: ValueType | None
    compute: Callable[..., Any]
    summary: str
    variadic: bool = False
    lowering: Lowering = OnlyPython()
    spark: str | None = None
    """The method of Spark's columns that says the same of a text and a constant, if there is one."""
    regex: int | None = None
    """Which argument is a regular expression, counted from 0."""
    grows: bool = False
    """Its results may be ever larger: a rule that feeds on them may never end."""
    distance: bool = False
    """The distance from zero: to be below a bound is to be between two."""
    local: bool = False
    """It is a function of this program, which no other process knows."""
    wrong: Callable[[str], str | None] | None = None
    """Says what is wrong with a text behind the first argument where a rule writes it out; None if nothing is."""

    def __post_init__(self) -> None:
        if not self._is_sound():
            raise ValueError(f"the function '{self.name}' cannot be run as its record says: {self.lowering}")

    def _is_sound(self) -> bool:
        kinds = set(self.arguments)
        match self.lowering:
            case MachineOps():
                return kinds == {Kind.NUMBER}
            case CalendarPart():
                return self.arguments == (Kind.TIMESTAMP,)
            case TextTable():
                return bool(kinds & _OF_TEXTS) and self.result not in (None, ValueType.FLOAT, ValueType.LIST)
            case FirstDefined():
                return kinds == {Kind.SAME}
            case Joined():
                return kinds <= {Kind.TRUTH, Kind.SAME}
            case Compiled():
                return kinds <= {Kind.NUMBER, Kind.TIMESTAMP} and self.result not in (ValueType.STRING, ValueType.LIST)
            case OnlyPython():
                return True
            case _:
                assert_never(self.lowering)

    @property
    def signature(self) -> str:
        """How it is written, for messages and documentation."""
        names = ", ".join(_WRITTEN[kind] for kind in self.arguments)
        return f"{self.name}({names}{', ..' if self.variadic else ''})"

    @property
    def takes_undefined(self) -> bool:
        """Whether it may have a result where an argument has no value."""
        return self.lowering != Joined(Join.OPPOSITE) and bool({Kind.SAME, Kind.TRUTH} & set(self.arguments))

    def kind(self, position: int) -> Kind:
        """What the argument at a position, counted from 0, must be."""
        return self.arguments[min(position, len(self.arguments) - 1)]

    def apply(self, values: Sequence[Value | None]) -> Value | None:
        """Compute the result for some arguments, None where it is undefined.

        >>> from cepheus.rules.functions import FUNCTIONS
        >>> FUNCTIONS["abs"].apply([-2]), FUNCTIONS["abs"].apply([True]), FUNCTIONS["upper"].apply([None])
        (2, None, None)
        >>> FUNCTIONS["max"].apply([1, 0.5]), FUNCTIONS["ln"].apply([1]), FUNCTIONS["ln"].apply([0])
        (1.0, 0.0, None)
        """
        kinds = [self.kind(position) for position in range(len(values))]
        if not all(map(_is_of_kind, kinds, values)):
            return None
        of_floats = self.result is ValueType.FLOAT or any(
            kind is Kind.NUMBER and isinstance(value, float) for kind, value in zip(kinds, values, strict=True)
        )
        given: list[Any] = list(values)
        if of_floats:
            given = [float(v) if kind is Kind.NUMBER else v for kind, v in zip(kinds, given, strict=True)]
        try:
            result: Value | None = self.compute(*given)
            if isinstance(result, bool) or not isinstance(result, int | float):
                return result
            gives_float = self.result is ValueType.FLOAT or (self.result is None and of_floats)
            return representable(float(result) if gives_float else result)
        except (ArithmeticError, ValueError):
            return None


_OF_TEXTS = frozenset({Kind.STRING, Kind.SIZED})
_WRITTEN = {
    Kind.NUMBER: "number",
    Kind.STRING: "string",
    Kind.TIMESTAMP: "time",
    Kind.SIZED: "string",
    Kind.LIST: "list",
    Kind.TRUTH: "condition",
    Kind.SAME: "value",
}


def _is_of_kind(kind: Kind, value: Value | None) -> bool:
    match kind:
        case Kind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Kind.STRING:
            return isinstance(value, str)
        case Kind.TIMESTAMP:
            return isinstance(value, int) and not isinstance(value, bool)
        case Kind.SIZED:
            return isinstance(value, str | tuple)
        case Kind.LIST:
            return isinstance(value, tuple)
        case Kind.TRUTH:
            return value is None or isinstance(value, bool)
        case Kind.SAME:
            return True
