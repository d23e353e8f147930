"""The limit: for each question the loop that an expert would write for it and for nothing else, compiled by Numba.

A loop knows its rule by heart. It takes the columns of the table as they are, keeps a few words or a ring for each
area, and writes the three columns of the answer; there are no rules, no ids, no provenance, no state that outlives the
call, and sums are rounded. Room for the answer and the rings is kept from one run to the next, as our engine keeps its
own. What a general engine takes longer than that is the price of being general.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

Words = NDArray[np.int64]
Floats = NDArray[np.float64]

_LEAST_HOT = 45.0
_LEAST_MEAN = 50.0
_MINUTES = 300_000
_WET = 5_000
_SOON = 10_000
_NEVER = -(2**62)
_RING = 1 << 11
_MASK = _RING - 1


@dataclass(frozen=True, slots=True)
class Stream:
    """The columns of the events, and the codes of the types, -1 for one that does not occur."""

    codes: NDArray[np.int32]
    times: Words
    areas: Words
    values: Floats
    smoke: int
    rain: int
    temp: int


Room = tuple[Words, Words, Floats]
Rings = tuple[Words, Floats]
Loop = Callable[[Stream, Room, Rings, int], Room]


@njit(nogil=True)
def _last(codes: Any, times: Any, areas: Any, values: Any, room: Any, smoke: int, temp: int, count: int) -> Any:
    made_times, made_areas, made_temps = room
    latest, before = np.full(count, _NEVER), np.full(count, _NEVER)  # before: at an earlier time than the latest
    latest_value, before_value = np.zeros(count), np.zeros(count)
    made = 0
    for row in range(len(codes)):
        code, area, time = codes[row], areas[row], times[row]
        if code == temp:
            if values[row] > _LEAST_HOT:
                if latest[area] < time:
                    before[area], before_value[area] = latest[area], latest_value[area]
                latest[area], latest_value[area] = time, values[row]
        elif code == smoke:
            found, value = latest[area], latest_value[area]
            if found == time:
                found, value = before[area], before_value[area]
            if found >= time - _MINUTES:
                made_times[made], made_areas[made], made_temps[made] = time, area, value
                made += 1
    return made_times[:made], made_areas[:made], made_temps[:made]


@njit(nogil=True)
def _not(codes: Any, times: Any, areas: Any, values: Any, room: Any, rain: int, temp: int, count: int) -> Any:
    made_times, made_areas, made_temps = room
    latest, before = np.full(count, _NEVER), np.full(count, _NEVER)
    made = 0
    for row in range(len(codes)):
        code, area, time = codes[row], areas[row], times[row]
        if code == temp:
            if values[row] > _LEAST_HOT:
                found = before[area] if latest[area] == time else latest[area]
                if found < time - _WET:
                    made_times[made], made_areas[made], made_temps[made] = time, area, values[row]
                    made += 1
        elif code == rain:
            if latest[area] < time:
                before[area] = latest[area]
            latest[area] = time
    return made_times[:made], made_areas[:made], made_temps[:made]


@njit(nogil=True)
def _each(
    codes: Any, times: Any, areas: Any, values: Any, room: Any, rings: Any, smoke: int, temp: int, count: int
) -> Any:
    made_times, made_areas, made_temps = room
    ring_times, ring_values = rings
    first, end = np.zeros(count, np.int64), np.zeros(count, np.int64)
    made = 0
    for row in range(len(codes)):
        code, area, time = codes[row], areas[row], times[row]
        if code == temp:
            if values[row] > _LEAST_HOT:
                if end[area] - first[area] == _RING:
                    raise ValueError("the ring is too small for this stream")
                ring_times[area, end[area] & _MASK], ring_values[area, end[area] & _MASK] = time, values[row]
                end[area] += 1
        elif code == smoke:
            while first[area] < end[area] and ring_times[area, first[area] & _MASK] < time - _SOON:
                first[area] += 1
            if made + end[area] - first[area] > len(made_times):
                raise ValueError("there is too little room for the answer")
            for entry in range(first[area], end[area]):
                if ring_times[area, entry & _MASK] == time:
                    break
                made_times[made], made_areas[made], made_temps[made] = time, area, ring_values[area, entry & _MASK]
                made += 1
    return made_times[:made], made_areas[:made], made_temps[:made]


@njit(nogil=True)
def _average(
    codes: Any, times: Any, areas: Any, values: Any, room: Any, rings: Any, smoke: int, temp: int, count: int
) -> Any:
    made_times, made_areas, made_temps = room
    ring_times, ring_values = rings
    first, summed, end = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    total = np.zeros(count)
    made = 0
    for row in range(len(codes)):
        code, area, time = codes[row], areas[row], times[row]
        if code == temp:
            if end[area] - first[area] == _RING:
                raise ValueError("the ring is too small for this stream")
            ring_times[area, end[area] & _MASK], ring_values[area, end[area] & _MASK] = time, values[row]
            end[area] += 1
        elif code == smoke:
            while summed[area] < end[area] and ring_times[area, summed[area] & _MASK] < time:
                total[area] += ring_values[area, summed[area] & _MASK]
                summed[area] += 1
            while first[area] < summed[area] and ring_times[area, first[area] & _MASK] < time - _MINUTES:
                total[area] -= ring_values[area, first[area] & _MASK]
                first[area] += 1
            if first[area] < summed[area]:
                mean = total[area] / (summed[area] - first[area])
                if mean > _LEAST_MEAN:
                    made_times[made], made_areas[made], made_temps[made] = time, area, mean
                    made += 1
    return made_times[:made], made_areas[:made], made_temps[:made]


LOOPS: dict[str, Loop] = {
    "F-last": lambda s, room, _, n: _last(s.codes, s.times, s.areas, s.values, room, s.smoke, s.temp, n),
    "F-each": lambda s, room, rings, n: _each(s.codes, s.times, s.areas, s.values, room, rings, s.smoke, s.temp, n),
    "F-not": lambda s, room, _, n: _not(s.codes, s.times, s.areas, s.values, room, s.rain, s.temp, n),
    "F-avg": lambda s, room, rings, n: _average(s.codes, s.times, s.areas, s.values, room, rings, s.smoke, s.temp, n),
}
"""By workload: the loop, given the columns, room for the answer, rings for the areas, and how many of those."""


def query(workload: str, events: pa.Table) -> Callable[[], pa.Table]:
    """A function that runs the loop of a workload over an Arrow table and gives the answer as Arrow."""
    loop = LOOPS[workload]
    count = int(_columns(events).areas.max(initial=0)) + 1
    most = 2 * len(events)
    room = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most)
    rings = np.zeros((count, _RING), np.int64), np.zeros((count, _RING))

    def run() -> pa.Table:
        times, areas, temps = loop(_columns(events), room, rings, count)
        return pa.table({"time": times, "area": areas, "temp": temps})

    return run


def _columns(events: pa.Table) -> Stream:
    """The columns of a table, the types as codes; only those that are plain strings are made anew."""
    kinds = events.column("type").combine_chunks()
    if not pa.types.is_dictionary(kinds.type):
        kinds = kinds.dictionary_encode()
    names = kinds.dictionary.to_pylist()
    smoke, rain, temp = (names.index(name) if name in names else -1 for name in ("Smoke", "Rain", "Temp"))
    return Stream(
        kinds.indices.to_numpy(),
        _numbers(events, "time", np.int64),
        _numbers(events, "area", np.int64),
        _numbers(events, "value", np.float64),
        smoke,
        rain,
        temp,
    )


def _numbers(events: pa.Table, name: str, kind: type[np.generic]) -> Any:
    """A column of 64-bit numbers where it lies; what stands at nulls means nothing."""
    column = events.column(name).combine_chunks()
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * 8)
