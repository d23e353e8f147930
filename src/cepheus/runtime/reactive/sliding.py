"""Aggregates of windows that slide over members: at each moment those from ``drops`` up to, not including, ``adds``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.values import Value, ValueType
from cepheus.kernel.blocks import words
from cepheus.kernel.memory import address
from cepheus.rules.aggregates import AggregateFunction, Form

IntArray = NDArray[np.int64]
_SAFE = 2**62


def windowed(
    record: AggregateFunction,
    values: pa.Array | None,
    times: IntArray,
    drops: IntArray,
    adds: IntArray,
    kind: ValueType,
) -> pa.Array:
    """The aggregate at each moment, in the order of time; null where it is undefined.

    ``values`` are those of the members, None for an aggregate of events. Sums are exact, as everywhere.
    """
    count = adds - drops
    match record.form:
        case Form.COUNT:
            return pa.array(count)
        case Form.SUM | Form.AVERAGE:
            found = _sums(values, drops, adds)
            if found is not None:
                return _sum(found, count) if record.form is Form.SUM else _average(found, count)
        case Form.FIRST | Form.LAST:
            place = drops if record.form is Form.FIRST else adds - 1
            return _taken(values, place, count)
        case Form.LEAST | Form.GREATEST if kind is not ValueType.STRING:
            return _taken(values, _extremes(values, drops, adds, least=record.form is Form.LEAST), count)
        case _:
            pass
    return _one_by_one(record, values, times, drops, adds, kind)


def _one_by_one(
    record: AggregateFunction,
    values: pa.Array | None,
    times: IntArray,
    drops: IntArray,
    adds: IntArray,
    kind: ValueType,
) -> pa.Array:
    """The aggregate by its definition, asked again only where the members are others."""
    members: list[Any] = [None] * len(times) if values is None else values.to_pylist()
    at = times.tolist()
    found: list[Value | None] = []
    before: tuple[int, int] | None = None
    for drop, add in zip(drops.tolist(), adds.tolist(), strict=True):
        if (drop, add) != before:
            value = record(members[drop:add], at[drop:add])
            before = (drop, add)
        found.append(value)
    return pa.array(found, pa.int64() if kind is ValueType.TIMESTAMP else kind.arrow)


def _taken(values: pa.Array | None, place: IntArray, count: IntArray) -> pa.Array:
    assert values is not None
    return values.take(pa.array(place, mask=count == 0))


def _sums(values: pa.Array | None, drops: IntArray, adds: IntArray) -> NDArray[Any] | None:
    """The exact sums, rounded once, None if they need more bits than there are."""
    assert values is not None
    if pa.types.is_integer(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
        if len(numbers) and float(np.abs(numbers.astype(np.float64)).max()) * len(numbers) >= _SAFE:
            return None
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers)])
        whole: NDArray[np.int64] = running[adds] - running[drops]
        return whole
    from cepheus.runtime.reactive.kernels import sliding_sums

    limbs = words(4)
    sums = np.empty(len(adds), np.float64)
    bits = np.ascontiguousarray(values.to_numpy(zero_copy_only=False), np.float64).view(np.int64)
    exact = sliding_sums(bits, drops, adds, address(limbs), sums)
    return sums if exact else None


def _sum(sums: NDArray[Any], count: IntArray) -> pa.Array:
    del count  # of nothing it is zero
    if sums.dtype == np.float64:
        return pa.array(sums, mask=~np.isfinite(sums))
    return pa.array(sums)


def _average(sums: NDArray[Any], count: IntArray) -> pa.Array:
    numbers = sums.astype(np.float64) / np.maximum(count, 1)
    return pa.array(numbers, mask=(count == 0) | ~np.isfinite(numbers))


def _extremes(values: pa.Array | None, drops: IntArray, adds: IntArray, *, least: bool) -> IntArray:
    from cepheus.runtime.reactive.kernels import sliding_extremes

    assert values is not None
    numbers = values.to_numpy(zero_copy_only=False)
    waiting = np.empty(len(numbers) + 1, np.int64)
    found = np.zeros(len(adds), np.int64)
    sliding_extremes(np.ascontiguousarray(numbers), drops, adds, least, waiting, found)
    return found
