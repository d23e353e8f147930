"""What cells of files may hold: values of every type, and what is said of those that are none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from reading import events, failure, one_type, written

from cepheus.core.errors import EventError
from cepheus.core.event import Event
from cepheus.core.options import OnBadEvent
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats import BadEvents, EventFile, IntakeOptions


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"type": "A", "time": 1, "x": }', "json: the line is not JSON: expecting value at column 31"),
        ("[1, 2]", "json: the line is not a JSON object"),
        ("12", "json: the line is not a JSON object"),
        ('{"type": "A", "time": 1} {', "json: there is more after the event, at column 25"),
        ('{"type": "A", "time": 1, "time": 2}', "json: 'time' appears twice in one object"),
        ('{"type": "A", "time": 1, "x": {"value": 1, "value": 2}}', "json: 'value' appears twice in one object"),
        ('{"type": "A", "time": 1, "x": NaN}', "number: NaN is not a finite number"),
        ('{"type": "A", "time": 1, "x": -Infinity}', "number: -Infinity is not a finite number"),
        ('{"type": "A", "time": 1, "x": 1e999}', "number: A.x: inf is not a finite number"),
        (
            '{"type": "A", "time": 1, "x": 9223372036854775808}',
            "integer: A.x: 9223372036854775808 does not fit in 64 bits",
        ),
        (
            '{"type": "A", "time": 1, "x": ' + "9" * 5000 + "}",
            "integer: the line holds an integer that does not fit in 64 bits",
        ),
        ("[" * 100_000, "json: the line is not an event: it is nested too deeply"),
        ('{"type": "A", "time": 1, "x": [1]}', "type: A.x: a list is not a number"),
        ('{"type": "A", "time": 1, "x": {"a": 1}}', "type: A.x: an attribute may not be an object"),
        (
            '{"type": "A", "time": 1, "x": {"value": 1, "error": "Z(1)"}}',
            "distribution: A.x: 'Z(1)' is not a distribution",
        ),
        ('{"type": "A", "time": 1, "x": {"value": "s", "error": "N(0,1)"}}', "type: A.x: 's' is not a number"),
        (
            '{"type": "A", "time": 1, "s": "\\ud800"}',
            "utf-8: A.s: '\\ud800' has half a surrogate pair, which is no character",
        ),
        ('{"type": "A"}', "event: an event has no time"),
        ('{"time": 1}', "event: an event has no type"),
        ('{"type": 5, "time": 1}', "event: 5 is not the name of an event type"),
        ('{"type": true, "time": 1}', "event: true is not the name of an event type"),
        ('{"type": "", "time": 1}', "event: '' is not the name of an event type"),
        ('{"type": "A", "time": 1.5}', "time: time: the time 1.5 is not a whole number of the time unit"),
        ('{"type": "A", "time": "noon"}', "time: time: 'noon' is not a time"),
        ('{"type": "A", "time": true}', "type: time: true is not a time"),
        (
            '{"type": "A", "time": "2026-01-01T00:00:00.1234567"}',
            "time: time: '2026-01-01T00:00:00.1234567' is finer than a microsecond",
        ),
        (
            '{"type": "A", "time": 9223372036854775807}',
            "time: time: the time 9223372036854775807 s does not fit in 64 bits of microseconds",
        ),
        ('{"type": "A", "time": 1, "id": 1.5}', "id: 1.5 is not an id"),
        ('{"type": "A", "time": 1, "probability": 1.5}', "probability: the probability 1.5 is not between 0 and 1"),
        ('{"type": "A", "time": 1, "probability": "x"}', "type: probability: 'x' is not a number"),
        ('{"type": "A", "time": 1, "from": "x"}', "event: from: 'x' is not a list of ids"),
        (b'{"type": "A\xff", "time": 1}', "utf-8: the line is not valid UTF-8"),
    ],
)
def test_bad_json_lines(tmp_path: Path, line: str | bytes, found: str) -> None:
    good = b'{"type": "A", "time": 1, "x": 1.5}\n'
    bad = line.encode() if isinstance(line, str) else line
    path = written(tmp_path, "a.jsonl", good + b"\n" + bad + b"\n" + good)
    assert failure(path, IntakeOptions(keep_all=True, unit=TimeUnit.S)) == f"a.jsonl:3: {found}"
    bad_events = BadEvents(OnBadEvent.SKIP)
    file = EventFile(path, IntakeOptions(keep_all=True), bad_events)
    assert [event.id for chunk in file for event in chunk.batch.to_events()] == (
        [0, 1, 2] if "s does" in found else [0, 2]
    )
    assert (file.read, bad_events.skipped) == (3, 0 if "s does" in found else 1)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A,1,", "attribute: A has no value for its attribute 'x'"),
        ("A,1", "csv: the line has 2 cells where the header has 3"),
        ("A,1,2,3", "csv: the line has 4 cells where the header has 3"),
        ('A,1,"2', "csv: a quoted cell does not end where it should"),
        ('A,1,2"', "csv: a quoted cell does not end where it should"),
        ("A,1,2\rA,1,2", "csv: the line holds a carriage return"),
        ("A,1,abc", "type: A.x: 'abc' is not a number"),
        ("A,1,0x10", "type: A.x: '0x10' is not a number"),
        ("A,1,nan", "number: A.x: nan is not a finite number"),
        ("A,1,-inf", "number: A.x: -inf is not a finite number"),
        ("A,1,1e999", "number: A.x: inf is not a finite number"),
        ("A,1,99999999999999999999", "integer: A.x: 99999999999999999999 does not fit in 64 bits"),
        ("A,1,1_0", "type: A.x: '1_0' is not a number"),
        ("A,1.5,1", "time: time: the time 1.5 is not a whole number of the time unit"),
        ("A,,1", "event: an event has no time"),
        (",1,1", "event: an event has no type"),
        ("B,1,1", "event: there is no event type 'B'"),
        (b"A,1,\xff", "utf-8: the line is not valid UTF-8"),
    ],
)
@pytest.mark.parametrize("good", ["A,1,2.5\n", 'A,1,"2.5"\n'])
def test_bad_csv_lines(tmp_path: Path, line: str | bytes, found: str, good: str) -> None:
    bad = line.encode() if isinstance(line, str) else line
    path = written(tmp_path, "a.csv", b"type,time,x\n" + good.encode() + bad + b"\n" + good.encode())
    options = one_type(ValueType.FLOAT)
    assert failure(path, options) == f"a.csv:3: {found}"
    file = EventFile(path, options, BadEvents(OnBadEvent.SKIP))
    assert [event.id for chunk in file for event in chunk.batch.to_events()] == [0, 2]
    assert (file.read, file.bad.skipped) == (3, 1)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A", "expected '@' at column 2, found the end of the line"),
        ("A@", "expected a time at column 3, found the end of the line"),
        ("@1", "expected the event's type at column 1, found '@1'"),
        ("A@1 (x=1", "expected ',' at column 9, found the end of the line"),
        ("A@1 (x=1) y", "expected the end of the event at column 11, found 'y'"),
        ("A@1 (x=1, x=2)", "'x' appears twice"),
        ("A@1 (time=2)", "'time' may not be an attribute"),
        ("A@1 (x=hot)", "'hot' at column 8 is not a value"),
        ("A@1 (x='hot)", 'expected a value at column 8, found "\'hot)"'),
        ("A@1 (x=<1 N(0,1)>)", "expected ',' at column 11, found 'N(0,1)>)'"),
        (f"A@1 (x={'[' * 5000}1{']' * 5000})", "a list is nested too deeply"),
    ],
    ids=lambda text: text[:20],
)
def test_bad_notation(tmp_path: Path, line: str, found: str) -> None:
    path = written(tmp_path, "a.events", f"A@1\n{line}\n")
    assert failure(path) == f"a.events:2: notation: {found}"


def test_a_bad_row_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"type": ["A"] * 3, "time": [1, 2, 3], "x": [1.0, float("nan"), None]}), path)
    assert failure(path, one_type(ValueType.FLOAT)) == "a.parquet:2: number: row 2: A.x: nan is not a finite number"
    bad = BadEvents(OnBadEvent.SKIP)
    (chunk,) = EventFile(path, one_type(ValueType.FLOAT), bad)
    assert chunk.batch.to_events() == [Event("A", 1, {"x": 1.0}, id=0)]
    assert [finding.message for finding in bad.diagnostics] == [
        "row 2: A.x: nan is not a finite number",
        "row 3: A has no value for its attribute 'x'",
    ]


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (ValueType.FLOAT, "3", 3.0),
        (ValueType.INT, "3.0", 3),
        (ValueType.STRING, '"3"', "3"),
        (ValueType.BOOL, "true", True),
        (ValueType.TIMESTAMP, "3", 3_000_000),
        (ValueType.TIMESTAMP, '"1970-01-01T01:00:00+01:00"', 0),
        (ValueType.FLOAT, "9007199254740993", 9007199254740992.0),
        (ValueType.INT, "9007199254740993", 9007199254740993),
        (None, "3", 3),
        (None, "3.0", 3.0),
        (None, '"s"', "s"),
        (None, "false", False),
    ],
)
def test_types_that_json_values_take(tmp_path: Path, kind: ValueType | None, raw: str, value: object) -> None:
    path = written(tmp_path, "a.jsonl", f'{{"type": "A", "time": 1, "x": {raw}}}')
    options = IntakeOptions(schema=one_type(kind).schema, unit=TimeUnit.S)
    (event,) = events(path, options)
    assert (event["x"], type(event["x"])) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "raw", "found"),
    [
        (ValueType.INT, "3.5", "3.5 is not an integer"),
        (ValueType.STRING, "3", "3 is not a string"),
        (ValueType.BOOL, "1", "1 is not true or false"),
        (ValueType.FLOAT, "true", "true is not a number"),
        (ValueType.INT, '"3"', "'3' is not an integer"),
        (ValueType.STRING, '{"value": 1, "error": "N(0,1)"}', "an uncertain number is not a string"),
        (ValueType.TIMESTAMP, '"x"', "'x' is not a time"),
    ],
)
def test_types_that_json_values_do_not_take(tmp_path: Path, kind: ValueType, raw: str, found: str) -> None:
    path = written(tmp_path, "a.jsonl", f'{{"type": "A", "time": 1, "x": {raw}}}')
    assert failure(path, one_type(kind)).endswith(f": A.x: {found}")


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        (ValueType.STRING, "3", "3"),
        (ValueType.INT, "3.0", 3),
        (ValueType.INT, "9007199254740993.0", 9007199254740993),
        (ValueType.INT, " +3 ", 3),
        (ValueType.FLOAT, "3", 3.0),
        (ValueType.BOOL, "True", True),
        (ValueType.TIMESTAMP, "2", 2),
        (None, "3", 3),
        (None, "3.0", 3.0),
        (None, "1e3", 1000.0),
        (None, "FALSE", False),
        (None, "0x10", "0x10"),
    ],
)
def test_types_that_csv_cells_take(tmp_path: Path, kind: ValueType | None, cell: str, value: object) -> None:
    path = written(tmp_path, "a.csv", f"type,time,x\nA,1,{cell}")
    (event,) = events(path, one_type(kind))
    assert (event["x"], type(event["x"])) == (value, type(value))


def test_the_first_chunk_fixes_an_inferred_type(tmp_path: Path) -> None:
    lines = [f'{{"type": "A", "time": 1, "x": {x}}}' for x in ("1", "2", "2.5")]
    path = written(tmp_path, "a.jsonl", "\n".join(lines))
    assert [event["x"] for event in events(path)] == [1.0, 2.0, 2.5]
    with pytest.raises(EventError, match=r"A.x: 2.5 is not an integer\n  hint: earlier values made it int; declare"):
        events(path, chunk_rows=2)
    mixed = written(tmp_path, "b.jsonl", "\n".join([lines[0], '{"type": "A", "time": 1, "x": "s"}']))
    assert failure(mixed) == "b.jsonl:2: type: A.x: 's' is not an integer"


def test_types_are_inferred_for_each_event_type(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "type,time,x\nA,1,1\nB,2,s\nA,3,2\nC,4,1.5")
    assert [event.attributes for event in events(path)] == [{"x": 1}, {"x": "s"}, {"x": 2}, {"x": 1.5}]


@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("absent", ["", ', "x": null'])
def test_a_missing_attribute(tmp_path: Path, optional: bool, absent: str) -> None:
    path = written(tmp_path, "a.jsonl", f'{{"type": "A", "time": 1, "y": 2{absent}}}')
    options = one_type(ValueType.INT, optional=optional)
    if optional:
        assert events(path, options) == [Event("A", 1, id=0)]
    else:
        assert failure(path, options) == "a.jsonl:1: attribute: A has no value for its attribute 'x'"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_an_empty_cell_behind_a_quoted_one_at_the_end_of_a_file(tmp_path: Path, end: str) -> None:
    path = written(tmp_path, "a.csv", f'type,time,s,x\nA,1,"b",1{end or chr(10)}A,2,"c",{end}')
    assert [dict(event.attributes) for event in events(path)] == [{"s": "b", "x": 1}, {"s": "c"}]
