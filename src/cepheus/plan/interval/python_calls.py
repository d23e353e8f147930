"""Functions that compiled code asks Python for, once for each combination of arguments: texts, background knowledge."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from cepheus.core.event import text_digest
from cepheus.core.lists import distinct
from cepheus.core.values import INT_MAX, INT_MIN, Value
from cepheus.plan.interval.layout import FLOAT_WORD
from cepheus.rules.functions import LIST_DISTINCT, LIST_SIZE, function_of
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.model import Condition

_MASK = 2**64 - 1

Compute = Callable[[Sequence[Value | None]], Value | None]
"""Computes the value for arguments, any of which may be undefined."""


class FunctionTable:
    """The functions of a program, each with a number by which it is computed.

    >>> table = FunctionTable()
    >>> number = table.built_in("upper")
    >>> table.compute(number, ["ab"]), table.built_in("upper") == number
    ('AB', True)
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._functions: list[Compute] = []
        self._parts: dict[tuple[int, int], None] = {}
        number = self._number("", lambda arguments: _float_word(arguments[0]))
        assert number == FLOAT_WORD

    def _number(self, key: Hashable, function: Compute) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._functions)
            self._functions.append(function)
        return self._numbers[key]

    def built_in(self, name: str) -> int:
        """The number of a built-in function."""
        return self._number(name, function_of(name).apply)

    def part_of_list(self, name: str, place: int) -> None:
        """Take note that rules ask for a part of lists: a built-in function of a list and this place."""
        self._parts[self.built_in(name), place] = None

    def foreseen(self, number: int, arguments: Sequence[Value | None]) -> Iterator[tuple[int, int, Value | None]]:
        """Yield what will be asked for after a question about a list: functions of it and a place, with the answers.

        Who asks for an element of a list asks for the next one, up to the undefined value behind the end; who asks for
        the size of a list goes on to take it apart.
        """
        elements = arguments[0]
        if not isinstance(elements, tuple):
            return
        if number == self._numbers.get(LIST_DISTINCT):
            for place, value in enumerate((*distinct(elements), None)):
                yield number, place, value
        elif number == self._numbers.get(LIST_SIZE):
            for part, place in self._parts:
                if place <= len(elements):
                    yield part, place, self.compute(part, (elements, place))

    def condition(self, condition: Condition, conditions: Conditions, names: tuple[str, ...]) -> int:
        """Number the function that tells whether a condition holds for values of the named variables.

        Of no variables it is a function of one argument, which means nothing: the answer takes its place.
        """

        def compute(arguments: Sequence[Value | None]) -> Value | None:
            pairs = zip(names, arguments[: len(names)], strict=True)
            binding: Mapping[str, Value] = {name: value for name, value in pairs if value is not None}
            return next(conditions.bindings((condition,), binding), None) is not None

        return self._number((condition, id(conditions), names), compute)

    def compute(self, number: int, arguments: Sequence[Value | None]) -> Value | None:
        """Compute a function; an integer beyond 64 bits is undefined."""
        value = self._functions[number](arguments)
        if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
            return None
        return value


def _float_word(value: Value | None) -> int | None:
    """The word of a float that is no 64-bit integer, as a signed one."""
    if not isinstance(value, float):
        return None
    word = int(value) & _MASK if value.is_integer() else text_digest(value.hex())  # as ``instance_id`` does
    return word - 2**64 if word >= 2**63 else word
