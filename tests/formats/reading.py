"""Files that are written and read again, and what is said of bad ones."""

from pathlib import Path

import pytest

from cepheus.core.errors import EventError, Place
from cepheus.core.event import Event
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.formats import EventFile, IntakeOptions

TEMP = EventType("Temp", (Attribute("area", ValueType.STRING), Attribute("value", ValueType.FLOAT)))
CLOSED = Schema([TEMP], closed=True)
EVERYTHING = IntakeOptions(keep_all=True)


def events(path: Path, options: IntakeOptions = EVERYTHING, chunk_rows: int = 1000) -> list[Event]:
    return [event for chunk in EventFile(path, options, chunk_rows=chunk_rows) for event in chunk.batch.to_events()]


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def failure(path: Path, options: IntakeOptions = EVERYTHING) -> str:
    with pytest.raises(EventError) as caught:
        events(path, options)
    (finding,) = caught.value.diagnostics
    place = finding.place or Place("?")
    return f"{Path(place.name).name}:{place.line}: {finding.code}: {finding.message}"


def one_type(kind: ValueType | None, *, optional: bool = False) -> IntakeOptions:
    return IntakeOptions(schema=Schema([EventType("A", (Attribute("x", kind, optional),))], closed=True))
