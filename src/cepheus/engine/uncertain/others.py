"""The distributions that are neither Normal nor Uniform: events name them by number, the kernel reads their components.

A stream whose errors are all different brings new ones for ever. When they have doubled since the last time, the
numbers that no stored event refers to are freed; a number in use stays, so nothing that holds one has to change.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cepheus.core.distribution import Distribution
from cepheus.core.error_column import ErrorColumn, ErrorKind
from cepheus.engine.uncertain.tables import SpreadField, spread_rows
from cepheus.kernel.context import State
from cepheus.kernel.program import Words
from cepheus.kernel.state import TypeState
from cepheus.plan.pattern.layouts import ERROR_MARKS
from cepheus.plan.pattern.lower import Lowering
from cepheus.uncertainty.laws import spreads

_LEAST = 1 << 10
"""Fewer distributions than this are not worth a look."""


class OtherErrors:
    """Numbers for distributions, and the tables by which the kernel finds their components.

    >>> from cepheus.core.distribution import Samples
    >>> others = OtherErrors()
    >>> others.number(Samples((0.0, 1.0))), others.number(Samples((2.0,))), others.number(Samples((0.0, 1.0)))
    (0, 1, 0)
    """

    def __init__(self, listed: Iterable[Distribution | None] = ()) -> None:
        self._listed: list[Distribution | None] = list(listed)
        self._numbers = {error: number for number, error in enumerate(self._listed) if error is not None}
        self._most = _LEAST
        self._rewrite()

    @property
    def listed(self) -> tuple[Distribution | None, ...]:
        """The distributions in the order of their numbers, None at those that are free."""
        return tuple(self._listed)

    def __len__(self) -> int:
        """Give how many distributions there are."""
        return len(self._numbers)

    def __getitem__(self, error: Distribution) -> int:
        """Give the number of a distribution that has one."""
        return self._numbers[error]

    def number(self, error: Distribution) -> int:
        """Give the number of a distribution, a new one if it has none; the tables may be new arrays then."""
        found = self._numbers.get(error)
        if found is not None:
            return found
        if self._free:
            number = self._free.pop()
            self._listed[number] = error
        else:
            number = len(self._listed)
            self._listed.append(error)
        self._numbers[error] = number
        self._write(number, error)
        return number

    def column(self, kinds: Words, first: NDArray[np.float64], second: NDArray[np.float64]) -> ErrorColumn:
        """Give errors that the kernel wrote, with those distributions alone that they name."""
        foreign = kinds == ErrorKind.OTHER
        if not foreign.any():
            return ErrorColumn(kinds, first, second)
        numbers, places = np.unique(first[foreign].astype(np.int64), return_inverse=True)
        first = first.copy()
        first[foreign] = places
        named = (self._listed[number] for number in numbers.tolist())
        return ErrorColumn(kinds, first, second, tuple(error for error in named if error is not None))

    # ---- What is free ----------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Whether there are twice as many distributions as were needed last time."""
        return len(self._numbers) > self._most

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Free the numbers that are not live."""
        end = int(np.flatnonzero(live)[-1]) + 1 if live.any() else 0
        self._listed = [
            error if alive else None for error, alive in zip(self._listed[:end], live[:end].tolist(), strict=True)
        ]
        self._numbers = {error: number for number, error in enumerate(self._listed) if error is not None}
        self._most = max(_LEAST, 2 * len(self._numbers))
        self._rewrite()

    # ---- Tables ----------------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        """Write the components of all distributions anew."""
        self._free = [number for number, error in enumerate(self._listed) if error is None]
        self.rows: Words = SpreadField.zeros(64)
        self.ranges: Words = np.zeros((max(64, 2 * len(self._listed)), 2), np.int64)
        self._used = 0
        for error, number in self._numbers.items():
            self._write(number, error)

    def _write(self, number: int, error: Distribution) -> None:
        lines, _ = spread_rows([spreads(error)])
        end = self._used + len(lines)
        self.rows = _with_room(self.rows, end)
        self.ranges = _with_room(self.ranges, number + 1)
        self.rows[self._used : end] = lines
        self.ranges[number] = self._used, end
        self._used = end


def _with_room(table: Words, rows: int) -> Words:
    """Give a table with so many rows at least, the same one if it has them."""
    if len(table) >= rows:
        return table
    larger = np.zeros((2 * rows, table.shape[1]), np.int64)
    larger[: len(table)] = table
    return larger


def mark_others(live: NDArray[np.bool_], lowering: Lowering, state: State) -> None:
    """Mark the numbers that the errors of stored events name."""
    for layout in lowering.types.values():
        if layout.index >= len(state.type_state):
            continue
        first, end = state.type_state[layout.index, TypeState.FIRST], state.type_state[layout.index, TypeState.NEXT]
        offset, mask = state.type_state[layout.index, TypeState.OFFSET], state.type_state[layout.index, TypeState.MASK]
        bases = offset + (np.arange(first, end, dtype=np.int64) & mask) * layout.width
        for name, slot in layout.slots.items():
            if name.endswith(ERROR_MARKS[0]):
                foreign = bases[state.store[bases + slot] == ErrorKind.OTHER]
                live[state.store[foreign + slot + 1].view(np.float64).astype(np.int64)] = True
