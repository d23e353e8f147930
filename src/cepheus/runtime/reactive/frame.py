"""The moments of one batch: every event is one, and so is every time at which something leaves a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import Value, ValueType
from cepheus.engine.rows.vectors import compute, holds, storage
from cepheus.formats.arrays import validity
from cepheus.rules.rows.expressions import Aggregated, At, RowExpression

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frame:
    """Moments in order: their times, and for each event of the batch which moment it is."""

    times: IntArray
    moment_of: IntArray

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of(cls, events: IntArray, sorted_leavings: Sequence[IntArray]) -> Frame:
        """Put events and leavings, each in the order of time, into one order: what leaves goes before what comes."""
        leavings = np.sort(np.concatenate([*sorted_leavings, np.empty(0, np.int64)]), kind="stable")
        if not len(leavings):
            return cls(events, np.arange(len(events)))
        leavings = leavings[np.concatenate([[True], np.diff(leavings) != 0])]
        times = np.concatenate([leavings, events])
        order = np.argsort(times, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return cls(times[order], place[len(leavings) :])


@dataclass(frozen=True, slots=True)
class Columns:
    """Named columns of equal length, in which expressions are computed."""

    length: int
    types: dict[str, ValueType]
    arrays: dict[str, pa.Array]

    def column(self, name: str, at: At | None) -> pa.Array:
        """A column."""
        del at
        return self.arrays[name]

    def compute(self, expression: RowExpression) -> pa.Array:
        """The values of an expression, one for each row."""
        return compute(expression, self)

    def holds(self, condition: RowExpression) -> NDArray[np.bool_]:
        """Where a condition holds."""
        return holds(condition, self)

    def classifier(self, at: At | None) -> pa.Array:
        """No pattern takes rows here."""
        raise AssertionError(at)

    def number(self) -> pa.Array:
        """No pattern takes rows here."""
        raise AssertionError("rows are in no match")

    def aggregate(self, expression: Aggregated) -> pa.Array:
        """Aggregates are signals of their own."""
        raise AssertionError(expression)


def rows_of(batch: EventBatch, event: str) -> IntArray:
    """The rows of a batch that are events of a type."""
    if event not in batch.types:
        return np.empty(0, np.int64)
    return np.flatnonzero(batch.codes == batch.types.index(event))


def columns_of(batch: EventBatch, rows: IntArray, types: dict[str, ValueType]) -> Columns:
    """Attributes of some rows of a batch, times as integers."""
    every = len(rows) == len(batch)
    arrays = {}
    for name, kind in types.items():
        if name == TIME_ATTRIBUTE:
            arrays[name] = pa.array(batch.times if every else batch.times[rows])
            continue
        array = batch.column(name, kind)
        if array is None:
            arrays[name] = pa.nulls(len(rows), storage(kind))
            continue
        array = array if every else array.take(pa.array(rows))
        if pa.types.is_timestamp(array.type):
            array = array.cast(pa.timestamp("us")).cast(pa.int64())
        arrays[name] = array if array.type == storage(kind) else array.cast(storage(kind))
    return Columns(len(rows), types, arrays)


def changed_moments(column: pa.Array, before: Value | None) -> IntArray:
    """The moments at which a value is another than at the moment before."""
    if not len(column):
        return np.empty(0, np.int64)
    valid = validity(column)
    if pa.types.is_string(column.type):
        values = column.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    else:
        filled = column if valid.all() else column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        values = filled.to_numpy(zero_copy_only=False)
    differs = np.empty(len(column), np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    if not valid.all():
        differs[1:] |= valid[1:] != valid[:-1]
    first = column[0].as_py()
    differs[0] = first != before or type(first) is not type(before)
    return np.flatnonzero(differs)
