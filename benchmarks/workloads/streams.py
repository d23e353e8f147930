"""The streams of events that are measured, drawn from seeds, as Arrow tables with times in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

AREAS = 50
FIRE_TYPES = ("Smoke", "Rain", "Temp")


class Coding(Enum):
    """How the column of event types is held in Arrow."""

    DICTIONARY = "dictionary"
    PLAIN = "plain"


def fire(count: int, seed: int, coding: Coding = Coding.DICTIONARY, *, rain: bool = False) -> pa.Table:
    """Smoke(area), one event in ten, and Temp(area, value); with ``rain`` one in ten is Rain(area).

    Events are 10 ms apart on average; there are 50 areas, and values are uniform in 0 to 100.

    >>> fire(3, 8).column("time").to_pylist(), fire(3, 8).column("type").to_pylist()
    ([14, 21, 26], ['Temp', 'Temp', 'Temp'])
    """
    random = np.random.default_rng(seed)
    times = np.cumsum(random.integers(1, 20, count))
    kind = random.random(count)
    areas = random.integers(0, AREAS, count)
    values = np.round(100 * random.random(count), 3)
    codes = np.where(kind < 0.1, 0, np.where((kind < 0.2) & rain, 1, 2)).astype(np.int32)
    return pa.table(
        {
            "type": type_column(codes, FIRE_TYPES, coding),
            "time": pa.array(times, pa.int64()),
            "area": pa.array(areas, pa.int64()),
            "value": pa.array(values, pa.float64(), mask=codes != 2),
        }
    )


def chapter(
    count: int,
    seed: int = 11,
    coding: Coding = Coding.DICTIONARY,
    *,
    types: int = 300,
    start: int = 0,
) -> pa.Table:
    """Events of types T0, T1, .., all equally likely, with a value; 10 ms apart on average.

    ``start`` is the time, in milliseconds, after which the first event comes.

    >>> chapter(3).to_pylist()[0]
    {'type': 'T149', 'time': 3, 'value': 2.869}
    """
    random = np.random.default_rng(seed)
    times = start + np.cumsum(random.integers(1, 20, count))
    codes = random.integers(0, types, count).astype(np.int32)
    values = np.round(100 * random.random(count), 3)
    return pa.table(
        {
            "type": type_column(codes, [f"T{number}" for number in range(types)], coding),
            "time": pa.array(times, pa.int64()),
            "value": pa.array(values, pa.float64()),
        }
    )


def type_column(codes: NDArray[np.int32], names: Sequence[str], coding: Coding) -> pa.Array:
    """A column of type names.

    >>> type_column(np.array([1, 0], np.int32), ["A", "B"], Coding.PLAIN).to_pylist()
    ['B', 'A']
    """
    column = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))
    return column if coding is Coding.DICTIONARY else column.cast(pa.string())
