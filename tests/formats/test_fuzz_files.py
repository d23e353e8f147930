"""Garbage and damaged files: readers succeed or raise an error of ours, nothing else."""

import contextlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import Event
from cepheus.core.options import ColumnNames, OnBadEvent
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.formats import BadEvents, EventFile, EventWriter, Format, IntakeOptions

EXTENSIONS = [known.value for known in Format]
EVENTS = [
    Event("Temp", 10, {"area": "A1", "value": 24.5, "n": 3}, id="a", errors={"value": Normal(0, 1)}),
    Event("Smoke", 11, {"area": "Ä,2", "ok": True}, id="b", probability=0.5),
    Event("Fire", 12, {"area": "A3"}, id="c", made_of=("a", "b")),
]
SCHEMA = Schema(
    [
        EventType(
            "Temp", (Attribute("area", ValueType.STRING), Attribute("value", ValueType.FLOAT), Attribute("n", None))
        ),
        EventType("Smoke", (Attribute("area", None), Attribute("ok", ValueType.BOOL, optional=True))),
    ]
)
LINES = [b'{"type": "A", "time": 1}', b"type,time,x\n", b"A@1 (x=<1, N(0,1)>)"]
MARKS = [b"\n", b",", b'"', b"{", b"[", b"(", b"-", b":", b"\r", b"\\u", b"\xff", b"\x00", b"\xef\xbb\xbf"]
WORDS = [b"NaN", b"1e999", b"9" * 30, b"time", b"type", b"null"]
PIECES = st.sampled_from([*LINES, *MARKS, *WORDS])
GARBAGE = st.binary(max_size=60) | st.lists(PIECES, max_size=12).map(b"".join)


def try_to_read(extension: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{extension}")
        path.write_bytes(content)
        for options in (
            IntakeOptions(keep_all=True),
            IntakeOptions(schema=SCHEMA),
            IntakeOptions(schema=SCHEMA, columns=ColumnNames(sequence="n")),
        ):
            for policy in OnBadEvent:
                file = EventFile(path, options, BadEvents(policy), chunk_rows=2, max_line=200)
                with contextlib.suppress(EventError, OptionError):
                    count = sum(len(chunk.batch.to_events()) for chunk in file)
                    assert count + file.bad.skipped <= file.read


def valid(extension: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{extension}")
        with EventWriter(path) as writer:
            writer.write(EventBatch.from_events(EVENTS))
        return path.read_bytes()


VALID = {extension: valid(extension) for extension in EXTENSIONS}


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(deadline=None, max_examples=80)
@given(content=GARBAGE)
def test_garbage(extension: str, content: bytes) -> None:
    try_to_read(extension, content)


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_damaged_files(extension: str, data: st.DataObject) -> None:
    content = bytearray(VALID[extension])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        match data.draw(st.sampled_from(["change", "insert", "cut", "drop"])):
            case "change":
                content[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
            case "insert":
                content[at:at] = data.draw(PIECES)
            case "cut":
                del content[at:]
            case _:
                del content[at : at + data.draw(st.integers(1, 8))]
    try_to_read(extension, bytes(content))


def test_a_column_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    path.write_bytes(VALID[".arrow"].replace(b"area", b"ar\xb8a"))
    with pytest.raises(EventError, match="the file cannot be read as Arrow"):
        EventFile(path, IntakeOptions(keep_all=True)).batch()
