"""What a live run does not take: in the dead letters as it was, in the log in brief, in the last line as a number."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest
from worlds_live import Record, lines_of, live, payloads, run

from cepheus.cli import main
from cepheus.core.options import RunOptions
from cepheus.runtime.live.description import NamedSink
from cepheus.runtime.live.sinks.file import ToFile
from cepheus.runtime.live.sources.scripted import END, Scripted

TIMED = """
event Order(nr: int, due: timestamp, count: int)
define Waiting(nr: int, due: timestamp) from Order() where nr=Order.nr, due=Order.due
"""


def order(time: int, nr: int) -> Record:
    return {"type": "Order", "time": time, "nr": nr, "due": time + 60, "count": 1_000_000}


def refused_of(folder: Path, given: list[bytes], unit: str) -> list[Record]:
    letters = NamedSink("dead", ToFile(folder / "dead.jsonl"))
    options = RunOptions.of(engine="reference", time_unit=unit, threads=1)  # type: ignore[arg-type]
    run(live(folder, Scripted((*given, END)), rules=TIMED, options=options, dead_letters=letters))
    return lines_of(folder / "dead.jsonl")


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_a_late_event_is_read_again_as_it_was(tmp_path: Path, unit: str) -> None:
    late = order(1, 2)
    [letter] = refused_of(tmp_path / "first", payloads([order(100, 1), late]), unit)
    assert letter["error"]["code"] == "late"
    assert {name: value for name, value in letter["event"].items() if name != "id"} == late
    assert refused_of(tmp_path / "again", payloads([letter["event"]]), unit) == []
    [found] = lines_of(tmp_path / "again" / "out.jsonl")
    assert (found["time"], found["nr"], found["due"]) == (1, 2, 61)


def test_a_late_event_has_the_columns_of_the_run(tmp_path: Path) -> None:
    rules = "event Order(nr: int from number, due: timestamp)\ndefine Waiting(nr: int) from Order() where nr = Order.nr"
    options = RunOptions.of(
        engine="reference",
        time_unit="s",
        threads=1,
        time="at",
        type="kind",
        id="key",
        sequence="offset",
        probability="p",
    )
    given: Record = {"kind": "Order", "at": 100, "number": 1, "due": 5, "key": "a", "offset": 1, "p": 0.5}
    late: Record = {"kind": "Order", "at": 1, "number": 2, "due": 6, "key": "b", "offset": 2, "p": 0.25}
    letters = NamedSink("dead", ToFile(tmp_path / "dead.jsonl"))
    script = Scripted((*payloads([given, late]), END))
    run(live(tmp_path, script, rules=rules, options=options, dead_letters=letters))
    assert [letter["event"] for letter in lines_of(tmp_path / "dead.jsonl")] == [late]


def test_a_long_line_is_whole_in_the_dead_letters_and_short_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long, short = "x" * 4000, "y" * 20
    with caplog.at_level(logging.WARNING, "cepheus.live"):
        letters = refused_of(tmp_path, [long.encode(), b"\xff" * 4000, short.encode()], "s")
    assert letters[0]["payload"] == long
    assert len(letters[1]["payload_base64"]) > 5000
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("refused")]
    assert len(told) == 3
    assert max(map(len, told)) < 260
    assert "json" in told[0]
    assert f"({len(json.dumps(letters[0]))} characters)" in told[0]


def test_the_last_line_tells_how_many_were_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [*payloads([order(100, 1)]), b"garbage", b"[1]", *payloads([order(1, 2), order(200, 3)])]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (tmp_path / "timed.tesla").write_text(TIMED)
    (tmp_path / "live.toml").write_text("""
rules = "timed.tesla"
[detect]
time_unit = "s"
[[sources]]
kind = "file"
path = "in.jsonl"
follow = false
[[sinks]]
kind = "file"
path = "out.jsonl"
[state]
folder = "state"
""")
    monkeypatch.setattr(sys, "argv", ["cepheus", "live", "--quiet", str(tmp_path / "live.toml")])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert not leaving.value.code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "stopped: 5 messages read, 2 refused, 2 composite events found, 1 late"
