"""A client of a node, on asyncio: publishes, subscribes, deploys; reconnects by itself, and loses and doubles nothing.

async with await AsyncClient.connect("127.0.0.1:7600") as client:
    await client.deploy("define Fire() from Smoke()")
    fires = await client.subscribe("Fire")
    async with await client.source("sensors", ["Smoke"]) as source:
        await source.publish([Event("Smoke", now)])
    async for fire in fires: ...
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from cepheus.core.errors import CepheusError, EventError, RuleError, render
from cepheus.core.event import Event
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.runtime.network.columns import EventColumns
from cepheus.runtime.network.link import LinkEnd
from cepheus.runtime.network.messages import (
    Admitted,
    AttachSink,
    AttachSource,
    Delivered,
    Deployed,
    DeployRules,
    DetachSink,
    DetachSource,
    LateEvents,
    Message,
    Publish,
    Refused,
    WithdrawRules,
)
from cepheus.runtime.network.supported import check_supported
from cepheus.runtime.network.transport.config import TlsConfig
from cepheus.runtime.network.transport.connection import Connection
from cepheus.runtime.network.transport.diagnosis import diagnose
from cepheus.runtime.network.transport.hello import (
    CLIENT,
    Hello,
    NetworkError,
    decode_bundle,
    decode_hello,
    encode_hello,
    resume,
)
from cepheus.runtime.network.transport.known import KnownTypes, check_events, doubts
from cepheus.runtime.network.transport.security import channel_credentials
from cepheus.runtime.network.transport.streams import ClientStream, Dialler

log = logging.getLogger("cepheus.network")

_WINDOW = 64
_CHUNK = 2000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_FATAL = ("PERMISSION_DENIED", "UNAUTHENTICATED", "INVALID_ARGUMENT", "UNIMPLEMENTED", "RESOURCE_EXHAUSTED")


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a node: its address, certificates, a token, the name that its certificate must have.

    ``patience`` is how many seconds a node may be away before a client gives up.
    """

    address: str
    tls: TlsConfig = field(default_factory=TlsConfig)
    token: str = field(default="", repr=False)
    server_name: str | None = None
    patience: float = 60.0

    def dialler(self) -> Dialler:
        """Give what opens connections."""
        return Dialler(self.address, channel_credentials(self.tls), self.token, self.server_name)


@dataclass(frozen=True, slots=True)
class Session:
    """Where a client was when it stopped: the messages sent, and received and confirmed, of a session of a node.

    With it, another run of the client goes on where this one was, if the node has not ended the session.
    """

    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    sent: int = 0
    received: int = 0


class AsyncClient:
    """A client of one node.

    With a ``session``, what was received is acknowledged only when it is confirmed, and the node keeps it until then.
    """

    def __init__(self, access: Access, session: Session | None = None) -> None:
        self.access = access
        self.node = ""
        self._session = (session or Session()).name
        self._link = LinkEnd() if session is None else LinkEnd(session.sent, session.received)
        self._confirmed = None if session is None else session.received
        self._dialler = access.dialler()
        self._connection: Connection | None = None
        self._stream: ClientStream | None = None
        self._changed = asyncio.Condition()
        self._failure: CepheusError | None = None
        self._admitted: dict[str, asyncio.Future[int]] = {}
        self._answers: dict[str, asyncio.Future[int]] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self.late: dict[str, int] = {}
        self._greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._keep_connected())

    @classmethod
    async def connect(cls, access: Access | str, session: Session | None = None) -> Self:
        """Connect to a node; NetworkError if it cannot be reached or refuses."""
        client = cls(Access(access) if isinstance(access, str) else access, session)
        await client.ready()
        return client

    async def ready(self) -> None:
        """Wait for the first connection."""
        try:
            await self._greeted
        except BaseException:
            await self.abandon()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await (self.close() if kind is None else self.abandon())

    async def source(self, name: str, types: Iterable[str]) -> AsyncSource:
        """Become a source of events of some types; returns once the network is ready for them."""
        full = f"{name}@{self.node}"
        self._admitted[full] = asyncio.get_running_loop().create_future()
        await self._send(AttachSource(full, tuple(types)))
        since = await self._outcome(self._admitted[full])
        return AsyncSource(self, full, since, await self.known_types())

    async def subscribe(self, *patterns: str, buffer: int = 1000) -> Subscription:
        """Subscribe to events of types, or of types and content such as ``Fire(area = 'A1')``.

        ``buffer`` is how many deliveries may wait to be taken before the node has to wait. A warning is logged for
        types and attributes that the network does not know: a rule that makes such events may be deployed later.
        """
        parsed = [parse_event_pattern(pattern) for pattern in patterns]
        sink = f"{uuid.uuid4().hex}@{self.node}"
        subscription = Subscription(self, sink, asyncio.Queue(buffer))
        self._subscriptions[sink] = subscription
        for pattern in parsed:
            await self._send(AttachSink(sink, pattern))
        await self.drained()
        for doubt in doubts(parsed, await self.known_types()):
            log.warning(render([doubt]))
        return subscription

    def taken_up(self, sink: str, buffer: int = 1000) -> Subscription:
        """Give a subscription of the session that was taken up."""
        return self._subscriptions.setdefault(sink, Subscription(self, sink, asyncio.Queue(buffer)))

    @property
    def position(self) -> Session:
        """Where the client is now."""
        return Session(self._session, self._link.sent, self._link.received)

    def confirm(self, received: int) -> None:
        """Let the node forget messages up to a number."""
        if self._confirmed is not None:
            self._confirmed = max(self._confirmed, received)
        if self._connection is not None:
            self._connection.wake()

    def _acknowledges(self) -> int:
        return self._link.received if self._confirmed is None else self._confirmed

    async def deploy(self, rules: str | RuleSet) -> int:
        """Deploy rules; gives the time, in microseconds, from which they hold. RuleError if they are refused."""
        checked = check(parse(rules) if isinstance(rules, str) else rules, closed=False).rules
        check_supported(checked)
        return await self._request(lambda request: DeployRules(request, checked.rules, checked.declarations))

    async def withdraw(self, names: Iterable[str]) -> int:
        """Withdraw rules by name; gives the time from which they no longer hold."""
        given = tuple(names)
        return await self._request(lambda request: WithdrawRules(request, given))

    async def status(self) -> dict[str, Any]:
        """Give how the node is: trees, rules, clients, traffic."""
        return await status(self.access, self._dialler)

    async def known_types(self, before: KnownTypes | None = None) -> KnownTypes:
        """Give the types of events that the node knows at present; what was known ``before`` if it is away."""
        try:
            return KnownTypes.from_json((await self.status())["types"])
        except (CepheusError, KeyError):
            # it is away just now, or does not tell: what was never known cannot be held against anybody
            return KnownTypes() if before is None else before

    async def drained(self) -> None:
        """Wait until the node has everything that was sent to it."""
        await self._until(lambda: not self._link.log)

    async def close(self) -> None:
        """Leave the node, with everything said."""
        try:
            await self.drained()
            if self._stream is not None:
                await self._stream.finish()
                await asyncio.wait([self._task], timeout=2.0)
        finally:
            await self.abandon()

    async def abandon(self) -> None:
        """Leave without a word; the node waits for a while for this client to come back."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._dialler.close()

    async def _request(self, make: Callable[[str], Message]) -> int:
        request = uuid.uuid4().hex
        answer = self._answers[request] = asyncio.get_running_loop().create_future()
        await self._send(make(request))
        return await self._outcome(answer)

    async def _send(self, message: Message) -> None:
        """Say something, once the node has taken enough of what was said before."""
        await self._until(lambda: len(self._link.log) < _WINDOW)
        self._link.send(message)
        if self._connection is not None:
            self._connection.wake()

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._failure is not None or holds())
        if self._failure is not None:
            raise self._failure

    async def _outcome(self, answer: asyncio.Future[int]) -> int:
        waiting: list[asyncio.Future[Any]] = [answer, self._task]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise self._failure or NetworkError.of("network-closed", "the client was closed")
        return answer.result()

    # ---- The connection ------------------------------------------------------------------------------------------

    async def _keep_connected(self) -> None:
        """Connect, again and again, until the node refuses or stays away too long."""
        import grpc

        clock = asyncio.get_running_loop().time
        pause, last = _FIRST_PAUSE, clock()
        while self._failure is None:
            reason = "it closed the connection"
            try:
                if await self._connect_once():
                    return
            except grpc.aio.AioRpcError as error:
                reason = error.details() or error.code().name.lower()
                if error.code().name in _FATAL:
                    await self._fail(_refused(self.access.address, reason))
                    return
            except (CepheusError, TimeoutError) as error:
                reason = error.diagnostics[0].message if isinstance(error, CepheusError) else "it does not answer"
            finally:
                if self._connection is not None:
                    pause, last = _FIRST_PAUSE, clock()
                self._connection = None
            if clock() - last > self.access.patience:
                await self._fail(await _unreachable(self.access, reason))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect_once(self) -> bool:
        """Serve one connection; True if it ended because this side was done."""
        stream = self._stream = self._dialler.link()
        writer = None
        try:
            hello = Hello.greeting("", CLIENT, self._link, self._session)
            await stream.write(encode_hello(replace(hello, received=self._acknowledges())))
            answer = await asyncio.wait_for(stream.read(), 10.0)
            if answer is None:
                return False
            hello = decode_hello(answer)
            if not resume(self._link, hello):
                await self._fail(_refused(self.access.address, "the node has lost its state"))
                return True
            self.node = hello.name
            connection = self._connection = Connection(stream, self._link, self._acknowledges)
            writer = asyncio.ensure_future(connection.write_all())
            if not self._greeted.done():
                self._greeted.set_result(None)
            while (data := await stream.read()) is not None:
                await self._take(data)
                connection.wake()
            return not self._link.log
        finally:
            if writer is not None:
                writer.cancel()
                await asyncio.gather(writer, return_exceptions=True)
            stream.cancel()

    async def _take(self, data: bytes) -> None:
        before = len(self._link.log)
        for frame in decode_bundle(data):
            message = self._link.receive(frame)
            if message is not None:
                await self._told(message)
        if len(self._link.log) < before:
            async with self._changed:
                self._changed.notify_all()

    async def _told(self, message: Message) -> None:
        match message:
            case Delivered(sink=sink, events=events):
                subscription = self._subscriptions.get(sink)
                if subscription is not None:
                    await subscription.queue.put((self._link.received, events))
            case Admitted(source=source, since=since):
                _settle(self._admitted.get(source), since)
            case Deployed(request=request, since=since):
                _settle(self._answers.pop(request, None), since)
            case Refused(request=request, reason=reason):
                answer = self._answers.pop(request, None)
                if answer is not None and not answer.done():
                    answer.set_exception(RuleError.of("network-rules", f"the network refuses the rules: {reason}"))
            case LateEvents(source=source, count=count):
                self.late[source] = self.late.get(source, 0) + count
            case _:
                pass  # nothing else is meant for clients

    async def _fail(self, error: CepheusError) -> None:
        self._failure = error
        if not self._greeted.done():
            self._greeted.set_exception(error)
        for subscription in self._subscriptions.values():
            subscription.fail(error)
        async with self._changed:
            self._changed.notify_all()

    async def leave(self, subscription: Subscription) -> None:
        """End a subscription."""
        if self._subscriptions.pop(subscription.sink, None) is not None and self._failure is None:
            await self._send(DetachSink(subscription.sink))


@dataclass(slots=True)
class AsyncSource:
    """A source of events: publishes them in order of time, and promises how far it has got.

    Events at or before what was promised, or before ``since``, are dropped and counted by the node as late.
    """

    client: AsyncClient
    name: str
    since: int
    known: KnownTypes = field(default_factory=KnownTypes)

    async def publish(self, events: Sequence[Event], through: int | None = None) -> None:
        """Publish events; ``through`` promises that no more come up to that time, in microseconds.

        Returns when they are on their way; waits while the network is behind. EventError, and nothing is published, if
        a value is none that a network carries, or not of the type that the network knows for the attribute.
        """
        if isinstance(events, EventColumns) or len(events) <= _CHUNK:
            chunks = [EventColumns.of(events)]
        else:
            chunks = [EventColumns.of(events[start : start + _CHUNK]) for start in range(0, len(events), _CHUNK)]
        await self._check(chunks)
        for chunk in chunks[:-1]:
            await self.client._send(Publish(self.name, chunk))
        await self.client._send(Publish(self.name, chunks[-1], through))

    async def _check(self, chunks: Iterable[EventColumns]) -> None:
        """Refuse events that do not fit; rules may have changed since the node was asked what it knows."""
        try:
            for chunk in chunks:
                check_events(chunk, self.known)
        except EventError:
            self.known = await self.client.known_types(self.known)
            for chunk in chunks:
                check_events(chunk, self.known)

    async def promise(self, through: int) -> None:
        """Promise that no more events come up to a time, in microseconds."""
        await self.client._send(Publish(self.name, (), through))

    @property
    def late(self) -> int:
        """How many events came too late so far."""
        return self.client.late.get(self.name, 0)

    async def close(self) -> None:
        """Leave: what was published still counts, and nobody waits for more."""
        await self.client._send(DetachSource(self.name))
        await self.client.drained()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()


@dataclass(slots=True)
class Subscription:
    """Events as they are delivered; iterate over it, or take them as they come, many at a time."""

    client: AsyncClient
    sink: str
    queue: asyncio.Queue[tuple[int, tuple[Event, ...]] | CepheusError]
    _ready: deque[Event] = field(default_factory=deque)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            self._ready.extend(await self.take())
        return self._ready.popleft()

    async def take(self, timeout: float | None = None) -> tuple[Event, ...]:
        """Wait for the next events, and give all that came together; none after ``timeout`` seconds."""
        try:
            return (await asyncio.wait_for(self.take_numbered(), timeout))[1]
        except TimeoutError:
            return ()

    async def take_numbered(self) -> tuple[int, tuple[Event, ...]]:
        """Wait for the next events, and give them with the number of their message."""
        found = await self.queue.get()
        if isinstance(found, CepheusError):
            raise found
        return found

    def fail(self, error: CepheusError) -> None:
        """Let whoever waits know that nothing more comes."""
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(error)

    async def close(self) -> None:
        """End the subscription."""
        await self.client.leave(self)


async def status(access: Access, dialler: Dialler | None = None, timeout: float = 10.0) -> dict[str, Any]:
    """Ask a node how it is."""
    import grpc

    used = dialler or access.dialler()
    try:
        found: dict[str, Any] = json.loads(await used.status(timeout))
    except grpc.aio.AioRpcError as error:
        reason = error.details() or error.code().name.lower()
        if error.code().name in _FATAL:
            raise _refused(access.address, reason) from None
        raise await _unreachable(access, reason) from None
    finally:
        if dialler is None:
            await used.close()
    return found


def _settle(answer: asyncio.Future[int] | None, value: int) -> None:
    if answer is not None and not answer.done():
        answer.set_result(value)


def _refused(address: str, reason: str) -> NetworkError:
    return NetworkError.of("network-refused", f"the node at {address} refuses: {reason}")


async def _unreachable(access: Access, reason: str) -> NetworkError:
    """Say that there is no connection; ``reason`` is why as far as gRPC knows, if nothing better is found."""
    finding = await diagnose(access.address, access.tls, access.server_name)
    return NetworkError.of(
        "network-unreachable",
        f"there is no connection to a node at {access.address}: {reason if finding is None else finding.reason}",
        hint="is the node running, and do address, certificates and token fit?" if finding is None else finding.hint,
    )
