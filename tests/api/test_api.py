from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cepheus
from cepheus import Attribute, Event, EventBatch, EventError, EventType, OptionError, RuleError, Schema, ValueType

RULE = (
    "define Fire(temp: double) from Smoke() and last Temp(value > 45) within 5 min from Smoke where temp = Temp.value"
)
EVENTS: list[dict[str, object]] = [{"type": "Temp", "time": 10, "value": 51.5}, {"type": "Smoke", "time": 60}]


def made_of(batch: EventBatch) -> list[tuple[int | str, ...]]:
    return [event.made_of for event in batch.to_events()]


def test_text_is_compiled() -> None:
    program = cepheus.compile(RULE)
    assert [rule.name for rule in program.rules.rules] == ["Fire"]
    assert str(program.inputs["Temp"]) == "Temp(value: double)"
    assert str(program.composites["Fire"]) == "Fire(temp: double)"
    assert program.warnings == ()


def test_a_file_is_compiled_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fire.tesla"
    path.write_text("\ufeff" + RULE, encoding="utf-8")
    (tmp_path / "plain").write_text("define Other() from Smoke()")
    monkeypatch.chdir(tmp_path)
    for source in (path, str(path), "fire.tesla", [path], ["fire.tesla"], ("fire.tesla",)):
        assert [rule.name for rule in cepheus.compile(source).rules.rules] == ["Fire"]
    assert [rule.name for rule in cepheus.compile("plain").rules.rules] == ["Other"]
    assert [rule.name for rule in cepheus.compile([path, tmp_path / "plain"]).rules.rules] == ["Fire", "Other"]


def test_a_line_that_names_no_file_is_text() -> None:
    assert cepheus.compile("define Fire() from Smoke").rules.rules[0].name == "Fire"
    assert cepheus.compile("").rules.rules == ()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "fire.tesla").write_text(RULE)
    with pytest.raises(OptionError, match=r"no file '.*fir.tesla'\s+hint: did you mean 'fire.tesla'"):
        cepheus.compile(tmp_path / "fir.tesla")
    with pytest.raises(OptionError, match=r"no file 'nowhere.tesla'"):
        cepheus.compile("nowhere.tesla")


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.tesla"
    path.write_text("define Fire( from Smoke()")
    with pytest.raises(RuleError) as refused:
        cepheus.compile(path)
    span = refused.value.diagnostics[0].span
    assert span is not None
    assert span.source.name == str(path)


def test_undeclared_types() -> None:
    partly = "event Smoke(); " + RULE
    with pytest.raises(RuleError, match="Temp"):
        cepheus.compile(partly)
    assert "Temp" in cepheus.compile(partly, undeclared="allow").inputs
    with pytest.raises(RuleError, match="Smoke"):
        cepheus.compile(RULE, undeclared="refuse")
    wrong: Any = "alow"
    with pytest.raises(OptionError, match="did you mean 'allow'"):
        cepheus.compile(RULE, undeclared=wrong)


def test_a_schema_describes_the_data() -> None:
    types = [EventType("Smoke"), EventType("Temp", (Attribute("value", ValueType.INT),))]
    program = cepheus.compile(RULE, schema=types, undeclared="refuse")
    assert str(program.inputs["Temp"]) == "Temp(value: int)"
    with pytest.raises(EventError, match=r"51\.5"):
        program.detect(EVENTS)
    with pytest.raises(RuleError, match="valeu"):
        cepheus.compile("define C() from Temp(valeu > 5)", schema=Schema(types))


def test_every_finite_input_gives_the_same(tmp_path: Path) -> None:
    program = cepheus.compile(RULE)
    table = pa.Table.from_pylist([{"value": None, **event} for event in EVENTS])
    path = tmp_path / "e.jsonl"
    path.write_text('{"type": "Temp", "time": 10, "value": 51.5}\n{"type": "Smoke", "time": 60}\n')
    events = [Event("Temp", 10_000_000, {"value": 51.5}), Event("Smoke", 60_000_000)]
    inputs: list[Any] = [EVENTS, iter(EVENTS), table, pd.DataFrame(EVENTS), path, str(path), [path]]
    inputs += [events, EventBatch.from_events(events)]
    for given in inputs:
        found = program.detect(given, time_unit="s")
        assert found.times.tolist() == [60_000_000]
        assert made_of(found) == [(1, 0)]


@pytest.mark.parametrize("lateness", ["50s", timedelta(seconds=50), 50_000_000])
def test_lateness_in_every_form(lateness: str | timedelta | int) -> None:
    program = cepheus.compile(RULE)
    assert made_of(program.detect(EVENTS[::-1], time_unit="s", lateness=lateness)) == [(0, 1)]


def test_disorder_beyond_the_lateness_is_an_error(tmp_path: Path) -> None:
    program = cepheus.compile(RULE)
    with pytest.raises(EventError, match="Temp at 1970-01-01T00:00:10Z comes after later events"):
        program.detect(EVENTS[::-1], time_unit="s", lateness="49s")
    numbered = [{**event, "id": f"e{place}"} for place, event in enumerate(EVENTS)]
    for given, place in (
        (EVENTS[::-1], "event:2"),
        (numbered[::-1], "event with id 'e0'"),
        (iter(EVENTS[::-1]), "event with id 1"),
        (pd.DataFrame(EVENTS[::-1]), "row:2"),
    ):
        with pytest.raises(EventError, match=f"^{place}: error"):
            program.detect(given, time_unit="s")
    path = tmp_path / "e.events"
    path.write_text("Smoke@60\nTemp@10 (value=51.5)\n")
    with pytest.raises(EventError, match=r"e\.events:2: error\[late\]"):
        program.detect(path, time_unit="s")


def test_nothing_in_nothing_out() -> None:
    assert len(cepheus.compile(RULE).detect([])) == 0
    assert len(cepheus.compile("").detect(EVENTS)) == 0


def test_wrong_options_are_told() -> None:
    program = cepheus.compile(RULE)
    wrong: Any = "minutes"
    with pytest.raises(OptionError, match="'minutes' is not a choice for time unit"):
        program.start(time_unit=wrong)
    with pytest.raises(OptionError, match="no engine"):
        program.start(engine="none")
    with pytest.raises(OptionError, match="negative"):
        program.start(lateness=-1)


def test_the_public_names_are_all_there() -> None:
    for name in cepheus.__all__:
        assert getattr(cepheus, name) is not None
    assert set(cepheus.__all__) <= set(dir(cepheus))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cepheus.__getattr__("nothing")


def test_importing_and_using_it_imports_no_heavy_part() -> None:
    code = (
        "import sys, cepheus\n"
        "[getattr(cepheus, name) for name in cepheus.__all__]\n"
        "cepheus.compile('define A() from B()').start(engine='reference')\n"
        "print(sorted({'numba', 'matplotlib', 'pandas', 'pyspark', 'fastapi'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
