"""Processes that are killed at random moments and started again: nothing is lost, and nothing doubled."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from worlds_live import RULES, Record, essence, events, expected, lines_of, payloads, run_until

from cepheus.runtime.live.live_file import read_live_file
from servers.brokers import mosquitto_server, nats_server, redis_server
from servers.postgres import postgres_server, url
from servers.process import free_port

HERE = Path(__file__).parent
Feed = Callable[[list[bytes]], None]
TOML = """
rules = ["fire.tesla"]
[detect]
engine = "reference"
time_unit = "s"
threads = 1
[state]
folder = "state"
every = "50 ms"
[[sources]]
{source}
[[sinks]]
kind = "file"
path = "out.jsonl"
{sinks}
"""


def described(folder: Path, source: str, sinks: str = "") -> Path:
    (folder / "fire.tesla").write_text(RULES)
    path = folder / "live.toml"
    path.write_text(TOML.format(source=source, sinks=sinks))
    return path


def killed(folder: Path, path: Path, feed: Feed, kills: int, seed: int) -> list[Record]:
    """Feed events while runs are killed, then let one run finish; give what was written to the file."""
    given = events(20 * kills)
    answer = expected(given)
    command = [sys.executable, str(HERE / "killing.py"), str(path), str(kills), str(seed), "0.5"]
    killer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert killer.stdout is not None
    parts = payloads(given)
    for _ in killer.stdout:
        feed(parts[:20])
        del parts[:20]
    _, errors = killer.communicate()
    assert killer.returncode == 0, errors
    feed(parts)
    done = lambda: len(lines_of(folder / "out.jsonl")) >= len(answer)  # noqa: E731
    asyncio.run(run_until(read_live_file(path), done))
    found = lines_of(folder / "out.jsonl")
    assert essence(found) == essence(answer)
    return answer


def file_feed(path: Path) -> Feed:
    def feed(part: list[bytes]) -> None:
        with path.open("ab") as file:  # lines are written in pieces, as by a program that writes them
            for payload in part:
                file.write(payload[:7])
                file.flush()
                file.write(payload[7:] + b"\n")

    return feed


def test_a_growing_file(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").touch()
    path = described(tmp_path, 'kind = "file"\npath = "in.jsonl"')
    killed(tmp_path, path, file_feed(tmp_path / "in.jsonl"), 6, 1)


def test_the_command_is_killed_and_stops_in_order(tmp_path: Path) -> None:
    given = events(60)
    feed = file_feed(tmp_path / "in.jsonl")
    feed(payloads(given[:30]))
    path = described(tmp_path, 'kind = "file"\npath = "in.jsonl"')
    command = [sys.executable, "-m", "cepheus", "live", str(path)]

    def until(count: int) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        while len(lines_of(tmp_path / "out.jsonl")) < count and time.monotonic() < end and process.poll() is None:
            time.sleep(0.05)
        return process

    process = until(len(expected(given[:30])))
    process.kill()
    process.communicate()
    feed(payloads(given[30:]))
    process = until(len(expected(given)))
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert "stopped: " in told
    assert essence(lines_of(tmp_path / "out.jsonl")) == essence(expected(given))


@contextmanager
def over_redis(folder: Path) -> Iterator[tuple[Path, Feed, Callable[[], list[Any]]]]:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    # by default a command whose answer is late is sent again, and the event is in the stream twice
    once = Retry(NoBackoff(), 0)
    with redis_server() as server, Redis(port=server.port, socket_timeout=None, retry=once) as client:
        address = f'url = "redis://127.0.0.1:{server.port}"'

        def feed(part: list[bytes]) -> None:
            for payload in part:
                client.xadd("readings", {"data": payload})

        def written() -> list[Any]:
            found: Any = client.xrange("fires")
            return [json.loads(fields[b"data"]) for _, fields in found]

        sink = f'[[sinks]]\nkind = "redis"\nstream = "fires"\n{address}'
        yield described(folder, f'kind = "redis"\nstream = "readings"\n{address}', sink), feed, written


@contextmanager
def over_nats(folder: Path) -> Iterator[tuple[Path, Feed, Callable[[], list[Any]]]]:
    import nats

    with nats_server() as server:
        address = f"nats://127.0.0.1:{server.port}"

        async def prepare() -> None:
            connection = await nats.connect(address)
            for name in ("readings", "fires"):
                await connection.jetstream().add_stream(name=name.upper(), subjects=[name])
            await connection.close()

        async def publish(part: list[bytes]) -> None:
            connection = await nats.connect(address)
            for payload in part:
                await connection.jetstream().publish("readings", payload)
            await connection.close()

        async def fetch() -> list[Any]:
            connection = await nats.connect(address)
            stream = connection.jetstream()
            count = (await stream.stream_info("FIRES")).state.messages
            reader = await stream.pull_subscribe("fires", stream="FIRES")
            found: list[Any] = []
            while len(found) < count:
                found += [json.loads(message.data) for message in await reader.fetch(200, timeout=5)]
            await connection.close()
            return found

        asyncio.run(prepare())
        sink = f'[[sinks]]\nkind = "nats"\nsubject = "fires"\nurl = "{address}"'
        source = f'kind = "nats"\nstream = "READINGS"\nurl = "{address}"'
        yield described(folder, source, sink), lambda part: asyncio.run(publish(part)), lambda: asyncio.run(fetch())


@contextmanager
def over_postgres(folder: Path) -> Iterator[tuple[Path, Feed, Callable[[], list[Any]]]]:
    import psycopg

    with postgres_server() as server, psycopg.connect(url(server), autocommit=True) as connection:
        columns = "id bigserial PRIMARY KEY, type text, time int8, area text, value float8"
        connection.execute(f"CREATE TABLE readings ({columns})")
        statement = "INSERT INTO readings (type, time, area, value) VALUES (%s, %s, %s, %s)"

        def feed(part: list[bytes]) -> None:
            for record in map(json.loads, part):
                connection.execute(statement, (record["type"], record["time"], record["area"], record.get("value")))

        def written() -> list[Any]:
            names = ("type", "time", "area", "value")
            rows = [row[0] for row in connection.execute("SELECT event FROM fires").fetchall()]
            return [{name: row[name] for name in names} for row in rows]

        address = f'url = "{url(server)}"'
        sink = f'[[sinks]]\nkind = "postgres"\ntable = "fires"\n{address}'
        source = f'kind = "postgres"\ntable = "readings"\npoll = "10 ms"\n{address}'
        yield described(folder, source, sink), feed, written


@contextmanager
def over_mqtt(folder: Path) -> Iterator[tuple[Path, Feed, Callable[[], list[Any]]]]:
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    with mosquitto_server() as server:
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", server.port)
        client.loop_start()
        address = f"mqtt://127.0.0.1:{server.port}"
        source = f'kind = "mqtt"\ntopics = ["readings"]\nclient = "killed"\nurl = "{address}"'
        first = paho.Client(CallbackAPIVersion.VERSION2, client_id="killed", protocol=paho.MQTTv5)
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 0xFFFFFFFF
        # else what is published before the first run listens is not kept
        first.connect("127.0.0.1", server.port, clean_start=True, properties=properties)
        first.loop_start()
        ready = threading.Event()
        first.on_subscribe = lambda *_: ready.set()
        time.sleep(0.3)
        first.subscribe("readings", 1)
        assert ready.wait(10)
        first.disconnect()
        first.loop_stop()

        def feed(part: list[bytes]) -> None:
            for payload in part:
                client.publish("readings", payload, 1).wait_for_publish(30)

        yield described(folder, source), feed, lambda: lines_of(folder / "out.jsonl")
        client.disconnect()
        client.loop_stop()


WORLDS = {"redis": over_redis, "nats": over_nats, "postgres": over_postgres, "mqtt": over_mqtt}


@pytest.mark.parametrize("world", ["redis"])
def test_brokers(tmp_path: Path, world: str) -> None:
    with WORLDS[world](tmp_path) as (path, feed, written):
        answer = killed(tmp_path, path, feed, 5, 2)
        assert essence(written()) == essence(answer)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "kills"), [("redis", 100), ("nats", 40), ("postgres", 40), ("mqtt", 40)])
def test_many_kills(tmp_path: Path, world: str, kills: int) -> None:
    seed = int(os.environ.get("CEPHEUS_KILL_SEED", "3"))
    with WORLDS[world](tmp_path) as (path, feed, written):
        answer = killed(tmp_path, path, feed, kills, seed)
        assert essence(written()) == essence(answer)


@pytest.mark.slow
def test_what_was_answered_is_never_lost(tmp_path: Path) -> None:
    port = free_port()
    path = described(tmp_path, f'kind = "http"\nlisten = "{port}"')

    async def post(payload: bytes, here: Callable[[], bool] = lambda: True) -> bool:
        async with aiohttp.ClientSession() as session:
            while here():
                try:
                    async with session.post(f"http://127.0.0.1:{port}/events", data=payload) as answer:
                        if answer.status == 200:
                            return True
                except (aiohttp.ClientError, OSError):
                    pass
                await asyncio.sleep(0.02)
        return False

    given = events(200)
    killer = subprocess.Popen([sys.executable, str(HERE / "killing.py"), str(path), "10", "4", "3.0"])
    parts = [b"\n".join(payloads(given[start : start + 10])) for start in range(0, 200, 10)]
    answered = 0
    while answered < 15 and asyncio.run(post(parts[answered], lambda: killer.poll() is None)):
        answered += 1
    assert killer.wait() == 0
    assert answered > 0
    read = read_live_file(path)

    async def rest() -> None:
        wanted = len(expected(given))
        at_work = asyncio.create_task(run_until(read, lambda: len(lines_of(tmp_path / "out.jsonl")) >= wanted))
        for part in parts[answered:]:
            await post(part)
        await at_work

    asyncio.run(rest())
    found, wanted = essence(lines_of(tmp_path / "out.jsonl")), essence(expected(given))
    assert set(wanted) <= set(found)  # a request that was not answered was sent again, and may be there twice
