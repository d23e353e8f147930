"""The kinds of sources and sinks that a file can name: of each the keys that it has, and what is made of them.

To add one: write its module in ``sources`` or ``sinks`` against the contract, and its record here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cepheus.core.toml_file import (
    ByName,
    Keys,
    Read,
    WrongValueError,
    boolean,
    duration,
    integer,
    parsed,
    path_from,
    text,
    texts,
)
from cepheus.runtime.live.contract import DescribesSink, DescribesSource
from cepheus.runtime.live.sinks.file import ToConsole, ToFile
from cepheus.runtime.live.sinks.http import ToListeners, ToWebhook
from cepheus.runtime.live.sinks.kafka import ToKafka
from cepheus.runtime.live.sinks.mqtt import ToMqtt
from cepheus.runtime.live.sinks.nats import ToNats
from cepheus.runtime.live.sinks.postgres import ToPostgres
from cepheus.runtime.live.sinks.redis import ToRedis
from cepheus.runtime.live.sources.file import FromFile
from cepheus.runtime.live.sources.http import FromHttp, FromWebSocket
from cepheus.runtime.live.sources.kafka import FromKafka
from cepheus.runtime.live.sources.mqtt import FromMqtt
from cepheus.runtime.live.sources.nats import FromNats
from cepheus.runtime.live.sources.postgres import FromPostgres
from cepheus.runtime.live.sources.redis import FromRedis
from cepheus.runtime.live.web import Listen


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source or sink: what describes it, the keys of its table, and those that must be there, with a hint."""

    make: Callable[..., DescribesSource | DescribesSink]
    keys: Keys
    needed: Mapping[str, str] = field(default_factory=dict)


def seconds(value: object, key: str) -> float:
    """Read a duration, in seconds."""
    return duration(positive=True)(value, key) / 1e6


def source_kinds(folder: Path) -> dict[str, Kind]:
    """The kinds of sources; paths in a file are relative to its folder."""
    path = path_from(folder)
    return {
        "file": Kind(FromFile, {"path": path, "follow": boolean, "poll": seconds}, _PATH),
        "http": Kind(FromHttp, {"listen": _LISTEN, "path": text, "token": text}, _WHERE),
        "kafka": Kind(FromKafka, {**_KAFKA, "group": text, "most": integer(1)}, _TOPIC),
        "mqtt": Kind(
            FromMqtt,
            {"topics": texts, "client": text, "url": text, "quality": _quality},
            {"topics": 'such as topics = ["plant/+/temp"]', "client": 'such as client = "cepheus-plant"'},
        ),
        "nats": Kind(
            FromNats,
            {"stream": text, "subject": text, "url": text, "most": integer(1)},
            {"stream": 'such as stream = "READINGS"'},
        ),
        "postgres": Kind(
            FromPostgres,
            {"table": text, "url": text, "column": text, "poll": seconds, "most": integer(1)},
            {"table": 'such as table = "readings"'},
        ),
        "redis": Kind(
            FromRedis,
            {"stream": text, "url": text, "field": text, "most": integer(1), "binary": boolean},
            {"stream": 'such as stream = "readings"'},
        ),
        "websocket": Kind(
            FromWebSocket, {"url": text, "listen": _LISTEN, "path": text, "token": text, "subscribe": text}
        ),
    }


def sink_kinds(folder: Path) -> dict[str, Kind]:
    """The kinds of sinks; paths in a file are relative to its folder."""
    path = path_from(folder)
    return {
        "file": Kind(ToFile, {"path": path}, _PATH),
        "console": Kind(ToConsole, {}),
        "kafka": Kind(ToKafka, _KAFKA, _TOPIC),
        "mqtt": Kind(
            ToMqtt,
            {"topic": text, "url": text, "quality": _quality, "client": text},
            {"topic": 'such as topic = "alarms/{type}"'},
        ),
        "nats": Kind(ToNats, {"subject": text, "url": text}, {"subject": 'such as subject = "alarms.{type}"'}),
        "postgres": Kind(
            ToPostgres, {"table": text, "url": text, "create": boolean}, {"table": 'such as table = "alarms"'}
        ),
        "redis": Kind(
            ToRedis,
            {"stream": text, "url": text, "remember": seconds, "keep": integer(0)},
            {"stream": 'such as stream = "alarms"'},
        ),
        "sse": Kind(ToListeners, _LISTENERS, _WHERE),
        "webhook": Kind(ToWebhook, {"url": text, "token": text}, {"url": 'such as url = "https://host/alarms"'}),
        "websocket": Kind(partial(ToListeners, sockets=True), _LISTENERS, _WHERE),
    }


def _quality(value: object, key: str) -> int:
    """Read the quality of service of MQTT."""
    if value not in (0, 1, 2):
        raise WrongValueError(f"'{key}' is 0, 1 or 2: at most once, at least once, exactly once")
    return int(str(value))


_LISTEN: Read[Listen] = parsed(Listen.of)
_WHERE = {"listen": 'such as listen = "127.0.0.1:8080"'}
_LISTENERS: Keys = {"listen": _LISTEN, "path": text, "keep": integer(1), "token": text}
_KAFKA: Keys = {
    "topic": text,
    "brokers": text,
    "options": ByName(text, 'write options = { "security.protocol" = "SSL" }'),
}
_TOPIC = {"topic": 'such as topic = "readings"'}
_PATH = {"path": 'such as path = "events.jsonl"'}
