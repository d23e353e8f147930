"""Columns that rows are appended to and taken from: Arrow arrays, few and of growing size, so that little is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.rows.vectors import storage


class GrowingColumn:
    """The values of one column by place.

    Arrays are joined when the one behind is at least as large as the one before it, so that a value is copied only a
    few times however small the portions are in which they come.
    """

    def __init__(self, kind: ValueType) -> None:
        self._kind = kind
        self._arrays: list[Any] = []

    def append(self, column: Any) -> None:
        """Take values."""
        values = plain(column, self._kind)
        if not len(values):
            return
        self._arrays.append(values)
        while len(self._arrays) > 1 and len(self._arrays[-1]) >= len(self._arrays[-2]):
            last = self._arrays.pop()
            self._arrays[-1] = pa.concat_arrays([self._arrays[-1], last])

    def whole(self) -> Any:
        """All values as one array."""
        if len(self._arrays) != 1:
            self._arrays = [pa.concat_arrays(self._arrays)] if self._arrays else [pa.array([], storage(self._kind))]
        return self._arrays[0]

    def take(self, places: NDArray[np.int32]) -> Any:
        """The values at places; NULL where there is no row."""
        numbers = self.numbers()
        if numbers is not None:
            missing = places < 0
            return pa.array(numbers[places], mask=missing if missing.any() else None)
        if len(self._arrays) == 1:
            return self._arrays[0].take(pa.array(places, mask=places < 0))
        chunks = pa.chunked_array(self._arrays, storage(self._kind))
        return chunks.take(pa.array(places, mask=places < 0)).combine_chunks()

    def numbers(self) -> NDArray[Any] | None:
        """All values as numbers, if they are in one array and none is NULL."""
        return self._arrays[0].to_numpy() if len(self._arrays) == 1 and _is_numbers(self._arrays[0]) else None

    def between(self, begin: int, end: int) -> Any:
        """The values at the places from one to another, which is left out."""
        if len(self._arrays) == 1:
            return self._arrays[0].slice(begin, end - begin)
        return pa.chunked_array(self._arrays, storage(self._kind)).slice(begin, end - begin).combine_chunks()

    def keep(self, places: NDArray[np.int64]) -> None:
        """Forget the values at all other places."""
        self._arrays = [self.take(places.astype(np.int32))] if len(places) else []


def _is_numbers(values: Any) -> bool:
    return values.null_count == 0 and pa.types.is_primitive(values.type) and not pa.types.is_boolean(values.type)


def one_array(column: Any) -> Any:
    """A column as one array, copied only if it has several."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def plain(column: Any, kind: ValueType) -> Any:
    """A column as one array of the type that values are computed with."""
    column = one_array(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    wanted = storage(kind)
    if kind is ValueType.TIMESTAMP and column.type != pa.int64():
        if column.type != ValueType.TIMESTAMP.arrow:
            column = column.cast(ValueType.TIMESTAMP.arrow, safe=False)
        return column.view(pa.int64())
    return column if column.type == wanted else column.cast(wanted, safe=False)
