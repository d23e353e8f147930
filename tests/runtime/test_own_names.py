"""Names that files use for an event's own fields: an attribute so called is read and written, or refused with words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheus
from cepheus.core.errors import EventError, RuleError
from cepheus.formats.write import EventWriter

ALLOWED = ["args", "start", "end", "event_id", "id", "rule", "made_of", "arg2"]
REFUSED = ["type", "time", "probability", "sequence"]
FORMS = ["dicts", "jsonl", "csv", "events", "table"]


def tesla(name: str) -> str:
    return f"event E({name}: int)\ndefine F({name}: int) from E({name} > 0) where {name} = E.{name}"


def etalis(name: str) -> str:
    return f"event E({name}: int).\nevent F({name}: int).\nF(X) <- E(X) WHERE (X > 0)."


def given(folder: Path, form: str, record: dict[str, Any]) -> Any:
    path = folder / f"given.{form}"
    match form:
        case "dicts":
            return [record]
        case "table":
            return pa.Table.from_pylist([record])
        case "jsonl":
            path.write_text(json.dumps(record) + "\n")
        case "csv":
            path.write_text(f"{','.join(record)}\n{','.join(map(str, record.values()))}\n")
        case _:
            attributes = ", ".join(
                f"{name}={value!r}" for name, value in record.items() if name not in ("type", "time")
            )
            path.write_text(f"E@{record['time']} ({attributes})\n")
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALLOWED)
@pytest.mark.parametrize("language", [tesla, etalis])
def test_read_and_written(language: Any, name: str, form: str, tmp_path: Path) -> None:
    program = cepheus.compile(language(name))
    found = program.detect(given(tmp_path, form, {"type": "E", "time": 5, name: 7}), time_unit="us")
    assert [event.attributes for event in found.to_events()] == [{name: 7}]
    heads = frozenset(rule.head.name for rule in program.rules.interval_rules)
    again = language(name).replace("F", "G").replace("E(", "F(").replace("E.", "F.")
    for kind in ("jsonl", "csv", "parquet", "arrow", "events"):
        path = tmp_path / f"out.{kind}"
        with EventWriter(path, intervals=heads) as writer:
            writer.write(found)
        read = cepheus.compile(again).detect(path, time_unit="us").to_events()
        assert [(event.attributes, event.made_of) for event in read] == [({name: 7}, (found.to_events()[0].id,))]


@pytest.mark.parametrize("language", [tesla, etalis])
@pytest.mark.parametrize("name", REFUSED)
def test_refused_where_it_is_declared(language: Any, name: str) -> None:
    with pytest.raises(RuleError) as caught:
        cepheus.compile(language(name))
    assert {finding.code for finding in caught.value.diagnostics} >= {"reserved-name"}


def test_both_names_of_ids_are_refused() -> None:
    with pytest.raises(RuleError) as caught:
        cepheus.compile("event E(id: int, event_id: int)\ndefine F() from E()")
    (finding,) = caught.value.diagnostics
    assert finding.code == "reserved-name"
    assert "event_id" in finding.message


def test_a_list_of_arguments_may_be_called_so() -> None:
    """Where ``args`` is an attribute, it is one whatever it holds."""
    program = cepheus.compile("event E(args: list).\nevent F(args: list).\nF(X) <- E(X).")
    (found,) = program.detect([{"type": "E", "time": 1, "args": [1, "a"]}], time_unit="us").to_events()
    assert found["args"] == (1, "a")


@pytest.mark.parametrize("form", FORMS[:3])
def test_a_null_time_is_told_as_such(form: str, tmp_path: Path) -> None:
    program = cepheus.compile("define F() from E()")
    record = {"type": "E", "time": None if form != "csv" else "", "n": 7}
    with pytest.raises(EventError) as caught:
        program.detect(given(tmp_path, form, record))
    (finding,) = caught.value.diagnostics
    assert (finding.message, finding.hint) == ("an event has no time", "its time is there, but null or empty")


def test_a_misspelt_time_is_guessed() -> None:
    with pytest.raises(EventError, match="did you mean 'tiem'"):
        cepheus.compile("define F() from E()").detect([{"type": "E", "tiem": 5}])


def test_a_null_type_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text('{"type": null, "time": 1}\n')
    with pytest.raises(EventError) as caught:
        cepheus.compile("define F() from E()").detect(path)
    assert caught.value.diagnostics[0].hint == "its type is there, but null or empty"


def test_a_null_sequence_is_told_as_such() -> None:
    program = cepheus.compile("define F() from E()")
    nothing = pa.array([None], pa.int64())
    for events in ([{"type": "E", "time": 1, "n": None}], pa.table({"type": ["E"], "time": [1], "n": nothing})):
        with pytest.raises(EventError) as caught:
            program.detect(events, sequence="n", time_unit="us")
        assert caught.value.diagnostics[0].hint == "its n is there, but null or empty"
