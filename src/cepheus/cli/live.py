"""``cepheus live``: rules on a stream without Spark, in one process, described in a file."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import note, report, warnings_reported

if TYPE_CHECKING:
    from cepheus.runtime.live.counts import LiveCounts
    from cepheus.runtime.live.description import Live


def live(
    file: Annotated[Path, typer.Argument(help="What runs: sources, rules and sinks, in TOML.")],
    check: Annotated[
        bool, typer.Option("--check", help="Only check the file and its rules, and start nothing.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the saved state, and read sources from their beginning.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only what is wrong.")] = False,
) -> None:
    """Run rules live: read from brokers, files or the web, write what is found; go on after any crash."""
    from cepheus.runtime.live.live_file import check_live, read_live_file
    from cepheus.runtime.live.rules_at_work import catalog_of

    described = read_live_file(file)
    catalog = catalog_of(described.rules, described.options)
    check_live(described, file, catalog.checked.composites)
    if check:
        report(catalog.checked.warnings)
        note(f"{file}: no errors")
        return
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING if quiet else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    with warnings_reported():
        counts = asyncio.run(_run(described, fresh))
    events = sum(link.passed for link in counts.links.values() if link.kind == "source")
    refused = sum(link.bad for link in counts.links.values() if link.kind == "source")
    found = sum(counts.composites.values())
    note(f"stopped: {events} messages read, {refused} refused, {found} composite events found, {counts.late} late")


async def _run(described: Live, fresh: bool) -> LiveCounts:
    from cepheus.runtime.live.run import LiveRun

    run = LiveRun(described, fresh=fresh, alone=True)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, run.stop)
    return await run.run()
