"""``cepheus node``: one processor of a network, as a process."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import note

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.config import NodeConfig


def node(
    config: Annotated[Path, typer.Option("--config", help="What the node is, in TOML.", metavar="FILE")],
    check: Annotated[bool, typer.Option("--check", help="Only check the file, and start nothing.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only what is wrong.")] = False,
) -> None:
    """Run a processor: it keeps its links and its state whatever happens, until it is interrupted."""
    from cepheus.runtime.network.transport.config import read_config
    from cepheus.runtime.network.transport.security import check_certificates, check_safety, check_tokens

    found = read_config(config)
    check_safety(found, config)
    check_certificates(found, config)
    check_tokens(found, config)
    if check:
        note(f"{config}: no errors")
        return
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING if quiet else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    asyncio.run(_serve(found, config))


async def _serve(config: NodeConfig, path: Path) -> None:
    from cepheus.runtime.network.transport.server import NodeServer, collect_rarely
    from cepheus.runtime.network.transport.status import serve_metrics

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    server = NodeServer(config, path)
    await server.start()
    collecting = asyncio.ensure_future(collect_rarely())
    ended = asyncio.ensure_future(server.ended())
    with serve_metrics(server):
        await asyncio.wait([ended, asyncio.ensure_future(stopped.wait())], return_when=asyncio.FIRST_COMPLETED)
    collecting.cancel()
    await server.stop()
    if ended.done():
        ended.result()
