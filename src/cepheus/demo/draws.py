"""Random draws that the scenarios share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheus.core.time import SECOND

Floats = NDArray[np.float64]
Generator = np.random.Generator


def drift(rng: Generator, steps: int, pull: float, size: float) -> Floats:
    """Draw a slow random walk that is pulled back to zero (an AR(1) process), one value per step."""
    shocks = rng.normal(0.0, size, steps)
    values = np.empty(steps)
    value = 0.0
    for step in range(steps):
        value += shocks[step] - pull * value
        values[step] = value
    return values


def bump(seconds: Floats, start: float, end: float, rise: float) -> Floats:
    """A curve from 0 up to 1 and back: it rises from ``start`` within ``rise`` seconds and falls after ``end``.

    >>> bump(np.array([0.0, 100.0, 160.0, 1000.0, 2000.0]), 100, 1000, 60).round(2).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    up = np.clip((seconds - start) / rise, 0.0, 1.0)
    down = np.clip(1.0 - (seconds - end) / rise, 0.0, 1.0)
    return np.minimum(up, down)


def rush(hours: Floats) -> Floats:
    """The traffic of a working day, 0 (none) to 1: little at night, peaks at 8:00 and 17:30."""
    morning = np.exp(-((hours - 8.0) ** 2) / 1.6)
    evening = np.exp(-((hours - 17.5) ** 2) / 3.0)
    midday = 0.35 * np.exp(-((hours - 12.5) ** 2) / 16.0)
    return np.minimum(1.0, 0.05 + 0.8 * morning + 0.9 * evening + midday)


def microseconds(origin: int, seconds: Floats) -> list[int]:
    """Turn seconds after an origin into times, to the millisecond."""
    return [origin + round(1000 * float(second)) * (SECOND // 1000) for second in seconds]
