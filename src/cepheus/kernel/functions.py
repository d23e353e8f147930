"""Functions of expressions that the machines call by address: plain Python, compiled when a rule first needs one.

A function of numbers and times is compiled as it stands, so that a new one needs no instruction of its own. Numba takes
long to import and is asked only then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from cepheus.core.values import ValueType
from cepheus.kernel.instructions import FunctionField, Gives
from cepheus.kernel.tables import Words

MOST_ARGUMENTS = 4
_MOST_FUNCTIONS = 1024


_GIVES = {ValueType.BOOL: Gives.BOOL, ValueType.INT: Gives.INT, ValueType.TIMESTAMP: Gives.INT}


@dataclass(frozen=True, slots=True)
class NumberFunction:
    """A function to compile: its meaning in Python, for each argument whether it is a time, and the result's type.

    Other arguments are numbers, all doubles or all integers; a result type of None is what they are. A function that
    gives a double is given nothing but doubles.
    """

    name: str
    compute: Callable[..., Any]
    times: tuple[bool, ...]
    result: ValueType | None

    @property
    def gives(self) -> Gives:
        """What the machines make of its result."""
        if self.result is None:
            return Gives.AS_ARGUMENTS
        return Gives.FLOAT if self.result is ValueType.FLOAT else _GIVES[self.result]


class FunctionAddresses:
    """The table of compiled functions, one for all engines of a process: its place in memory never changes."""

    def __init__(self) -> None:
        self.rows: Words = FunctionField.zeros(_MOST_FUNCTIONS)
        self._numbers: dict[NumberFunction, int | None] = {}
        self._kept: list[object] = []
        self._lock = Lock()

    def number(self, function: NumberFunction) -> int | None:
        """Return the row of a function, compiled if it is new; None if it cannot be compiled."""
        with self._lock:
            if function not in self._numbers:
                self._numbers[function] = self._add(function)
            return self._numbers[function]

    def _add(self, function: NumberFunction) -> int | None:
        from cepheus.kernel.function_code import compile_function

        number = sum(known is not None for known in self._numbers.values())
        if number == _MOST_FUNCTIONS or len(function.times) > MOST_ARGUMENTS:
            return None
        row = self.rows[number]
        for field, floating in ((FunctionField.OF_FLOATS, True), (FunctionField.OF_INTEGERS, False)):
            if floating or function.gives is not Gives.FLOAT:
                code = compile_function(function, floating=floating)
                if code is None:
                    return None
                self._kept.append(code)
                row[field] = code.address
        row[FunctionField.GIVES] = function.gives
        row[FunctionField.TIMES] = sum(is_time << place for place, is_time in enumerate(function.times))
        return number


FUNCTION_ADDRESSES = FunctionAddresses()
"""The functions that this process has compiled."""
