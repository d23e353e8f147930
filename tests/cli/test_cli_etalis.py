"""ETALIS rules on the command line and in the API: files of every format, facts, mixing, layout, explanations."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import Command, command

import cepheus
from cepheus.core.errors import EventError, LimitError, OptionError, RuleError
from cepheus.runtime.embedded.background import read_knowledge

PAIR = "unit s. pair(X, P) <- (a(X, P) SEQ b(X, _)).9."
EVENTS = [("a", 1, "GO", 5), ("b", 3, "MS", 6), ("b", 4, "GO", 7)]
FOUND = {"type": "pair", "time": 4, "args": ["GO", 5], "start": 1, "end": 4, "from": [0, 2]}
NAMED = [{"type": kind, "time": time, "id": name, "price": price} for kind, time, name, price in EVENTS]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    run = command(monkeypatch, capsys, tmp_path)
    Path("pair.etalis").write_text(PAIR)
    return run


def _jsonl(path: str, records: list[dict[str, object]]) -> None:
    Path(path).write_text("".join(json.dumps(record) + "\n" for record in records))


def _found(path: str = "out.jsonl") -> list[dict[str, object]]:
    records = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for record in records:
        assert record.pop("id").startswith(f"{record['type']}:")
    return records


def _detect(cli: Command, file: str, *options: str) -> None:
    engine = ("--engine", "interval-reference")
    done = cli("detect", "pair.etalis", "--events", file, "--time-unit", "s", *engine, *options)
    assert done.code == 0, done.err


@pytest.mark.parametrize("how", ["args", "end", "names", "declared", "csv", "parquet"])
def test_events_may_come_in_many_forms(cli: Command, how: str) -> None:
    file = "events.jsonl"
    match how:
        case "args":
            _jsonl(file, [{"type": kind, "time": time, "args": [x, p]} for kind, time, x, p in EVENTS])
        case "end":
            _jsonl(file, [{"type": kind, "end": time, "args": [x, p]} for kind, time, x, p in EVENTS])
        case "names":
            _jsonl(file, NAMED)
        case "declared":
            Path("pair.etalis").write_text(f"event a(id: string, price: int). event b(id: string, price: int). {PAIR}")
            _jsonl(file, NAMED)
        case "csv":
            file = "events.csv"
            pd.DataFrame(NAMED).to_csv(file, index=False)
        case "parquet":
            file = "events.parquet"
            pq.write_table(pa.Table.from_pylist(NAMED), file)
    _detect(cli, file, "-o", "out.jsonl")
    assert _found() == [FOUND]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"type": "a", "time": 3, "args": [[1, None], 2]}, "a.arg1: a list holds null"),
        ({"type": "a", "time": 3, "args": [{"x": 1}, 2]}, "a.arg1: an attribute may not be an object"),
        ({"type": "a", "time": 3, "args": [1, 2], "arg1": 7}, "'arg1' is 7 by its name and 1 among the arguments"),
        ({"type": "a", "time": 3, "end": 5, "args": [1, 2]}, "the time is 3 and the end 5, but these are the same"),
    ],
)
def test_what_an_event_cannot_have_is_refused(cli: Command, event: dict[str, object], message: str) -> None:
    _jsonl("e.jsonl", [event])
    done = cli("detect", "pair.etalis", "--events", "e.jsonl", "--engine", "interval-reference")
    assert done.code != 0
    assert message in done.err


def test_events_may_be_intervals_and_are_written_as_such(cli: Command) -> None:
    _jsonl("e.jsonl", [{"type": "a", "start": 1, "time": 3, "args": [1, 2]}, {"type": "b", "time": 4, "args": [1, 0]}])
    _detect(cli, "e.jsonl", "-o", "out.csv")
    header, row = Path("out.csv").read_text().splitlines()
    assert (header.split(",")[:6], row.split(",")[:6]) == (
        ["type", "time", "arg1", "arg2", "start", "end"],
        ["pair", "4", "1", "2", "1", "4"],
    )
    _jsonl("e.jsonl", [{"type": "a", "start": 9, "time": 3, "args": [1, 2]}])
    done = cli("detect", "pair.etalis", "--events", "e.jsonl", "--engine", "interval-reference")
    assert "error[start]: an event starts after its end" in done.err


def test_the_id_of_an_event_whose_type_has_an_attribute_id(cli: Command) -> None:
    Path("pair.etalis").write_text("event a(id: string). e(X) <- a(X).")
    _jsonl("e.jsonl", [{"type": "a", "time": 1, "id": "GO", "event_id": "x7"}])
    _detect(cli, "e.jsonl", "-o", "out.jsonl")
    assert _found()[0]["from"] == ["x7"]
    with_named_id = cepheus.compile("event a(id: string). event e(id: string). e(X) <- a(X).")
    (made,) = with_named_id.detect([{"type": "a", "time": 1, "id": "GO"}], engine="interval-reference").to_dicts()
    assert (made["id"], made["event_id"][:2], made["from"]) == ("GO", "e:", [0])


def test_bare_numbers_are_in_the_unit_of_the_command(cli: Command) -> None:
    Path("pair.etalis").write_text("pair(X) <- (a(X, _) SEQ b(X, _)).2.")
    _jsonl("e.jsonl", NAMED)
    _detect(cli, "e.jsonl", "-o", "out.jsonl")
    assert _found() == []
    Path("pair.etalis").write_text("pair(X) <- (a(X, _) SEQ b(X, _)).3.")
    _detect(cli, "e.jsonl", "-o", "out.jsonl")
    assert len(_found()) == 1


def test_facts(cli: Command) -> None:
    Path("pair.etalis").write_text("warm(R) <- temp(S, V) WHERE V > 30, located(S, R).")
    Path("located.csv").write_text("sensor,room\nt1,hall\nt2,kitchen\n")
    _jsonl("e.jsonl", [{"type": "temp", "time": 1, "args": ["t2", 35]}])
    _detect(cli, "e.jsonl", "-o", "out.jsonl", "--facts", "located=located.csv")
    assert _found()[0]["args"] == ["kitchen"]
    assert cli("check", "pair.etalis", "--facts", "located=located.csv").code == 0
    assert "unknown-relation" in cli("check", "pair.etalis").err
    assert "write --facts located=located.csv" in cli("check", "pair.etalis", "--facts", "located").err
    assert "there is no file" in cli("check", "pair.etalis", "--facts", "located=no.csv").err


@pytest.mark.parametrize("rows", [pd.DataFrame({"s": ["t2"], "r": ["kitchen"]}), [("t2", "kitchen")]])
def test_facts_in_python(rows: object) -> None:
    rules = "warm(R) <- temp(S) WHERE located(S, R)."
    program = cepheus.compile(rules, knowledge={"located": rows})  # type: ignore[dict-item]
    (made,) = program.detect([{"type": "temp", "time": 1, "args": ["t2"]}], engine="interval-reference").to_events()
    assert made["arg1"] == "kitchen"
    with pytest.raises(OptionError, match="different lengths"):
        cepheus.compile(rules, knowledge={"located": [(1,), (1, 2)]})


@pytest.mark.parametrize(
    ("value", "why"),
    [(2**63, "64 bits"), (float("nan"), "finite"), (float("-inf"), "finite"), (object(), "no value")],
)
def test_facts_that_no_event_could_carry_are_refused(value: object, why: str) -> None:
    rules = "warm(R) <- temp(S) WHERE located(S, R)."
    with pytest.raises(OptionError, match=why):
        cepheus.compile(rules, knowledge={"located": [("t1", value)]})  # type: ignore[list-item]


def test_facts_may_come_from_arrays_and_lack_values() -> None:
    rows = [("t1", np.int64(5)), ("t2", None), ("t3", np.float64(0.5))]
    program = cepheus.compile("warm(R) <- temp(S) WHERE located(S, R).", knowledge={"located": rows})  # type: ignore[dict-item]
    given = [{"type": "temp", "time": time, "args": [f"t{time}"]} for time in (1, 2, 3)]
    assert [made["arg1"] for made in program.detect(given, engine="interval-reference").to_events()] == [5, 0.5]


def test_commands_on_both_languages(cli: Command) -> None:
    Path("alarm.tesla").write_text("define Alarm(p: int) from pair() where p = pair.arg2")
    assert cli("check", "pair.etalis", "alarm.tesla").out == "2 rules in 2 files: no errors\n"
    _jsonl("e.jsonl", NAMED)
    done = cli(
        "detect", "pair.etalis", "alarm.tesla", "--events", "e.jsonl", "--time-unit", "s", "--engine", "reference"
    )
    assert "2 composite events (Alarm 1, pair 1)" in done.err
    explained = cli("explain", "pair.etalis", "alarm.tesla").out
    assert "SEQ: one after the other" in explained
    assert "when pair arrives" in explained
    assert cli("fmt", "pair.etalis").code == 0
    assert Path("pair.etalis").read_text() == "unit s.\n\npair(X, P) <- (a(X, P) SEQ b(X, _)).9 s.\n"
    Path("pair.etalis").write_text("e(X) <- a(X) b(X).")
    assert "an operator is missing before it" in cli("check", "pair.etalis").err


def test_sessions() -> None:
    program = cepheus.compile("LABEL pairing: pair(X) <- (a(X) SEQ b(X)).5 s. done <- a(_) DURING (1 s SEQ 9 s).")
    heard: list[str] = []
    with program.start(engine="interval-reference", time_unit="s") as session:
        session.subscribe("pair", lambda event: heard.append(event.type))
        assert session.feed({"type": "a", "time": 3, "start": 2, "x": 1}) == []
        copy = cepheus.compile("other <- b(_).").start(snapshot=session.snapshot())
        (made,) = session.feed({"type": "b", "time": 4, "x": 1})
        assert (made.rule, made.start, made.made_of) == ("pairing", 2_000_000, (0, 1))
        assert session.deploy("alone(X) <- b(X).") == ("alone",)
        session.withdraw("pairing")
        assert [event.type for event in session.feed({"type": "b", "time": 5, "x": 2})] == ["alone"]
        assert [event.type for event in session.advance(9).to_events()] == ["done"]
    assert heard == ["pair"]
    assert session.engine_name == "interval-reference"
    assert [event.type for event in copy.feed({"type": "b", "time": 4, "x": 1})] == ["pair"]
    assert [event.type for event in copy.close().to_events()] == ["done"]


def test_the_data_decides_what_undeclared_arguments_are() -> None:
    program = cepheus.compile("e(X) <- a(X, _).")
    events = [{"type": "a", "time": 1, "first": 7, "second": 8}]
    (made,) = program.detect(events, engine="interval-reference").to_events()
    assert made["arg1"] == 7
    with pytest.raises(EventError, match="2 arguments of 'a', and the data has values of 1 attributes: first"):
        program.detect([{"type": "a", "time": 1, "first": 7}], engine="interval-reference")
    with pytest.raises(EventError, match="2 attributes, not 1"):
        program.detect([{"type": "a", "time": 1, "args": [7]}], engine="interval-reference")


def test_a_null_argument_is_named(cli: Command) -> None:
    _jsonl("null.jsonl", [{"type": "a", "time": 1, "args": ["GO", None]}, {"type": "b", "time": 2, "args": [None, 1]}])
    outcome = cli("detect", "pair.etalis", "--events", "null.jsonl", "--engine", "interval-reference")
    assert outcome.code != 0
    assert "null.jsonl:1: error[attribute]: argument 2 of a is null or missing" in outcome.err
    assert "event a(x: int?)" in outcome.err


def test_why_tells_which_rule_found_a_complex_event(cli: Command) -> None:
    _jsonl("events.jsonl", NAMED)
    options = ("--events", "events.jsonl", "--time-unit", "s")
    assert cli("detect", "pair.etalis", *options, "--engine", "interval-reference", "--out", "out.jsonl").code == 0
    (identity,) = (json.loads(line)["id"] for line in Path("out.jsonl").read_text().splitlines())
    outcome = cli("explain", "pair.etalis", "--why", identity, *options)
    assert outcome.code == 0
    assert "1.000000  rule: pair found it in 0, 2" in outcome.out


@pytest.mark.parametrize("engine", ["interval-reference", "goals"])
def test_uncertain_events_are_refused(engine: str) -> None:
    program = cepheus.compile("event temp(value: double, at: double). hot(V) <- temp(V, _).")
    off = {"value": 1.5, "error": "N(0, 1)"}
    with pytest.raises(EventError, match=r"but temp\.value, which they read, has an error"):
        program.detect([{"type": "temp", "time": 1, "value": off, "at": 2}], engine=engine)
    with pytest.raises(EventError, match="an event temp has a probability"):
        program.detect([{"type": "temp", "time": 1, "value": 1, "at": 2, "probability": 0.5}], engine=engine)
    (made,) = program.detect([{"type": "temp", "time": 1, "value": 1, "at": off}], engine=engine).to_events()
    assert made["arg1"] == 1.0


def test_a_declared_error_of_what_a_rule_reads_is_refused(cli: Command) -> None:
    Path("temp.tesla").write_text("event temp(value: double, at: double) error temp.value ~ N(0, 1)")
    Path("hot.etalis").write_text("hot(V) <- temp(V, _).")
    outcome = cli("check", "temp.tesla", "hot.etalis")
    assert outcome.code != 0
    assert "hot.etalis:1:16: error[uncertain-argument]" in outcome.err
    Path("hot.etalis").write_text("hot(A) <- temp(_, A).")
    assert cli("check", "temp.tesla", "hot.etalis").code == 0


def test_check_takes_the_unit_of_numbers_without_one(cli: Command) -> None:
    Path("half.etalis").write_text("e <- (a SEQ b).0.5.")
    refused = cli("check", "half.etalis")
    assert refused.code == 1
    assert "error[duration]" in refused.err
    assert cli("check", "half.etalis", "--time-unit", "s").code == 0


def test_the_layout_leaves_the_meaning_to_the_unit_of_the_command(cli: Command) -> None:
    Path("pair.etalis").write_text("pair(X)<-(a(X) seq b(X)).9.")
    _jsonl("events.jsonl", [{"type": name, "time": time, "args": [1]} for name, time in (("a", 1), ("b", 4))])
    for _ in range(2):
        assert cli("detect", "pair.etalis", "--events", "events.jsonl", "--time-unit", "s", "-o", "out.jsonl").code == 0
        assert [record["args"] for record in _found()] == [[1]]
        cli("fmt", "pair.etalis")
    assert Path("pair.etalis").read_text() == "pair(X) <- (a(X) SEQ b(X)).9.\n"


def test_texts_without_rules_are_told_apart() -> None:
    session = cepheus.compile("p(1). e(X) <- a(X) WHERE p(X).").start()
    assert session.deploy("p(2).") == ()
    for text in ("% nothing yet", "event a(x: int).", "unit s.", "limit 5.", "p(1). # one", ""):
        assert not cepheus.compile(text).rules.all_rules
    assert cepheus.compile("event a(x: int)").rules.declarations[0].name == "a"
    with pytest.raises(RuleError, match="did you mean 'define'"):
        cepheus.compile("defin A() from B().")


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
def test_too_many_events_are_told_in_the_words_of_the_language(engine: str) -> None:
    program = cepheus.compile("e(X, Y) <- a(X) AND a(Y) POLICY unrestricted.")
    with pytest.raises(LimitError) as raised:
        program.detect([{"type": "a", "time": 1, "args": [n]} for n in range(9)], engine=engine, limit=12)
    hint = raised.value.diagnostics[0].hint
    assert hint is not None
    assert "policy recent" in hint
    assert "each" not in hint


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "events"])
def test_declared_arguments_without_names_of_their_own_have_their_types(cli: Command, ending: str) -> None:
    Path("out.etalis").write_text("event a(s: string, l: list). e(S, L) <- a(S, L).")
    _jsonl("a.jsonl", [{"type": "a", "time": 1, "args": ["007", [1, "b"]]}])
    assert cli("detect", "out.etalis", "--events", "a.jsonl", "-o", f"e.{ending}").code == 0
    program = cepheus.compile("event e(arg1: string, arg2: list). f(X, Y) <- e(X, Y).")
    (made,) = program.detect(f"e.{ending}").to_events()
    assert dict(made.attributes) == {"arg1": "007", "arg2": (1, "b")}
    Path("foo.csv").write_text("type,time,arg1\ne,1,foo\n")
    with pytest.raises(EventError, match=r"foo.csv:2: error\[type\]: e.arg1: 'foo' is not an integer"):
        cepheus.compile("event e(arg1: int). f(X) <- e(X).").detect("foo.csv")


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "events"])
def test_times_in_complex_events_are_written_in_the_unit(cli: Command, ending: str, engine: str) -> None:
    Path("r.etalis").write_text("event a(x: timestamp). event e(t: timestamp, n: int). e(X, 3) <- a(X). d(4) <- a(_).")
    _jsonl("a.jsonl", [{"type": "a", "time": 5, "x": "2026-01-01T00:00:00Z"}])
    options = ("--time-unit", "s", "--engine", engine, "-o", f"e.{ending}")
    assert cli("detect", "r.etalis", "--events", "a.jsonl", *options).code == 0
    if ending == "jsonl":
        assert [record.get("t") for record in _found("e.jsonl")] == [1767225600, None]
    program = cepheus.compile("event e(t: timestamp, n: int). f(X, N) <- e(X, N).", undeclared="allow")
    (made,) = program.detect(f"e.{ending}", time_unit="s").to_events()
    assert dict(made.attributes) == {"arg1": 1767225600_000_000, "arg2": 3}


def _facts(folder: Path, text: str | bytes) -> tuple[object, ...]:
    (folder / "facts.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    (relation,) = read_knowledge({"located": folder / "facts.csv"}).tables
    return relation.rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("sensor,room\n", ()),
        ("s,n\nt1,1\nt2,2.5\n", (("t1", 1.0), ("t2", 2.5))),
        ("s,n\r\nt1,-1\r\n\r\nt2,0\r\n", (("t1", -1), ("t2", 0))),
        ("n\n007\n8\n", (("007",), ("8",))),
        ("n\n1e5\n", ((1e5,),)),
        ("n\ntrue\nFalse\n", ((True,), (False,))),
        ("s,n\nt1,\n,2\nt3,3\n", (("t3", 3),)),
        ('s\n"a, ""b"""\n""\n', (('a, "b"',), ("",))),
        ('s,n\nt1,""\nt2,\nt3,3\n', (("t1", ""), ("t3", "3"))),
        ('s\n"[1, 2]"\n', (((1, 2),),)),
        ("s\n[1\n", (("[1",),)),
        ("t\n1970-01-01T00:00:01\n1970-01-02\n", ((1_000_000,), (86_400_000_000,))),
        ("t\n1970-13-01\n", (("1970-13-01",),)),
        ("\ufeffs\nt1\n", (("t1",),)),
    ],
)
def test_facts_in_files(tmp_path: Path, text: str, rows: object) -> None:
    assert _facts(tmp_path, text) == rows


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sensor,sensor\nt1,t2\n", r"line 1: the column 'sensor' is there twice"),
        ("n\n1\n100000000000000000000\n", r"line 3: n: '100000000000000000000' does not fit in 64 bits"),
        ("room\nhall\nK\u00fcche\n".encode("latin-1"), r"line 3: the text is not UTF-8"),
        ("s,r\nt1\n", r"line 2: there are 1 cells, and the header names 2"),
        ('s\n"t1\n', r"line 2: a quoted cell does not end where it should"),
        ("", r"the file is empty"),
        ("n\n1\n1e400\n", r"line 3: n: '1e400' is beyond the numbers of 64 bits"),
    ],
)
def test_files_that_are_no_facts(tmp_path: Path, text: str | bytes, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        _facts(tmp_path, text)


@pytest.mark.parametrize(
    "given",
    [
        [{"sensor": "t1", "at": datetime(1970, 1, 1, 0, 0, 1)}, {"at": 2, "sensor": "t2"}],
        [("t1", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)), ["t2", 2], ("t3", None)],
        pd.DataFrame({"s": ["t1", "t2", "t3"], "at": [1e6, 2, float("nan")]}),
    ],
)
def test_facts_in_python_may_be_dicts_and_hold_times(given: object) -> None:
    (relation,) = read_knowledge({"located": given}).tables  # type: ignore[dict-item]
    assert relation.rows == (("t1", 1_000_000), ("t2", 2))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["t1"], r"row 1 of 'located' is 't1', which is no row"),
        ([("t1",), 5], r"row 2 of 'located' is 5, which is no row"),
        (5, r"the facts of 'located' are no rows: 5"),
        ({"sensor": "t1"}, r"the facts of 'located' are no rows: an object"),
        ([{"a": 1}, {"b": 1}], r"row 2 of 'located' has the keys b, and the first has a"),
        ([{"a": 1}, (1,)], r"row 2 of 'located' has no keys, and the first has"),
        (pd.DataFrame({"x": [1, 1, 2], "y": [1, 2, "q"]}), r"row 3 of 'located': the column 'y' holds 'q', and 1 in a"),
        (
            pd.DataFrame({"y": [1, 2**70]}),
            r"row 2 of 'located': the column 'y' holds 1180\d+, which does not fit in 64",
        ),
    ],
)
def test_facts_in_python_that_are_no_rows(given: object, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        read_knowledge({"located": given})  # type: ignore[dict-item]
