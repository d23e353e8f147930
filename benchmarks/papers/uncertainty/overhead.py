"""Figures 6 to 9 of the paper on uncertainty: the cost of an event against the share of events that are uncertain.

1000 rules of each kind, over 10 event types and 100 constants, as the paper has them; errors are N(0, 1). As in the
paper it is single events that count, from the moment an event is handed over to the moment its composite events are
there; batches are measured beside. Time is CPU time. Each run has its own events, and all shares of a run the same
ones; the runs of a workload follow one another in one engine. What the paper leaves open: one event a second.

The paper's rules name no probability. Beside them we measure the same rules with ``min probability 0.5001``: about as
many composite events come out then whatever the share, so that the cost is that of probabilities and not of output.
The baseline is what certain events cost in the engine that has them cheapest: the plain one, or the one that works out
probabilities, which shares work among rules that the plain one does for each.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from time import process_time_ns, thread_time_ns

import numpy as np
import pyarrow as pa

from benchmarks.measuring.timing import Say, spread
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.core.values import ValueType
from cepheus.engine.assembly.certain_first import CertainFirstEngine
from cepheus.engine.base.interface import Engine
from cepheus.engine.lowered.engine import LoweredEngine

ENGINE = "columns"
NONE, MIDDLE = "none", "middle"
_TYPES = 10
_SLICE = 250
_FIRST = 300  # a window
_SOME = 20  # so that nothing is done for the first time when it is measured


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of rule: its figure, its text with ``{i}`` and ``{x}``, and the types of its events."""

    figure: int
    name: str
    rule: str
    types: tuple[str, ...]
    most: float


_LAST = "within 5 min from LowOxygen_{i}"
OPERATORS = (
    Operator(6, "selection", "PrimEv_{i}({low} < value < {high})", ("PrimEv",), 1.00),
    Operator(
        7,
        "combination, last",
        f"LowOxygen_{{i}}(km=$a) and last Temp_{{i}}($a-10 < km < $a+10 and value>{{x}}) {_LAST}",
        ("LowOxygen", "Temp"),
        0.30,
    ),
    Operator(
        7,
        "combination, each",
        f"LowOxygen_{{i}}(km=$a) and each Temp_{{i}}($a-10 < km < $a+10 and value>{{x}}) {_LAST}",
        ("LowOxygen", "Temp"),
        0.30,
    ),
    Operator(
        8,
        "negation",
        "Temp_{i}(km=$a and value>{x}) and not TrafficJam_{i}($a-10 < km < $a+10) within 5 min from Temp_{i}",
        ("TrafficJam", "Temp"),
        0.20,
    ),
    Operator(
        9,
        "aggregation",
        f"LowOxygen_{{i}}() and {{x}} < $t=Avg(Temp_{{i}}().value {_LAST})",
        ("LowOxygen", "Temp"),
        0.75,
    ),
)
"""The workloads of section 6.1, each with the overhead that the paper reports at most."""


class Case(Enum):
    """Which events are uncertain, and in which engine certain ones run."""

    PLAIN = "none, plain engine"
    READY = "none, engine of probabilities"
    HALF = "half"
    ALL = "all"

    @property
    def share(self) -> float:
        """The share of uncertain events."""
        return {Case.HALF: 0.5, Case.ALL: 1.0}.get(self, 0.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: constants per type, events fed in batches, those fed singly, parts of the first type."""

    constants: int = 100
    filling: int = 60
    singly: int = 40
    parts: tuple[float, ...] = (0.1, 0.5, 0.9)


FULL = Scale()
QUICK = Scale(constants=8, filling=20, singly=20, parts=(0.5,))


@dataclass(frozen=True, slots=True)
class Workload:
    """Rules of one kind, with a threshold or without, and the part of the first of two event types."""

    operator: Operator
    part: float
    threshold: bool

    @property
    def name(self) -> str:
        """What it is called in tables and samples."""
        part = f", {self.part:.0%} {self.operator.types[0]}" if len(self.operator.types) > 1 else ""
        return f"{self.operator.name}{part}{', with a threshold' if self.threshold else ''}"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a workload cost in one case: CPU microseconds per event, and bytes stored.

    ``composites`` are the composite events of single events.
    """

    workload: Workload
    case: Case
    run: int
    batch: float
    mean: float
    p99: float
    singles: int
    composites: int
    bytes_held: int


def workloads(scale: Scale = FULL) -> list[Workload]:
    """All of them."""
    return [
        Workload(operator, part, threshold)
        for operator in OPERATORS
        for threshold in (False, True)
        for part in (scale.parts if len(operator.types) > 1 else scale.parts[:1])
    ]


def overhead(runs: int, say: Say, scale: Scale = FULL) -> list[Cost]:
    """Measure every workload in all cases; those with the same rules have the same engines, one plain and one not."""
    found: list[Cost] = []
    engines: dict[tuple[str, bool], tuple[_Fed, _Fed]] = {}
    for workload in workloads(scale):
        key = workload.operator.name, workload.threshold
        if key not in engines:
            subject = Subject.of(rules(workload.operator, scale.constants, threshold=workload.threshold))
            engines = {key: (_Fed(subject.engine(ENGINE)), _Fed(subject.engine(ENGINE)))}
            engines[key][1].take(workload, _FIRST, 1.0, seed=0)  # rules are written anew where something is uncertain
        for case in Case:
            say(f"{workload.name}: {case.value}")
            found += _costs(engines[key][case is not Case.PLAIN], workload, case, runs, scale)
    return found


def rules(operator: Operator, constants: int, *, threshold: bool = False) -> str:
    """The rules of a workload.

    >>> print(rules(OPERATORS[0], 1, threshold=True).splitlines()[0])
    define CompEv_0_1() from PrimEv_0(-4 < value < 6) min probability 0.5001
    """
    least = " min probability 0.5001" if threshold else ""
    texts = []
    for i in range(_TYPES):
        for number in range(1, constants + 1):
            x = 1 + (number - 1) * 100 // constants
            pattern = operator.rule.format(i=i, x=x, low=x - 5, high=x + 5)
            texts.append(f"define CompEv_{i}_{number}() from {pattern}{least}")
    return "\n".join(texts)


def stream(
    operator: Operator, count: int, part: float, share: float, seed: int | tuple[int, ...] = 6, start: int = 0
) -> EventBatch:
    """The events of a workload, one a second: types and values uniform, kilometres the same but under negation."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, _TYPES, count)
    if len(operator.types) > 1:
        codes = np.where(draw.random(count) < part, codes, codes + _TYPES)
    values = draw.integers(1, 101, count).astype(np.float64)
    km = draw.uniform(1.0, 100.0, count) if operator.name == "negation" else np.full(count, 50.0)
    uncertain = draw.random(count) < share
    errors = ErrorColumn(
        np.where(uncertain, int(ErrorKind.NORMAL), int(ErrorKind.NONE)), np.zeros(count), np.ones(count)
    )
    return EventBatch(
        types=tuple(f"{name}_{i}" for name in operator.types for i in range(_TYPES)),
        codes=codes.astype(np.int32),
        times=SECOND * np.arange(start, start + count, dtype=np.int64),
        columns={("value", ValueType.FLOAT): pa.array(values), ("km", ValueType.FLOAT): pa.array(km)},
        errors={"value": errors, "km": errors} if uncertain.any() else {},
    )


@dataclass(slots=True)
class _Fed:
    """An engine, and how many events it has been fed, one a second."""

    engine: Engine
    count: int = 0

    def take(self, workload: Workload, count: int, share: float, seed: int) -> int:
        """Feed the next events of a workload in batches; give their CPU time."""
        return _in_batches(self.engine, self.next(workload, count, share, seed))

    def next(self, workload: Workload, count: int, share: float, seed: int) -> EventBatch:
        """The next events of a workload: the same for all shares but for the errors."""
        self.count += count
        start = self.count - count
        return stream(workload.operator, count, workload.part, share, seed=(6, seed), start=start)


def _costs(fed: _Fed, workload: Workload, case: Case, runs: int, scale: Scale) -> Iterator[Cost]:
    """Measure runs in an engine, after as many events of the same kind as a window holds."""
    engine = fed.engine
    fed.take(workload, _FIRST, case.share, seed=0)
    _one_by_one(engine, fed.next(workload, _SOME, case.share, seed=1).to_events())
    gc.collect()
    for run in range(1, runs + 1):
        batches = fed.take(workload, scale.filling, case.share, seed=2 * run)
        taken, composites = _one_by_one(engine, fed.next(workload, scale.singly, case.share, 2 * run + 1).to_events())
        singly = spread(taken)
        assert isinstance(engine, CertainFirstEngine)
        assert isinstance(engine.at_work, LoweredEngine)
        assert (engine.at_work.name == ENGINE) == (case is Case.PLAIN)
        each, held = batches / 1000 / scale.filling, engine.at_work.bytes_held
        yield Cost(workload, case, run, each, singly.mean, singly.p99, scale.singly, composites, held)


def _in_batches(engine: Engine, events: EventBatch) -> int:
    """Feed events a few at a time, so that what they complete needs little room; give the CPU time of all."""
    taken = 0
    for begin in range(0, len(events), _SLICE):
        started = process_time_ns()
        engine.feed(events.slice(begin, min(begin + _SLICE, len(events))))
        taken += process_time_ns() - started
    return taken


def _one_by_one(engine: Engine, events: Sequence[Event]) -> tuple[list[int], int]:
    """Feed single events; give the CPU time of each and the number of composite events."""
    feed = engine.feed_event
    taken, composites = [], 0
    for event in events:
        begin = thread_time_ns()
        found = feed(event)
        taken.append(thread_time_ns() - begin)
        composites += len(found)
    return taken, composites


def samples_of(costs: Sequence[Cost]) -> dict[str, dict[int, float]]:
    """The costs as samples: of single events their mean and 99th percentile, of batches, and memory.

    The baseline of a run is the cheaper of the two engines that certain events can run in; ``middle`` is half way from
    there to all events uncertain. Memory is the most that was held in any run, for arrays grow until windows are full:
    it is counted once.
    """
    samples: dict[str, dict[int, float]] = {}
    for cost in costs:
        for measure, value in {"mean": cost.mean, "p99": cost.p99, "batch": cost.batch}.items():
            samples.setdefault(name_of(measure, cost.workload, cost.case.value), {})[cost.run] = value
        most = samples.setdefault(name_of("bytes", cost.workload, cost.case.value), {1: 0.0})
        most[1] = max(most[1], cost.bytes_held / 1e6)
    for workload in dict.fromkeys(cost.workload for cost in costs):
        for measure in ("mean", "p99", "batch"):
            plain, ready, full = (
                samples[name_of(measure, workload, case.value)] for case in (Case.PLAIN, Case.READY, Case.ALL)
            )
            none = {run: min(value, ready[run]) for run, value in plain.items()}
            samples[name_of(measure, workload, NONE)] = none
            middle = {run: (value + full[run]) / 2 for run, value in ready.items()}
            samples[name_of(measure, workload, MIDDLE)] = middle
    return samples


def name_of(measure: str, workload: Workload, case: str) -> str:
    """The name of a sample: what was measured, of which rules and with how many uncertain events."""
    return f"{measure} {workload.name}: {case}"
