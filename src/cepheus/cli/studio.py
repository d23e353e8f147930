"""``cepheus studio``: a page on which rules are written, run over events, and understood."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.access import reach_by
from cepheus.cli.console import note
from cepheus.cli.run_options import Unit
from cepheus.core.errors import OptionError
from cepheus.core.extras import require

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access as NodeAccess
    from cepheus.studio.security import Access
    from cepheus.studio.server import Studio


def studio(
    rules: Annotated[list[Path] | None, typer.Argument(help="Rule files to open.", metavar="[RULES]...")] = None,
    events: Annotated[
        list[Path] | None, typer.Option("--events", "-e", help="A file of events to load; may be repeated.")
    ] = None,
    live: Annotated[
        list[Path] | None,
        typer.Option("--live", metavar="TOML", help="A live run, as 'cepheus live' takes it, for the page Live."),
    ] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option("--checkpoint", metavar="DIR", help="The checkpoint of a stream of Spark, for the page Live."),
    ] = None,
    follow: Annotated[
        list[Path] | None, typer.Option("--follow", help="A file of JSON lines that grows, for the page Live.")
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option("--node", metavar="HOST:PORT", help="A node of a network, for the pages Live and Network."),
    ] = None,
    node_authority: Annotated[
        Path | None, typer.Option("--node-ca", metavar="PEM", help="The authority that signed certificates of nodes.")
    ] = None,
    node_certificate: Annotated[
        Path | None, typer.Option("--node-cert", metavar="PEM", help="One's own certificate, for nodes.")
    ] = None,
    node_key: Annotated[Path | None, typer.Option("--node-key", metavar="PEM", help="Its key.")] = None,
    node_token: Annotated[
        Path | None, typer.Option("--node-token-file", metavar="FILE", help="A file with one's token for nodes.")
    ] = None,
    scenario: Annotated[
        list[Path] | None, typer.Option("--scenario", help="A scenario in TOML, for the page Network.")
    ] = None,
    time_unit: Annotated[Unit, typer.Option(help="The unit of integer times in events.")] = Unit.US,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 is any free port.")] = 0,
    host: Annotated[
        str, typer.Option(help="Where to listen; anything but this machine needs --certificate and --key.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A name by which browsers reach it, besides --host; may be repeated."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(metavar="PEM", help="A certificate for TLS.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="The key of the certificate.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open the studio in the browser: write rules, run them over events, see what was found and why.

    It listens on this machine alone, and only whoever has the printed address can open it. Stop it with Ctrl-C.
    """
    require("fastapi", "the studio")
    require("uvicorn", "the studio")
    from cepheus.core.time import TimeUnit
    from cepheus.studio.live import Sources
    from cepheus.studio.server import Studio
    from cepheus.studio.workspace import Workspace

    for path in (*(rules or ()), *(events or ()), *(live or ()), *(follow or ()), *(scenario or ())):
        if not path.is_file():
            raise OptionError.of("file", f"there is no file '{path}'")
    _check_live(live or ())
    nodes: tuple[NodeAccess, ...] = ()
    if node:
        reach = reach_by(node_authority, node_certificate, node_key, node_token)
        nodes = tuple(reach(each) for each in node)
    access = _access(host, port, certificate, key, tuple(name or ()))
    workspace = Workspace.of(rules or [], events or [], TimeUnit(time_unit.value))
    workspace.scenarios = tuple(path.resolve() for path in scenario or ())
    if workspace.loaded is not None:
        note(f"{len(workspace.loaded.batch):,} events loaded")
    sources = Sources(tuple(follow or ()), tuple(live or ()), tuple(checkpoint or ()), nodes)
    made = Studio(workspace, access, sources=sources)
    note(f"the studio is at {made.access.address}")
    opened: list[Path] = []
    if not no_browser:
        threading.Timer(0.5, _open, [made, opened]).start()
    try:
        made.serve()
    finally:
        for file in opened:
            shutil.rmtree(file.parent, ignore_errors=True)


def _open(made: Studio, opened: list[Path]) -> None:
    from cepheus.studio.opening import open_browser

    opened.append(open_browser(made.address_once()))


def _check_live(paths: Iterable[Path]) -> None:
    """Say at once what is wrong with the files of live runs."""
    from cepheus.runtime.live.live_file import read_live_file

    for path in paths:
        read_live_file(path)


def _access(host: str, port: int, certificate: Path | None, key: Path | None, names: tuple[str, ...]) -> Access:
    from cepheus.studio.security import Access

    token = os.environ.get("CEPHEUS_STUDIO_TOKEN")
    files = (None if certificate is None else str(certificate)), (None if key is None else str(key))
    if token is None:
        return Access(host, port, certificate=files[0], key=files[1], known_as=names)
    return Access(host, port, token, *files, known_as=names)
