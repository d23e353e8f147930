"""The stock ticker of section 7 of the ETALIS paper: six rules, each a goal of those after it, on 10,000 events and up.

``python -m benchmarks.papers.etalis.stock_ticker POLICY BLOCKS BLOCK WINDOW`` feeds itself and prints its memory and
the goals that wait after every block; ``stock_ticker`` starts it. Without a window the rules are those of the paper.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.measuring.processes import lines_of, resident_bytes
from benchmarks.measuring.timing import Say, timed
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError
from cepheus.core.schema import Schema
from cepheus.core.time import SECOND, TimeUnit
from cepheus.core.values import ValueType
from cepheus.engine.assembly.mixed import MixedEngine
from cepheus.engine.assembly.registry import create, take_for_instants
from cepheus.engine.base.interface import Engine
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.language.etalis import parse
from cepheus.rules.check import check
from cepheus.rules.interval.model import IntervalRule

POLICIES = ("recent", "recent, once", "chronological", "recent, once, renewing")
"""The paper's recent policy without and with consumption, its chronological one, and the one of the ETALIS system."""

WINDOWED = ("recent", "chronological")
"""Policies under which memory must be flat where every rule has a window."""

PRINTED = ("recent", "recent, once", "recent, once, renewing")
"""Policies under which memory is watched with the rules as printed, which have one window among them."""

RULES = """
event stock(id: string, price: int, volume: int).
ce1 <- (stock("GO", P1, V1) SEQ stock("GO", P2, V2)){window} WHERE P1 < 1.20 * P2.
ce2 <- (stock("MS", P1, V1) SEQ stock("MS", P2, V2)){window} WHERE P1 < 1.20 * P2.
ce3 <- ce1 OR ce2.
ce4 <- (ce1 AND ce2).20.
ce5 <- (ce1 PAR ce2){window}.
ce6 <- (NOT(ce2).[ce1, ce1]){window}.
"""
"""The rules as printed; in ``{window}`` a window can be written around those that have none."""

_CHECKED = 400  # events on which the reference engine must give the same
_SLICE = 10_000
_WINDOW = ".60"
_MODULE = "benchmarks.papers.etalis.stock_ticker"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: events of each stream, and blocks of events through which memory is watched."""

    events: tuple[int, ...] = (10_000, 25_000, 50_000, 75_000, 100_000)
    blocks: int = 10
    block: int = 1_000_000
    printed_block: int = 10_000


FULL = Scale()
QUICK = Scale(events=(500, 1_000), blocks=2, block=1_000, printed_block=500)


@dataclass(frozen=True, slots=True)
class StockPoint:
    """One policy on one stream: CPU seconds of the whole feeding, each run; complex events by type, goals that wait."""

    policy: str
    events: int
    cpus: tuple[float, ...]
    found: dict[str, int]
    waiting: int

    @property
    def cpu(self) -> float:
        """The shortest of all runs."""
        return min(self.cpus)


@dataclass(frozen=True, slots=True)
class StockFlow:
    """Memory while events pass under a policy: events so far, resident bytes and goals that wait, block by block.

    ``windows`` says whether there is a window around every rule, or they are as printed.
    """

    policy: str
    flow: tuple[tuple[int, int, int], ...]
    windows: bool = True

    @property
    def growth(self) -> float:
        """How much larger memory is at the end than after the first block, as a fraction."""
        return self.flow[-1][1] / self.flow[0][1] - 1


@dataclass(frozen=True, slots=True)
class StockMeasured:
    """All that was measured of the stock ticker."""

    points: tuple[StockPoint, ...]
    flows: tuple[StockFlow, ...]


def stock_ticker(repeat: int, say: Say, scale: Scale = FULL) -> StockMeasured:
    """Measure every policy on every stream, after a look whether the reference engine gives the same."""
    points = []
    for policy in POLICIES:
        say(f"{policy}: the same as the reference engine")
        require_agreement(policy)
        for count in scale.events:
            say(f"{policy}, {count:,} events")
            points.append(_point(policy, ticks(count), repeat))
    flows = [_watched(policy, scale.blocks, scale.block, say, windows=True) for policy in WINDOWED]
    flows += [_watched(policy, scale.blocks, scale.printed_block, say, windows=False) for policy in PRINTED]
    return StockMeasured(tuple(points), tuple(flows))


def _watched(policy: str, blocks: int, block: int, say: Say, *, windows: bool) -> StockFlow:
    """Watch the memory of a process that events pass through."""
    passed: list[tuple[int, int, int]] = []
    for so_far, resident, waiting in lines_of(_MODULE, policy, blocks, block, _WINDOW if windows else ""):
        say(f"{policy}{', with windows' if windows else ''}: memory after {so_far:,} events")
        passed.append((so_far, resident, waiting))
    return StockFlow(policy, tuple(passed), windows)


def samples_of(measured: StockMeasured) -> dict[str, dict[int, float]]:
    """Rates run by run; memory and goals after the first and after the last block of the printed rules."""
    samples = {
        f"ticks per second, {point.policy}, {point.events} events": {
            run: point.events / cpu for run, cpu in enumerate(point.cpus, 1)
        }
        for point in measured.points
    }
    for flow in measured.flows:
        rules = "with windows" if flow.windows else "as printed"
        for when, (_, resident, waiting) in (("first", flow.flow[0]), ("last", flow.flow[-1])):
            samples[f"resident bytes, {flow.policy}, {rules}: {when}"] = {1: float(resident)}
            samples[f"goals that wait, {flow.policy}, {rules}: {when}"] = {1: float(max(waiting, 1))}
    return samples


def ticks(count: int, seed: int = 7, start: int = 0) -> EventBatch:
    """A stream of stock(id, price, volume), one event a second.

    The id is GO or MS; a price goes up with probability 0.5, else down or nowhere; one that would leave 1 to 1000
    starts anew; the volume is anything from 1 to 1000.

    >>> ticks(3).to_events()[0].attributes
    {'id': 'MS', 'price': 42, 'volume': 798}
    """
    random = np.random.default_rng((seed, start))
    ids = random.integers(0, 2, count)
    moves = random.choice((1, 0, -1), count, p=(0.5, 0.25, 0.25)) * random.integers(1, 101, count)
    anew = random.integers(1, 1001, count)
    prices = np.empty(count, np.int64)
    last = [int(price) for price in random.integers(1, 1001, 2)]
    for at, (name, move) in enumerate(zip(ids.tolist(), moves.tolist(), strict=True)):
        price = last[name] + move
        last[name] = price if 1 <= price <= 1000 else int(anew[at])
        prices[at] = last[name]
    names = pa.DictionaryArray.from_arrays(pa.array(ids.astype(np.int32)), pa.array(["GO", "MS"]))
    return EventBatch(
        ("stock",),
        np.zeros(count, np.int32),
        (start + np.arange(1, count + 1)) * SECOND,
        {
            ("id", ValueType.STRING): names,
            ("price", ValueType.INT): pa.array(prices),
            ("volume", ValueType.INT): pa.array(random.integers(1, 1001, count)),
        },
    )


def stock_engine(policy: str, name: str, window: str = "") -> Engine:
    """An engine with the rules deployed under a policy; as in a session, ticks count as instants."""
    checked = check(parse(f"policy {policy}.\n{RULES.format(window=window)}", unit=TimeUnit.S))
    rules: tuple[IntervalRule, ...] = checked.rules.interval_rules
    engine = create(name, rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    take_for_instants(engine, ())
    return engine


def require_agreement(policy: str, count: int = _CHECKED) -> None:
    """Raise a CepheusError if the goals engine and the reference engine differ on the beginning of a stream."""
    found = []
    for name in ("goals", "interval-reference"):
        answer = stock_engine(policy, name).feed(ticks(count)).to_events()
        found.append([(event.type, event.start, event.time) for event in answer])
    if found[0] != found[1]:
        raise CepheusError.of("measurement", f"policy {policy}: the goals engine and the reference engine differ")


def _point(policy: str, events: EventBatch, repeat: int) -> StockPoint:
    cpus = []
    for _ in range(repeat):
        engine = stock_engine(policy, "goals")
        engine.feed(EventBatch.empty())
        timing, found = timed(partial(engine.feed, events))
        cpus.append(timing.cpu)
    names = Counter(np.array(found.types)[found.codes].tolist())
    return StockPoint(policy, len(events), tuple(cpus), dict(sorted(names.items())), waiting_goals(engine))


def waiting_goals(engine: Engine) -> int:
    """How many goals wait in an engine made by ``stock_engine``."""
    assert isinstance(engine, MixedEngine)
    assert isinstance(engine.intervals, GoalsEngine)
    return engine.intervals.waiting


def _flow(policy: str, blocks: int, block: int, window: str) -> Iterator[list[int]]:
    engine = stock_engine(policy, "goals", window=window)
    for number in range(blocks):
        for begin in range(0, block, _SLICE):
            size = min(_SLICE, block - begin)
            engine.feed(ticks(size, start=number * block + begin))
        gc.collect()
        pa.default_memory_pool().release_unused()
        yield [(number + 1) * block, resident_bytes(), waiting_goals(engine)]


if __name__ == "__main__":
    for line in _flow(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]):
        print(json.dumps(line), flush=True)
