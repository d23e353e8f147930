"""Runs that are stopped while a sink is away end soon, and lose nothing by it."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from worlds_live import RULES, essence, events, expected, live, payloads, run

from cepheus.runtime.live.description import Live, When
from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.live.sinks.redis import ToRedis
from cepheus.runtime.live.sources.file import FromFile
from servers.brokers import redis_server
from servers.process import ServerProcess

EVENTS = events(60)
ANSWER = essence(expected(EVENTS))


@pytest.fixture(scope="module")
def redis() -> Iterator[ServerProcess]:
    with redis_server() as server:
        yield server


def entries(server: ServerProcess, stream: str) -> list[dict[str, Any]]:
    from redis import Redis

    with Redis(port=server.port) as client:
        found: Any = client.xrange(stream)
    return [json.loads(fields[b"data"]) for _, fields in found]


def write(path: Path, start: int, end: int) -> None:
    with path.open("ab") as file:
        file.write(b"".join(payload + b"\n" for payload in payloads(EVENTS[start:end])))


async def stopped_while_away(described: Live, server: ServerProcess, more: Path, *, twice: bool) -> float:
    """Run, take the sink away, give it more to write, stop the run; how long the stop took."""
    at_work = LiveRun(described)
    task = asyncio.create_task(at_work.run())
    while not at_work.counts.composites["Fire"]:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(write, more, 30, 60)
    while not at_work.counts.links["out"].trouble:
        await asyncio.sleep(0.01)
    began = time.monotonic()
    at_work.stop()
    if twice:
        await asyncio.sleep(0.05)
        at_work.stop()
    await task
    return time.monotonic() - began


@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("twice", [False, True])
def test_a_run_is_stopped_while_its_sink_is_away(
    tmp_path: Path, redis: ServerProcess, when: When, caplog: pytest.LogCaptureFixture, *, twice: bool
) -> None:
    path = tmp_path / "in.jsonl"
    write(path, 0, 30)
    stream = f"fires-{when.value}-{twice}"
    sink = ToRedis(stream, f"redis://127.0.0.1:{redis.port}")
    described = live(tmp_path, FromFile(path), sink, when=when, grace=60.0 if twice else 0.5)
    with caplog.at_level(logging.WARNING, "cepheus.live"):
        took = asyncio.run(stopped_while_away(described, redis, path, twice=twice))
    assert took < 10
    assert "the run ends without out (no connection to Redis" in caplog.text
    redis.start()
    run(replace(described, sources=live(tmp_path, FromFile(path, follow=False)).sources))
    assert essence(entries(redis, stream)) == ANSWER


def test_the_command_is_stopped_before_its_sink_was_ever_there(tmp_path: Path, redis: ServerProcess) -> None:
    (tmp_path / "fire.tesla").write_text(RULES)
    write(tmp_path / "in.jsonl", 0, 60)
    text = f"""
rules = ["fire.tesla"]
[detect]
engine = "reference"
time_unit = "s"
[flow]
grace = "500 ms"
[[sources]]
kind = "file"
path = "in.jsonl"
follow = false
[[sinks]]
kind = "redis"
stream = "never"
url = "redis://127.0.0.1:{redis.port}"
"""
    (tmp_path / "live.toml").write_text(text)
    redis.kill()
    command = [sys.executable, "-m", "cepheus", "live", str(tmp_path / "live.toml")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    told = next(line for line in process.stderr if "it is tried again" in line)
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=30)[1]
    assert process.returncode == 0, told + rest
    redis.start()
    assert subprocess.run(command, check=False, capture_output=True, timeout=60).returncode == 0
    assert essence(entries(redis, "never")) == ANSWER
