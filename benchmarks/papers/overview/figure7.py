"""Figure 7 of the overview chapter: what an event costs as the window grows; one rule, a sequence of three.

The chapter counts the events to be considered at each state. Here three types are equally likely and an event comes
every millisecond, so a window of 3 n ms holds n events of each state. Every event is compared with its successor's
value, and the comparison gets stricter as windows grow, so that about two events of each state fit: the work lies in
considering events, and each-within does not drown in composite events.

The device engine is asked for everything here, however little it is, to show what a device costs; in use it leaves
small states to the host, from where it has found the two to meet (``crossover``). Without a driver it is left out.
Threads work on slices of time, which a batch shorter than its window does not have; pairs are what a device is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import cast

import numpy as np
import pyarrow as pa

from benchmarks.measuring.timing import Say, Spread, Timing, best_spread, feed_singly, spread, timed
from benchmarks.workloads.sequences import SequenceRule
from benchmarks.workloads.streams import Coding, type_column
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError
from cepheus.engine.base.interface import Engine

ENGINES = ("columns", "automata", "device")
FITTING = 2
"""How many events of a state fit, on average."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: events per state, and how many events are fed in a batch and then again singly.

    ``automata_most`` is where the automata stop: they compare every new event with every open instance.
    """

    per_state: tuple[int, ...] = (10, 33, 100, 333, 1_000, 1_333, 3_333, 5_000, 10_000, 33_333)
    fed: int = 2_000
    automata_most: int = 10_000


FULL = Scale()
QUICK = Scale(per_state=(10, 33), fed=300)


@dataclass(frozen=True, slots=True)
class Figure7Point:
    """One engine on one window: microseconds per event fed singly, CPU and wall time per event fed in a batch.

    ``compared`` tells whether events had to be compared with their successors, ``device`` which device it was.
    """

    engine: str
    selection: str
    compared: bool
    per_state: int
    events: int
    composites: int
    singly: Spread
    batch_microseconds: float
    means: tuple[float, ...] = ()
    """The mean of single events in each run."""
    walls: tuple[float, ...] = ()
    """Microseconds on the wall clock per event fed in a batch, in each run."""
    device: str = ""

    @property
    def wall_microseconds(self) -> float:
        """The best of the runs, per event fed in a batch."""
        return min(self.walls, default=self.batch_microseconds)


@dataclass(frozen=True, slots=True)
class DeviceFound:
    """The device that is measured: its name, and from when on engines have found it to be faster than the host."""

    label: str
    crossover: str


@cache
def device_here() -> DeviceFound | None:
    """The device that engines choose on this machine, None if there is none."""
    if find_spec("pyopencl") is None:
        return None
    from cepheus.engine.device.calibration import crossover_of
    from cepheus.engine.device.opencl import choose

    try:
        device = choose(None)
    except CepheusError:
        return None
    return DeviceFound(device.info.label, crossover_of(device).told())


def figure7(repeat: int, say: Say, scale: Scale = FULL) -> list[Figure7Point]:
    """Measure every engine there is over all windows, and last-within also without comparisons."""
    points: list[Figure7Point] = []
    here = device_here()
    if here is not None:  # drivers build kernels when they first run them
        for selection in ("each", "last"):
            _run(*window_case(64, selection, 30, compared=True), "device", 30)
    for selection, compared in (("each", True), ("last", True), ("last", False)):
        for per_state in scale.per_state:
            subject, events = window_case(per_state, selection, scale.fed, compared=compared)
            found: list[Figure7Point] = []
            for engine in ENGINES:
                beyond = engine == "automata" and per_state > scale.automata_most
                if not beyond and _runs(subject, engine, here, compared=compared):
                    kind = "compared" if compared else "not compared"
                    say(f"{engine}, {selection}-within, {per_state} events a state, {kind}")
                    runs = [_run(subject, events, engine, scale.fed) for _ in range(repeat)]
                    found.append(
                        Figure7Point(
                            engine=engine,
                            selection=selection,
                            compared=compared,
                            per_state=per_state,
                            events=2 * scale.fed,
                            composites=runs[0][2],
                            singly=best_spread([singly for singly, _, _ in runs]),
                            batch_microseconds=1e6 * min(timing.cpu for _, timing, _ in runs) / scale.fed,
                            means=tuple(singly.mean for singly, _, _ in runs),
                            walls=tuple(1e6 * timing.wall / scale.fed for _, timing, _ in runs),
                            device=here.label if here is not None and engine == "device" else "",
                        )
                    )
            if len({point.composites for point in found}) > 1:
                counts = ", ".join(f"{point.engine} {point.composites}" for point in found)
                raise CepheusError.of("measurement", f"{selection}-within, {per_state} events a state: {counts}")
            points += found
    return points


def window_case(per_state: int, selection: str, fed: int, *, compared: bool) -> tuple[Subject, EventBatch]:
    """The rule whose windows hold that many events of each state, and events.

    All but the last ``2 * fed`` events fill the windows; they have no terminators, which would only cost time.
    """
    width = 3 * per_state
    near = 50 * FITTING / per_state
    constraints = (
        (f"abs(value - $second) < {near!r}", f"value = $second and abs(value - $third) < {near!r}", "value = $third")
        if compared
        else ("", "", "")
    )
    rule = SequenceRule("R", ("First", "Second", "Third"), (width, width), constraints)
    subject = Subject.of(rule.text(selection))
    return subject, subject.batch(_stream(2 * width, 2 * fed))


def _stream(filling: int, fed: int) -> pa.Table:
    count = filling + fed
    random = np.random.default_rng(count)
    codes = random.integers(0, 3, count).astype(np.int32)
    fills = (codes == 2) & (np.arange(count) < filling)
    return pa.table(
        {
            "type": type_column(codes, ("First", "Second", "Third"), Coding.DICTIONARY),
            "time": pa.array(np.arange(1, count + 1)),
            "value": pa.array(100 * random.random(count)),
        }
    ).filter(pa.array(~fills))


def _runs(subject: Subject, name: str, here: DeviceFound | None, *, compared: bool) -> bool:
    """Whether an engine is to be measured: a device has nothing to do where any event fits."""
    return (here is not None and compared) if name == "device" else subject.runs_on(name)


def _engine(subject: Subject, name: str) -> Engine:
    if name != "device":
        return subject.engine(name)
    from cepheus.engine.device.engine import DeviceEngine

    engine = DeviceEngine()  # asked for everything
    engine.deploy(subject.checked.rules.rules, subject.schema)
    return cast(Engine, engine)


def _run(subject: Subject, events: EventBatch, name: str, fed: int) -> tuple[Spread, Timing, int]:
    """The times of events fed singly and of those fed together, and the composite events of both."""
    engine = _engine(subject, name)
    filled, middle = len(events) - 2 * fed, len(events) - fed
    engine.feed(events.slice(0, filled))
    timing, found = timed(partial(engine.feed, events.slice(filled, middle)))
    together = len(found)
    taken, singly = feed_singly(engine, events.slice(middle, len(events)).to_events())
    return spread(taken), timing, together + singly
