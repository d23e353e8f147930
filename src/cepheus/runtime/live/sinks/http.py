"""Composite events over HTTP: posted to a webhook, or told to whoever listens (server-sent events, WebSocket).

A webhook is sent each composite event with its key in ``Idempotency-Key``; after a kill some are sent again, with
the same key.

Who listens gets what comes from then on. The last of them are kept, in the saved state as well: a browser that lost
its connection says which it had last (``Last-Event-ID``), a WebSocket may ask ``?after=KEY``, and both get what they
missed.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Disconnected, Output, Position, Surroundings
from cepheus.runtime.live.sources.http import allowed
from cepheus.runtime.live.web import Listen

if TYPE_CHECKING:
    from aiohttp import web

_TIMEOUT_SECONDS = 30.0
_SIGN_OF_LIFE_SECONDS = 10.0
_MOST_WAITING = 10_000
_COMES_BACK = (408, 425, 429)
_SERVER_FAULTS = 500
_NOT_TAKEN = 300


@dataclass(frozen=True, slots=True)
class ToWebhook:
    """An address that composite events are posted to, one after the other, as JSON."""

    url: str
    token: str | None = None

    def build(self, around: Surroundings) -> WebhookWriter:
        """Make the writer."""
        require("aiohttp", "a webhook")
        return WebhookWriter(self, around)


class WebhookWriter:
    """Posts; the answer must be one of success, else it is tried again, unless the receiver says that it is no use."""

    sure = True

    def __init__(self, described: ToWebhook, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._session: Any = None

    async def open(self, position: Position) -> None:
        """There is nothing to connect to before something is sent."""
        del position  # keys tell what is there
        import aiohttp

        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS))

    async def write(self, output: Output) -> None:
        """Post, in order."""
        import aiohttp

        url = self._described.url
        for place, (key, name, line) in enumerate(zip(output.keys, output.types, output.lines, strict=True)):
            headers = {"Content-Type": "application/json", "Idempotency-Key": key, "Cepheus-Type": name}
            if self._described.token is not None:
                headers["Authorization"] = f"Bearer {self._described.token}"
            try:
                async with self._session.post(
                    url,
                    data=line.encode(),
                    headers=headers,
                    allow_redirects=False,  # followed, a POST becomes a GET
                ) as answer:
                    status = answer.status
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                raise Disconnected(f"no answer from {url} ({str(error) or 'it takes too long'})", place) from None
            if status >= _SERVER_FAULTS or status in _COMES_BACK:
                raise Disconnected(f"{url} answered {status}", place)
            if status >= _NOT_TAKEN:
                raise self._around.refused(f"{url} refuses what is posted: {status}", "look at its log, and at token")

    async def flush(self) -> Position:
        """Each was answered."""
        return True

    async def close(self) -> None:
        """End."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


@dataclass(frozen=True, slots=True)
class ToListeners:
    """A path at which composite events can be listened to; ``keep`` of them can be asked for again.

    Without ``sockets`` listeners are sent events as browsers know them (``EventSource``), with it over a WebSocket.
    """

    listen: Listen
    path: str = "/composites"
    keep: int = 1000
    token: str | None = None
    sockets: bool = False

    def build(self, around: Surroundings) -> Broadcaster:
        """Make the sink."""
        require("aiohttp", "a sink over HTTP")
        return Broadcaster(self, around)


class Broadcaster:
    """Tells all who listen; one who is too slow is cut off, and may come back for what was missed."""

    sure = True

    def __init__(self, described: ToListeners, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._kept: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._listeners: set[asyncio.Queue[tuple[str, str, str] | None]] = set()

    async def open(self, position: Position) -> None:
        """Listen."""
        self._kept = OrderedDict((key, (name, line)) for key, name, line in position or ())
        handler = self._socket if self._described.sockets else self._events
        await self._around.web.serve(self._described.listen, "GET", self._described.path, handler)

    async def write(self, output: Output) -> None:
        """Tell all who listen, unless they were told before."""
        for key, name, line in zip(output.keys, output.types, output.lines, strict=True):
            if key in self._kept:
                continue
            self._kept[key] = (name, line)
            if len(self._kept) > self._described.keep:
                self._kept.popitem(last=False)
            for queue in list(self._listeners):
                try:
                    queue.put_nowait((key, name, line))
                except asyncio.QueueFull:
                    self._listeners.discard(queue)
                    queue.get_nowait()
                    queue.put_nowait(None)

    async def flush(self) -> Position:
        """What can be asked for again is part of the state."""
        return [(key, name, line) for key, (name, line) in self._kept.items()]

    async def close(self) -> None:
        """Let all go."""
        self._around.web.withdraw(self._described.listen, "GET", self._described.path)
        for queue in self._listeners:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(None)

    @contextmanager
    def _listening(self, after: str | None) -> Iterator[asyncio.Queue[tuple[str, str, str] | None]]:
        queue: asyncio.Queue[tuple[str, str, str] | None] = asyncio.Queue(_MOST_WAITING)
        keys = list(self._kept)
        start = len(keys) if after is None else keys.index(after) + 1 if after in self._kept else 0
        for key in keys[start:][-_MOST_WAITING + 1 :]:
            queue.put_nowait((key, *self._kept[key]))
        self._listeners.add(queue)
        try:
            yield queue
        finally:
            self._listeners.discard(queue)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        if not allowed(request, self._described.token):
            return web.json_response({"error": "the token is missing or wrong"}, status=401)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        with self._listening(request.headers.get("Last-Event-ID")) as queue, suppress(ConnectionError):
            await response.write(b": listening\n\n")
            while True:
                try:
                    told = await asyncio.wait_for(queue.get(), _SIGN_OF_LIFE_SECONDS)
                except TimeoutError:
                    await response.write(b":\n\n")  # which fails if nobody is there any more
                    continue
                if told is None:
                    break
                key, name, line = told
                await response.write(f"id: {key}\nevent: {name}\ndata: {line}\n\n".encode())
        return response

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        from aiohttp import web

        if not allowed(request, self._described.token):
            return web.json_response({"error": "the token is missing or wrong"}, status=401)
        socket = web.WebSocketResponse(heartbeat=30.0)
        await socket.prepare(request)
        gone = asyncio.ensure_future(socket.receive())  # nothing is asked of listeners: what they send ends it
        with self._listening(request.query.get("after")) as queue, suppress(ConnectionError):
            while True:
                told = asyncio.ensure_future(queue.get())
                await asyncio.wait([told, gone], return_when=asyncio.FIRST_COMPLETED)
                if not told.done() or told.result() is None:
                    told.cancel()
                    break
                key, name, line = told.result() or ("", "", "")
                await socket.send_str(f'{{"key": {json.dumps(key)}, "type": {json.dumps(name)}, "event": {line}}}')
        gone.cancel()
        await socket.close()
        return socket
