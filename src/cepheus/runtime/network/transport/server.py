"""A node as a server: accepts neighbours and clients, connects to neighbours, and comes back after everything."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cepheus.core.errors import CepheusError, OptionError
from cepheus.core.extras import require
from cepheus.runtime.network.transport.access import diagnose
from cepheus.runtime.network.transport.config import NeighbourConfig, NodeConfig
from cepheus.runtime.network.transport.congestion import Pace
from cepheus.runtime.network.transport.connection import (
    CLIENT,
    PROCESSOR,
    SERVICE,
    Connection,
    FrameReader,
    Hello,
    Stream,
    decode_hello,
    encode_hello,
    resume,
)
from cepheus.runtime.network.transport.host import NodeHost, client_peer
from cepheus.runtime.network.transport.journal import JournalBrokenError
from cepheus.runtime.network.transport.security import (
    Gate,
    Principal,
    RefusedError,
    channel_credentials,
    check_safety,
    read_token,
    server_credentials,
    shown_names,
)
from cepheus.runtime.network.transport.status import status_of
from cepheus.runtime.network.transport.streams import Dialler, ServerStream, server_settings

_YOUNG, _YOUNG_ROUNDS, _NEVER = 10_000, 10, 1 << 30
_FULL_EVERY = 600.0


async def collect_rarely(every: float = _FULL_EVERY) -> None:
    """Let the collector walk over everything only once in so many seconds, for as long as this runs.

    A server with much state stands still while it does: tens of milliseconds for a hundred thousand objects. Young
    objects are collected as usual, and what was there from the beginning not at all.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _YOUNG_ROUNDS, _NEVER)
    try:
        while True:
            await asyncio.sleep(every)
            gc.collect()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# Snapshots are written by a copy of this process (beside.py), which does not touch gRPC. Where gRPC prepares for copies
# that do, which it decides when it is imported, it stops and starts its threads at each of them, and copies crash.

log = logging.getLogger("cepheus.node")

_SWEEP = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
_GREETING_SECONDS = 10.0
_COURTESY = 0.3
_SAY_AGAIN = 60.0
"""Seconds after which what is wrong with a connection is said again, if nothing has changed."""


class _SessionOverError(Exception):
    """A client's connection was closed, and it must not come back to its session."""


class NodeServer:
    """A node that serves until it is stopped."""

    def __init__(self, config: NodeConfig, place: Path = Path()) -> None:
        require("grpc", "a network")
        check_safety(config, place)
        self._gate = Gate(config)
        self._credentials = server_credentials(config.tls)
        self._own = channel_credentials(config.tls)
        self._token = read_token(config.token_file) if config.token_file is not None else ""
        self.config = config
        self.host = NodeHost(config, str(place))
        self.port = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._said: dict[str, tuple[str, float]] = {}
        self._server: Any = None

    async def start(self) -> None:
        """Listen, and connect to the neighbours."""
        import grpc

        self._server = grpc.aio.server(options=server_settings())
        handlers = {
            "Link": grpc.stream_stream_rpc_method_handler(self._link),
            "Status": grpc.unary_unary_rpc_method_handler(self._status),
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        try:
            if self._credentials is None:
                self.port = self._server.add_insecure_port(str(self.config.listen))
            else:
                self.port = self._server.add_secure_port(str(self.config.listen), self._credentials)
        except RuntimeError:
            raise OptionError.of(
                "node-listen", f"cannot listen on {self.config.listen}", hint="is another process listening there?"
            ) from None
        await self._server.start()
        self._spawn(self._sweep())
        for neighbour in self.config.neighbour:
            if neighbour.address is not None:
                self._spawn(self._dial(neighbour))
        log.info("'%s' listens on %s:%d", self.config.name, self.config.listen.host, self.port)

    async def stop(self) -> None:
        """Stop at once, with everything written down."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.stop(grace=0.2)
        self.host.close()

    async def ended(self) -> None:
        """Wait until the node cannot go on; JournalBrokenError says why."""
        await self.host.ended.wait()
        assert self.host.broken is not None
        raise self.host.broken

    def _spawn(self, work: Awaitable[None]) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            self.host.sweep()

    # ---- Whoever connects to this node ---------------------------------------------------------------------------

    async def _link(self, _requests: object, context: Any) -> None:
        import grpc

        codes = grpc.StatusCode
        try:
            await self._serve(ServerStream(context), context)
        except RefusedError as error:
            self.host.counts.refused += 1
            log.warning("refused %s: %s", context.peer(), error)
            await context.abort(codes.PERMISSION_DENIED, str(error))
        except _SessionOverError as error:
            await context.abort(codes.PERMISSION_DENIED, str(error))
        except TimeoutError:
            await context.abort(codes.DEADLINE_EXCEEDED, "nobody said who they are")
        except JournalBrokenError as error:
            await context.abort(codes.UNAVAILABLE, error.diagnostics[0].message)
        except CepheusError as error:
            self.host.counts.refused += 1
            log.warning("refused %s: %s", context.peer(), error.diagnostics[0].message)
            await context.abort(codes.INVALID_ARGUMENT, error.diagnostics[0].message)

    async def _serve(self, stream: ServerStream, context: Any) -> None:
        first = await asyncio.wait_for(stream.read(), _GREETING_SECONDS)
        if first is None:
            return
        hello = decode_hello(first)
        principal = self._gate.admit(hello, shown_names(context.auth_context()), _token_of(context))
        if hello.role == PROCESSOR:
            await self._serve_neighbour(hello, stream)
        elif hello.role == CLIENT:
            await self._serve_client(hello, principal, stream)
        else:
            raise RefusedError(f"'{hello.role}' is no part in a network")

    async def _serve_neighbour(self, hello: Hello, stream: ServerStream) -> None:
        present = self.host.connections.get(hello.name)
        if present is not None and present.dialled and self.config.name < hello.name:
            raise RefusedError("the two nodes are connected already")
        same = self._take_up_neighbour(hello)
        await self._greet(hello.name, stream)
        if same:
            await self._run(hello.name, None, stream)

    async def _serve_client(self, hello: Hello, principal: Principal, stream: ServerStream) -> None:
        peer = client_peer(principal, hello.session)
        clients = sum(name not in self.host.neighbours for name in self.host.connections)
        if clients >= self.config.limits.clients:
            raise RefusedError(f"{clients} clients are connected, more are not allowed")
        self._take_up(peer, hello)
        await self._greet(peer, stream)
        await self._run(peer, principal, stream)

    async def _greet(self, peer: str, stream: Stream) -> None:
        hello = Hello.greeting(self.config.name, PROCESSOR, self.host.link(peer))
        if peer not in self.host.neighbours:
            hello = replace(hello, takes=self.config.limits.message_bytes)
        await stream.write(encode_hello(hello))

    def _take_up_neighbour(self, hello: Hello) -> bool:
        """Take up a link; if one side has forgotten it, both begin anew, as if the other had been away for good."""
        if resume(self.host.link(hello.name), hello):
            return True
        if not self.config.gone_after:
            raise RefusedError("one side has lost its state, and trees are not built anew: gone_after is 0")
        self.host.doubt(hello.name)
        return False

    def _take_up(self, peer: str, hello: Hello) -> None:
        if not resume(self.host.link(peer), hello):
            raise RefusedError("the session has ended: the client was away for too long, or the node lost its state")

    async def _run(self, peer: str, principal: Principal | None, stream: Stream, *, dialled: bool = False) -> None:
        """Serve a connection until it ends."""
        host = self.host
        link = host.link(peer)
        frames = FrameReader() if principal is None else FrameReader(self.config.limits.message_bytes)
        connection = Connection(stream, link, lambda: link.received, dialled, frames)
        host.connect(peer, connection)
        writer = asyncio.ensure_future(connection.write_all())
        reader = asyncio.ensure_future(self._read(peer, principal, connection))
        closed = asyncio.ensure_future(connection.closed.wait())
        ended = False
        try:
            await asyncio.wait([writer, reader, closed], return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                ended = reader.result()
        finally:
            for task in (writer, reader, closed):
                task.cancel()
            await asyncio.gather(writer, reader, closed, return_exceptions=True)
            host.disconnect(peer, connection, for_good=ended)
        if connection.why:
            raise _SessionOverError(connection.why)

    async def _read(self, peer: str, principal: Principal | None, connection: Connection) -> bool:
        """Read until there is no more; True if the other side has said goodbye."""
        pace = Pace(self.config.limits.events_per_second, time.monotonic())
        while True:
            data = await connection.stream.read()
            if data is None:
                connection.reader.end()
                return False
            if self.host.connections.get(peer) is not connection:
                return False
            connection.bytes_in += len(data)
            connection.heard = time.monotonic()
            events = self.host.handle(peer, principal, connection.reader.take(data))
            if connection.leaving:
                return True
            if principal is not None:
                await self.host.until_relieved()
                if pause := pace.take(events, time.monotonic()):
                    await asyncio.sleep(pause)

    async def _status(self, _request: bytes, context: Any) -> bytes:
        import grpc

        try:
            self._gate.client(shown_names(context.auth_context()), _token_of(context))
        except RefusedError as error:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
        return json.dumps(status_of(self.host, self.port)).encode()

    # ---- Neighbours that this node connects to -------------------------------------------------------------------

    async def _dial(self, neighbour: NeighbourConfig) -> None:
        """Keep a connection to a neighbour, whatever happens to it."""
        pause = _FIRST_PAUSE
        if self.config.name > neighbour.name:
            await asyncio.sleep(_COURTESY)  # the other one most likely connects
        while True:
            if neighbour.name not in self.host.connections:
                started = time.monotonic()
                await self._dial_once(neighbour)
                pause = _FIRST_PAUSE if time.monotonic() - started > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _dial_once(self, neighbour: NeighbourConfig) -> None:
        import grpc

        dialler = Dialler(str(neighbour.address), self._own, self._token, neighbour.name)
        stream = dialler.link()
        try:
            await stream.write(
                encode_hello(Hello.greeting(self.config.name, PROCESSOR, self.host.link(neighbour.name)))
            )
            answer = await asyncio.wait_for(stream.read(), _GREETING_SECONDS)
            if answer is None:
                return
            hello = decode_hello(answer)
            if neighbour.name in self.host.connections:
                return
            if hello.name != neighbour.name:
                raise RefusedError(f"'{hello.name}' answers there")
            if self._take_up_neighbour(hello):
                self._said.pop(neighbour.name, None)
                await self._run(neighbour.name, None, stream, dialled=True)
        except grpc.aio.AioRpcError as error:
            finding = None
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                finding = await diagnose(str(neighbour.address), self.config.tls, neighbour.name)
            reason = error.details() or error.code().name.lower()
            self._say(neighbour, reason if finding is None else f"{finding.reason}; {finding.hint}")
        except (RefusedError, CepheusError, TimeoutError) as error:
            self._say(neighbour, str(error) or "it does not answer")
        finally:
            stream.cancel()
            await dialler.close()

    def _say(self, neighbour: NeighbourConfig, what: str) -> None:
        """Say why there is no connection: once, and now and then that it is still so."""
        now = time.monotonic()
        said, since = self._said.get(neighbour.name, ("", 0.0))
        if what != said:
            log.warning("no connection to '%s' at %s: %s", neighbour.name, neighbour.address, what)
        elif now - since > _SAY_AGAIN:
            log.warning("still no connection to '%s' at %s: %s", neighbour.name, neighbour.address, what)
        else:
            return
        self._said[neighbour.name] = (what, now)


def _token_of(context: Any) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization":
            return str(value).removeprefix("Bearer ")
    return ""
