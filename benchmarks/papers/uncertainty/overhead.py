"""Figures 6 to 9 of the paper on uncertainty: the cost of an event against the share of events that are uncertain.

1000 rules of each kind, over 10 event types and 100 constants, as the paper has them; errors are N(0, 1). What the
paper leaves open: one event a second; rules ask for a probability above one half, so that the same composite events
come out whatever the share, and the cost is that of probabilities, not of more output.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time_ns

import numpy as np
import pyarrow as pa

from benchmarks.measuring.timing import Say, Spread, best_spread, feed_singly, spread
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.time import SECOND
from cepheus.core.values import ValueType
from cepheus.engine.assembly.certain_first import CertainFirstEngine
from cepheus.engine.lowered.engine import LoweredEngine

ENGINE = "columns"
_TYPES = 10
_SLICE = 250


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
    Operator(6, "selection", "PrimEv_{i}({low} < value < {high})", ("PrimEv",), 0.50),
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
"""The workloads of section 6.1, each with the overhead it may have at most."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: constants per type, events, those fed singly, shares, parts of the first event type."""

    constants: int = 100
    events: int = 10_000
    singly: int = 500
    shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    parts: tuple[float, ...] = (0.1, 0.5, 0.9)


FULL = Scale()
QUICK = Scale(constants=8, events=600, singly=20, shares=(0.0, 1.0), parts=(0.5,))


@dataclass(frozen=True, slots=True)
class OverheadPoint:
    """One workload at one share: CPU microseconds per event fed in batches, times of single events, bytes stored.

    ``part`` is the share of the first event type of two, ``share`` that of uncertain events.
    """

    operator: str
    figure: int
    part: float
    share: float
    batch_microseconds: float
    singly: Spread
    composites: int
    bytes_held: int


def overhead(repeat: int, say: Say, scale: Scale = FULL) -> list[OverheadPoint]:
    """Measure every workload at every share, the shares by turns: what disturbs one of them disturbs all."""
    points = []
    for operator in OPERATORS:
        subject = Subject.of(rules(operator, scale.constants))
        for part in scale.parts if len(operator.types) > 1 else scale.parts[:1]:
            streams = {share: stream(operator, scale.events + scale.singly, part, share) for share in scale.shares}
            first = {share: stream(operator, scale.events // 10, part, float(share > 0.0)) for share in streams}
            runs: dict[float, list[_Run]] = {share: [] for share in streams}
            for number in range(repeat):
                say(f"{operator.name}, {part:.0%} {operator.types[0]}, run {number + 1} of {repeat}")
                for share, events in streams.items():
                    runs[share].append(_run(subject, first[share], events, scale))
            points += [_point(operator, part, share, runs[share]) for share in streams]
    return points


def rules(operator: Operator, constants: int) -> str:
    """The rules of a workload.

    >>> print(rules(OPERATORS[0], 1).splitlines()[0])
    define CompEv_0_1() from PrimEv_0(-4 < value < 6) min probability 0.5001
    """
    texts = []
    for i in range(_TYPES):
        for number in range(1, constants + 1):
            x = 1 + (number - 1) * 100 // constants
            pattern = operator.rule.format(i=i, x=x, low=x - 5, high=x + 5)
            texts.append(f"define CompEv_{i}_{number}() from {pattern} min probability 0.5001")
    return "\n".join(texts)


def stream(operator: Operator, count: int, part: float, share: float, seed: int = 6) -> EventBatch:
    """The events of a workload: types and values uniform, kilometres the same for all but under negation."""
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
        times=SECOND * np.arange(count, dtype=np.int64),
        columns={("value", ValueType.FLOAT): pa.array(values), ("km", ValueType.FLOAT): pa.array(km)},
        errors={"value": errors, "km": errors} if uncertain.any() else {},
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """What one engine did: CPU nanoseconds of each batch, times of single events, what was found and stored."""

    batches: Sequence[int]
    events: int
    singly: Spread
    composites: int
    bytes_held: int


def _run(subject: Subject, first: EventBatch, events: EventBatch, scale: Scale) -> _Run:
    """Measure one engine; the events that it is fed ``first`` are not measured, and take the place of as many others.

    All of them are uncertain if any event is: rules are written anew where an attribute is found to be so.
    """
    engine = subject.engine(ENGINE)
    warm = len(first)
    engine.feed(first)
    gc.collect()
    taken = []
    composites = 0
    for begin in range(warm, scale.events, _SLICE):  # a few at a time, so that what they complete needs little room
        started = process_time_ns()
        composites += len(engine.feed(events.slice(begin, min(begin + _SLICE, scale.events))))
        taken.append(process_time_ns() - started)
    singly, _ = feed_singly(engine, events.slice(scale.events, len(events)).to_events())
    assert isinstance(engine, CertainFirstEngine)
    assert isinstance(engine.at_work, LoweredEngine)
    return _Run(taken, scale.events - warm, spread(singly), composites, engine.at_work.bytes_held)


def _point(operator: Operator, part: float, share: float, runs: Sequence[_Run]) -> OverheadPoint:
    """Put runs together; the shortest time of each batch counts."""
    shortest = [min(times) for times in zip(*(run.batches for run in runs), strict=True)]
    return OverheadPoint(
        operator.name,
        operator.figure,
        part,
        share,
        sum(shortest) / 1000 / runs[0].events,
        best_spread([run.singly for run in runs]),
        runs[0].composites,
        runs[0].bytes_held,
    )


def overheads(points: Sequence[OverheadPoint]) -> dict[tuple[str, float], float]:
    """Give, by operator and part, how much more an event costs when all are uncertain than when none is."""
    by_share = {(point.operator, point.part, point.share): point.batch_microseconds for point in points}
    return {
        (operator, part): by_share[operator, part, 1.0] / cost - 1.0
        for (operator, part, share), cost in by_share.items()
        if share == 0.0
    }
