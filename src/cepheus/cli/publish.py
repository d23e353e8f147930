"""``cepheus publish``: events from files or from standard input, to a network."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.access import Reach, To, announced, connected, with_node_options
from cepheus.cli.console import note, warnings_reported
from cepheus.cli.run_options import Unit
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.core.batch import EventBatch
    from cepheus.formats.intake import IntakeOptions
    from cepheus.runtime.network.transport.access import Access
    from cepheus.runtime.network.transport.publishing import Pacing, Published

_STDIN = Path("-")


@with_node_options
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
    time_unit: Annotated[Unit | None, typer.Option(help="The unit of integer times.", show_default="us")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at what is otherwise only warned of.")] = False,
    *,
    reach: Reach,
) -> None:
    """Publish events to a network, in order of time, at a chosen pace."""
    from cepheus.core.time import TimeCheck, TimeUnit
    from cepheus.formats.intake import IntakeOptions
    from cepheus.formats.read import open_files
    from cepheus.runtime.network.transport.publishing import Pacing

    given = reach(to)
    if rate is not None and speed is not None:
        raise OptionError.of("pace", "a rate and a speed exclude one another", hint="give --rate or --speed")
    if now and speed is not None:
        raise OptionError.of("pace", "events that get the present time have no speed of their own", hint="give --rate")
    pacing = Pacing(rate, speed, now)
    name = name or f"publish-{uuid.uuid4().hex[:8]}"
    check = TimeCheck.of(time_unit and TimeUnit(time_unit.value), strict=strict)
    options = IntakeOptions(unit=check.unit, keep_all=True, numbered=False, check=None if now else check)
    if files != [_STDIN]:
        open_files(files)  # what is missing is told before anybody is asked to wait
    elif not types:
        raise OptionError.of("type", "the types of the events are not known", hint="name them: --type Temp")
    with warnings_reported():
        done, late = asyncio.run(_publish(given, name, types or [], files, options, pacing))
    note(f"{done.events} events published, {late} late; {done.events / max(done.seconds, 1e-9):,.0f} events/s")


async def _publish(
    given: Access, name: str, types: list[str], files: list[Path], options: IntakeOptions, pacing: Pacing
) -> tuple[Published, int]:
    """Publish what files or standard input have; values are read as the types that the node knows from rules."""
    from cepheus.runtime.network.transport.publishing import publish_batches

    async with await connected(given) as client:
        options = replace(options, schema=(await client.known_types()).schema)
        if files == [_STDIN]:
            batches = _standard_input(options, now=pacing.now)
        else:
            batch = _read(files, options)
            batches, types = _once(batch), sorted({*types, *batch.types})
        words = f"the network to be ready for '{name}': are all nodes running?"
        source = await announced(client.source(name, types), words)
        done = await publish_batches(source, batches, pacing)
        await source.close()
        return done, source.late


def _read(files: list[Path], options: IntakeOptions) -> EventBatch:
    """Read files and put their events in order of time."""
    import numpy as np

    from cepheus.core.batch import EventBatch
    from cepheus.formats.read import open_files

    batch = EventBatch.concat([file.batch() for file in open_files(files, options)])
    return batch.take(np.argsort(batch.times, kind="stable"))


async def _once(batch: EventBatch) -> AsyncIterator[EventBatch]:
    yield batch


async def _standard_input(options: IntakeOptions, *, now: bool) -> AsyncIterator[EventBatch]:
    """Read events as they come, as many at a time as there are."""
    from cepheus.cli.standard_input import LineReader

    reader = LineReader(options, now=now)
    loop = asyncio.get_running_loop()
    while (batch := await loop.run_in_executor(None, reader.next)) is not None:
        yield batch
