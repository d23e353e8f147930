"""The web servers of a live run: sources that are posted to, sinks that are listened to, health and metrics.

Whoever names the same host and port shares a server; each has paths of its own.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.extras import require

if TYPE_CHECKING:
    from aiohttp import web

Handler = Callable[["web.Request"], Awaitable["web.StreamResponse"]]
MAX_BODY = 64 << 20
"""The largest body that is taken, in bytes."""

_LISTEN = re.compile(r"(?:(?P<host>[^/]*):)?(?P<port>\d{1,5})")
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen: a host and a port; port 0 is one that is free.

    >>> Listen.of("0.0.0.0:8080"), Listen.of("8080")
    (Listen(host='0.0.0.0', port=8080), Listen(host='127.0.0.1', port=8080))
    """

    host: str = "127.0.0.1"
    port: int = 0

    @classmethod
    def of(cls, written: str) -> Listen:
        """Read ``host:port`` or ``port``."""
        match = _LISTEN.fullmatch(written)
        if match is None or int(match["port"]) > _LAST_PORT:
            hint = "write 127.0.0.1:8080, or 0.0.0.0:8080 for all the world"
            raise OptionError.of("listen", f"'{written}' is no host and port", hint=hint)
        return cls(match["host"] or "127.0.0.1", int(match["port"]))

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(slots=True)
class _Server:
    runner: web.AppRunner
    port: int
    routes: dict[tuple[str, str], Handler] = field(default_factory=dict)


class WebServers:
    """The servers of one run, each started when the first path of it is asked for."""

    def __init__(self) -> None:
        self._servers: dict[Listen, _Server] = {}

    async def serve(self, listen: Listen, method: str, path: str, handler: Handler) -> int:
        """Let requests for a path be answered; give the port. A later handler takes the place of an earlier."""
        server = self._servers.get(listen)
        if server is None:
            server = self._servers[listen] = await _started(listen)
        server.routes[method, path] = handler
        return server.port

    def withdraw(self, listen: Listen, method: str, path: str) -> None:
        """Answer requests for a path no longer."""
        if listen in self._servers:
            self._servers[listen].routes.pop((method, path), None)

    def port(self, listen: Listen) -> int:
        """The port of a server that is started."""
        return self._servers[listen].port

    async def close(self) -> None:
        """Stop all servers."""
        for server in self._servers.values():
            await server.runner.cleanup()
        self._servers.clear()


async def _started(listen: Listen) -> _Server:
    require("aiohttp", "a web server of a live run")
    from aiohttp import web

    async def handle(request: web.Request) -> web.StreamResponse:
        handler = server.routes.get((request.method, request.path))
        if handler is None:
            known = any(path == request.path for _, path in server.routes)
            return web.Response(status=405 if known else 404)
        return await handler(request)

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    server = _Server(runner, listen.port)
    site = web.TCPSite(runner, listen.host, listen.port)
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        reason = (error.strerror or str(error)).lower()
        raise OptionError.of("listen", f"cannot listen at {listen}: {reason}") from None
    addresses = runner.addresses
    server.port = addresses[0][1] if addresses else listen.port
    return server
