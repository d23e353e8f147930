"""The device engine with its crossover: measured when a device is first used on a machine, then known."""

from __future__ import annotations

from functools import cache
from time import perf_counter

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.values import ValueType
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.device.crossover import Costs, Crossover, crossover, keep, kept
from cepheus.engine.device.engine import DeviceEngine
from cepheus.engine.device.opencl import Device, DeviceInfo, choose
from cepheus.language.tesla import parse
from cepheus.rules.check import check

_RULE = (
    "event Query(v: double) event State(v: double) "
    "define Near() from Query(v = $v) and each State(abs(v - $v) < 0.0001) within 1 day from Query"
)
_FEW, _MANY = 64, 4096
"""Events of the states that are measured."""

_TERMINATORS = 128
_TIMES = 9
"""Each is measured so often; the best counts."""


def measured_engine(limit: int = DEFAULT_LIMIT, device: str | None = None) -> DeviceEngine:
    """An engine on the device whose name has these words in it, which is asked from when on it is faster."""
    chosen = choose(device)
    return DeviceEngine(limit, chosen, crossover_of(chosen))


def crossover_of(device: Device) -> Crossover:
    """From when on a device is faster than the host here: as earlier runs have found, or measured now and kept."""
    return _crossover_of(device.info)


def measure_anew(device: str | None = None) -> Crossover:
    """Measure a device again and keep what comes of it: for a machine that had other work to do the first time."""
    chosen = choose(device)
    found = measure(chosen)
    keep(chosen.info, found)
    _crossover_of.cache_clear()
    return found


@cache
def _crossover_of(info: DeviceInfo) -> Crossover:
    known = kept(info)
    if known is None:
        known = measure(choose(info.label))
        keep(info, known)
    return known


def measure(device: Device) -> Crossover:
    """Evaluate the same rule on host and device, in a small and a large state, one terminator and many."""
    return crossover(_FEW, _MANY, _costs(ColumnsEngine()), _costs(DeviceEngine(device=device)))


def _costs(engine: ColumnsEngine) -> Costs:
    checked = check(parse(_RULE))
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    time = 0
    spent = {}
    for events, more in ((_FEW, _FEW), (_MANY, _MANY - _FEW)):
        engine.feed(_batch("State", time, more))
        time += more
        for terminators in (1, _TERMINATORS):
            taken = []
            for _ in range(_TIMES + 1):  # the first gets ready
                batch = _batch("Query", time, terminators)
                time += terminators
                begin = perf_counter()
                engine.feed(batch)
                taken.append(perf_counter() - begin)
            spent[events, terminators] = min(taken[1:])
    few, many = (spent[events, _TERMINATORS] / _TERMINATORS for events in (_FEW, _MANY))
    return Costs(spent[_FEW, 1], few, many)


def _batch(event_type: str, time: int, count: int) -> EventBatch:
    """Events of a type from a time on, with random values."""
    values = np.random.default_rng(time).random(count)
    return EventBatch(
        types=(event_type,),
        codes=np.zeros(count, np.int32),
        times=np.arange(time, time + count, dtype=np.int64),
        columns={("v", ValueType.FLOAT): pa.array(values)},
    )
