"""The errors of one attribute of many events, in columns: nothing per row for Normal and Uniform errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import overload

import numpy as np
from numpy.typing import NDArray

from cepheus.core.distribution import Distribution, Normal, Uniform

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


class ErrorKind(IntEnum):
    """What the error of a row is: none, a Normal (mean, variance), a Uniform (low, high), or another distribution."""

    NONE = 0
    NORMAL = 1
    UNIFORM = 2
    OTHER = 3


@dataclass(frozen=True, slots=True, eq=False)
class ErrorColumn(Sequence[Distribution | None]):
    """Each row's error distribution or None: its kind and two parameters.

    A row of another kind has, as its first parameter, the place of its distribution among ``others``.

    >>> column = ErrorColumn.of([None, Normal(0.0, 1.0)])
    >>> list(column), column.kinds.tolist()
    ([None, Normal(mean=0.0, variance=1.0)], [0, 1])
    """

    kinds: Rows
    first: Floats
    second: Floats
    others: tuple[Distribution, ...] = ()

    @classmethod
    def of(cls, errors: Sequence[Distribution | None]) -> ErrorColumn:
        """Put distributions into columns."""
        if isinstance(errors, ErrorColumn):
            return errors
        kinds, first, second = np.zeros(len(errors), np.int64), np.zeros(len(errors)), np.zeros(len(errors))
        others: dict[Distribution, int] = {}
        for row, error in enumerate(errors):
            match error:
                case None:
                    continue
                case Normal(mean=mean, variance=variance):
                    kinds[row], first[row], second[row] = ErrorKind.NORMAL, mean, variance
                case Uniform(low=low, high=high):
                    kinds[row], first[row], second[row] = ErrorKind.UNIFORM, low, high
                case _:
                    kinds[row], first[row] = ErrorKind.OTHER, others.setdefault(error, len(others))
        return cls(kinds, first, second, tuple(others))

    @classmethod
    def constant(cls, error: Distribution | None, length: int) -> ErrorColumn:
        """The same error for many rows."""
        return cls.of([error]).take(np.zeros(length, np.int64))

    @classmethod
    def concat(cls, columns: Sequence[ErrorColumn]) -> ErrorColumn:
        """Put columns one below the other."""
        others: dict[Distribution, int] = {}
        firsts = []
        for column in columns:
            first = column.first
            if column.others:
                places = np.array([others.setdefault(error, len(others)) for error in column.others], np.float64)
                foreign = column.kinds == ErrorKind.OTHER
                first = first.copy()
                first[foreign] = places[column.first[foreign].astype(np.int64)]
            firsts.append(first)
        return cls(
            np.concatenate([column.kinds for column in columns]),
            np.concatenate(firsts),
            np.concatenate([column.second for column in columns]),
            tuple(others),
        )

    def take(self, rows: Rows) -> ErrorColumn:
        """The errors of some rows, in that order."""
        return ErrorColumn(self.kinds[rows], self.first[rows], self.second[rows], self.others)

    def where(self, kept: NDArray[np.bool_]) -> ErrorColumn:
        """The errors of the rows that are kept, None for the others."""
        return ErrorColumn(np.where(kept, self.kinds, ErrorKind.NONE), self.first, self.second, self.others)

    def or_else(self, other: ErrorColumn) -> ErrorColumn:
        """Take the errors of another column for the rows that have none."""
        places = np.arange(len(self))
        return ErrorColumn.concat([self, other]).take(
            np.where(self.kinds == ErrorKind.NONE, places + len(self), places)
        )

    def filled(self, error: Distribution) -> ErrorColumn:
        """The errors, and one more for the rows that have none."""
        lacking = self.kinds == ErrorKind.NONE
        if not lacking.any():
            return self
        return ErrorColumn.concat([self, ErrorColumn.of([error])]).take(
            np.where(lacking, len(self), np.arange(len(self)))
        )

    @property
    def any(self) -> bool:
        """Whether any row has an error."""
        return bool(self.kinds.any())

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, row: int) -> Distribution | None: ...
    @overload
    def __getitem__(self, row: slice) -> ErrorColumn: ...

    def __getitem__(self, row: int | slice) -> Distribution | ErrorColumn | None:
        if isinstance(row, slice):
            return ErrorColumn(self.kinds[row], self.first[row], self.second[row], self.others)
        return distribution_of(int(self.kinds[row]), float(self.first[row]), float(self.second[row]), self.others)

    def __iter__(self) -> Iterator[Distribution | None]:
        rows = zip(self.kinds.tolist(), self.first.tolist(), self.second.tolist(), strict=True)
        return (distribution_of(*row, self.others) for row in rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # arrays may change


def distribution_of(
    kind: int, first: float, second: float, others: Sequence[Distribution | None]
) -> Distribution | None:
    """The distribution that a kind and two numbers stand for; for one of the others, the first is its place."""
    match kind:
        case ErrorKind.NONE:
            return None
        case ErrorKind.NORMAL:
            return Normal(first, second)
        case ErrorKind.UNIFORM:
            return Uniform(first, second)
        case _:
            return others[int(first)]
