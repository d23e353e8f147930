"""Protobuf payloads, by the descriptor that ``protoc --include_imports --descriptor_set_out=FILE`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from cepheus.core.errors import EventError, OptionError, Place, did_you_mean
from cepheus.core.extras import require
from cepheus.formats.records import Record
from cepheus.runtime.live.payload import Records

_TIMESTAMP = "google.protobuf.Timestamp"


def protobuf_records(descriptor: Path | None, message: str | None) -> Records:
    """What decodes Protobuf payloads: the message of that name in the descriptor."""
    require("google.protobuf", "a source of Protobuf payloads")
    from google.protobuf.message import DecodeError

    kind = _message_class(descriptor, message)

    def decode(payload: bytes) -> Sequence[Record]:
        try:
            found = kind.FromString(payload)
        except DecodeError as error:
            raise EventError.of("protobuf", f"the message is no {message}: {error}") from None
        return [_record(found)]

    return decode


def _message_class(descriptor: Path | None, message: str | None) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError

    if descriptor is None or message is None:
        hint = 'write descriptor = "events.desc" and message = "plant.Reading"'
        raise OptionError.of("live", "Protobuf payloads need a descriptor and the name of a message", hint=hint)
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptor.read_bytes())
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise OptionError.of("file", f"the descriptor '{descriptor}' cannot be read: {reason}") from None
    except (DecodeError, TypeError) as error:
        hint = "write it with protoc --include_imports --descriptor_set_out=FILE"
        raise OptionError.of(
            "protobuf", f"this is no descriptor: {error}", place=Place(str(descriptor)), hint=hint
        ) from None
    names = [f"{file.package}.{each.name}".lstrip(".") for file in files.file for each in file.message_type]
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))
    except (KeyError, TypeError):
        hint = did_you_mean(message, names) or f"it has {', '.join(names)}"
        raise OptionError.of(
            "protobuf", f"the descriptor has no message '{message}'", place=Place(str(descriptor)), hint=hint
        ) from None


def _record(message: Any) -> Record:
    """The fields that a message has; those without presence, of which zero is as good as nothing, always."""
    made: Record = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        made[field.name] = [_value(field, each) for each in value] if field.is_repeated else _value(field, value)
    return made


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return value.ToDatetime(tzinfo=UTC)
        if field.message_type.GetOptions().map_entry:
            raise EventError.of("payload", f"'{field.name}' is a map, which no attribute can be")
        return _record(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    if isinstance(value, bytes):
        raise EventError.of("payload", f"'{field.name}' holds bytes, which no attribute can be")
    return value
