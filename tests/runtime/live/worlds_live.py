"""What tests of live runs share: rules, events, the reference's answer, a run in this process."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cepheus
from cepheus.core.options import RunOptions
from cepheus.runtime.live.contract import DescribesSink, DescribesSource
from cepheus.runtime.live.counts import LiveCounts
from cepheus.runtime.live.description import Live, NamedSink, NamedSource
from cepheus.runtime.live.payload import Payload
from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.live.sinks.file import ToFile

RULES = """
define Fire(area: string, value: double)
from Smoke(area = $a) and each Temp(area = $a, value > 45) within 20 s from Smoke
where area = Smoke.area, value = Temp.value
"""
START = 1_700_000_000
Record = dict[str, Any]


def events(count: int, seed: int = 1, areas: int = 3) -> list[Record]:
    """Some events, one a second."""
    chance = random.Random(seed)
    found: list[Record] = []
    for number in range(count):
        area = f"a{chance.randrange(areas)}"
        if chance.random() < 0.2:
            found.append({"type": "Smoke", "time": START + number, "area": area})
        else:
            value = chance.choice([40.5, 46.25, 50.0])
            found.append({"type": "Temp", "time": START + number, "area": area, "value": value})
    return found


def payloads(records: Iterable[Record]) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


def expected(records: Sequence[Record], rules: str = RULES, **options: Any) -> list[Record]:
    """What the reference engine finds."""
    found = cepheus.compile(rules).detect(list(records), engine="reference", time_unit="s", **options)
    return found.to_dicts("s")


def essence(records: Iterable[Record]) -> list[str]:
    """Composite events without the names of their parts, sorted: these depend on where events were read from."""
    return sorted(json.dumps({k: v for k, v in r.items() if k not in ("id", "from", "start")}) for r in records)


def lines_of(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def live(
    folder: Path,
    source: DescribesSource,
    sink: DescribesSink | None = None,
    *,
    payload: Payload | None = None,
    rules: str = RULES,
    **changes: Any,
) -> Live:
    """A run from a source to a sink, by default a file ``out.jsonl``."""
    changes = {"every": 0.05, **changes}
    options = changes.pop("options", RunOptions.of(engine="reference", time_unit="s", threads=1))
    return Live(
        rules=rules,
        sources=(NamedSource("in", source, payload or Payload()),),
        sinks=(NamedSink("out", sink or ToFile(folder / "out.jsonl")),),
        state=folder / "state",
        options=options,
        **changes,
    )


def run(described: Live, **options: Any) -> LiveCounts:
    """Run until the sources are over."""

    async def at_work() -> LiveCounts:
        return await LiveRun(described, **options).run()

    return asyncio.run(at_work())


async def run_until(described: Live, done: Any, patience: float = 60.0) -> LiveCounts:
    """Run until something is true, then stop in order."""
    at_work = LiveRun(described)
    task = asyncio.create_task(at_work.run())
    end = asyncio.get_running_loop().time() + patience
    while not task.done() and not await _holds(done):
        if asyncio.get_running_loop().time() > end:
            at_work.stop()
            await task
            raise AssertionError(f"it did not happen: {at_work.counts}")
        await asyncio.sleep(0.02)
    at_work.stop()
    return await task


async def _holds(done: Any) -> bool:
    found = done()
    return bool(await found) if asyncio.iscoroutine(found) else bool(found)


def with_sinks(described: Live, *sinks: NamedSink) -> Live:
    return replace(described, sinks=sinks)
