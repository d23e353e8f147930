"""What a reader hands on: some rows, in whatever columns its format has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import IntArray
from cepheus.formats.arrays import code_array, encoded
from cepheus.formats.columns import Column, ObjectColumn, TextColumn, TypedColumn
from cepheus.formats.problems import BadEvents

Numbers = range | IntArray
"""Line or position numbers of rows: a range costs nothing per row."""


class Rows(Protocol):
    """Some rows of a file before they are events."""

    def __len__(self) -> int: ...

    def names(self) -> Sequence[str]:
        """The names of the columns, in order of appearance."""

    def column(self, name: str) -> Column | None:
        """The column of that name, or None if no row has one."""

    def take(self, rows: IntArray) -> Rows:
        """Select some of the rows."""

    def type_codes(self, name: str) -> tuple[list[object], NDArray[np.int32]]:
        """The distinct cells of a column and, for each row, which of them it has; -1 for no value."""


@dataclass(frozen=True, slots=True)
class RecordRows:
    """Rows that are dicts, as JSON lines give them."""

    records: Sequence[Mapping[str, object]]

    def __len__(self) -> int:
        return len(self.records)

    def names(self) -> Sequence[str]:
        """The names of the columns, in order of appearance."""
        return list({name: None for record in self.records for name in record})

    def column(self, name: str) -> Column | None:
        """The column of that name, or None if no row has a value there."""
        values = [record.get(name) for record in self.records]
        return None if all(value is None for value in values) else ObjectColumn(values)

    def take(self, rows: IntArray) -> RecordRows:
        """Select some of the rows."""
        return RecordRows([self.records[row] for row in rows.tolist()])

    def type_codes(self, name: str) -> tuple[list[object], NDArray[np.int32]]:
        """The distinct cells of a column and which of them each row has."""
        values = [record.get(name) for record in self.records]
        keys: list[object] = list(values)
        if not set(map(type, values)) <= {str, NoneType}:
            keys = [None if value is None else _hashable(value) for value in values]
        firsts = dict(zip(reversed(keys), reversed(values), strict=True))
        codes: dict[object, int] = {None: -1}
        codes |= {key: code for code, key in enumerate(key for key in dict.fromkeys(keys) if key is not None)}
        distinct = [firsts[key] for key in codes if key is not None]
        return distinct, np.fromiter(map(codes.__getitem__, keys), np.int32, len(keys))


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Rows in Arrow arrays: of text as CSV has it, or typed."""

    arrays: Mapping[str, pa.Array]
    length: int
    text: bool = False

    def __len__(self) -> int:
        return self.length

    def names(self) -> Sequence[str]:
        """The names of the columns, in order of appearance."""
        return list(self.arrays)

    def column(self, name: str) -> Column | None:
        """The column of that name, or None if there is none."""
        if name not in self.arrays:
            return None
        return TextColumn(self.arrays[name]) if self.text else TypedColumn(self.arrays[name])

    def take(self, rows: IntArray) -> ArrayRows:
        """Select some of the rows."""
        indices = pa.array(rows, pa.int64())
        return ArrayRows({name: array.take(indices) for name, array in self.arrays.items()}, len(rows), self.text)

    def type_codes(self, name: str) -> tuple[list[object], NDArray[np.int32]]:
        """The distinct cells of a column and which of them each row has."""
        array = self.arrays.get(name)
        if array is None:
            return [], np.full(self.length, -1, np.int32)
        array = encoded(array)
        indices = array.indices if array.indices.null_count == 0 else array.indices.fill_null(-1)
        values = [value.strip() if self.text else value for value in array.dictionary.to_pylist()]
        return values, code_array(indices)


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """Rows whose events, unless they have ids, are called by their numbers, behind the prefix if there is one.

    What is wrong with them is told to ``bad``, with their places among the rows, counted from 1.
    """

    rows: Rows
    numbers: Numbers
    bad: BadEvents
    prefix: str | None = None


def pick(numbers: Numbers, rows: IntArray) -> Numbers:
    """The numbers of some rows.

    >>> pick(range(10, 20), np.array([0, 3])).tolist()
    [10, 13]
    """
    return numbers.start + numbers.step * rows if isinstance(numbers, range) else numbers[rows]


def _hashable(value: object) -> tuple[type, object]:
    """True and 1 would be one key of a dict, and a list can be none."""
    return (type(value), value) if isinstance(value, str | int | float) else (type(value), None)
