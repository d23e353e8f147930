"""What readers accept, refuse and say; each rule of the formats once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from cepheus.core.distribution import Normal, Uniform
from cepheus.core.errors import EventError, OptionError, Place
from cepheus.core.event import Event
from cepheus.core.options import ColumnNames, OnBadEvent
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats import BadEvents, EventFile, IntakeOptions, open_files, read_files
from cepheus.formats.cells import kind_of_text

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


def test_json_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.jsonl",
        '\ufeff{"type": "Temp", "time": 10, "km": {"value": 16.2, "error": "U(-1,1)"}, "value": 24.5}\n'
        "\n"
        '{"type":"Smoke","time":"1970-01-01T00:00:11Z","area":"A1","ok":true,"n":null,"id":"s","probability":0.5}\r\n'
        '{"type":"Fire","time":12.0,"from":["s",0],"id":3}',
    )
    assert events(path, IntakeOptions(keep_all=True, unit=TimeUnit.S)) == [
        Event("Temp", 10_000_000, {"km": 16.2, "value": 24.5}, id=0, errors={"km": Uniform(-1, 1)}),
        Event("Smoke", 11_000_000, {"area": "A1", "ok": True}, id="s", probability=0.5),
        Event("Fire", 12_000_000, id=3, made_of=("s", 0)),
    ]


def test_notation_of_the_papers(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.events",
        "Temp@10 %1 (km = <16.2, U(-1, 1)>, value = <24.5, N(0,1)>)\n"
        "Oxygen@12 %1(km=<10.3, N(0,2)>)\n"
        "Vibration@13(value=4.6, room='R', painting='P', battery=85)\n"
        'Temp@14(area=" A1 " , value=24.5)\n'
        "TVS_Malfun@1970-01-01T00:00:15Z %0.963 (id='x', from=[1, 'a'])\n"
        "\n"
        "Bare@'1970-01-01T00:00:16Z'\n",
    )
    assert events(path, IntakeOptions(keep_all=True, unit=TimeUnit.S)) == [
        Event(
            "Temp", 10_000_000, {"km": 16.2, "value": 24.5}, id=0, errors={"km": Uniform(-1, 1), "value": Normal(0, 1)}
        ),
        Event("Oxygen", 12_000_000, {"km": 10.3}, id=1, errors={"km": Normal(0, 2)}),
        Event("Vibration", 13_000_000, {"value": 4.6, "room": "R", "painting": "P", "battery": 85}, id=2),
        Event("Temp", 14_000_000, {"area": " A1 ", "value": 24.5}, id=3),
        Event("TVS_Malfun", 15_000_000, id="x", probability=0.963, made_of=(1, "a")),
        Event("Bare", 16_000_000, id=5),
    ]


def test_csv(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.csv",
        "type, time,area,value,id,from\r\n"
        "Temp,10,A1,24.5,,\r\n"
        '\r\nSmoke,1970-01-01T00:00:11,"a ""b"", c",,s,\r\n'
        'Temp,12,"","<3.5, N(0,1)>",7,s 0\r\n',
    )
    assert events(path, IntakeOptions(keep_all=True, unit=TimeUnit.S)) == [
        Event("Temp", 10_000_000, {"area": "A1", "value": 24.5}, id=0),
        Event("Smoke", 11_000_000, {"area": 'a "b", c'}, id="s"),
        Event("Temp", 12_000_000, {"area": "", "value": 3.5}, id=7, errors={"value": Normal(0, 1)}, made_of=("s", 0)),
    ]


def test_csv_without_quotes_reads_as_one_with_quotes(tmp_path: Path) -> None:
    lines = [f"{'Temp' if row % 3 else 'Smoke'},{row},A{row},{row / 4 if row % 3 else ''}" for row in range(50)]
    text = "\n".join(["type,time,area,value", *lines]) + "\n"
    plain = events(written(tmp_path, "a.csv", text))
    assert plain == events(written(tmp_path, "b.csv", text.replace("A49", '"A49"')))
    assert plain == events(tmp_path / "a.csv", chunk_rows=7)
    assert plain[1] == Event("Temp", 1, {"area": "A1", "value": 0.25}, id=1)


@pytest.mark.parametrize(
    ("line", "area"),
    [
        ('A,1,"x"', "x"),
        ('A,1,"x,y"', "x,y"),
        ('A,1,""', ""),
        ('"A","1","x"', "x"),
        ('A,1,"x"\r', "x"),
        ('A,1,"x""y"', 'x"y'),
        ('A,1,""""', '"'),
        ('A,1,","', ","),
        ('A,1,x"', None),
        ('A,1,x"y"', None),
        ('A,1,"x"y', None),
        ('A,1,"x', None),
        ('A,1,"x"y"', None),
        ('A,1,"x\n"', None),
        ('A,1,"x\ny"', None),
        ('A,"1,"x"', None),
    ],
)
def test_quotes_in_csv(tmp_path: Path, line: str, area: str | None) -> None:
    path = written(tmp_path, "a.csv", f"type,time,area\n{line}\nA,2,z\n")
    found = EventFile(path, EVERYTHING, BadEvents(OnBadEvent.SKIP)).batch().to_events()
    assert [event["area"] for event in found] == ([] if area is None else [area]) + ["z"]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "stream.arrow"])
def test_columnar(tmp_path: Path, name: str) -> None:
    table = pa.table(
        {
            "type": pa.array(["Temp", "Smoke", "Temp"]).dictionary_encode(),
            "time": pa.array([1, 2, 3], pa.timestamp("ms")),
            "value": [1.5, None, 2.5],
            "at": pa.array([None, 1, None], pa.date32()),
            "id": ["x", None, "7"],
            "from": [None, ["x", "0"], None],
        }
    )
    table = table.drop_columns(["from"]) if name == "a.parquet" else table
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(table, path)
    else:
        new = pa.ipc.new_stream if name.startswith("stream") else pa.ipc.new_file
        with new(str(path), table.schema) as writer:
            writer.write_table(table)
    made_of = () if name == "a.parquet" else ("x", 0)
    assert events(path, chunk_rows=2) == [
        Event("Temp", 1000, {"value": 1.5}, id="x"),
        Event("Smoke", 2000, {"at": 86_400_000_000}, id=1, made_of=made_of),
        Event("Temp", 3000, {"value": 2.5}, id=7),
    ]


def test_uncertain_columns(tmp_path: Path) -> None:
    path = tmp_path / "u.parquet"
    uncertain = pa.array([{"value": 1, "error": "N(0,1)"}, None, {"value": 2, "error": None}])
    pq.write_table(pa.table({"time": [1, 2, 3], "u": uncertain}), path)
    assert events(path, IntakeOptions(keep_all=True, type_name="A", id_prefix="u")) == [
        Event("A", 1, {"u": 1}, id="u:0", errors={"u": Normal(0, 1)}),
        Event("A", 2, id="u:1"),
        Event("A", 3, {"u": 2}, id="u:2"),
    ]


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


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_what_no_rule_names_is_left_out_and_keeps_its_position(tmp_path: Path, name: str) -> None:
    rows = [("B", 1, "s", 5), ("A", 2, "1", 6), ("B", 3, "t", 7), ("A", 4, "2", 8)]
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("type,time,x,y\n" + "\n".join(",".join(map(str, row)) for row in rows))
    elif name == "a.parquet":
        pq.write_table(
            pa.table({key: [row[i] for row in rows] for i, key in enumerate(("type", "time", "x", "y"))}), path
        )
    else:
        path.write_text("\n".join(f'{{"type":"{t}","time":{n},"x":"{x}","y":{y}}}' for t, n, x, y in rows))
    schema = Schema([EventType("A", (Attribute("x", ValueType.STRING),))])
    file = EventFile(path, IntakeOptions(schema=schema))
    (chunk,) = file
    assert chunk.batch.to_events() == [Event("A", 2, {"x": "1"}, id=1), Event("A", 4, {"x": "2"}, id=3)]
    line = 3 if name == "a.csv" else 2
    assert chunk.place_of(0) == Place(str(path), line)
    assert chunk.place_of(1) == Place(str(path), line + 2)
    assert (file.read, file.done) == (4, 1.0)
    closed = IntakeOptions(schema=Schema(schema.values(), closed=True))
    assert "there is no event type 'B'" in failure(path, closed)


def test_an_unknown_type_has_a_hint(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"type": "Tmep", "time": 1}')
    with pytest.raises(EventError, match="did you mean 'Temp'"):
        events(path, IntakeOptions(schema=CLOSED))


def test_a_file_of_one_type(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "time,x\n1,2\n")
    options = IntakeOptions(keep_all=True, type_name="A")
    assert events(path, options) == [Event("A", 1, {"x": 2}, id=0)]
    assert failure(path) == "a.csv:1: csv: the header has no column 'type'"
    other = written(tmp_path, "b.csv", "type,time\nB,1\n")
    assert failure(other, options) == "b.csv:2: event: an event of type 'B' in a file of A"


def test_a_sequence_column(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "type,time,offset\nA,1,5\nA,1,4\nA,1,x\n")
    bad = BadEvents(OnBadEvent.SKIP)
    (chunk,) = EventFile(
        path, IntakeOptions(schema=Schema([EventType("A")]), columns=ColumnNames(sequence="offset")), bad
    )
    assert chunk.batch.sequences is not None
    assert chunk.batch.sequences.tolist() == [5, 4]
    assert bad.diagnostics[0].message == "offset: 'x' is not an integer"


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    for name, header, good, bad in (
        ("a.jsonl", "", '{"type":"A","time":1}', '{"type":"A","time":1,"x":"' + "y" * 500 + '"}'),
        ("a.csv", "type,time\n", "A,1", "A,1" + " " * 500),
    ):
        path = written(tmp_path, name, f"{header}{good}\n{bad}\n{good}\n{bad}")
        skip = BadEvents(OnBadEvent.SKIP)
        file = EventFile(path, EVERYTHING, skip, max_line=100)
        assert [event.id for chunk in file for event in chunk.batch.to_events()] == [0, 2]
        first = 3 if header else 2
        assert [finding.place for finding in skip.diagnostics] == [Place(str(path), n) for n in (first, first + 2)]
        assert skip.diagnostics[0].message == "the line is longer than 100 bytes"


def test_skipping_counts_all_and_keeps_the_first_findings(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", "x\n" * 20)
    bad = BadEvents(OnBadEvent.SKIP)
    assert [len(chunk.batch) for chunk in EventFile(path, EVERYTHING, bad, chunk_rows=6)] == [0, 0, 0, 0]
    assert bad.skipped == 20
    assert [finding.place for finding in bad.diagnostics] == [Place(str(path), n) for n in range(1, 6)]


def test_the_first_bad_event_of_a_chunk_is_the_one_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"type":"A","time":1}\n{"type":"A"}\nnot json\n{"time":1}\n')
    assert failure(path) == "a.jsonl:2: event: an event has no time"


def test_several_files_name_their_events(tmp_path: Path) -> None:
    one = written(tmp_path, "a.jsonl", '{"type":"A","time":1}\n{"type":"A","time":2,"id":"own"}')
    two = written(tmp_path, "b.csv", "time\n3\n")
    files = open_files([one, two], EVERYTHING, type_names={str(two): "B"})
    found = [(e.type, e.id) for chunk in read_files(files) for e in chunk.batch.to_events()]
    assert found == [("A", "a.jsonl:0"), ("A", "own"), ("B", "b.csv:0")]
    (tmp_path / "sub").mkdir()
    same = written(tmp_path / "sub", "a.jsonl", '{"type":"A","time":1}')
    files = open_files([one, same], EVERYTHING)
    assert [e.id for chunk in read_files(files) for e in chunk.batch.to_events()] == [f"{one}:0", "own", f"{same}:0"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.events"])
def test_an_empty_file_of_lines_has_no_events(tmp_path: Path, name: str) -> None:
    assert events(written(tmp_path, name, "")) == []


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.csv", b"", "csv: the file has no header"),
        ("a.csv", b"\n\n", "csv: the file has no header"),
        ("a.csv", b"type,time,x,x\n", "csv: the header names the column 'x' twice"),
        ("a.csv", b"type,tiem\n", "csv: the header has no column 'time'"),
        ("a.parquet", b"", "format: the file cannot be read as Parquet"),
        ("a.parquet", b"type,time\nA,1\n", "format: the file cannot be read as Parquet"),
        ("a.arrow", b"", "format: the file cannot be read as Arrow"),
        ("a.arrow", b"type,time\nA,1\n", "format: the file cannot be read as Arrow"),
        ("a.csv", b"PAR1abc", "format: the file is a Parquet file, not what its extension says"),
        ("a.jsonl", b"ARROW1", "format: the file is an Arrow file, not what its extension says"),
        ("a.jsonl", b"\x1f\x8b\x08", "format: the file is compressed with gzip, not what its extension says"),
        ("a.events", "A@1".encode("utf-16"), "format: the file is text in UTF-16, not what its extension says"),
    ],
)
def test_files_that_are_not_what_they_should_be(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    assert f": {found}" in failure(written(tmp_path, name, content))


def test_tables_that_are_not_events(tmp_path: Path) -> None:
    pq.write_table(pa.table({"type": ["A"], "tim": [1]}), tmp_path / "a.parquet")
    assert failure(tmp_path / "a.parquet") == "a.parquet:None: column: there is no column 'time'"
    pq.write_table(pa.table({"type": [1], "time": [1]}), tmp_path / "b.parquet")
    assert failure(tmp_path / "b.parquet") == "b.parquet:None: column: the column 'type' holds int64, not strings"


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path, "temps.jsonl", "")
    (tmp_path / "d.jsonl").mkdir()
    for name, found in (
        ("temp.jsonl", "did you mean 'temps.jsonl'"),
        ("d.jsonl", "is a folder"),
        ("a.json", "did you mean '.jsonl'"),
        ("a", "known extensions: .jsonl, .csv, .parquet, .arrow, .events"),
    ):
        with pytest.raises(OptionError, match=found):
            EventFile(tmp_path / name)


@pytest.mark.parametrize("other", ["8", "x", "+3", ""])
def test_ids_in_text_do_not_depend_on_their_neighbours(tmp_path: Path, other: str) -> None:
    path = written(tmp_path, "a.csv", f"type,time,id\nA,1,7\nA,2,07\nA,3,-0\nA,4,{other}\n")
    assert [event.id for event in events(path)] == [7, "07", "-0", {"8": 8, "": 3}.get(other, other)]


def test_the_type_of_a_file_must_be_known(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "time\n1\n")
    with pytest.raises(OptionError, match="there is no event type 'Tmep'\n  hint: did you mean 'Temp'"):
        EventFile(path, IntakeOptions(schema=CLOSED, type_name="Tmep"))
    file = EventFile(path, IntakeOptions(schema=Schema([TEMP]), type_name="Other"))
    assert [len(chunk.batch) for chunk in file] == [0]
    assert file.read == 1


@pytest.mark.parametrize("cell", ["<" + " " * 100_000, "<1," + " " * 100_000, "1" * 100_000 + "x"])
def test_no_cell_takes_longer_than_its_text_is_long(cell: str) -> None:
    """Expressions that try blanks and digits in every way would not come to an end."""
    assert kind_of_text(cell) is ValueType.STRING
    assert kind_of_text("< 1.5 , N(0, 1) >") is ValueType.FLOAT
