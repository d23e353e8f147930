"""From payloads to events: what the messages of a source hold, by a small declaration.

    format = "json"                       # or "avro", "protobuf"
    type = "Temp"                         # if payloads do not tell it
    each = "data.readings"                # where the events of a payload are, if it holds several
    fields = { time = "meta.ts", area = "$topic.1" }    # the fields of events, by the way to them

A payload is an object; without ``fields`` its keys are the fields of the event. A way goes through objects by keys,
separated by dots, and through lists by places counted from 0. ``$topic`` is the message's topic or subject, and
``$topic.1`` the part of it at place 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cepheus.core.batch import IntArray
from cepheus.core.errors import Diagnostic, EventError, OptionError, Place
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.formats.intervals import ARGUMENTS, END, named
from cepheus.formats.jsonl import parse_json_line
from cepheus.formats.problems import placed
from cepheus.formats.records import Record
from cepheus.formats.rows import Numbers, RecordRows, Rows, pick
from cepheus.runtime.live.arrow_json import FEWEST, ArrowJson
from cepheus.runtime.live.contract import Messages

MOST_IN_ONE = 1 << 20
"""How many events one message may hold: the number of an event is that of its message times this, plus its place."""

TOPIC = "$topic"
_SEPARATORS = re.compile(r"[./]")
Way = tuple[str, ...]


class Records(Protocol):
    """Decodes one payload: the object that it holds or, where the format has such, several."""

    def __call__(self, payload: bytes) -> Sequence[Record]:
        """Decode it; EventError if it cannot be."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What the messages of a source hold; ``build`` gives the decoder.

    ``lines`` says that a message holds one event a line. ``schema`` is a file with the schema of Avro payloads,
    ``framing`` says what stands before each (``confluent``: a zero and the number of a schema); ``descriptor`` is a
    file that protoc wrote of Protobuf payloads, ``message`` the name of their message.
    """

    format: str = "json"
    type: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    each: str | None = None
    lines: bool = False
    schema: Path | None = None
    framing: str = "none"
    descriptor: Path | None = None
    message: str | None = None

    def build(self, expected: Schema, options: RunOptions, *, intervals: bool = False) -> Decoder:
        """Make the decoder for rules that expect some events."""
        return Decoder(self, expected, options, intervals=intervals)

    def records(self) -> Records:
        """What decodes one payload; OptionError if the declaration lacks something."""
        match self.format:
            case "json":
                return _json_lines if self.lines else _json
            case "avro":
                from cepheus.runtime.live.avro import avro_records

                return avro_records(self.schema, self.framing)
            case "protobuf":
                from cepheus.runtime.live.protobuf import protobuf_records

                return protobuf_records(self.descriptor, self.message)
            case _:
                hint = "choose json, avro or protobuf"
                raise OptionError.of("live", f"there is no format '{self.format}' of payloads", hint=hint)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The events of messages, before they are checked: rows, the number of each, and the message it came in.

    ``faults`` are messages that could not be decoded, by their place among the messages.
    """

    rows: Rows
    numbers: Numbers
    origins: Numbers
    faults: Mapping[int, Diagnostic] = field(default_factory=dict)


class Decoder:
    """Decodes the messages of one source, many at once where they are JSON of one shape."""

    def __init__(self, payload: Payload, expected: Schema, options: RunOptions, *, intervals: bool = False) -> None:
        self._payload = payload
        self.fewest = FEWEST
        self._records = payload.records()
        self._ways = {name: tuple(way.split(".")) for name, way in payload.fields.items()}
        self._each: Way | None = None if payload.each is None else tuple(payload.each.split("."))
        self._many = payload.lines or self._each is not None
        self._columns = options.columns
        self._expected = expected if intervals else None
        simple = all(len(way) == 1 and way[0] != TOPIC for way in self._ways.values())
        keys = {way[0]: name for name, way in self._ways.items()}
        quick = payload.format == "json" and not self._many and simple and len(keys) == len(self._ways)
        if self._ways and quick:
            named_fields = {a.named_by_data for each in expected.values() for a in each.attributes}
            quick = not (named_fields - self._ways.keys())  # else a field would come from a key of its own name
        self._arrow = ArrowJson.of(expected, options, keys, payload.type) if quick and not intervals else None

    def decode(self, messages: Messages) -> Decoded:
        """The events of some messages."""
        if self._arrow is not None and len(messages) >= self.fewest:
            rows = self._arrow.decode(_joined(messages), len(messages))
            if rows is not None:
                return Decoded(rows, messages.numbers, range(len(messages)))
        decoded, records = self._one_by_one(messages)
        if self._arrow is not None and len(messages) >= self.fewest:
            self._arrow.learn(records)
        return decoded

    def _one_by_one(self, messages: Messages) -> tuple[Decoded, list[Record]]:
        records: list[Record] = []
        origins: list[int] = []
        places: list[int] = []
        faults: dict[int, Diagnostic] = {}
        topics = messages.origins
        for index, payload in enumerate(messages.payload_list()):
            if messages.joined is not None and not payload.strip():
                continue  # a blank line of a file is no message
            try:
                found = self._events(payload, None if topics is None else topics[index])
                if len(found) > MOST_IN_ONE:
                    raise EventError.of("payload", f"the message holds more than {MOST_IN_ONE} events")
            except EventError as error:
                faults[index] = placed(error, Place("message", index + 1))
                continue
            records += found
            origins += [index] * len(found)
            places += range(len(found))
        rows: IntArray = np.array(origins, np.int64)
        numbers = pick(messages.numbers, rows)
        if self._many:
            numbers = np.asarray(numbers) * MOST_IN_ONE + np.array(places, np.int64)
        return Decoded(RecordRows(records), numbers, rows, faults), records

    def _events(self, payload: bytes, topic: str | None) -> list[Record]:
        found: list[Record] = []
        for record in self._records(payload):
            for event in [record] if self._each is None else _listed(record, self._each):
                made = event if not self._ways else self._fields(event, record, topic)
                if self._payload.type is not None:
                    made = {**made, self._columns.type: self._payload.type}
                found.append(made if self._expected is None else self._named(made))
        if not self._many and len(found) != 1:
            raise EventError.of("payload", "the message holds no event" if not found else "the message holds many")
        return found

    def _fields(self, event: Record, whole: Record, topic: str | None) -> Record:
        made: Record = {}
        for name, way in self._ways.items():
            value = _topic(topic, way) if way[0] == TOPIC else _at(event, way)
            if value is None and self._each is not None and way[0] != TOPIC:
                value = _at(whole, way)
            if value is not None:
                made[name] = value
        return made

    def _named(self, record: Record) -> Record:
        """An event over an interval may have its attributes as a list of arguments."""
        if record.keys().isdisjoint((ARGUMENTS, END)) or self._expected is None:
            return record
        name = record.get(self._columns.type)
        known = self._expected[name] if isinstance(name, str) and name in self._expected else None
        return named(record, known, self._columns.time)


def _json(payload: bytes) -> Sequence[Record]:
    record = parse_json_line(_text(payload).replace("\n", " "))
    if record is None:
        raise EventError.of("json", "the message is empty")
    return [record]


def _json_lines(payload: bytes) -> Sequence[Record]:
    found = (parse_json_line(line) for line in _text(payload).split("\n"))
    return [record for record in found if record is not None]


def _text(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError:
        raise EventError.of("utf-8", "the message is not valid UTF-8") from None


def _joined(messages: Messages) -> bytes:
    if messages.joined is not None:
        return messages.joined
    joined = b"\n".join(messages.payloads)
    if joined.count(b"\n") != len(messages) - 1:  # line ends in JSON are nothing but space
        joined = b"\n".join(payload.replace(b"\n", b" ") for payload in messages.payloads)
    return joined


def _listed(record: Record, way: Way) -> list[Record]:
    found = _at(record, way)
    if isinstance(found, dict):
        return [found]
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise EventError.of("payload", f"there is no list of events at '{'.'.join(way)}'")
    return found


def _at(record: object, way: Way) -> Any:
    """What is at the end of a way, None if the way leads nowhere.

    >>> _at({"a": {"b": [7, 8]}}, ("a", "b", "1"))
    8
    """
    found = record
    for step in way:
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found


def _topic(topic: str | None, way: Way) -> str | None:
    """The topic of a message, or a part of it: its levels, or the tokens of its subject.

    >>> _topic("plant/hall/7", ("$topic", "1")), _topic("plant.hall.7", ("$topic",))
    ('hall', 'plant.hall.7')
    """
    if topic is None or len(way) == 1:
        return topic
    parts = _SEPARATORS.split(topic)
    return parts[int(way[1])] if way[1].isdigit() and int(way[1]) < len(parts) else None
