"""What a node bears: garbage, messages that are too long, clients that are too fast, too slow or gone."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import time
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from node_servers import access, config, run, serving

from cepheus import Event
from cepheus.core.distribution import parse_distribution
from cepheus.core.errors import EventError
from cepheus.core.schema import EventType
from cepheus.core.time import DAY
from cepheus.network import AsyncClient, NetworkError
from cepheus.rules.expressions import AttributeRef, Comparison, EventPattern, Parameter
from cepheus.rules.model import Pattern, Rule
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.link import Frame, LinkEnd, encode_frame
from cepheus.runtime.network.protocol.messages import (
    VERSION,
    AttachSink,
    AttachSource,
    DeployRules,
    Elect,
    Lost,
    Message,
    Publish,
    Start,
    Tick,
)
from cepheus.runtime.network.transport.connection import (
    CLIENT,
    GOODBYE,
    LINK,
    PIECE,
    Hello,
    decode_hello,
    encode_frames,
    encode_hello,
    pieces,
)
from cepheus.runtime.network.transport.server import NodeServer


async def _says(server: NodeServer, *messages: bytes) -> grpc.StatusCode:
    """Say something raw to a node; give what it thinks of it."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call = channel.stream_stream(LINK)()
        try:
            for message in messages:
                await call.write(message)
            await call.done_writing()
            while await call.read() is not grpc.aio.EOF:
                pass
        except grpc.aio.AioRpcError:
            pass
        code: grpc.StatusCode = await call.code()
        return code


HELLO = encode_hello(Hello("", CLIENT, "session"))


def _frame(message: object) -> bytes:
    return encode_frames([encode_frame(LinkEnd().send(message))])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "messages",
    [
        (b"",),
        (b"garbage",),
        (b"[]",),
        (b'{"v":1}',),
        (json.dumps({"v": VERSION + 1, "name": "", "role": "client"}).encode(),),
        (json.dumps({"v": VERSION, "name": "", "role": "client", "sent": -1}).encode(),),
        (json.dumps({"v": True, "name": "", "role": "client"}).encode(),),
        (HELLO, b"garbage"),
        (HELLO, b"\xff\xff\xff\xff"),
        (HELLO, encode_frames([b""])),
        (HELLO, encode_frames([encode_frame(Frame(1, 0, Tick()))[:-1]])),
        (HELLO, encode_frames([encode_frame(Frame(1, 0, Tick()))])[:-1]),
    ],
)
def test_garbage_is_refused_and_the_node_goes_on(tmp_path: Path, messages: tuple[bytes, ...]) -> None:
    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            assert await _says(server, *messages) is grpc.StatusCode.INVALID_ARGUMENT
            await _works(server)

    run(check())


@pytest.mark.parametrize("message", [Start(), Tick(), Elect(0, "p0")])
def test_clients_do_not_send_what_processors_say(tmp_path: Path, message: object) -> None:
    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            assert await _says(server, HELLO, _frame(message)) is grpc.StatusCode.PERMISSION_DENIED

    run(check())


PARAMETER = EventPattern("A", (Comparison((AttributeRef(None, "n"), Parameter("p")), ("=",)),))


@pytest.mark.parametrize(
    "message",
    [
        AttachSink("k@p1", PARAMETER),
        DeployRules("r", (Rule(EventType("X"), Pattern(EventPattern("A"))),)),
        Publish("s@p1", (Event("A", 2**63 - 1),)),
        Publish("s@p1", (), 2**63 - 1),
    ],
)
def test_what_a_processor_cannot_bear_is_refused_and_not_written_down(tmp_path: Path, message: object) -> None:
    """Found by trying: a subscription with a parameter, a rule without a name, a promise of the end of time."""

    async def check() -> None:
        settings = config(tmp_path)
        async with serving(settings) as server:
            assert await _says(server, HELLO, _frame(message)) is grpc.StatusCode.PERMISSION_DENIED
            await _works(server)
        async with serving(settings) as server:
            await _works(server, at=8)

    run(check())


def test_a_message_that_failed_does_not_keep_a_node_from_coming_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should a processor fail on a message all the same: it is in the journal, and the node starts from that."""
    dispatch = Processor._dispatch
    failed = []

    def failing(processor: Processor, message: Message, sender: str) -> None:
        if message == Lost("nobody"):
            failed.append(message)
            raise KeyError("nobody")
        dispatch(processor, message, sender)

    monkeypatch.setattr(Processor, "_dispatch", failing)

    async def check() -> None:
        settings = config(tmp_path)
        async with serving(settings) as server:
            with pytest.raises(KeyError):
                server.host.tell(Lost("nobody"))
            await _works(server)
            server.host.journal.close_file()
            shutil.copytree(settings.state, tmp_path / "crashed")
        assert len(failed) == 1
        async with serving(replace(settings, state=tmp_path / "crashed")) as server:
            assert len(failed) == 2  # it was told again, from the journal
            await _works(server, at=8)

    run(check())


def test_a_client_whose_message_is_too_long_is_told(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path, "[limits]\nmessage_bytes = 1000\n")) as server:
            client = await AsyncClient.connect(access(server))
            source = await client.source("s", ["A"])
            with pytest.raises(
                EventError, match=r"'A' at 1 makes a message of 2097\d+ bytes, more than the node takes"
            ):
                await source.publish([Event("A", 1, {"text": "x" * (2 << 20)})], 1)
            with pytest.raises(NetworkError, match=r"more than the node at .* takes: 1000"):
                await client.deploy("\n".join(f"define X{n}() from A()" for n in range(20)))
            await source.publish([Event("A", 2)], 2)
            await client.close()

    run(check())


def test_events_are_published_in_as_many_messages_as_a_node_needs(tmp_path: Path) -> None:
    async def check() -> None:
        async with (
            serving(config(tmp_path, "[limits]\nmessage_bytes = 1000\n")) as server,
            await AsyncClient.connect(access(server)) as client,
        ):
            seen = await client.subscribe("A")
            source = await client.source("s", ["A"])
            await source.publish([Event("A", time_, {"text": "x" * 300}) for time_ in range(1, 8)], 7)
            found: list[int] = []
            while len(found) < 7:
                found += [event.time for event in await seen.take(10)]
            assert found == [*range(1, 8)]
            await source.close()

    run(check())


def test_random_bytes_on_the_port_do_no_harm(tmp_path: Path) -> None:
    draw = random.Random(9)

    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            for size in (1, 100, 100_000):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(draw.randbytes(size))
                writer.close()
                del reader
            await _works(server)

    run(check())


def test_a_message_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path, "[limits]\nmessage_bytes = 1000\n")) as server:
            long = _frame(Publish("s", (Event("A", 1, {"text": "x" * (2 * PIECE)}),)))
            assert await _says(server, HELLO, long) is grpc.StatusCode.RESOURCE_EXHAUSTED  # more than a piece at once
            refused = server.host.counts.refused
            told = await _says(server, HELLO, *pieces(long))  # gRPC may cut the stream while pieces are on their way
            assert told in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL)
            assert server.host.counts.refused == refused + 1
            medium = _frame(Publish("s", (Event("A", 1, {"text": "x" * 2000}),)))
            assert await _says(server, HELLO, medium) is grpc.StatusCode.INVALID_ARGUMENT
            await _works(server)

    run(check())


def test_a_client_that_is_too_fast_waits(tmp_path: Path) -> None:
    async def check() -> float:
        async with (
            serving(config(tmp_path, "[limits]\nevents_per_second = 1000\n")) as server,
            await AsyncClient.connect(access(server)) as client,
        ):
            source = await client.source("s", ["A"])
            start = time.monotonic()
            await source.publish([Event("A", 1 + n) for n in range(2000)])
            await client.drained()
            await source.publish([Event("A", 3000)])
            await source.close()
            return time.monotonic() - start

    assert run(check()) > 0.9  # 2000 events at 1000 a second, the first thousand at once


def test_more_clients_than_allowed_are_refused(tmp_path: Path) -> None:
    async def check() -> None:
        async with (
            serving(config(tmp_path, "[limits]\nclients = 1\n")) as server,
            await AsyncClient.connect(access(server)),
        ):
            with pytest.raises(NetworkError, match="more are not allowed"):
                await AsyncClient.connect(access(server))

    run(check())


def test_the_session_of_a_client_that_is_gone_ends(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path, 'session_timeout = "0.2s"\n')) as server:
            client = await AsyncClient.connect(access(server))
            await client.source("s", ["A"])
            await client.abandon()
            assert server.host.node.processor.client_of_source("s@p1") is not None
            for _ in range(100):
                await asyncio.sleep(0.05)
                if server.host.node.processor.client_of_source("s@p1") is None:
                    break
            assert server.host.node.processor.client_of_source("s@p1") is None
            assert list(server.host.node.links) == []

    run(check())


def test_a_sink_that_does_not_keep_up_is_cut_off(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path, "[limits]\nbacklog_bytes = 500\n")) as server:
            sink = await AsyncClient.connect(access(server))
            await sink.subscribe("A")
            await sink.abandon()
            async with await AsyncClient.connect(access(server)) as client:
                source = await client.source("s", ["A"])
                for time_ in range(1, 20):
                    await source.publish([Event("A", time_)], time_)
                await source.close()
            server.host.sweep()
            assert list(server.host.node.processor.sinks.by_name) == []

    run(check())


def test_a_greeting_survives() -> None:
    hello = Hello("p1", CLIENT, "s", 5, 3, 9)
    assert decode_hello(encode_hello(hello)) == hello


async def _works(server: NodeServer, at: int = 7) -> None:
    async with await AsyncClient.connect(access(server)) as client:
        seen = await client.subscribe("A")
        source = await client.source("s", ["A"])
        await source.publish([Event("A", at)], at)
        assert [event.time for event in await seen.take(10)] == [at]
        await source.close()


def test_a_source_publishes_what_it_has_announced(tmp_path: Path) -> None:
    """Found by trying: others were dropped, and counted as late."""

    async def check() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            source = await client.source("s", ["Temp"])
            with pytest.raises(EventError, match="has not announced events of type 'Tmep'"):
                await source.publish([Event("Temp", 5), Event("Tmep", 6)], 6)
            await source.close()

    run(check())


def test_two_clients_do_not_publish_under_one_name(tmp_path: Path) -> None:
    """Found by trying: the second made all events of the first late."""

    async def check() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as first:
            source = await first.source("s", ["A"])
            second = await AsyncClient.connect(access(server))
            with pytest.raises(NetworkError, match="'s@p1' is in use by another client that is connected"):
                await second.source("s", ["A"])
            await second.abandon()
            await source.publish([Event("A", 5)], 5)
            await source.close()
            assert source.late == 0

    run(check())


def test_a_client_takes_up_the_source_of_one_that_is_gone(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            first = await AsyncClient.connect(access(server))
            await first.source("s", ["A"])
            await first.abandon()
            for _ in range(2_000):
                if not server.host.connections:
                    break
                await asyncio.sleep(0.02)
            await _works(server)

    run(check())


def test_times_far_ahead_of_the_clock_are_refused(tmp_path: Path) -> None:
    """Found by trying: one event of the year 2100 made all others late."""
    tomorrow = time.time_ns() // 1000 + DAY

    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            for message in (Publish("s@p1", (Event("A", tomorrow + DAY),)), Publish("s@p1", (), tomorrow + DAY)):
                assert await _says(server, HELLO, _frame(message)) is grpc.StatusCode.PERMISSION_DENIED
            await _works(server, at=tomorrow - DAY // 2)
        async with serving(config(tmp_path, '[limits]\nahead = "0s"\n', "p2")) as server:
            await _works(server, at=tomorrow + DAY)

    run(check())


@pytest.mark.parametrize(
    "event", [Event("A", 7, probability=0.5), Event("A", 7, {"n": 1.0}, errors={"n": parse_distribution("N(0, 1)")})]
)
def test_uncertain_events_are_refused(tmp_path: Path, event: Event) -> None:
    async def check() -> None:
        async with (
            serving(config(tmp_path)) as server,
            await AsyncClient.connect(access(server)) as client,
        ):
            assert await _says(server, HELLO, _frame(Publish("s@p1", (event,)))) is grpc.StatusCode.PERMISSION_DENIED
            source = await client.source("s", ["A"])
            with pytest.raises(EventError, match="type 'A' at 7 is uncertain"):
                await source.publish([event], 7)
            await source.close()

    run(check())


def test_a_source_belongs_to_whoever_attached_it(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            goodbye = encode_frames([encode_frame(Frame(0, 0, None, GOODBYE))])
            assert await _says(server, HELLO, _frame(AttachSource("s", ("A",))) + goodbye) is grpc.StatusCode.OK
            assert list(server.host.node.links) == []  # a client that is done leaves nothing behind

    run(check())


def test_a_client_that_ends_without_a_goodbye_may_come_back(tmp_path: Path) -> None:
    """The stream of a client that dies just ends, too, and at times its session was forgotten at once."""

    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            assert await _says(server, HELLO, _frame(AttachSource("s", ("A",)))) is grpc.StatusCode.OK
            assert server.host.node.processor.client_of_source("s") == "client:anybody:session"
            again = encode_hello(Hello("", CLIENT, "session", sent=1, kept=2))
            assert await _says(server, again) is grpc.StatusCode.OK

    run(check())
