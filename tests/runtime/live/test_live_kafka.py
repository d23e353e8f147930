"""Kafka as source and as sink, with a real broker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from worlds_live import essence, events, expected, lines_of, live, payloads, run, run_until

from cepheus.core.options import RunOptions
from cepheus.runtime.live.contract import Messages, Surroundings
from cepheus.runtime.live.sinks.kafka import ToKafka
from cepheus.runtime.live.sources.kafka import FromKafka
from cepheus.runtime.live.sources.scripted import ABORT, END, AbortedError, Scripted, Steps
from cepheus.runtime.live.web import WebServers
from servers.kafka import kafka_server
from servers.process import ServerProcess

pytestmark = pytest.mark.slow
EVENTS = events(300)
GIVEN = payloads(EVENTS)
ANSWER = essence(expected(EVENTS))


@pytest.fixture(scope="module")
def kafka() -> Iterator[ServerProcess]:
    with kafka_server() as server:
        yield server


def produce(port: int, topic: str, part: list[bytes]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}"})
    for number, payload in enumerate(part):
        producer.produce(topic, payload, str(number))
    assert producer.flush(60) == 0


def consume(port: int, topic: str, count: int) -> list[Any]:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "test", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found: list[Any] = []
    end = time.monotonic() + 60
    quiet = 0
    while time.monotonic() < end and (len(found) < count or quiet < 10):
        message = consumer.poll(0.2)
        quiet = quiet + 1 if message is None else 0
        if message is not None and message.error() is None:
            found.append(((message.key() or b"").decode(), json.loads(message.value() or b"")))
    consumer.close()
    return found


def test_a_topic_is_read_over_restarts_of_both(tmp_path: Path, kafka: ServerProcess) -> None:
    produce(kafka.port, "readings", GIVEN[:150])
    options = RunOptions.of(engine="reference", time_unit="s", lateness="1000 s", threads=1)
    source = FromKafka("readings", f"127.0.0.1:{kafka.port}", group="watched", most=40)
    described = live(tmp_path, source, options=options)

    async def both() -> None:
        await run_until(described, (tmp_path / "state" / "state").exists)
        at_work = asyncio.create_task(run_until(described, lambda: seen(150), 120))
        await at_work
        await asyncio.to_thread(kafka.kill)
        at_work = asyncio.create_task(run_until(described, lambda: seen(300), 120))
        await asyncio.sleep(1.0)
        await asyncio.to_thread(kafka.start)
        await asyncio.to_thread(produce, kafka.port, "readings", GIVEN[150:])
        await at_work

    def seen(count: int) -> bool:
        from cepheus.runtime.live.state import SavedState

        saved = SavedState.from_bytes((tmp_path / "state" / "state").read_bytes())
        return bool(sum((saved.sources.get("in") or {}).values()) >= count)

    asyncio.run(both())
    produce(kafka.port, "readings", payloads([{"type": "Temp", "time": 1_900_000_000, "area": "a", "value": 1.5}] * 8))
    asyncio.run(run_until(described, lambda: len(lines_of(tmp_path / "out.jsonl")) >= len(ANSWER)))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_partitions_that_are_read_one_after_the_other_are_not_late(tmp_path: Path, kafka: ServerProcess) -> None:
    """A backlog of two partitions that keep step by event time, read with a lateness that is much shorter."""
    given = events(8000, areas=40)
    last = [{"type": "Temp", "time": given[-1]["time"] + 1000, "area": "none", "value": 0.5}] * 2
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": f"127.0.0.1:{kafka.port}"})
    for number, payload in enumerate(payloads([*given, *last])):
        producer.produce("skewed", payload, partition=number % 2)
    assert producer.flush(60) == 0
    options = RunOptions.of(engine="reference", time_unit="s", lateness="2 s", threads=1)
    described = live(tmp_path, FromKafka("skewed", f"127.0.0.1:{kafka.port}", most=3000), options=options)
    right = essence(expected(given))
    counts = asyncio.run(run_until(described, lambda: len(lines_of(tmp_path / "out.jsonl")) >= len(right), 200))
    assert counts.late == 0
    assert essence(lines_of(tmp_path / "out.jsonl")) == right


def test_a_partition_that_ends_in_marks_of_transactions_is_not_waited_for(tmp_path: Path, kafka: ServerProcess) -> None:
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": f"127.0.0.1:{kafka.port}", "transactional.id": "marks"}
    producer = Producer(settings)
    producer.init_transactions(60)
    for start in (0, 50):
        producer.begin_transaction()
        for number, payload in enumerate(GIVEN[start : start + 50]):
            producer.produce("marked", payload, partition=number % 2)
        producer.commit_transaction(60)

    async def read() -> dict[str | None, Messages]:
        around = Surroundings("in", tmp_path, WebServers())
        reader = FromKafka("marked", f"127.0.0.1:{kafka.port}").build(around)
        await reader.open(None)
        last: dict[str | None, Messages] = {}
        count = 0
        with suppress(TimeoutError):
            while True:
                messages = await asyncio.wait_for(reader.read(), 60 if count < 100 else 5)
                assert messages is not None
                last[messages.lane] = messages
                count += len(messages)
        await reader.close()
        assert count == 100
        return last

    assert not any(messages.more for messages in asyncio.run(read()).values())


def test_a_topic_has_each_composite_event_once(tmp_path: Path, kafka: ServerProcess) -> None:
    steps: Steps = (*GIVEN[:100], ABORT, *GIVEN[100:200], ABORT, *GIVEN[200:], END)
    sink = ToKafka("fires", f"127.0.0.1:{kafka.port}")
    described = live(tmp_path, Scripted(steps, together=20, passed=set()), sink, every=1000.0)
    for _ in range(2):
        with pytest.raises(AbortedError):
            run(described)
    run(described)
    found = consume(kafka.port, "fires", len(ANSWER))
    assert essence(event for _, event in found) == ANSWER
    assert len({key for key, _ in found}) == len(found)
