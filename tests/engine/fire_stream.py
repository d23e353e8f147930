"""The streams that peers were measured on, drawn from a seed: fire alarms of 50 areas, one event about every 10 ms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def fire_stream(count: int, seed: int, *, rain: bool = False) -> pa.Table:
    """Give Smoke(area) and Temp(area, value), with ``rain`` also Rain(area); times in milliseconds."""
    random = np.random.default_rng(seed)
    times = np.cumsum(random.integers(1, 20, count))
    kinds = random.random(count)
    areas = random.integers(0, 50, count)
    values = np.round(100 * random.random(count), 3)
    smoke = kinds < 0.1
    other = (kinds < 0.2) & ~smoke if rain else np.zeros(count, np.bool_)
    types = np.where(smoke, "Smoke", np.where(other, "Rain", "Temp"))
    return pa.table(
        {
            "type": pa.array(types.tolist(), pa.string()),
            "time": pa.array(times, pa.int64()),
            "area": pa.array(areas, pa.int64()),
            "value": pa.array(values, pa.float64(), mask=smoke | other),
        }
    )
