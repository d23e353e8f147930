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
import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from cepheus.core.errors import CepheusError, RuleError, render
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.runtime.network.protocol.codec import encode
from cepheus.runtime.network.protocol.link import Frame, LinkEnd
from cepheus.runtime.network.protocol.messages import (
    Admitted,
    AttachSink,
    AttachSource,
    Delivered,
    Deployed,
    DeployRules,
    DetachSink,
    LateEvents,
    Message,
    Refused,
    WithdrawRules,
)
from cepheus.runtime.network.protocol.strategy import check_supported
from cepheus.runtime.network.transport.access import FATAL, Access, refused, status, unreachable
from cepheus.runtime.network.transport.attachments import AsyncSource, Delivery, Subscription
from cepheus.runtime.network.transport.connection import (
    CLIENT,
    GOODBYE,
    LONGEST,
    Connection,
    Hello,
    NetworkError,
    decode_hello,
    encode_hello,
    resume,
)
from cepheus.runtime.network.transport.known_types import Doubted, KnownTypes, doubts

log = logging.getLogger("cepheus.network")

T = TypeVar("T")

_WINDOW, _WINDOW_BYTES = 64, 8 << 20
"""How many messages, and how much of them, may be under way before those who say more have to wait."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


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
        self.takes = LONGEST
        self._session = (session or Session()).name
        self._link = LinkEnd() if session is None else LinkEnd(session.sent, session.received)
        self._confirmed = None if session is None else session.received
        self._dialler = access.dialler()
        self._connection: Connection | None = None
        self._leaving = False
        self._changed = asyncio.Condition()
        self._failure: CepheusError | None = None
        self._admitted: dict[str, asyncio.Future[int]] = {}
        self._answers: dict[str, asyncio.Future[int | None]] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._doubted: set[Doubted] = set()
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
        full, announced = f"{name}@{self.node}", tuple(types)
        self._admitted[full] = asyncio.get_running_loop().create_future()
        await self.say(AttachSource(full, announced))
        since = await self._outcome(self._admitted[full])
        return AsyncSource(self, full, since, frozenset(announced), await self.known_types())

    async def subscribe(self, *patterns: str, buffer: int = 1000, promises: bool = False) -> Subscription:
        """Subscribe to events of types, or of types and content such as ``Fire(area = 'A1')``.

        ``buffer`` is how many deliveries may wait to be taken before the node has to wait. With ``promises``, they
        also tell up to which time no more will come. A warning is logged, once, for types and attributes that the
        network does not know: a rule that makes such events may be deployed later.
        """
        sink = f"{uuid.uuid4().hex}@{self.node}"
        subscription = Subscription(self, sink, asyncio.Queue(buffer), promises)
        self._subscriptions[sink] = subscription
        await self.extend(subscription, patterns)
        return subscription

    async def extend(self, subscription: Subscription, patterns: Iterable[str]) -> None:
        """Add to a subscription."""
        parsed = [parse_event_pattern(pattern) for pattern in patterns]
        for pattern in parsed:
            await self.say(AttachSink(subscription.sink, pattern, subscription.promises))
        await self.drained()
        found = doubts(parsed, await self.known_types(), self._doubted)
        if found:
            log.warning(render(found))

    def taken_up(self, sink: str, buffer: int = 1000) -> Subscription:
        """Return a subscription of the session that was taken up."""
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

    async def deploy(self, rules: str | RuleSet) -> int | None:
        """Deploy rules; gives the time, in microseconds, from which they hold. RuleError if they are refused.

        None where there is no such time: with many trees each takes the rules up at a moment of its own.
        """
        checked = check(parse(rules) if isinstance(rules, str) else rules, closed=False).rules
        check_supported(checked)
        return await self._request(lambda request: DeployRules(request, checked.rules, checked.declarations))

    async def withdraw(self, names: Iterable[str]) -> int | None:
        """Withdraw rules by name; gives the time from which they no longer hold, None if each tree has its own."""
        given = tuple(names)
        return await self._request(lambda request: WithdrawRules(request, given))

    async def status(self) -> dict[str, Any]:
        """How the node is: trees, rules, clients, traffic."""
        return await status(self.access, self._dialler)

    async def known_types(self, before: KnownTypes | None = None) -> KnownTypes:
        """The types of events that the node knows at present; what was known ``before`` if it is away."""
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
            if self._connection is not None:
                self._leaving = True
                self._connection.note(GOODBYE)
                await asyncio.wait([self._task], timeout=2.0)
        finally:
            await self.abandon()

    async def abandon(self) -> None:
        """Leave without a word; the node waits for a while for this client to come back."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._dialler.close()

    async def _request(self, make: Callable[[str], Message]) -> int | None:
        request = uuid.uuid4().hex
        answer = self._answers[request] = asyncio.get_running_loop().create_future()
        await self.say(make(request))
        return await self._outcome(answer)

    async def say(self, message: Message) -> None:
        """Say something to the node, once it has taken enough of what was said before."""
        await self.say_encoded(encode(message), message)

    async def say_encoded(self, body: bytes, message: Message) -> None:
        """Do the same with a message that has been encoded already."""
        if len(body) > self.takes:
            raise NetworkError.of(
                "message-size",
                f"a message of {len(body)} bytes is more than the node at {self.access.address} takes: {self.takes}",
                hint="say it in parts, or let the node take more: [limits] message_bytes",
            )
        await self._until(lambda: len(self._link.log) < _WINDOW and self._link.waiting < _WINDOW_BYTES)
        self._link.send_encoded(body, message)
        if self._connection is not None:
            self._connection.wake()

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._failure is not None or holds())
        if self._failure is not None:
            raise self._failure

    async def _outcome(self, answer: asyncio.Future[T]) -> T:
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
                if error.code().name in FATAL:
                    await self._fail(refused(self.access.address, reason))
                    return
            except (CepheusError, TimeoutError) as error:
                reason = error.diagnostics[0].message if isinstance(error, CepheusError) else "it does not answer"
            finally:
                if self._connection is not None:
                    pause, last = _FIRST_PAUSE, clock()
                self._connection = None
            if clock() - last > self.access.patience:
                await self._fail(await unreachable(self.access, reason))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect_once(self) -> bool:
        """Serve one connection; True if it ended because this side was done."""
        stream = self._dialler.link()
        writer = None
        try:
            hello = Hello.greeting("", CLIENT, self._link, self._session)
            await stream.write(encode_hello(replace(hello, received=self._acknowledges())))
            answer = await asyncio.wait_for(stream.read(), 10.0)
            if answer is None:
                return False
            hello = decode_hello(answer)
            if not resume(self._link, hello):
                await self._fail(refused(self.access.address, "the node has lost its state"))
                return True
            self.node, self.takes = hello.name, hello.takes
            connection = self._connection = Connection(stream, self._link, self._acknowledges)
            writer = asyncio.ensure_future(connection.write_all())
            if not self._greeted.done():
                self._greeted.set_result(None)
            while (data := await stream.read()) is not None:
                await self._take(connection.reader.take(data))
                connection.wake()
            return self._leaving
        finally:
            if writer is not None:
                writer.cancel()
                await asyncio.gather(writer, return_exceptions=True)
            stream.cancel()

    async def _take(self, frames: Iterable[Frame]) -> None:
        before = len(self._link.log)
        for frame in frames:
            message = self._link.receive(frame)
            if message is not None:
                await self._told(message)
        if len(self._link.log) < before:
            async with self._changed:
                self._changed.notify_all()

    async def _told(self, message: Message) -> None:
        match message:
            case Delivered(sink=sink, events=events, through=through):
                subscription = self._subscriptions.get(sink)
                if subscription is not None:
                    await subscription.queue.put(Delivery(self._link.received, events, through))
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
        known = self._subscriptions.pop(subscription.sink, None) is not None
        subscription.drop()
        if known and self._failure is None:
            await self.say(DetachSink(subscription.sink))


def _settle(answer: asyncio.Future[T] | None, value: T) -> None:
    if answer is not None and not answer.done():
        answer.set_result(value)
