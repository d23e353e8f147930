"""``cepheus studio``: a page on which rules are written, run over events, and understood."""

from __future__ import annotations

import os
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import note
from cepheus.cli.run_options import Unit
from cepheus.core.errors import OptionError
from cepheus.core.extras import require

if TYPE_CHECKING:
    from cepheus.studio.security import Access


def studio(
    rules: Annotated[list[Path] | None, typer.Argument(help="Rule files to open.", metavar="[RULES]...")] = None,
    events: Annotated[
        list[Path] | None, typer.Option("--events", "-e", help="A file of events to load; may be repeated.")
    ] = None,
    follow: Annotated[
        list[Path] | None, typer.Option("--follow", help="A file of JSON lines that grows, for the page Live.")
    ] = None,
    node: Annotated[
        list[str] | None, typer.Option("--node", metavar="HOST:PORT", help="A node of a network, for the page Live.")
    ] = None,
    scenario: Annotated[
        list[Path] | None, typer.Option("--scenario", help="A scenario in TOML, for the page Network.")
    ] = None,
    time_unit: Annotated[Unit, typer.Option(help="The unit of integer times in events.")] = Unit.US,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 is any free port.")] = 0,
    host: Annotated[
        str, typer.Option(help="Where to listen; anything but this machine needs --certificate and --key.")
    ] = "127.0.0.1",
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
    from cepheus.studio.server import Studio
    from cepheus.studio.workspace import Workspace

    for path in (*(rules or ()), *(events or ()), *(follow or ()), *(scenario or ())):
        if not path.is_file():
            raise OptionError.of("file", f"there is no file '{path}'")
    workspace = Workspace.of(rules or [], events or [], TimeUnit(time_unit.value))
    workspace.scenarios = tuple(path.resolve() for path in scenario or ())
    if workspace.loaded is not None:
        note(f"{len(workspace.loaded.batch):,} events loaded")
    made = Studio(workspace, _access(host, port, certificate, key), follow=follow or (), nodes=node or ())
    note(f"the studio is at {made.access.address}")
    if not no_browser:
        threading.Timer(0.5, webbrowser.open, [made.access.address]).start()
    made.serve()


def _access(host: str, port: int, certificate: Path | None, key: Path | None) -> Access:
    from cepheus.studio.security import Access

    token = os.environ.get("CEPHEUS_STUDIO_TOKEN")
    files = (None if certificate is None else str(certificate)), (None if key is None else str(key))
    if token is None:
        return Access(host, port, certificate=files[0], key=files[1])
    return Access(host, port, token, *files)
