"""The server of the studio: its pages, its routes, and the one way to start it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles

from cepheus import __version__
from cepheus.core.errors import CepheusError, OptionError
from cepheus.demo import SCENARIOS
from cepheus.studio import beliefs, editing, live, networks, running, what_if
from cepheus.studio.examples import EXAMPLES
from cepheus.studio.report import Reported, report
from cepheus.studio.security import Access, Guard, OpeningKeys
from cepheus.studio.workspace import Workspace, diagnostics

STATIC = Path(str(files("cepheus.studio") / "static"))


def make_app(workspace: Workspace, watched: live.Live, access: Callable[[], Access], keys: OpeningKeys) -> Guard:
    """The application: routes and files behind the guard."""
    app = FastAPI(title="Cepheus studio", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(editing.routes(workspace))
    app.include_router(running.routes(workspace))
    app.include_router(what_if.routes(workspace))
    app.include_router(beliefs.routes())
    app.include_router(live.routes(watched))
    app.include_router(networks.routes(workspace, watched.sources.node))

    @app.get("/", response_class=HTMLResponse)
    def index(request: Request) -> HTMLResponse:
        text = (STATIC / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(text.replace("{{nonce}}", request.state.nonce).replace("{{version}}", __version__))

    @app.get("/api/state")
    def state() -> dict[str, Any]:
        return {
            "version": __version__,
            "documents": [
                {"name": each.name, "text": each.text, "saved": each.path is not None} for each in workspace.documents
            ],
            "events": None if workspace.loaded is None else running.loaded_told(workspace.loaded),
            "ran": None if workspace.ran is None else running.ran_told(workspace.ran) | {"text": workspace.ran.text},
            "examples": [*EXAMPLES, *SCENARIOS],
            "live": watched.sources.told(),
            "scenarios": [path.name for path in workspace.scenarios],
        }

    @app.post("/api/report")
    def make_report(given: Reported) -> Response:
        text = report(workspace, given)
        return Response(text, media_type="text/plain; charset=utf-8")  # it is saved, never shown under this origin

    @app.exception_handler(CepheusError)
    def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, CepheusError)
        return JSONResponse({"diagnostics": diagnostics(error)}, status_code=422)

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return Guard(app, access, keys)


class Studio:
    """A studio that listens: its address is known, it serves until it is told to stop."""

    def __init__(
        self,
        workspace: Workspace,
        access: Access | None = None,
        *,
        sources: live.Sources | None = None,
    ) -> None:
        wanted = access or Access()
        self._socket = _listening(wanted)
        self.access = replace(wanted, port=self._socket.getsockname()[1])
        self.keys = OpeningKeys()
        self.live = live.Live(workspace, sources)
        config = uvicorn.Config(
            make_app(workspace, self.live, lambda: self.access, self.keys),
            log_level="warning",
            access_log=False,
            server_header=False,
            ssl_certfile=wanted.certificate,
            ssl_keyfile=wanted.key,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)

    def address_once(self) -> str:
        """An address that opens it once, within two minutes."""
        return f"{self.access.origin}/?key={self.keys.make()}"

    @property
    def started(self) -> bool:
        """Whether it answers."""
        return self._server.started

    def serve(self) -> None:
        """Serve until ``stop``, or an interruption."""
        try:
            asyncio.run(self._serve())
        finally:
            self.live.stop()
            self._socket.close()

    async def _serve(self) -> None:
        await self._server.serve(sockets=[self._socket])
        await asyncio.sleep(0.05)  # connections that were told to close get to it

    def stop(self) -> None:
        """Stop serving."""
        self._server.should_exit = True


def _listening(access: Access) -> socket.socket:
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((access.host, access.port))
    except OSError as error:
        made.close()
        hint = "another process listens there: leave --port away and a free one is taken"
        raise OptionError.of(
            "studio", f"cannot listen on {access.host}:{access.port}: {error.strerror}", hint=hint
        ) from None
    return made
