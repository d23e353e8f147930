"""What a value means for an attribute does not depend on the format that it comes in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import cepheus
from cepheus.cli import app
from cepheus.core.errors import CepheusError, EventError
from cepheus.core.options import OnBadEvent
from cepheus.formats.intake import IntakeOptions
from cepheus.formats.problems import BadEvents
from cepheus.formats.read import EventFile

TYPED = ["jsonl", "events", "parquet", "arrow", "dicts", "events in Python", "table", "pandas", "polars"]
MOMENT, UNCERTAIN, TOO_LARGE = "2026-03-02T10:00:00Z", {"value": 3, "error": "N(0,1)"}, 2**63

DECLARED = {
    kind: f"event E(x: {kind})\ndefine F(x: {kind}) from E() where x = E.x"
    for kind in ("bool", "int", "double", "string", "timestamp")
}
USED = {
    "a number": "define F(x: double) from E(x > 1) where x = E.x",
    "a string": "define F(x: string) from E(x >= '') where x = E.x",
    "a truth": "define F(x: bool) from E(x = true) where x = E.x",
    "a time": "define F(x: timestamp) from E(x > timestamp '1970-01-01T00:00:00Z') where x = E.x",
}
RULES = DECLARED | USED
ALIKE = {"a truth": "bool", "a string": "string", "a time": "timestamp", "a number": "double"}
"""Attributes that rules use so are read as if they were declared so, but for texts in CSV."""

FOUND: dict[str, list[tuple[Any, Any]]] = {
    "bool": [
        *((wrong, "type") for wrong in (3, 2.5, "hot", "3", MOMENT, [1], UNCERTAIN, TOO_LARGE)),
        (True, True),
        (None, "attribute"),
        (math.nan, "number"),
    ],
    "int": [
        *((wrong, "type") for wrong in (2.5, "hot", "3", True, MOMENT, [1])),
        (3, 3),
        (3.0, 3),
        (UNCERTAIN, {"value": 3, "error": "N(0, 1)"}),
        (None, "attribute"),
        (math.nan, "number"),
        (TOO_LARGE, "integer"),
    ],
    "double": [
        *((wrong, "type") for wrong in ("hot", "3", True, MOMENT, [1])),
        (3, 3.0),
        (2.5, 2.5),
        (UNCERTAIN, {"value": 3.0, "error": "N(0, 1)"}),
        (None, "attribute"),
        (math.nan, "number"),
        (TOO_LARGE, "integer"),
    ],
    "string": [
        *((wrong, "type") for wrong in (3, 2.5, True, [1], UNCERTAIN, TOO_LARGE)),
        *((text, [text]) for text in ("hot", "3", MOMENT)),
        (None, "attribute"),
        (math.nan, "number"),
    ],
    "timestamp": [
        *((wrong, "type") for wrong in (True, [1], UNCERTAIN)),
        *((wrong, "time") for wrong in ("hot", "3", 2.5, TOO_LARGE)),
        (3, 3),
        (3.0, 3),
        (MOMENT, 1_772_445_600_000_000),
        (None, "attribute"),
        (math.nan, "number"),
    ],
}
"""By type: what each value is taken for, or the code of the error; a text that is taken as it is stands in a list."""

IN_CSV: dict[str, list[tuple[Any, Any]]] = {
    "bool": [(math.nan, "type")],
    "int": [("3", 3)],
    "double": [("3", 3.0)],
    "string": [
        *((value, [str(value)]) for value in (3, 2.5, [1], TOO_LARGE, math.nan)),
        (True, ["true"]),
        (UNCERTAIN, ["<3, N(0,1)>"]),
    ],
    "timestamp": [("3", 3), (True, "time"), ([1], "time"), (math.nan, "time")],
}
"""What differs in CSV, where all cells are texts, and are taken for what is expected."""

USED_IN_CSV: list[tuple[Any, Any]] = [
    *((value, "type") for value in (3, 2.5, "3", True, UNCERTAIN, TOO_LARGE)),
    ([1], ["[1]"]),
    (math.nan, ["nan"]),
]
"""What differs from JSON lines where rules alone say that something is a string."""


def cases() -> list[tuple[str, Any, str, Any]]:
    """Give all of them: rules, value, format, outcome."""
    found = []
    for use in RULES:
        kind = ALIKE.get(use, use)
        for value, outcome in FOUND[kind]:
            for form in TYPED:
                missing = form == "pandas" and isinstance(value, float) and math.isnan(value)
                found.append((use, value, form, "attribute" if missing else outcome))  # pandas knows no other null
            others = USED_IN_CSV if use == "a string" else IN_CSV[kind]
            told = next((told for other, told in others if _same(other, value)), outcome)
            found.append((use, value, "csv", told))
    return found


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


def given(folder: Path, form: str, value: Any) -> Any:
    """Give an event with a value for its only attribute, in a format."""
    record = {"type": "E", "time": 1, "x": value}
    path = folder / f"one.{form}"
    match form:
        case "jsonl":
            path.write_text(json.dumps(record) + "\n")
        case "csv":
            path.write_text(f"type,time,x\nE,1,{_cell(value)}\n")
        case "events":
            path.write_text(f"E@1 (x={_in_notation(value)})\n")
        case "dicts":
            return [record]
        case "events in Python":
            return [cepheus.Event("E", 1, {"x": value})]
        case _:
            kind = pa.uint64() if value == TOO_LARGE else None
            table = pa.table({"type": ["E"], "time": [1], "x": pa.array([value], kind)})
            if form == "table":
                return table
            if form == "pandas":
                return table.to_pandas()
            if form == "polars":
                return pytest.importorskip("polars").from_arrow(table)
            if form == "parquet":
                pa.parquet.write_table(table, path)
            else:
                with pa.ipc.new_file(path, table.schema) as file:
                    file.write_table(table)
    return path


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f'"<{value["value"]}, {value["error"]}>"'
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _in_notation(value: Any) -> str:
    match value:
        case dict():
            return f"<{value['value']}, {value['error']}>"
        case float() if math.isnan(value):
            return "NaN"
        case None | bool():
            return json.dumps(value)
        case _:
            return repr(value)


@pytest.mark.parametrize(
    ("use", "value", "form", "outcome"), cases(), ids=lambda part: str(part).replace("/", " ")[:30]
)
def test_value(use: str, value: Any, form: str, outcome: Any, tmp_path: Path) -> None:
    program = cepheus.compile(RULES[use])
    events = given(tmp_path, form, value)
    if isinstance(outcome, str):
        with pytest.raises(EventError) as caught:
            program.detect(events, engine="reference", time_unit="us")
        assert [finding.code for finding in caught.value.diagnostics] == [outcome]
        return
    (found,) = program.detect(events, engine="reference", time_unit="us").to_dicts()
    wanted = outcome[0] if isinstance(outcome, list) else outcome
    assert found["x"] == wanted
    assert type(found["x"]) is type(wanted)


HOT = "define F() from Temp(value > 'hot')"


def csv_of(folder: Path, *rows: str) -> Path:
    path = folder / "temps.csv"
    path.write_text("\n".join(["type,time,value,area", *rows, ""]))
    return path


def test_a_text_against_numbers_is_refused(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "Smoke,1,,A1", "Temp,2,25.5,A1", "Temp,3,31,A1")
    with pytest.raises(EventError) as caught:
        cepheus.compile(HOT).detect(path, time_unit="s")
    (finding,) = caught.value.diagnostics
    assert finding.message == "Temp.value: 25.5 is not a string"
    assert finding.hint == ("rules take it for a string; if its texts are meant, declare it: event Temp(value: string)")
    assert str(finding.place).endswith("temps.csv:3")


def test_the_command_fails(tmp_path: Path) -> None:
    rules = tmp_path / "hot.tesla"
    rules.write_text(HOT)
    path = csv_of(tmp_path, "Temp,2,25.5,A1")
    with pytest.raises(CepheusError, match="is not a string"):
        app(["detect", str(rules), "--events", str(path), "--time-unit", "s"], standalone_mode=False)


def test_numbers_may_be_names_if_declared_or_among_others(tmp_path: Path) -> None:
    by_name = "define F(value: string) from Temp(value = '7') where value = Temp.value"
    declared = f"event Temp(value: string, area: string?)\n{by_name}"
    only_numbers = csv_of(tmp_path, "Temp,2,7,A1", "Temp,3,8,A1")
    assert [e["value"] for e in cepheus.compile(declared).detect(only_numbers, time_unit="s").to_dicts()] == ["7"]
    mixed = csv_of(tmp_path, "Temp,2,7,A1", "Temp,3,hall,A1")
    assert [e["value"] for e in cepheus.compile(by_name).detect(mixed, time_unit="s").to_dicts()] == ["7"]


@pytest.mark.parametrize(("first", "skipped"), [("hall", 0), ("25.5", 2)])
def test_the_first_rows_of_a_file_tell(first: str, skipped: int, tmp_path: Path) -> None:
    path = csv_of(tmp_path, f"Temp,1,{first},A1", "Temp,2,31,A1", "Temp,3,hall,A1")
    bad = BadEvents(OnBadEvent.SKIP)
    file = EventFile(path, IntakeOptions(cepheus.compile(HOT).inputs), bad, chunk_rows=1)
    assert len(file.batch()) == 3 - skipped
    assert bad.skipped == skipped
