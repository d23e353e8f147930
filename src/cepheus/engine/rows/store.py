"""The rows that an engine of rows still needs, in columns, and the partition of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.rows.kernel import Part, Places, Rows, by_appearance, link
from cepheus.engine.rows.vectors import storage

_START = 1024


class RowStore:
    """Rows in the order of their arrival, known by their places, with the links between those of one partition.

    ``parts`` has a line for each partition, which the kernel reads and writes; ``keys`` are their columns' values.
    """

    def __init__(self, partition: Sequence[str], types: Mapping[str, ValueType], wanted: Sequence[str]) -> None:
        self.types = dict(types)
        self.columns: dict[str, Any] = {name: pa.array([], storage(types[name])) for name in wanted}
        self.length = 0
        self.parts = np.empty((0, len(Part)), np.int32)
        self._partition = tuple(partition)
        self._keys: dict[tuple[object, ...], int] = {}
        self._links = [np.empty(_START, np.int32) for _ in range(4)]
        self._time = np.empty(_START, np.int64)

    @property
    def rows(self) -> Rows:
        """The rows as the kernel takes them."""
        partition, row_class, before, after = self._links
        return Rows(partition, row_class, before, after, self._time)

    def append(self, columns: Mapping[str, Any], times: NDArray[np.int64] | None) -> Places:
        """Take rows, and return their places."""
        count = len(next(iter(columns.values()))) if columns else 0
        begin, end = self.length, self.length + count
        self._reserve(end)
        codes = self._codes(columns, count)
        for name in self.columns:
            new = _plain(columns[name], self.types[name])
            self.columns[name] = new if begin == 0 else pa.concat_arrays([self.columns[name], new])
        self._links[0][begin:end] = codes
        self._links[1][begin:end] = -1
        if times is not None:
            self._time[begin:end] = times
        self.length = end
        link(self.rows, self.parts, begin, end)
        return np.arange(begin, end, dtype=np.int32)

    def classify(self, places: Places, classes: NDArray[np.int32]) -> None:
        """Note the classes of rows, which may be taken from now on."""
        self._links[1][places] = classes

    def take(self, name: str, places: Places) -> Any:
        """The values of a column at places; NULL where there is no row."""
        column = self.columns[name]
        missing = places < 0
        if column.null_count == 0 and pa.types.is_primitive(column.type) and not pa.types.is_boolean(column.type):
            return pa.array(column.to_numpy()[places], mask=missing)
        return column.take(pa.array(places, mask=missing))

    def between(self, name: str, begin: int, end: int) -> Any:
        """The values of a column at the places from one to another, which is left out."""
        column = self.columns[name]
        return column if begin == 0 and end == self.length else column.slice(begin, end - begin)

    def key_column(self, name: str, partitions: NDArray[np.int64]) -> Any:
        """The values of a column of PARTITION BY for partitions."""
        place = self._partition.index(name)
        values = pa.array([key[place] for key in self._keys], storage(self.types[name]))
        return values.take(pa.array(partitions))

    def _reserve(self, length: int) -> None:
        have = len(self._time)
        if length > have:
            more = max(length, 2 * have) - have
            self._links = [np.concatenate([each, np.empty(more, np.int32)]) for each in self._links]
            self._time = np.concatenate([self._time, np.empty(more, np.int64)])

    def _codes(self, columns: Mapping[str, Any], count: int) -> NDArray[np.int32]:
        """The partition of each row, counted in the order in which they first came."""
        if not self._partition:
            self._known([()])
            return np.zeros(count, np.int32)
        each = [_encoded(columns[name], self.types[name]) for name in self._partition]
        if len(each) == 1:
            codes, values = each[0]
            return self._known([(value,) for value in values])[codes]
        mixed = np.zeros(count, np.int64)
        for codes, values in each:
            mixed = mixed * len(values) + codes
        found, first, places = np.unique(mixed, return_index=True, return_inverse=True)
        keys = [tuple(values[part[row]] for part, values in each) for row in first.tolist()]
        order = np.argsort(first)
        known = np.empty(len(found), np.int32)
        known[order] = self._known([keys[place] for place in order.tolist()])
        return known[places]

    def _known(self, keys: Iterable[tuple[object, ...]]) -> NDArray[np.int32]:
        numbers = np.array([self._keys.setdefault(key, len(self._keys)) for key in keys], np.int32)
        if len(self._keys) > len(self.parts):
            fresh = np.full((max(len(self._keys), 2 * len(self.parts)) - len(self.parts), len(Part)), -1, np.int32)
            fresh[:, Part.SITUATION] = 0
            fresh[:, Part.NUMBER] = 0
            self.parts = np.vstack([self.parts, fresh])
        return numbers


def _plain(column: Any, kind: ValueType) -> Any:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind is ValueType.TIMESTAMP and column.type != pa.int64():
        column = column.cast(pa.timestamp("us", tz="UTC"), safe=False)
    wanted = storage(kind)
    return column if column.type == wanted else column.cast(wanted, safe=False)


def _encoded(column: Any, kind: ValueType) -> tuple[NDArray[np.int32], list[object]]:
    """A column as numbers of its distinct values, NULL among them, and these values as they first come."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = _plain(column, kind).dictionary_encode()
    values = _plain(column.dictionary, kind).to_pylist()
    codes = column.indices
    if codes.null_count:
        codes = pc.fill_null(codes.cast(pa.int32()), len(values))
    values.append(None)
    numbers, used = by_appearance(codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), len(values))
    return numbers, [values[code] for code in used.tolist()]
