"""``cepheus subscribe``: composite events of a network, as JSON lines."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.access import Reach, To, connected, with_node_options
from cepheus.cli.console import note

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access


@with_node_options
def subscribe(
    patterns: Annotated[
        list[str],
        typer.Argument(help="A type of events, or one with content: \"Fire(area = 'A1')\".", metavar="PATTERN..."),
    ],
    to: To,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="End after so many events.")] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="DURATION", help="End when nothing has come for so long.")
    ] = None,
    *,
    reach: Reach,
) -> None:
    """Print the events of a network that one subscribes to, one a line, until interrupted."""
    from cepheus.core.time import parse_duration

    given = reach(to)
    seconds = None if timeout is None else parse_duration(timeout) / 1_000_000
    received = asyncio.run(_subscribe(given, patterns, count, seconds))
    note(f"{received} events received")


async def _subscribe(given: Access, patterns: list[str], count: int | None, timeout: float | None) -> int:
    received, whole = 0, (sys.stdout.encoding or "").lower() == "utf-8"
    async with await connected(given) as client:
        subscription = await client.subscribe(*patterns)
        note(f"subscribed at '{client.node}'")
        while count is None or received < count:
            events = await subscription.take(timeout)
            if not events:
                break
            for event in events[: None if count is None else count - received]:
                print(json.dumps(event.to_dict(), ensure_ascii=not whole), flush=True)
                received += 1
    return received
