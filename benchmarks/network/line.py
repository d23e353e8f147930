"""``cepheus bench network``: a line of three processes on loopback.

How many events a second does it take, and how late do composite events arrive?

Temperatures are published at one end, smoke at the other, where the rule is evaluated and its sink is. Each fire needs
the temperatures that happened before the smoke, so it waits for what crosses the whole line.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.measuring.timing import share_of_others
from cepheus.core.values import Value
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.transport.access import Access
from cepheus.runtime.network.transport.attachments import AsyncSource, Subscription
from cepheus.runtime.network.transport.client import AsyncClient
from cepheus.runtime.network.transport.publishing import present

_RULE = """
define Fire(area: string, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value > {threshold}) within 5 s from Smoke
where area=Smoke.area and temp=Temp.value
"""
_NODE = """
name = "{name}"
listen = "127.0.0.1:{port}"
state = "{name}"
rank = {rank}
"""
_NEIGHBOUR = """
[[neighbour]]
name = "{name}"
address = "127.0.0.1:{port}"
"""
_NAMES = ("east", "middle", "west")
_AREAS = 100
_HOTTEST = 50.0
_WARM_UP = 1.0
_LONGEST_LAG = 1.0
_MILLISECONDS = 1000.0
_SLOW, _LONGEST_DELAY = 5_000, 0.05
_ENOUGH = 50_000


@dataclass(frozen=True, slots=True)
class Load:
    """What is published: events per second (None: as fast as they are taken), for how many seconds.

    ``passing`` is the share of temperatures that the rule can use, ``smoke`` the share of events that may become
    fires, ``step`` the seconds between two batches.
    """

    rate: float | None
    seconds: float
    passing: float
    smoke: float
    step: float = 0.01
    batch: int = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: events per second from the first one to the last fire, and the delays of fires in seconds.

    ``others`` is the share of the machine that others had meanwhile; None where that is not known.
    """

    load: Load
    published: int
    seconds: float
    delays: tuple[float, ...]
    lag: float
    others: float | None = None

    @property
    def rate(self) -> float:
        """Events per second that the network took and finished."""
        return self.published / self.seconds

    @property
    def keeps_up(self) -> bool:
        """Whether nothing piled up: the last fire came within a second of the last event."""
        return self.lag < _LONGEST_LAG

    def delay(self, share: float) -> float:
        """The delay in seconds that a share of fires stays below."""
        ordered = sorted(self.delays)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def bench_network(console: Console, *, repeat: int, quick: bool) -> None:
    """Measure throughput and delay, and print them beside what must be reached.

    What must be reached is measured several times, with new processes each time: the machine has other things to do.
    """
    title = "A line of three processes on loopback: of all runs the best, the middle one and the worst"
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in ("published", "pass", "events/s", "median delay", "99% within", "others", "wanted", ""):
        table.add_column(name, justify="right")
    for words, load, wanted in _loads(quick=quick):
        outcomes = [measure_line(load) for _ in range(1 if quick or wanted == "-" else repeat)]
        table.add_row(
            words,
            f"{load.passing:.0%}",
            spread(sorted((outcome.rate for outcome in outcomes), reverse=True), "{:,.0f}"),
            spread(sorted(outcome.delay(0.5) * _MILLISECONDS for outcome in outcomes), "{:.1f}", " ms"),
            spread(sorted(outcome.delay(0.99) * _MILLISECONDS for outcome in outcomes), "{:.1f}", " ms"),
            _others(outcomes),
            wanted,
            "" if wanted == "-" else verdict(outcomes),
        )
    console.print(table)


def _loads(*, quick: bool) -> list[tuple[str, Load, str]]:
    seconds = 1.5 if quick else 15.0
    return [
        ("5,000 a second", Load(_SLOW, seconds, 0.1, 0.1), "99% < 50 ms"),
        ("60,000 a second", Load(60_000, seconds, 0.1, 0.002), "50,000 events/s"),
        ("as fast as they are taken", Load(None, seconds, 0.1, 0.002), "-"),
        ("as fast, selective", Load(None, seconds, 0.01, 0.002), "-"),
        ("as fast, nothing filtered", Load(None, seconds, 1.0, 0.002), "-"),
    ]


def measure_line(load: Load) -> Outcome:
    """Start three nodes, publish a load, and stop them again."""

    def measure() -> Outcome:
        with tempfile.TemporaryDirectory(prefix="cepheus-line-") as folder, _nodes(Path(folder)) as ports:
            return asyncio.run(_run(load, ports))

    others, outcome = share_of_others(measure)
    return replace(outcome, others=others)


@contextmanager
def _nodes(folder: Path) -> Iterator[dict[str, int]]:
    ports = dict(zip(_NAMES, _free_ports(len(_NAMES)), strict=True))
    links = {"east": ("middle",), "middle": ("east", "west"), "west": ("middle",)}
    with ExitStack() as stack:
        for rank, name in enumerate(_NAMES):
            text = _NODE.format(name=name, port=ports[name], rank=rank)
            text += "".join(_NEIGHBOUR.format(name=other, port=ports[other]) for other in links[name])
            path = folder / f"{name}.toml"
            path.write_text(text)
            stack.enter_context(_process(path))
        yield ports


@contextmanager
def _process(config: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "cepheus", "node", "--quiet", "--config", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _free_ports(count: int) -> list[int]:
    """Find ports that nobody uses, below those that the system gives to outgoing connections."""
    found: list[int] = []
    random = Random(time.time_ns())
    while len(found) < count:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found


async def _run(load: Load, ports: dict[str, int]) -> Outcome:
    async with (
        await AsyncClient.connect(Access(f"127.0.0.1:{ports['east']}")) as east,
        await AsyncClient.connect(Access(f"127.0.0.1:{ports['west']}")) as west,
    ):
        temps = await west.source("temps", ["Temp"])
        smokes = await east.source("smoke", ["Smoke"])
        threshold = _HOTTEST * (1 - load.passing)
        await east.deploy(_RULE.format(threshold=threshold))
        fires = await east.subscribe("Fire")
        watch = _Watch(fires)
        watching = asyncio.ensure_future(watch.run())
        started = time.monotonic()
        published, last = await _publish(load, temps, smokes)
        while watch.latest < last and time.monotonic() - started < 10 * load.seconds + 60:
            await asyncio.sleep(0.002)
        ended = time.monotonic()
        watching.cancel()
        lag = max(0.0, (present() - last) / 1_000_000)
        delays = tuple(delay for at, delay in watch.delays if at - watch.delays[0][0] > _WARM_UP)
        return Outcome(load, published, ended - started, delays, lag)


class _Watch:
    """Takes fires and notes how late they are."""

    def __init__(self, fires: Subscription) -> None:
        self._fires = fires
        self.latest = 0
        self.delays: list[tuple[float, float]] = []

    async def run(self) -> None:
        while True:
            events = await self._fires.take()
            now = present()
            self.latest = max(self.latest, *(event.time for event in events))
            self.delays += [(now / 1_000_000, (now - event.time) / 1_000_000) for event in events]


async def _publish(load: Load, temps: AsyncSource, smokes: AsyncSource) -> tuple[int, int]:
    """Publish the load; give the number of events and the time of the last smoke, which becomes a fire."""
    random = Random(1)
    published = 0
    before = present()
    start = time.monotonic()
    while time.monotonic() - start < load.seconds:
        now = await _next_step(load, before)
        if load.rate is None:
            count = load.batch
        else:
            count = int((time.monotonic() - start) * load.rate) - published
            if count <= 0:
                continue
        smoke = max(1, round(count * load.smoke))
        await temps.publish(_temps(random, before, now, max(1, count - smoke)), now)
        await smokes.publish(_columns("Smoke", _times(before, now, smoke), {"area": _areas(random, smoke)}), now)
        published += count
        before = now
    last = await _next_step(load, before)
    hot = _columns("Temp", [last - 1], {"area": ["last"], "value": [_HOTTEST]})
    await temps.publish(hot, last)
    await smokes.publish(_columns("Smoke", [last], {"area": ["last"]}), last)
    return published + 2, last


async def _next_step(load: Load, before: int) -> int:
    """Wait for the next batch; its time is at least two microseconds after the last one's."""
    await asyncio.sleep(load.step if load.rate is not None else 0)
    return max(present(), before + 2)


def _temps(random: Random, before: int, now: int, count: int) -> EventColumns:
    values = [random.random() * _HOTTEST for _ in range(count)]
    return _columns("Temp", _times(before, now, count), {"area": _areas(random, count), "value": values})


def _areas(random: Random, count: int) -> list[str]:
    draw: Callable[[], float] = random.random
    return [f"A{int(draw() * _AREAS)}" for _ in range(count)]


def _times(before: int, now: int, count: int) -> list[int]:
    """Spread events over the time since the last batch."""
    return [before + 1 + (now - before - 1) * place // count for place in range(count)]


def _columns(kind: str, times: list[int], attributes: dict[str, list[str] | list[float]]) -> EventColumns:
    values: list[list[Value | None]] = [list(column) for column in attributes.values()]
    return EventColumns([(kind, tuple(attributes))], [0] * len(times), times, [None] * len(times), [values])


def spread(ordered: Sequence[float], form: str, unit: str = "") -> str:
    """The first, the middle and the last of ordered figures.

    >>> spread([19.62, 21.5, 33.0], "{:.1f}", " ms"), spread([5000.0], "{:,.0f}")
    ('19.6 / 21.5 / 33.0 ms', '5,000')
    """
    figures = ordered if len(ordered) == 1 else (ordered[0], median(ordered), ordered[-1])
    return " / ".join(form.format(figure) for figure in figures) + unit


def _others(outcomes: Sequence[Outcome]) -> str:
    shares = sorted(outcome.others * 100 for outcome in outcomes if outcome.others is not None)
    return spread(shares, "{:.0f}", "%") if shares else "-"


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Say in how many runs what was wanted was reached.

    A load is for something, a short delay or enough events; and nothing may pile up.
    """
    reached = sum(outcome.keeps_up and _reached(outcome) for outcome in outcomes)
    if reached == len(outcomes):
        return "met"
    return f"met in {reached} of {len(outcomes)} runs" if reached else "missed"


def _reached(outcome: Outcome) -> bool:
    return outcome.delay(0.99) < _LONGEST_DELAY if outcome.load.rate == _SLOW else outcome.rate >= _ENOUGH
