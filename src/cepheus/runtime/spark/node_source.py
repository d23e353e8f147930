"""Composite events of a network as a Spark source: ``spark.readStream.format("cepheus")``.

A stream subscribes once, and its offsets count the messages of that session: the node keeps what a query has not
committed, so that a query that fails and starts again from its checkpoint loses and doubles nothing. Spark asks for
the first offset again if a query ended inside its first batch, so that is the same each time and has no session.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType, TimestampType

from cepheus.core.errors import CepheusError, OptionError, did_you_mean
from cepheus.core.event import Event
from cepheus.runtime.network.transport.access import Access
from cepheus.runtime.network.transport.attachments import Subscription
from cepheus.runtime.network.transport.blocking import background_loop, wait
from cepheus.runtime.network.transport.client import AsyncClient, Session
from cepheus.runtime.network.transport.config import TlsConfig
from cepheus.runtime.network.transport.security import read_token

Row = tuple[Any, ...]
Offset = dict[str, Any]

_DEFAULT_SCHEMA = "type string, time timestamp, id string, event string"
_OPTIONS = ("address", "subscribe", "ca", "cert", "key", "tokenFile", "serverName", "patience", "idle", "count")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BEGINNING: Offset = {"session": "", "sent": 0, "first": 0, "received": 0, "sink": ""}


class CepheusDataSource(DataSource):
    """Events that a node of a network delivers.

    Options: ``address`` (host:port), ``subscribe`` (types or patterns, separated by semicolons), for TLS ``ca``,
    ``cert``, ``key`` and ``serverName``, or ``tokenFile``; ``patience``, the seconds that the node may be away. A
    batch ends when nothing has come for ``idle`` seconds (5), or after ``count`` events.

    The columns of a given schema are ``type``, ``time``, ``id`` and attributes by name; without one, ``event`` is all
    of it as JSON.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "cepheus"

    def schema(self) -> str:
        """The schema of events whose attributes are not known."""
        return _DEFAULT_SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Read what comes for a while."""
        return _BatchReader(dict(self.options), schema)

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:  # noqa: N802 - Spark's name
        """Read what comes, as long as the query runs."""
        return _StreamReader(dict(self.options), schema)


def register_source(spark: SparkSession) -> None:
    """Let a Spark session know the format ``cepheus``: events that a node of a network delivers."""
    spark.dataSource.register(CepheusDataSource)


class _BatchReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._access, self._patterns = _access(options), _patterns(options)
        self._idle = float(options.get("idle", 5.0))
        self._count = int(options["count"]) if "count" in options else None
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[Row]:
        """Read the events, row by row."""
        del partition
        yield from asyncio.run(self._take())

    async def _take(self) -> list[Row]:
        rows: list[Row] = []
        async with await AsyncClient.connect(self._access) as client:
            subscription = await client.subscribe(*self._patterns)
            while self._count is None or len(rows) < self._count:
                events = await subscription.take(self._idle)
                if not events:
                    break
                rows += [row_of(event, self._schema) for event in events]
        return rows[: self._count]


class _StreamReader(SimpleDataSourceStreamReader):
    """Keeps one client in the background; made again from an offset, it takes up the session of that offset."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._access, self._patterns = _access(options), _patterns(options)
        self._schema = schema
        self._state: _Connected | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_state": None}  # whoever reads elsewhere connects anew

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """The offset before the subscription; the stream begins with what is delivered after it."""
        return _BEGINNING

    def read(self, start: Offset) -> tuple[Iterator[Row], Offset]:
        """Read what has come since an offset; returns the next offset as well."""
        state = self._at(start)
        after = int(start["received"]) if start["session"] else state.first
        deliveries = state.deliveries(after)
        end = max([number for number, _ in deliveries], default=after)
        return self._rows(deliveries), state.offset(end)

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[Row]:  # noqa: N802 - Spark's name
        """Read again what came between two offsets; this runs elsewhere, and must not stay connected."""
        after = int(start["received"] if start["session"] else end["first"])
        if after == end["received"]:
            return iter(())
        state = _Connected(self._access, self._patterns, {**end, "received": after})
        try:
            deliveries = state.wait_for(after, int(end["received"]))
        finally:
            state.close()
        return self._rows(deliveries)

    def commit(self, end: Offset) -> None:
        """Let the node forget what the query has written."""
        self._at(end).confirm(int(end["received"]))

    def _at(self, offset: Offset) -> _Connected:
        if self._state is None:
            self._state = _Connected(self._access, self._patterns, offset if offset["session"] else None)
        return self._state

    def _rows(self, deliveries: Sequence[tuple[int, tuple[Event, ...]]]) -> Iterator[Row]:
        return iter([row_of(event, self._schema) for _, events in deliveries for event in events])


class _Connected:
    """A client with one subscription, and the deliveries that are not confirmed, by the numbers of their messages."""

    def __init__(self, access: Access, patterns: Sequence[str], offset: Offset | None) -> None:
        self._lock = threading.Condition()
        self._deliveries: list[tuple[int, tuple[Event, ...]]] = []
        self._failure: CepheusError | None = None
        self._client, self._sink, self.first = wait(self._connect(access, patterns, offset))
        self._before = self.first if offset is None else int(offset["received"])

    def offset(self, received: int) -> Offset:
        """The offset after a message."""
        position = self._client.position
        sent, first = position.sent, self.first
        return {"session": position.name, "sent": sent, "first": first, "received": received, "sink": self._sink}

    def deliveries(self, after: int) -> list[tuple[int, tuple[Event, ...]]]:
        """Return what has come after a message, without waiting."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            return [delivery for delivery in self._deliveries if delivery[0] > after]

    def wait_for(self, after: int, last: int) -> list[tuple[int, tuple[Event, ...]]]:
        """Wait until all that came between two messages is there, and return it."""
        with self._lock:
            self._lock.wait_for(lambda: self._failure is not None or (self._known() >= last))
        return [delivery for delivery in self.deliveries(after) if delivery[0] <= last]

    def confirm(self, received: int) -> None:
        """Let the node and this client forget what came up to a message."""
        with self._lock:
            self._deliveries = [delivery for delivery in self._deliveries if delivery[0] > received]
        background_loop().call_soon_threadsafe(self._client.confirm, received)

    def close(self) -> None:
        """Leave the session for whoever takes it up next."""
        wait(self._leave())

    def _known(self) -> int:
        return self._deliveries[-1][0] if self._deliveries else self._before

    async def _connect(
        self, access: Access, patterns: Sequence[str], offset: Offset | None
    ) -> tuple[AsyncClient, str, int]:
        """Connect; give the client, the name of the subscription, and the last message before it.

        Events may come before ``subscribe`` returns, so that message is looked up first.
        """
        if offset is None:
            client = await AsyncClient.connect(access, Session())
            first = client.position.received
            subscription = await client.subscribe(*patterns)
        else:
            first = int(offset["first"])
            session = Session(str(offset["session"]), int(offset["sent"]), int(offset["received"]))
            client = AsyncClient(access, session)
            subscription = client.taken_up(str(offset["sink"]))
            await client.ready()
        self._watching = asyncio.ensure_future(self._watch(subscription))
        return client, subscription.sink, first

    async def _watch(self, subscription: Subscription) -> None:
        try:
            while True:
                number, events, _ = await subscription.take_delivery()
                with self._lock:
                    self._deliveries.append((number, events))
                    self._lock.notify_all()
        except CepheusError as error:
            with self._lock:
                self._failure = error
                self._lock.notify_all()

    async def _leave(self) -> None:
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        await self._client.abandon()


def row_of(event: Event, schema: StructType) -> Row:
    """Turn an event into a row of a schema."""
    known: dict[str, Any] = {
        "event": json.dumps(event.to_dict(), ensure_ascii=False),
        **event.attributes,
        "type": event.type,
        "time": event.time,
        "id": None if event.id is None else str(event.id),
    }
    return tuple(_cell(known.get(field.name), field.dataType) for field in schema.fields)


def _cell(value: Any, kind: object) -> Any:
    if isinstance(kind, TimestampType) and isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    return value


def _access(options: Mapping[str, str]) -> Access:
    known = {name.lower(): name for name in _OPTIONS}
    for name in options:
        if name.lower() not in known and name != "path":
            hint = did_you_mean(name, _OPTIONS) or f"it has {', '.join(_OPTIONS)}"
            raise OptionError.of("option", f"the format 'cepheus' has no option '{name}'", hint=hint)
    given = {known[name.lower()]: value for name, value in options.items() if name.lower() in known}
    if "address" not in given:
        hint = '.option("address", "host:7600")'
        raise OptionError.of("option", "the format 'cepheus' needs the address of a node", hint=hint)
    paths = [Path(given[name]) if name in given else None for name in ("cert", "key", "ca")]
    token = read_token(Path(given["tokenFile"])) if "tokenFile" in given else ""
    patience = float(given.get("patience", 60.0))
    return Access(given["address"], TlsConfig(*paths), token, given.get("serverName"), patience)


def _patterns(options: Mapping[str, str]) -> list[str]:
    text = next((value for name, value in options.items() if name.lower() == "subscribe"), "")
    patterns = [pattern.strip() for pattern in text.split(";") if pattern.strip()]
    if not patterns:
        hint = '.option("subscribe", "Fire")'
        raise OptionError.of("option", "the format 'cepheus' needs something to subscribe to", hint=hint)
    return patterns
