"""Errors that stand in columns of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cepheus
from cepheus.core import distribution
from cepheus.core.distribution_column import ErrorColumn
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import Event
from cepheus.error_columns import Normal, Uniform

HOT = "define Hot(value: double) from Temp(value > 30) where value = Temp.value"
ROWS = [
    {"type": "Temp", "time": 1, "value": 31.8, "value_sd": 1.0},
    {"type": "Temp", "time": 2, "value": 31.8, "value_sd": None},
    {"type": "Temp", "time": 3, "value": {"value": 31.8, "error": "N(0, 4)"}, "value_sd": 1.0},
]
EXPECTED = [0.964, 1.0, 0.816]


def test_dicts_and_files(tmp_path: Path) -> None:
    program = cepheus.compile(HOT)
    found = program.detect(ROWS, uncertain={"value": Normal(sd="value_sd")}, engine="reference")
    assert [event.probability for event in found.to_events()] == pytest.approx(EXPECTED, abs=5e-4)
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    found = program.detect(path, uncertain={"value": Normal(sd="value_sd")}, engine="reference")
    assert [event.probability for event in found.to_events()] == pytest.approx(EXPECTED, abs=5e-4)


def test_tables_and_constants() -> None:
    table = pa.table({"type": ["Temp", "Temp"], "time": [1, 2], "value": [30.5, 30.5], "half": [1.0, 2.0]})
    program = cepheus.compile(HOT)
    found = program.detect(table, uncertain={"value": Uniform(low=-1.0, high="half")}, engine="reference").to_events()
    assert [event.probability for event in found] == pytest.approx([0.75, 0.5])
    assert found[1].errors == {"value": distribution.Uniform(-1.0, 2.0)}


def test_a_session_remembers_its_error_columns() -> None:
    program = cepheus.compile(HOT)
    with program.start(uncertain={"value": Normal(sd="value_sd")}, engine="reference") as session:
        snapshot = session.snapshot()
    with program.start(snapshot=snapshot) as session:
        (hot,) = session.feed(ROWS[0])
    assert hot.probability == pytest.approx(0.964, abs=5e-4)


def test_mistakes() -> None:
    program = cepheus.compile(HOT)
    bad = {"type": "Temp", "time": 1, "value": 31.8, "value_sd": -1.0}
    with pytest.raises(EventError, match="negative variance"):
        program.detect([bad], uncertain={"value": Normal(sd="value_sd")}, engine="reference")
    table = pa.table({"type": ["Temp"], "time": [1], "value": [30.5], "sd": [-1.0]})
    with pytest.raises(EventError, match=r"row 1: value: .*negative variance"):
        program.detect(table, uncertain={"value": Normal(sd="sd")}, engine="reference")
    with pytest.raises(OptionError, match="there is no column 'sdd'"):
        program.detect(table, uncertain={"value": Normal(sd="sdd")}, engine="reference")
    with pytest.raises(OptionError, match="either a standard deviation or a variance"):
        Normal()


def test_errors_as_scipy_writes_them() -> None:
    from scipy import stats

    program = cepheus.compile(HOT)
    given = Event("Temp", 1, {"value": 31.8}, errors={"value": stats.norm(0, 1)})
    (hot,) = program.detect([given], engine="reference").to_events()
    assert hot.probability == pytest.approx(0.964, abs=5e-4)
    assert str(hot.errors["value"]) == "F(norm, 0, 1)"
    sampled = Event("Temp", 1, {"value": 31.8}, errors={"value": [0.0, 1.0, 2.0, 3.0]})  # type: ignore[dict-item]
    (hot,) = program.detect([sampled], engine="reference").to_events()
    assert hot.probability == 0.5


def test_error_columns_are_sequences() -> None:
    errors = [None, distribution.Normal(0.0, 1.0), distribution.Samples((1.0, 2.0)), distribution.Uniform(-1.0, 1.0)]
    column = ErrorColumn.of(errors)
    assert list(column) == errors
    assert column == errors
    assert column[1:3] == errors[1:3]
    assert list(ErrorColumn.concat([column, column[2:]])) == errors + errors[2:]
    assert list(column.take(np.array([3, 0]))) == [errors[3], None]
    assert column.filled(distribution.Normal(0.0, 2.0))[0] == distribution.Normal(0.0, 2.0)
