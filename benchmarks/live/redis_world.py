"""A Redis of our own with a stream of readings, for as long as a measurement takes; and who fills it."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from cepheus.core.errors import OptionError

KEYS = 1000
SMOKE_SHARE = 0.01
RULES = """
define Fire(area: string, value: double)
from Smoke(area = $a) and last Temp(area = $a, value > 45) within 5 min from Smoke
where area = Smoke.area, value = Temp.value
"""
READINGS, FIRES = "readings", "fires"
_AT_ONCE = 2000


@contextmanager
def redis_server() -> Iterator[int]:
    """A server without a disk; gives its port."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise OptionError.of("live", "there is no Redis to measure with", hint="apt-get install redis-server")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                    break
                time.sleep(0.02)
            yield port
        finally:
            process.kill()
            process.wait()


def reading(chance: random.Random, moment: int) -> str:
    """One event, at a time in microseconds, as JSON."""
    kind = "Smoke" if chance.random() < SMOKE_SHARE else "Temp"
    event: dict[str, Any] = {"type": kind, "time": moment, "area": f"a{chance.randrange(KEYS)}"}
    if kind == "Temp":
        event["value"] = round(chance.random() * 50, 2)
    return json.dumps(event, separators=(",", ":"))


def fill(port: int, count: int) -> None:
    """Add events that happened ten microseconds after one another, one an entry."""
    from redis import Redis

    chance = random.Random(1)
    start = 1_800_000_000_000_000
    with Redis(port=port) as client:
        for first in range(0, count, _AT_ONCE):
            pipeline = client.pipeline(transaction=False)
            for number in range(first, min(first + _AT_ONCE, count)):
                pipeline.execute_command("XADD", READINGS, "*", "data", reading(chance, start + 10 * number))
            pipeline.execute()


def pace(port: int, rate: int, seconds: float) -> None:
    """Add events at a rate, two milliseconds' worth at a time, each with the time of now."""
    from redis import Redis

    chance = random.Random(2)
    step = 0.002
    each = max(1, round(rate * step))
    with Redis(port=port) as client:
        begin = time.perf_counter()
        for tick in range(round(seconds / step)):
            pause = begin + tick * step - time.perf_counter()
            if pause > 0:
                time.sleep(pause)
            now = time.time_ns() // 1000
            pipeline = client.pipeline(transaction=False)
            for number in range(each):
                pipeline.execute_command("XADD", READINGS, "*", "data", reading(chance, now + number))
            pipeline.execute()


@contextmanager
def paced(port: int, rate: int, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """A process that adds events at a rate."""
    command = [sys.executable, "-m", "benchmarks.live.redis_world", str(port), str(rate), str(seconds)]
    process = subprocess.Popen(command)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    pace(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
