"""What readers accept, refuse and say; each rule of the formats once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from reading import CLOSED, EVERYTHING, TEMP, events, failure, written

from cepheus.core.distribution import Normal, Uniform
from cepheus.core.errors import EventError, OptionError, Place
from cepheus.core.event import Event
from cepheus.core.options import ColumnNames, OnBadEvent
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats import BadEvents, EventFile, IntakeOptions, open_files, read_files
from cepheus.formats.cells import kind_of_text


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
