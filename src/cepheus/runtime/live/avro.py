"""Avro payloads: one record each, by a schema in a file, or files of records that carry their own."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from cepheus.core.errors import EventError, OptionError, Place
from cepheus.core.extras import require
from cepheus.formats.problems import shown
from cepheus.formats.records import Record
from cepheus.runtime.live.payload import Records

_CONTAINER = b"Obj\x01"
_FRAME = 5


def avro_records(schema: Path | None, framing: str = "none") -> Records:
    """What decodes Avro payloads; without a schema they must be container files, which have their own."""
    require("fastavro", "a source of Avro payloads")
    import fastavro

    known = None if schema is None else _schema(schema)

    def decode(payload: bytes) -> Sequence[Record]:
        try:
            if payload.startswith(_CONTAINER):
                return [_plain_record(record) for record in fastavro.reader(io.BytesIO(payload))]
            if known is None:
                raise EventError.of("avro", "the message does not carry its schema", hint='name it: schema = "a.avsc"')
            if framing == "confluent":
                if payload[:1] != b"\0" or len(payload) < _FRAME:
                    raise EventError.of("avro", "the message does not begin with a zero and the number of a schema")
                payload = payload[_FRAME:]
            stream = io.BytesIO(payload)
            record = fastavro.schemaless_reader(stream, known, None)
            if stream.read(1):
                raise EventError.of("avro", "there is more behind the record: it was written with another schema")
            return [_plain_record(record)]
        except EventError:
            raise
        except Exception as error:  # what the library raises on bytes that are no record is anything
            reason = str(error) or "it is cut off"
            raise EventError.of("avro", f"the message does not fit the schema: {reason}") from None

    return decode


def _schema(path: Path) -> Any:
    import fastavro

    try:
        return fastavro.parse_schema(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise OptionError.of("file", f"the schema '{path}' cannot be read: {reason}") from None
    except Exception as error:  # JSON that is none, or no schema: each has errors of its own
        raise OptionError.of("avro", f"this is no schema of Avro: {error}", place=Place(str(path))) from None


def _plain_record(record: object) -> Record:
    if not isinstance(record, dict):
        raise EventError.of("avro", f"the message is {shown(record)}, not a record")
    return {name: plain(value) for name, value in record.items()}


def plain(value: Any) -> Any:
    """A value in the terms of events: what events cannot hold becomes what it is worth, or is refused.

    >>> plain(Decimal("1.5")), plain({"a": [1]})
    (1.5, {'a': [1]})
    """
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case datetime():
            return value
        case date():
            return value.isoformat()
        case bytes():
            raise EventError.of("payload", "the message holds bytes, which no attribute can be")
        case None | str() | bool() | int() | float():
            return value
        case _:
            return str(value)
