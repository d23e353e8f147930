"""Events that are posted: over HTTP, each request answered when its events are on the disk; or over a WebSocket.

A body is one event, a list of events, or one event a line.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Disconnected, Position, Surroundings
from cepheus.runtime.live.receiver import Receiver
from cepheus.runtime.live.web import MAX_BODY, Listen

if TYPE_CHECKING:
    from aiohttp import web

_RETRY_AFTER = {"Retry-After": "1"}


@dataclass(frozen=True, slots=True)
class FromHttp:
    """Events that are posted to a path; with a ``token`` only by those who send ``Authorization: Bearer <token>``.

    >>> FromHttp(Listen.of("8080")).path
    '/events'
    """

    listen: Listen
    path: str = "/events"
    token: str | None = None

    def build(self, around: Surroundings) -> HttpReceiver:
        """Make the receiver."""
        require("aiohttp", "a source over HTTP")
        return HttpReceiver(self, around)


class HttpReceiver(Receiver):
    """Answers requests: 200 when their events are safe, 400, 401 or 413 if they are wrong, 503 if there is no room."""

    def __init__(self, described: FromHttp, around: Surroundings) -> None:
        super().__init__(around)
        self._described = described

    async def open(self, position: Position) -> None:
        """Listen."""
        self.open_spool(position)
        await self._around.web.serve(self._described.listen, "POST", self._described.path, self._post)

    async def close(self) -> None:
        """Listen no longer."""
        self._around.web.withdraw(self._described.listen, "POST", self._described.path)
        self.close_spool()

    async def _post(self, request: web.Request) -> web.Response:
        from aiohttp import web

        if not allowed(request, self._described.token):
            return web.json_response({"error": "the token is missing or wrong"}, status=401)
        if self.is_full:
            return web.json_response({"error": "too much is waiting"}, status=503, headers=_RETRY_AFTER)
        payloads = split_body(await request.read())
        if payloads is None:
            return web.json_response({"error": "the body is no list of events"}, status=400)
        if payloads:
            await self.take([(payload, "") for payload in payloads])
        return web.json_response({"accepted": len(payloads)})


@dataclass(frozen=True, slots=True)
class FromWebSocket:
    """Events that come over a WebSocket: from the server at a ``url``, or from clients that connect to a path here.

    Clients here are told, after each message, how many events of this connection are safe: ``{"accepted": 12}``.
    """

    url: str | None = None
    listen: Listen | None = None
    path: str = "/events"
    token: str | None = None
    subscribe: str | None = None

    def build(self, around: Surroundings) -> WebSocketServer | WebSocketClient:
        """Make the receiver."""
        require("aiohttp", "a source over a WebSocket")
        if self.listen is not None and self.url is None:
            return WebSocketServer(self, self.listen, around)
        if self.url is not None and self.listen is None:
            return WebSocketClient(self, self.url, around)
        raise around.refused("a WebSocket has either a url or a place to listen", 'write url = "wss://host/feed"')


class WebSocketServer(Receiver):
    """Lets clients connect."""

    def __init__(self, described: FromWebSocket, listen: Listen, around: Surroundings) -> None:
        super().__init__(around)
        self._described = described
        self._listen = listen
        self._sockets: set[Any] = set()

    async def open(self, position: Position) -> None:
        """Listen."""
        self.open_spool(position)
        await self._around.web.serve(self._listen, "GET", self._described.path, self._connected)

    async def close(self) -> None:
        """Listen no longer."""
        self._around.web.withdraw(self._listen, "GET", self._described.path)
        for socket in list(self._sockets):
            with suppress(Exception):
                await socket.close()
        self.close_spool()

    async def _connected(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import WSMsgType, web

        if not allowed(request, self._described.token):
            return web.json_response({"error": "the token is missing or wrong"}, status=401)
        socket = web.WebSocketResponse(max_msg_size=MAX_BODY, heartbeat=30.0)
        await socket.prepare(request)
        self._sockets.add(socket)
        accepted = 0
        try:
            async for message in socket:
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    continue
                payloads = split_body(message.data.encode() if isinstance(message.data, str) else message.data)
                if payloads is None:
                    await socket.send_json({"error": "the message is no list of events"})
                    continue
                while self.is_full:
                    await asyncio.sleep(0.05)
                await self.take([(payload, "") for payload in payloads])
                accepted += len(payloads)
                await socket.send_json({"accepted": accepted})
        finally:
            self._sockets.discard(socket)
        return socket


class WebSocketClient(Receiver):
    """Connects to a server, which may be sent a message first; what the server sends while there is no connection is
    lost, as it does not know what was received.
    """

    def __init__(self, described: FromWebSocket, url: str, around: Surroundings) -> None:
        super().__init__(around)
        self._described = described
        self._url = url
        self._task: asyncio.Task[None] | None = None
        self._session: Any = None
        self._socket: Any = None

    async def open(self, position: Position) -> None:
        """Connect."""
        import aiohttp

        self.open_spool(position)
        headers = {} if self._described.token is None else {"Authorization": f"Bearer {self._described.token}"}
        self._session = aiohttp.ClientSession()
        try:
            self._socket = await self._session.ws_connect(
                self._url, headers=headers, heartbeat=30.0, max_msg_size=MAX_BODY, autoclose=True
            )
            if self._described.subscribe is not None:
                await self._socket.send_str(self._described.subscribe)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Disconnected(f"no connection to {self._url} ({error})") from None
        self._task = asyncio.create_task(self._receive(self._socket))

    async def read(self) -> Any:
        """What has arrived; once the connection is lost and all is read, it is opened anew."""
        reading = asyncio.ensure_future(super().read())
        assert self._task is not None
        await asyncio.wait([reading, self._task], return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            return reading.result()
        reading.cancel()
        raise Disconnected(f"the connection to {self._url} was closed")

    async def close(self) -> None:
        """End the connection."""
        import aiohttp

        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._socket is not None:
            with suppress(aiohttp.ClientError, ConnectionError):
                await self._socket.close()
        if self._session is not None:
            await self._session.close()
        self.close_spool()

    async def _receive(self, socket: Any) -> None:
        from aiohttp import WSMsgType

        async for message in socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                data = message.data.encode() if isinstance(message.data, str) else message.data
                payloads = split_body(data)
                while self.is_full:
                    await asyncio.sleep(0.05)
                await self.take([(payload, "") for payload in ([data] if payloads is None else payloads)])


def allowed(request: web.Request, token: str | None) -> bool:
    """Whether a request carries the token, if one is asked for."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return token is None or hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def split_body(body: bytes) -> list[bytes] | None:
    r"""The payloads of a body: one event, one a line, or a list of them; None if it is a list that is none.

    >>> split_body(b'{"a": 1}\n{"a": 2}'), split_body(b'[{"a": 1}, {"a": 2}]')
    ([b'{"a": 1}', b'{"a": 2}'], [b'{"a": 1}', b'{"a": 2}'])
    >>> split_body(b'{\n"a": 1}')
    [b'{\n"a": 1}']
    """
    if body.lstrip()[:1] not in (b"{", b"[", b""):
        return [body]  # it is no JSON, and not ours to cut
    body = body.strip()
    if body.startswith(b"["):
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return [json.dumps(each).encode() for each in found]
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > 1 and not all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for line in lines):
        return [body]
    return lines
