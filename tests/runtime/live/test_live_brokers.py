"""Every broker and database as source and as sink, with a server that is killed and comes back on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from worlds_live import essence, events, expected, lines_of, live, payloads, run, run_until

from cepheus.runtime.live.payload import Payload
from cepheus.runtime.live.sinks.mqtt import ToMqtt
from cepheus.runtime.live.sinks.nats import ToNats
from cepheus.runtime.live.sinks.postgres import ToPostgres
from cepheus.runtime.live.sinks.redis import ToRedis
from cepheus.runtime.live.sources.mqtt import FromMqtt
from cepheus.runtime.live.sources.nats import FromNats
from cepheus.runtime.live.sources.postgres import FromPostgres
from cepheus.runtime.live.sources.redis import FromRedis
from cepheus.runtime.live.sources.scripted import ABORT, END, AbortedError, Scripted, Steps
from servers.brokers import mosquitto_server, nats_server, redis_server
from servers.postgres import postgres_server, url
from servers.process import ServerProcess

EVENTS = events(200)
GIVEN = payloads(EVENTS)
ANSWER = essence(expected(EVENTS))
CRASHING: Steps = (*GIVEN[:70], ABORT, *GIVEN[70:140], ABORT, *GIVEN[140:], END)


@pytest.fixture(scope="module")
def redis() -> Iterator[ServerProcess]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="module")
def nats() -> Iterator[ServerProcess]:
    with nats_server() as server:
        yield server


@pytest.fixture(scope="module")
def mosquitto() -> Iterator[ServerProcess]:
    with mosquitto_server() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[ServerProcess]:
    with postgres_server() as server:
        yield server


def crash_twice(folder: Path, sink: Any) -> None:
    """Run a script that breaks down twice; state is saved seldom, so that much is found again."""
    described = live(folder, Scripted(CRASHING, together=20, passed=set()), sink, every=1000.0)
    for _ in range(2):
        with pytest.raises(AbortedError):
            run(described)
    run(described)


def complete(folder: Path) -> Any:
    return lambda: len(lines_of(folder / "out.jsonl")) >= len(ANSWER)


def test_redis_streams(tmp_path: Path, redis: ServerProcess) -> None:
    from redis import Redis

    address = f"redis://127.0.0.1:{redis.port}"
    client = Redis.from_url(address)

    async def both() -> None:
        for payload in GIVEN[:100]:
            client.xadd("readings", {"other": "x", "data": payload.replace(b", ", b",\n")})
        described = live(tmp_path, FromRedis("readings", address, most=30))
        at_work = asyncio.create_task(run_until(described, complete(tmp_path)))
        await asyncio.sleep(0.3)
        redis.kill()
        await asyncio.sleep(0.3)
        redis.start()
        for payload in GIVEN[100:]:
            client.xadd("readings", {"data": payload})
        counts = await at_work
        assert counts.links["in"].reconnects >= 1

    asyncio.run(both())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    crash_twice(tmp_path / "sink", ToRedis("fires", address))
    found: Any = client.xrange("fires")
    assert essence(json.loads(fields[b"data"]) for _, fields in found) == ANSWER
    client.close()


def test_nats_streams(tmp_path: Path, nats: ServerProcess) -> None:
    import nats as library

    address = f"nats://127.0.0.1:{nats.port}"

    async def source() -> None:
        connection = await library.connect(address)
        stream = connection.jetstream()
        await stream.add_stream(name="READINGS", subjects=["readings.>"])
        for event, payload in zip(EVENTS[:100], GIVEN, strict=False):
            await stream.publish(f"readings.{event['area']}", payload)
        fields = {"type": "type", "time": "time", "value": "value", "area": "$topic.1"}
        described = live(tmp_path, FromNats("READINGS", "readings.>", address, 30), payload=Payload(fields=fields))
        at_work = asyncio.create_task(run_until(described, complete(tmp_path)))
        await asyncio.sleep(0.3)
        await connection.close()
        nats.kill()
        await asyncio.sleep(0.3)
        nats.start()
        connection = await library.connect(address)
        for event, payload in zip(EVENTS[100:], GIVEN[100:], strict=True):
            await connection.jetstream().publish(f"readings.{event['area']}", payload)
        await at_work
        await connection.jetstream().add_stream(name="FIRES", subjects=["fires.>"])
        await connection.close()

    asyncio.run(source())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    crash_twice(tmp_path / "sink", ToNats("fires.{type}", address))

    async def written() -> list[Any]:
        connection = await library.connect(address)
        reader = await connection.jetstream().pull_subscribe("fires.Fire", stream="FIRES")
        found = await reader.fetch(len(ANSWER) + 5, timeout=2)
        await connection.close()
        return [json.loads(message.data) for message in found]

    assert essence(asyncio.run(written())) == ANSWER


def test_mqtt_topics(tmp_path: Path, mosquitto: ServerProcess) -> None:
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    address = f"mqtt://127.0.0.1:{mosquitto.port}"

    def publish(part: list[bytes]) -> None:
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.max_inflight_messages_set(1000)
        client.connect("127.0.0.1", mosquitto.port)
        client.loop_start()
        for sent in [client.publish("plant/hall", payload, 1) for payload in part]:
            sent.wait_for_publish(30)
        client.disconnect()
        client.loop_stop()

    described = live(tmp_path, FromMqtt(("plant/+",), "cepheus-test", address))
    half = essence(expected(EVENTS[:100]))

    async def both() -> None:
        at_work = asyncio.create_task(run_until(described, lambda: len(lines_of(tmp_path / "out.jsonl")) >= len(half)))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(publish, GIVEN[:100])
        await at_work
        await asyncio.to_thread(publish, GIVEN[100:])  # nobody listens: the broker keeps it
        await run_until(described, complete(tmp_path))

    asyncio.run(both())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER

    heard: list[Any] = []
    listener = paho.Client(CallbackAPIVersion.VERSION2)
    listener.on_message = lambda _c, _d, message: heard.append(json.loads(message.payload))
    listener.connect("127.0.0.1", mosquitto.port)
    listener.subscribe("fires/#", 1)
    listener.loop_start()
    run(live(tmp_path / "sink", Scripted((*GIVEN, END), together=20), ToMqtt("fires/{type}", address)))

    async def all_heard() -> None:
        while len(heard) < len(ANSWER):
            await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(all_heard(), 30))
    listener.disconnect()
    listener.loop_stop()
    assert essence(heard) == ANSWER


def test_postgres_tables(tmp_path: Path, postgres: ServerProcess) -> None:
    import psycopg

    address = url(postgres)
    with psycopg.connect(address, autocommit=True) as connection, psycopg.connect(address) as slow:
        connection.execute(
            "CREATE TABLE readings (id bigserial PRIMARY KEY, type text, time timestamptz, area text, value float8)"
        )
        insert = "INSERT INTO readings (type, time, area, value) VALUES (%s, to_timestamp(%s), %s, %s)"
        rows = [(e["type"], e["time"], e["area"], e.get("value")) for e in EVENTS]

        async def both() -> None:
            for row in rows[:50]:
                connection.execute(insert, row)
            slow.execute(insert, rows[50])  # its number is taken, but nobody can see it yet
            for row in rows[51:]:
                connection.execute(insert, row)
            described = live(tmp_path, FromPostgres("readings", address, poll=0.02, most=40))
            at_work = asyncio.create_task(run_until(described, complete(tmp_path)))
            await asyncio.sleep(0.5)
            assert not at_work.done()
            slow.commit()
            await at_work

        asyncio.run(both())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    crash_twice(tmp_path / "sink", ToPostgres("fires", address))
    with psycopg.connect(address) as connection:
        assert essence(row[0] for row in connection.execute("SELECT event FROM fires").fetchall()) != []
        found = [dict(row[0]) for row in connection.execute("SELECT event FROM fires").fetchall()]
        assert sorted(json.dumps(each, sort_keys=True) for each in map(_plain, found)) == sorted(
            json.dumps(_plain(each), sort_keys=True) for each in expected(EVENTS)
        )


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in ("id", "from", "start")}


def test_a_sink_that_is_not_there_is_waited_for(tmp_path: Path, redis: ServerProcess) -> None:
    from redis import Redis

    address = f"redis://127.0.0.1:{redis.port}"
    redis.kill()
    described = live(tmp_path, Scripted((*GIVEN, END), together=50), ToRedis("waited", address))

    async def both() -> None:
        at_work = asyncio.create_task(run_until(replace(described, every=0.1), lambda: False))
        await asyncio.sleep(0.5)
        redis.start()
        await at_work

    asyncio.run(both())
    with Redis.from_url(address) as client:
        found: Any = client.xrange("waited")
        assert essence(json.loads(fields[b"data"]) for _, fields in found) == ANSWER
