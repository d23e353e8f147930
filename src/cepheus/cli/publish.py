"""``cepheus publish``: events from files or from standard input, to a network."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.access import Reach, To, reaching
from cepheus.cli.check import Unit
from cepheus.cli.console import note
from cepheus.cli.waiting import announced, connected
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.core.batch import EventBatch
    from cepheus.core.time import TimeUnit
    from cepheus.runtime.network.transport.access import Access
    from cepheus.runtime.network.transport.publishing import Pacing, Published

_STDIN = Path("-")


@reaching
def publish(
    files: Annotated[
        list[Path], typer.Argument(help="Files of events; - for JSON lines from standard input.", metavar="FILE...")
    ],
    to: To,
    name: Annotated[
        str | None, typer.Option(help="The name of the source, unique at the node; without one, it gets one.")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="A type of the events; needed for standard input."),
    ] = None,
    rate: Annotated[float | None, typer.Option(min=0.001, metavar="N", help="Publish so many events a second.")] = None,
    speed: Annotated[
        float | None, typer.Option(min=0.001, metavar="X", help="Publish X times as fast as the events happened.")
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Give events the time at which they are published.")] = False,
    time_unit: Annotated[Unit, typer.Option(help="The unit of integer times.")] = Unit.US,
    *,
    reach: Reach,
) -> None:
    """Publish events to a network, in order of time, at a chosen pace."""
    from cepheus.core.time import TimeUnit
    from cepheus.runtime.network.transport.publishing import Pacing

    given = reach(to)
    if rate is not None and speed is not None:
        raise OptionError.of("pace", "a rate and a speed exclude one another", hint="give --rate or --speed")
    if now and speed is not None:
        raise OptionError.of("pace", "events that get the present time have no speed of their own", hint="give --rate")
    pacing = Pacing(rate, speed, now)
    name = name or f"publish-{uuid.uuid4().hex[:8]}"
    unit = TimeUnit(time_unit.value)
    if files == [_STDIN]:
        if not types:
            raise OptionError.of("type", "the types of the events are not known", hint="name them: --type Temp")
        done, late = asyncio.run(_publish(given, name, types, _standard_input(unit, now=now), pacing))
    else:
        batch = _read(files, unit)
        known = sorted({*(types or ()), *batch.types})
        done, late = asyncio.run(_publish(given, name, known, _once(batch), pacing))
    note(f"{done.events} events published, {late} late; {done.events / max(done.seconds, 1e-9):,.0f} events/s")


async def _publish(
    given: Access, name: str, types: list[str], batches: AsyncIterator[EventBatch], pacing: Pacing
) -> tuple[Published, int]:
    from cepheus.runtime.network.transport.publishing import publish_batches

    async with await connected(given) as client:
        words = f"the network to be ready for '{name}': are all nodes running?"
        source = await announced(client.source(name, types), words)
        done = await publish_batches(source, batches, pacing)
        await source.close()
        return done, source.late


def _read(files: list[Path], unit: TimeUnit) -> EventBatch:
    """Read files and put their events in order of time."""
    import numpy as np

    from cepheus.core.batch import EventBatch
    from cepheus.core.formats.intake import IntakeOptions
    from cepheus.core.formats.read import open_files

    opened = open_files(files, IntakeOptions(unit=unit, keep_all=True, numbered=False))
    batch = EventBatch.concat([file.batch() for file in opened])
    return batch.take(np.argsort(batch.times, kind="stable"))


async def _once(batch: EventBatch) -> AsyncIterator[EventBatch]:
    yield batch


async def _standard_input(unit: TimeUnit, *, now: bool) -> AsyncIterator[EventBatch]:
    """Give events as they come, as many at a time as there are."""
    from cepheus.cli.standard_input import LineReader

    reader = LineReader(unit, now=now)
    loop = asyncio.get_running_loop()
    while (batch := await loop.run_in_executor(None, reader.next)) is not None:
        yield batch
