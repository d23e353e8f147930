"""The rows that an engine of rows still needs, in columns, and the partition of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.rows.columns import GrowingColumn, one_array, plain
from cepheus.engine.rows.kernel import Part, Places, Rows, link
from cepheus.engine.rows.places import by_appearance
from cepheus.engine.rows.vectors import storage

_START = 1024
_LINKS = ("partition", "class", "before", "after", "taken")
PLACES_IN_PARTS = [Part.LAST, Part.CANDIDATE_START, Part.CANDIDATE_END, Part.ATTEMPT, Part.UNDECIDED]
"""What of a partition are places of rows, which move when rows are forgotten."""


class RowStore:
    """Rows in the order of their arrival, known by their places, with the links between those of one partition.

    ``parts`` has a line for each partition, which the kernel reads and writes; ``keys`` are their columns' values.
    """

    def __init__(self, partition: Sequence[str], types: Mapping[str, ValueType], wanted: Sequence[str]) -> None:
        self.types = dict(types)
        self.columns = {name: GrowingColumn(types[name]) for name in wanted}
        self.length = 0
        self.parts = np.empty((0, len(Part)), np.int64)
        self.keys: dict[tuple[object, ...], int] = {}
        self._partition = tuple(partition)
        self._links = [np.empty(_START, np.int32) for _ in range(5)]
        self._time = np.empty(_START, np.int64)
        self.covered = np.empty(_START, np.uint8)

    @property
    def rows(self) -> Rows:
        """The rows as the kernel takes them."""
        partition, row_class, before, after, taken = self._links
        return Rows(partition, row_class, before, after, taken, self._time)

    def append(self, columns: Mapping[str, Any], count: int, times: NDArray[np.int64] | None) -> Places:
        """Take rows, and return their places."""
        begin, end = self.length, self.length + count
        self.reserve(end)
        codes = self._codes(columns, count)
        for name, column in self.columns.items():
            column.append(columns[name])
        self._links[0][begin:end] = codes
        self._links[1][begin:end] = -1
        self._links[4][begin:end] = -1
        self.covered[begin:end] = 0
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
        return self.columns[name].take(places)

    def between(self, name: str, begin: int, end: int) -> Any:
        """The values of a column at the places from one to another, which is left out."""
        return self.columns[name].between(begin, end)

    def key_column(self, name: str, partitions: NDArray[np.int64]) -> Any:
        """The values of a column of PARTITION BY for partitions."""
        place = self._partition.index(name)
        values = pa.array([key[place] for key in self.keys], storage(self.types[name]))
        return values.take(pa.array(partitions))

    def forget(self, kept: NDArray[np.int64]) -> NDArray[np.int32]:
        """Forget all rows but those at some places, in order; the new place of each old one, -1 for what is gone."""
        moved = np.full(self.length, -1, np.int32)
        moved[kept] = np.arange(len(kept), dtype=np.int32)
        for column in self.columns.values():
            column.keep(kept)
        partition, row_class, before, after, taken = (each[kept] for each in self._links)
        self._links = [partition, row_class, moved_places(before, moved), moved_places(after, moved), taken]
        self._time, self.covered = self._time[kept], self.covered[kept]
        self.length = len(kept)
        self.parts[:, PLACES_IN_PARTS] = moved_places(self.parts[:, PLACES_IN_PARTS].astype(np.int32), moved)
        self.reserve(_START)
        return moved

    def state(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a snapshot has of it: a header and arrays."""
        sink = pa.BufferOutputStream()
        table = pa.table({name: column.whole() for name, column in self.columns.items()})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        count = self.length
        blobs = {name: each[:count].tobytes() for name, each in zip(_LINKS, self._links, strict=True)}
        blobs |= {"time": self._time[:count].tobytes(), "covered": self.covered[:count].tobytes()}
        blobs |= {"columns": sink.getvalue().to_pybytes(), "parts": self.parts[: len(self.keys)].tobytes()}
        return {"length": count, "keys": [list(key) for key in self.keys]}, blobs

    def restore(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        """Take over what ``state`` gave; ValueError if that makes no sense."""
        count, keys = header["length"], [tuple(key) for key in header["keys"]]
        table = pa.ipc.open_stream(blobs["columns"]).read_all()
        table.validate(full=True)
        if len(set(keys)) != len(keys) or any(len(key) != len(self._partition) for key in keys):
            raise ValueError
        for name, column in self.columns.items():
            if table.column(name).type != storage(self.types[name]) or len(table.column(name)) != count:
                raise ValueError
            column.append(table.column(name))
        self._links = [_array(blobs[name], np.int32, count) for name in _LINKS]
        self._time, self.covered = _array(blobs["time"], np.int64, count), _array(blobs["covered"], np.uint8, count)
        self.length = count
        self.keys = {key: number for number, key in enumerate(keys)}
        self.parts = _array(blobs["parts"], np.int64, len(keys) * len(Part)).reshape(-1, len(Part))
        self._check()
        self.reserve(_START)

    def _check(self) -> None:
        partition, _, before, after, _ = self._links
        places = np.arange(self.length)
        within = np.all(before < places) and np.all((after > places) | (after == -1)) and np.all(before >= -1)
        if not within or np.any(after >= self.length) or np.any(partition < 0) or np.any(partition >= len(self.keys)):
            raise ValueError
        known = self.parts[:, PLACES_IN_PARTS]
        if np.any(known < -1) or np.any(known >= self.length):
            raise ValueError

    def reserve(self, length: int) -> None:
        """Make room for so many rows."""
        have = len(self._time)
        if length > have:
            more = max(length, 2 * have) - have
            self._links = [np.concatenate([each, np.empty(more, np.int32)]) for each in self._links]
            self._time = np.concatenate([self._time, np.empty(more, np.int64)])
            self.covered = np.concatenate([self.covered, np.empty(more, np.uint8)])

    def _codes(self, columns: Mapping[str, Any], count: int) -> NDArray[np.int32]:
        """The partition of each row, counted in the order in which they first came."""
        codes, keys = encoded_keys({name: columns[name] for name in self._partition}, self.types, count)
        numbers = self._known(keys)
        return codes if np.array_equal(numbers, np.arange(len(numbers))) else numbers[codes]

    def _known(self, keys: Iterable[tuple[object, ...]]) -> NDArray[np.int32]:
        numbers = np.array([self.keys.setdefault(key, len(self.keys)) for key in keys], np.int32)
        if len(self.keys) > len(self.parts):
            fresh = np.full((max(len(self.keys), 2 * len(self.parts)) - len(self.parts), len(Part)), -1, np.int64)
            fresh[:, Part.SITUATION] = 0
            fresh[:, Part.NUMBER] = 0
            fresh[:, Part.WAITS] = 0
            self.parts = np.vstack([self.parts, fresh])
        return numbers


def _array(blob: bytes, kind: type[Any], length: int) -> NDArray[Any]:
    found = np.frombuffer(blob, kind).copy()
    if len(found) != length:
        raise ValueError
    return found


def moved_places(places: NDArray[np.int32], moved: NDArray[np.int32]) -> NDArray[np.int32]:
    """Places after rows were forgotten; -1 stays what it is."""
    if not len(moved):
        return np.full_like(places, -1)
    return np.where(places >= 0, moved[np.maximum(places, 0)], -1).astype(np.int32)


def table_keys(
    columns: Mapping[str, Any], types: Mapping[str, ValueType], count: int
) -> tuple[NDArray[np.int32], list[tuple[object, ...]]]:
    """Columns as one number a row, in any order, and what each number stands for: with as little work as may be."""
    if len(columns) == 1:
        ((name, column),) = columns.items()
        column = one_array(column)
        if pa.types.is_dictionary(column.type) and not column.null_count and column.indices.type == pa.int32():
            values = plain(column.dictionary, types[name]).to_pylist()
            if len(set(values)) == len(values) and None not in values:
                return column.indices.to_numpy(), [(value,) for value in values]
    codes, keys = encoded_keys(columns, types, count)
    if len(set(keys)) == len(keys):
        return codes, keys
    numbers: dict[tuple[object, ...], int] = {}
    same = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
    return same[codes], list(numbers)


def encoded_keys(
    columns: Mapping[str, Any], types: Mapping[str, ValueType], count: int
) -> tuple[NDArray[np.int32], list[tuple[object, ...]]]:
    """Columns as one number a row, counted in the order in which their values first come, and these values."""
    if not columns:
        return np.zeros(count, np.int32), [()]
    each = [_encoded(column, types[name]) for name, column in columns.items()]
    if len(each) == 1:
        codes, values = each[0]
        return codes, [(value,) for value in values]
    mixed = np.zeros(count, np.int64)
    for codes, values in each:
        mixed = mixed * len(values) + codes
    found, first, places = np.unique(mixed, return_index=True, return_inverse=True)
    order = np.argsort(first)
    known = np.empty(len(found), np.int32)
    known[order] = np.arange(len(found), dtype=np.int32)
    return known[places], [tuple(values[part[row]] for part, values in each) for row in first[order].tolist()]


def _encoded(column: Any, kind: ValueType) -> tuple[NDArray[np.int32], list[object]]:
    """A column as numbers of its distinct values, NULL among them, and these values as they first come."""
    column = one_array(column)
    if not pa.types.is_dictionary(column.type):
        column = plain(column, kind).dictionary_encode()
    values = plain(column.dictionary, kind).to_pylist()
    codes = column.indices
    if codes.null_count:
        codes = pc.fill_null(codes.cast(pa.int32()), len(values))
    values.append(None)
    numbers, used = by_appearance(codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), len(values))
    return numbers, [values[code] for code in used.tolist()]
