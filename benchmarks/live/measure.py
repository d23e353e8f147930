"""``cepheus bench live``: rules on a stream of Redis, on this machine with the broker and whoever fills it."""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.live.redis_world import FIRES, READINGS, RULES, fill, paced, redis_server
from benchmarks.reports.section import Bar, Table, amount, bar_table
from cepheus.core.options import RunOptions
from cepheus.runtime.live.counts import Spread
from cepheus.runtime.live.description import Live, NamedSink, NamedSource
from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.live.sinks.redis import ToRedis
from cepheus.runtime.live.sources.redis import FromRedis

if TYPE_CHECKING:
    from rich.console import Console

LEAST_RATE = 200_000
RATE = 10_000
MOST_MILLISECONDS = 10.0
_WARM = 20_000


@dataclass(slots=True)
class Kept(Spread):
    """All latencies, not only their classes."""

    seconds: list[tuple[float, int]] = field(default_factory=list)

    def add(self, value: float, times: int = 1) -> None:
        """Keep one, of so many events."""
        Spread.add(self, value, times)
        self.seconds.append((value, times))

    def percentile(self, share: float, skip: int) -> float:
        """The latency that so many events did not exceed, without the first few."""
        found = [value for value, times in self.seconds for _ in range(times)][skip:]
        return float(np.percentile(found, share)) if found else float("nan")


def bench_live(console: Console, *, quick: bool) -> None:
    """Measure the rate from a full stream, then latencies at a steady rate."""
    from benchmarks.reports.terminal import show_table

    count, seconds = (50_000, 3.0) if quick else (3_000_000, 30.0)
    with redis_server() as port, tempfile.TemporaryDirectory() as folder:
        console.print(f"filling a stream of Redis with {amount(count)} events")
        fill(port, count + _WARM)
        console.print("reading it")
        rate, own = asyncio.run(_rate(port, Path(folder, "rate"), count))
    with redis_server() as port, tempfile.TemporaryDirectory() as folder:
        console.print(f"{amount(RATE)} events a second, for {seconds:g} s")
        kept = asyncio.run(_latency(port, Path(folder, "latency"), seconds))
    shares = {share: 1000 * kept.percentile(share, _WARM if not quick else 100) for share in (50, 90, 99, 99.9)}
    rows = tuple([(f"p{share:g}", f"{value:.2f} ms") for share, value in shares.items()])
    show_table(Table("From receipt to alert", ("<share of events", "at most"), rows), console)
    console.print(f"of the time of the processors, the run itself took {own:.2f} s for a million events")
    if not quick:
        bars = [
            Bar(
                "events a second from Redis, one an entry, 1,000 keys, 5 min, beside the broker",
                f"at least {amount(LEAST_RATE)}",
                amount(rate),
                rate >= LEAST_RATE,
            ),
            Bar(
                f"p99 from receipt to alert at {amount(RATE)} events/s",
                f"under {MOST_MILLISECONDS:g} ms",
                f"{shares[99]:.2f} ms",
                shares[99] < MOST_MILLISECONDS,
            ),
        ]
        show_table(bar_table(bars), console)


def _described(port: int, folder: Path, every: float) -> Live:
    address = f"redis://127.0.0.1:{port}"
    return Live(
        rules=RULES,
        sources=(NamedSource("readings", FromRedis(READINGS, address)),),
        sinks=(NamedSink("fires", ToRedis(FIRES, address)),),
        state=folder,
        options=RunOptions.of(time_unit="us", threads=1),
        every=every,
    )


async def _rate(port: int, folder: Path, count: int) -> tuple[float, float]:
    """Events a second, and seconds of the processor for a million of them."""
    run = LiveRun(_described(port, folder, 1.0), alone=True)
    task = asyncio.create_task(run.run())
    began, used, first = 0.0, 0.0, 0
    while not task.done():
        done = run.counts.links["readings"].passed - run.counts.waiting if "readings" in run.counts.links else 0
        if not began and done >= _WARM:  # what is compiled and learnt once is not measured
            began, used, first = time.perf_counter(), _processor_seconds(), done
        if done >= count + _WARM:
            break
        await asyncio.sleep(0.005)
    elapsed, spent = time.perf_counter() - began, _processor_seconds() - used
    run.stop()
    await task
    measured = count + _WARM - first
    return measured / elapsed, 1e6 * spent / measured


async def _latency(port: int, folder: Path, seconds: float) -> Kept:
    run = LiveRun(_described(port, folder, 1.0), alone=True)
    run.counts.latency = kept = Kept()
    task = asyncio.create_task(run.run())
    with paced(port, RATE, seconds) as process:
        while process.poll() is None and not task.done():
            await asyncio.sleep(0.1)
    await asyncio.sleep(0.2)
    run.stop()
    await task
    return kept


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
