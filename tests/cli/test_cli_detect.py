from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import Command, command

TEMP = '{"type": "Temp", "time": 10, "area": "A1", "value": 50.5}\n'
SMOKE = '{"type": "Smoke", "time": 20, "area": "A1"}\n'
FIRE_20 = {"type": "Fire", "time": 20, "area": "A1", "temp": 50.5, "from": [1, 0]}


@pytest.fixture
def cepheus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


def written(path: str) -> list[dict[str, object]]:
    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for record in records:
        del record["id"]
    return records


def without_speed(err: str) -> str:
    return re.sub(r"[\d,]+ events/s", "N events/s", err)


def test_a_table_and_one_line_of_summary(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP + SMOKE)
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s")
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines() if line.strip()] == [
        ["type", "time", "area", "temp", "from"],
        ["Fire", "20", "A1", "50.5", "1", "0"],
    ]
    assert without_speed(done.err) == "2 events read, 0 skipped, 0 late; 1 composite events (Fire 1); N events/s\n"


def test_output_goes_to_a_file_with_times_in_the_unit(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP + SMOKE)
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s", "-o", "out.jsonl")
    assert (done.code, done.out) == (0, "")
    assert written("out.jsonl") == [FIRE_20]


TEXTS = (
    '{"type": "Temp", "time": "2026-01-01T10:00:00Z", "area": "A1", "value": 50.5}\n'
    '{"type": "Smoke", "time": "2026-01-01T11:00:20+01:00", "area": "A1"}\n'
)


def test_times_that_came_as_texts_are_written_as_texts(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEXTS)
    assert "2026-01-01T10:00:20Z" in cepheus("detect", "fire.tesla", "--events", "e.jsonl").out
    assert "1767261620 " in cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s").out
    for name in ("out.jsonl", "out.csv"):
        cepheus("detect", "fire.tesla", "--events", "e.jsonl", "-o", name)
        assert "2026-01-01T10:00:20Z" in Path(name).read_text()
    cepheus("detect", "fire.tesla", "--events", "e.jsonl", "-o", "out.parquet")
    assert pa.types.is_timestamp(pq.read_schema("out.parquet").field("time").type)


def test_times_are_numbers_where_any_came_as_a_number(cepheus: Command) -> None:
    Path("e.jsonl").write_text('{"type": "Temp", "time": 1767261600000000, "area": "A1", "value": 50.5}\n')
    Path("f.jsonl").write_text(TEXTS.splitlines()[1])
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--events", "f.jsonl")
    assert "1767261620000000" in done.out


@pytest.mark.parametrize("extension", ["csv", "parquet", "arrow", "events"])
def test_every_format_is_written_and_read_back(cepheus: Command, extension: str) -> None:
    Path("copy.tesla").write_text("define Copy(area: string) from Fire() where area = Fire.area")
    Path("e.jsonl").write_text(TEMP + SMOKE)
    assert cepheus("detect", "fire.tesla", "--events", "e.jsonl", "-o", f"fire.{extension}").code == 0
    assert cepheus("detect", "copy.tesla", "--events", f"fire.{extension}", "-o", "copy.jsonl").code == 0
    (copied,) = written("copy.jsonl")
    assert (copied["time"], copied["area"]) == (20, "A1")


def test_many_rows_are_cut_with_a_note(cepheus: Command) -> None:
    Path("a.tesla").write_text("define B() from A()")
    Path("e.jsonl").write_text("".join(f'{{"type": "A", "time": {time}}}\n' for time in range(60)))
    done = cepheus("detect", "a.tesla", "--events", "e.jsonl")
    assert len(done.out.split("\n")) < 60
    assert done.err.startswith("10 more composite events are not shown; -o FILE writes all of them\n60 events read")


def test_several_files_are_merged_by_time(cepheus: Command) -> None:
    Path("t.csv").write_text("type,time,area,value\nTemp,10,A1,46\nTemp,30,A1,60\n")
    pq.write_table(pa.table({"type": ["Smoke", "Smoke"], "time": [20, 40], "area": ["A1", "A1"]}), "s.parquet")
    arguments = ("detect", "fire.tesla", "--events", "s.parquet", "--events", "t.csv", "-o", "out.jsonl")
    assert cepheus(*arguments).code == 0
    assert [(fire["time"], fire["from"]) for fire in written("out.jsonl")] == [
        (20, ["s.parquet:0", "t.csv:0"]),
        (40, ["s.parquet:1", "t.csv:1"]),
    ]


def test_a_file_of_one_type(cepheus: Command) -> None:
    pq.write_table(pa.table({"time": [10], "area": ["A1"], "value": [50.5]}), "temps.parquet")
    Path("s.jsonl").write_text(SMOKE)
    arguments = ("detect", "fire.tesla", "--events", "s.jsonl", "--events", "Temp=temps.parquet", "-o", "out.jsonl")
    assert cepheus(*arguments).code == 0
    assert written("out.jsonl")[0]["from"] == ["s.jsonl:0", "temps.parquet:0"]


def test_a_sequence_column_breaks_ties(cepheus: Command) -> None:
    Path("e.csv").write_text("type,time,area,value,n\nTemp,10,A1,50,2\nTemp,10,A1,60,1\nSmoke,20,A1,,3\n")
    assert cepheus("detect", "fire.tesla", "--events", "e.csv", "--sequence", "n", "-o", "out.jsonl").code == 0
    assert written("out.jsonl")[0]["temp"] == 50.0


def test_disorder_within_the_lateness(cepheus: Command) -> None:
    Path("e.jsonl").write_text(SMOKE + TEMP)
    arguments = ("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s", "-o", "out.jsonl")
    assert cepheus(*arguments, "--lateness", "10s").code == 0
    assert written("out.jsonl") == [{**FIRE_20, "from": [0, 1]}]
    late = cepheus(*arguments, "--lateness", "9s")
    assert late.code == 1
    assert late.err.startswith("e.jsonl:2: error[late]: Temp at 1970-01-01T00:00:10Z comes after later events")
    skipped = cepheus(*arguments, "--lateness", "9s", "--on-bad-event", "skip")
    assert (skipped.code, written("out.jsonl")) == (0, [])
    assert "2 events read, 0 skipped, 1 late; 0 composite events; " in skipped.err


BAD = {
    "missing attribute": ('{"type": "Temp", "time": 11, "area": "A1"}', "Temp has no value for its attribute 'value'"),
    "wrong type": ('{"type": "Temp", "time": 11, "area": "A1", "value": "hot"}', "'hot' is not a number"),
    "not JSON": ('{"type": "Temp", ', ""),
    "NaN": ('{"type": "Temp", "time": 11, "area": "A1", "value": NaN}', ""),
    "integer over 64 bits": ('{"type": "Temp", "time": 11, "area": "A1", "value": 99999999999999999999}', "64 bits"),
    "time over 64 bits": ('{"type": "Temp", "time": 99999999999999999999, "area": "A1", "value": 1}', "64 bits"),
    "no time": ('{"type": "Temp", "area": "A1", "value": 1}', "no time"),
    "no type": ('{"time": 11, "area": "A1", "value": 1}', "no type"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_event_stops_with_file_and_line_or_is_skipped(cepheus: Command, name: str) -> None:
    line, message = BAD[name]
    Path("e.jsonl").write_text(TEMP + line + "\n" + SMOKE)
    arguments = ("detect", "fire.tesla", "--events", "e.jsonl", "-o", "out.jsonl")
    stopped = cepheus(*arguments)
    assert stopped.code == 1
    assert stopped.err.startswith("e.jsonl:2: error[")
    assert message in stopped.err
    assert sorted(path.name for path in Path().iterdir()) == ["e.jsonl", "fire.tesla"]
    skipped = cepheus(*arguments, "--on-bad-event", "skip")
    assert skipped.code == 0
    assert skipped.err.startswith("e.jsonl:2: warning[")
    assert "3 events read, 1 skipped, 0 late; 1 composite events (Fire 1); " in skipped.err
    assert written("out.jsonl") == [{**FIRE_20, "from": [2, 0]}]


def test_bytes_that_are_not_utf_8(cepheus: Command) -> None:
    Path("e.jsonl").write_bytes(TEMP.encode() + b'{"type": "Temp", "area": "\xff"}\n' + SMOKE.encode())
    stopped = cepheus("detect", "fire.tesla", "--events", "e.jsonl")
    assert stopped.code == 1
    assert stopped.err.startswith("e.jsonl:2: error[utf-8]")
    assert "1 skipped" in cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--on-bad-event", "skip").err


def test_a_line_of_a_gigabyte(cepheus: Command) -> None:
    with Path("e.jsonl").open("wb") as file:
        file.write(TEMP.encode())
        file.truncate(2**30)  # a hole of zero bytes, all on the second line
        file.seek(0, 2)
        file.write(b"\n" + SMOKE.encode())
    stopped = cepheus("detect", "fire.tesla", "--events", "e.jsonl")
    assert stopped.code == 1
    assert stopped.err.startswith("e.jsonl:2: error[")


def test_a_file_that_is_not_what_its_extension_says(cepheus: Command) -> None:
    pq.write_table(pa.table({"type": ["Smoke"], "time": [1]}), "e.csv")
    Path("e.parquet").write_text(TEMP)
    for name in ("e.csv", "e.parquet"):
        done = cepheus("detect", "fire.tesla", "--events", name)
        assert done.code == 1
        assert done.err.startswith(f"{name}: error[")


def test_files_must_agree_on_types_that_only_they_tell(cepheus: Command) -> None:
    Path("r.tesla").write_text("define C() from A(k=$k) and each B(k=$k) within 9 s from A")
    Path("a.jsonl").write_text('{"type": "A", "time": 2, "k": "1"}\n')
    Path("b.jsonl").write_text('{"type": "B", "time": 1, "k": 1}\n')
    done = cepheus("detect", "r.tesla", "--events", "a.jsonl", "--events", "b.jsonl")
    assert done.code == 1
    assert done.err.startswith("b.jsonl: error[type-conflict]: A.k is string in the data and B.k is int")


def test_an_unknown_event_type_is_bad_where_types_are_declared(cepheus: Command) -> None:
    Path("d.tesla").write_text("event Smoke(area: string); define Fire() from Smoke()")
    Path("e.jsonl").write_text(SMOKE + '{"type": "Smoek", "time": 21, "area": "A1"}\n')
    done = cepheus("detect", "d.tesla", "--events", "e.jsonl")
    assert done.code == 1
    assert done.err == ("e.jsonl:2: error[event]: there is no event type 'Smoek'\n  hint: did you mean 'Smoke'?\n")


def test_a_type_that_never_occurs_is_told(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP + '{"type": "Smokes", "time": 20, "area": "A1"}\n')
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl")
    assert done.code == 0
    assert done.err.startswith(
        "warning[no-such-event]: no event of type 'Smoke' is in the data\n  hint: did you mean 'Smokes'?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--events", "none.jsonl"), "there is no file 'none.jsonl'"),
        (("--events", "e.txt"), "no extension of an event file"),
        (("--events", "e.jsonl", "--engine", "referense"), "did you mean 'reference'"),
        (("--events", "e.jsonl", "--lateness", "soon"), "'soon' is not a duration"),
        (("--events", "e.jsonl", "--events", "Temp="), "is not a type and its file"),
        (("--events", "e.jsonl", "--events", "Temp=e.jsonl"), "given twice"),
        (("--events", "e.jsonl", "-o", "nowhere/out.jsonl"), "cannot be written"),
        (("--events", "e.jsonl", "-o", "out.xyz"), "no extension of an event file"),
        ((), "there are no events to look at"),
    ],
)
def test_wrong_options_are_told(cepheus: Command, arguments: tuple[str, ...], message: str) -> None:
    Path("e.jsonl").write_text(TEMP)
    Path("e.txt").write_text(TEMP)
    done = cepheus("detect", "fire.tesla", *arguments)
    assert done.code == 1
    assert message in done.err


def test_wrong_usage_exits_with_2(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP)
    assert cepheus("detect").code == 2
    assert cepheus("detect", "fire.tesla", "--time-unit", "hours", "--events", "e.jsonl").code == 2
    assert cepheus("detekt").code == 2


def test_malformed_rules_stop_before_any_event_is_read(cepheus: Command) -> None:
    Path("bad.tesla").write_text("define Fire( from Smoke()")
    done = cepheus("detect", "bad.tesla", "--events", "none.jsonl")
    assert done.code == 1
    assert done.err.startswith("bad.tesla:1:14: error[syntax]")


def test_threads_find_the_same(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP + SMOKE)
    options = ("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s", "--threads", "2")
    assert cepheus(*options, "-o", "found.jsonl").code == 0
    assert written("found.jsonl") == [FIRE_20]
    refused = cepheus(*options, "--engine", "reference")
    assert refused.code != 0
    assert "the engine reference runs on one thread" in refused.err


LOGIN = '{"type": "Login", "time": 7, "user": "root"}\n'
LOGINS = "define Attack() from Login(user=$u) and 10 < Count(Login(user=$u) within 1 min from Login)\n"


def test_simultaneous_events_that_are_passed_over_are_told(cepheus: Command) -> None:
    Path("login.tesla").write_text(LOGINS)
    Path("e.jsonl").write_text(12 * LOGIN)
    done = cepheus("detect", "login.tesla", "--events", "e.jsonl", "--time-unit", "s")
    assert done.code == 0
    assert without_speed(done.err).splitlines()[-2:] == [
        "12 events read, 0 skipped, 0 late; 0 composite events; N events/s",
        "simultaneous events: 66 were passed over, "
        "at the very time of an event that they would have to precede or follow; "
        "'ties ordered' in the rules takes simultaneous events one after the other",
    ]
    done = cepheus("detect", "login.tesla", "--events", "e.jsonl", "--time-unit", "s", "--ties", "ordered")
    assert "1 composite events (Attack 1)" in done.err
    assert "passed over" not in done.err


def test_choices_among_simultaneous_events_are_told_with_the_remedy(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP + TEMP.replace("50.5", "51.5") + SMOKE)
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s")
    assert done.err.splitlines()[1:] == [
        "simultaneous events: 1 choice was decided by the order of their arrival; "
        "--sequence COLUMN names a column that orders them"
    ]
    numbered = [TEMP.replace("}", f', "n": {n}}}').replace("50.5", str(value)) for n, value in ((2, 50.5), (1, 51.5))]
    Path("e.jsonl").write_text("".join(numbered) + SMOKE.replace("}", ', "n": 3}'))
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s", "--sequence", "n")
    assert done.err.splitlines()[1:] == ["simultaneous events: 1 choice was decided by 'n'"]


def test_an_engine_that_does_not_count_says_so(cepheus: Command) -> None:
    Path("e.jsonl").write_text(TEMP + TEMP + SMOKE)
    done = cepheus("detect", "fire.tesla", "--events", "e.jsonl", "--time-unit", "s", "--engine", "automata")
    assert done.err.splitlines()[1:] == [
        "simultaneous events: 1 have the time of another; automata counts nothing of it"
    ]


def test_types_that_rules_mention_need_no_declaration_others_are_mistakes(cepheus: Command) -> None:
    Path("r.tesla").write_text(
        "event Temp(area: string, value: double)\n"
        "define Fire(t: double) from Smoke() and last Temp(value > 45) within 5 min from Smoke where t = Temp.value"
    )
    Path("e.jsonl").write_text(TEMP + SMOKE)
    options = ("--events", "e.jsonl", "--time-unit", "s", "--engine", "reference")
    assert cepheus("detect", "r.tesla", *options).code == 0
    Path("e.jsonl").write_text(TEMP + SMOKE + '{"type": "Smoek", "time": 30, "area": "A1"}\n')
    done = cepheus("detect", "r.tesla", *options)
    assert (done.code, "there is no event type 'Smoek'" in done.err) == (1, True)
