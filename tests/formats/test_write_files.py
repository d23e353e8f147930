"""Writing: what the files hold, and that reading gives the same events back."""

import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Discrete, Distribution, Mixture, Normal, Uniform
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import Event, EventId
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import Value, ValueType
from cepheus.formats import EventFile, EventWriter, Format, IntakeOptions, schema_of

FIRE = [
    Event("Temp", 2_000_000, {"area": "A1", "value": 24.0}, errors={"value": Normal(0, 1)}, id=0),
    Event("Fire", 3_500_000, {"area": 'a "b", c', "hot": True}, id="Fire:1", probability=0.5, made_of=(0, "x")),
]
EXTENSIONS = [known.value for known in Format]


def write(path: Path, events: list[Event], unit: TimeUnit = TimeUnit.US, parts: int = 1) -> None:
    with EventWriter(path, unit) as writer:
        for start in range(0, len(events), max(1, len(events) // parts)):
            writer.write(EventBatch.from_events(events[start : start + max(1, len(events) // parts)]))


def read(path: Path, schema: Schema, unit: TimeUnit = TimeUnit.US) -> list[Event]:
    return EventFile(path, IntakeOptions(schema=schema, unit=unit)).batch().to_events()


def test_json_lines_as_text(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", FIRE, TimeUnit.S)
    assert (tmp_path / "a.jsonl").read_text() == (
        '{"type": "Temp", "time": 2, "area": "A1", "value": {"value": 24.0, "error": "N(0, 1)"}, "id": 0}\n'
        '{"type": "Fire", "time": "1970-01-01T00:00:03.500000Z", "area": "a \\"b\\", c", "hot": true, "id": "Fire:1",'
        ' "probability": 0.5, "from": [0, "x"]}\n'
    )


def test_notation_as_text(tmp_path: Path) -> None:
    write(tmp_path / "a.events", FIRE, TimeUnit.S)
    assert (tmp_path / "a.events").read_text() == (
        "Temp@2 (area='A1', value=<24.0, N(0, 1)>, id=0)\n"
        "Fire@'1970-01-01T00:00:03.500000Z' %0.5 (area='a \"b\", c', hot=true, id='Fire:1', from=[0, 'x'])\n"
    )


@pytest.mark.parametrize("parts", [1, 2])
def test_csv_as_text(tmp_path: Path, parts: int) -> None:
    write(tmp_path / "a.csv", FIRE, TimeUnit.S, parts)
    assert (tmp_path / "a.csv").read_text() == (
        'type,time,area,value,hot,id,probability,from\nTemp,2,A1,"<24.0, N(0, 1)>",,0,1.0,\n'.replace(
            "1.0", "1.0" if parts == 1 else ""
        )
        + 'Fire,1970-01-01T00:00:03.500000Z,"a ""b"", c",,true,Fire:1,0.5,0 x\n'
    )


def test_columns_of_a_table(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", FIRE, TimeUnit.S)
    table = pq.read_table(tmp_path / "a.parquet")
    uncertain = pa.struct([("value", pa.float64()), ("error", pa.string())])
    assert {field.name: field.type for field in table.schema} == {
        "type": pa.string(),
        "time": pa.timestamp("us", tz="UTC"),
        "area": pa.string(),
        "value": uncertain,
        "hot": pa.bool_(),
        "id": pa.string(),
        "probability": pa.float64(),
        "from": pa.list_(pa.string()),
    }
    write(tmp_path / "a.parquet", FIRE[:1], TimeUnit.S)
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == [
        {"type": "Temp", "time": 2, "area": "A1", "value": {"value": 24.0, "error": "N(0, 1)"}, "id": 0}
    ]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_no_events_make_a_file_without_events(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    write(path, [])
    assert read(path, Schema()) == []
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_failed_run_leaves_the_old_file_and_nothing_else(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    path.write_text("old")
    with contextlib.suppress(RuntimeError), EventWriter(path) as writer:
        writer.write(EventBatch.from_events(FIRE))
        raise RuntimeError("the engine stopped")
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_timestamps_come_back(tmp_path: Path, extension: str) -> None:
    key = ("at", ValueType.TIMESTAMP)
    moments = pa.array([1_500_000, None, 2_000_000], pa.int64()).cast(pa.timestamp("us")).cast(key[1].arrow)
    batch = EventBatch(("A",), np.zeros(3, np.int32), np.array([1, 2, 3]) * 1_000_000, {key: moments})
    with EventWriter(tmp_path / f"a{extension}", TimeUnit.S) as writer:
        writer.write(batch)
    schema = Schema([EventType("A", (Attribute("at", ValueType.TIMESTAMP, optional=True),))])
    found = EventFile(tmp_path / f"a{extension}", IntakeOptions(schema=schema, unit=TimeUnit.S)).batch()
    assert found.times.tolist() == [1_000_000, 2_000_000, 3_000_000]
    assert list(found.columns) == [key]
    assert found.columns[key].to_pylist() == moments.to_pylist()


@pytest.mark.parametrize("extension", [".csv", ".parquet", ".arrow"])
def test_one_name_with_two_types(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    write(path, [Event("A", 1, {"x": 1}), Event("B", 2, {"x": 1.5})], parts=2)
    schema = Schema(
        [EventType("A", (Attribute("x", ValueType.INT),)), EventType("B", (Attribute("x", ValueType.FLOAT),))]
    )
    assert [event["x"] for event in read(path, schema)] == [1, 1.5]
    with pytest.raises(EventError, match=r"the attribute 'x' is int in some events and string in others"):
        write(path, [Event("A", 1, {"x": 1}), Event("B", 2, {"x": "s"})])
    with pytest.raises(EventError, match=r"an integer of 'x' is too large for the column of doubles it shares"):
        write(path, [Event("A", 1, {"x": 2**53 + 1}), Event("B", 2, {"x": 1.5})], parts=2)


def test_what_csv_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(EventError, match="a text holds a line break"):
        write(tmp_path / "a.csv", [Event("A", 1, {"x": "a\nb"})])
    with pytest.raises(EventError, match='the id "a b" is empty or has a space'):
        write(tmp_path / "a.csv", [Event("A", 1, made_of=("a b",))])
    assert list(tmp_path.iterdir()) == []


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    for name, found in (
        ("d.csv", "is a folder"),
        ("no/a.csv", "create the folder first"),
        ("a.txt", "known extensions"),
    ):
        with pytest.raises(OptionError, match=found):
            EventWriter(tmp_path / name)


NUMBERS = st.floats(-1e6, 1e6)
IDS = st.integers(-(2**63), 2**63 - 1) | st.from_regex(r"[A-Za-z:é]{1,8}", fullmatch=True)
SIMPLE = (
    st.builds(Normal, NUMBERS, st.floats(0, 1e6))
    | st.tuples(NUMBERS, NUMBERS).map(lambda pair: Uniform(min(pair), max(pair)))
    | st.tuples(NUMBERS, NUMBERS).map(lambda pair: Discrete(((pair[0], 0.25), (pair[1], 0.75))))
)
DISTRIBUTIONS: st.SearchStrategy[Distribution] = SIMPLE | st.tuples(SIMPLE, SIMPLE).map(
    lambda pair: Mixture(((0.5, pair[0]), (0.5, pair[1])))
)


def texts(line_breaks: bool) -> st.SearchStrategy[str]:
    return st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="" if line_breaks else "\r\n"), max_size=8
    )


@st.composite
def streams(draw: st.DrawFn, line_breaks: bool) -> list[Event]:
    """Events of a few types; an attribute's name tells its type, and all events have an id or none has."""
    numbered = draw(st.booleans())
    events = []
    for _ in range(draw(st.integers(0, 8))):
        attributes: dict[str, Value | None] = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "i": st.integers(-(2**63), 2**63 - 1),
                    "f": st.floats(allow_nan=False, allow_infinity=False),
                    "s": texts(line_breaks),
                    "b": st.booleans(),
                    'odd name, "x"': st.integers(0, 9),
                },
            )
        )
        errors: dict[str, Distribution] = {
            name: draw(DISTRIBUTIONS) for name in ("i", "f") if name in attributes and draw(st.booleans())
        }
        made_of: tuple[EventId, ...] = tuple(draw(st.lists(IDS, max_size=3)))
        events.append(
            Event(
                draw(st.sampled_from(["Temp", "Smoke", "Été", "big fire"])),
                draw(st.integers(-(10**15), 10**15)),
                attributes,
                id=draw(IDS) if numbered else None,
                probability=draw(st.just(1.0) | st.floats(0, 1)),
                errors=errors,
                made_of=made_of,
            )
        )
    return events


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(deadline=None, max_examples=60)
@given(data=st.data(), unit=st.sampled_from(TimeUnit), parts=st.integers(1, 3))
def test_what_is_written_is_read_back(extension: str, data: st.DataObject, unit: TimeUnit, parts: int) -> None:
    events = data.draw(streams(line_breaks=extension != ".csv"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{extension}")
        write(path, events, unit, parts)
        found = read(path, schema_of(EventBatch.from_events(events)), unit)
    expected = [replace(e, id=row if e.id is None else e.id) for row, e in enumerate(events)]
    assert found == expected
