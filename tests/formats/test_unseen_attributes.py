"""Attributes that rules read, that events may lack and that none has: a slip must not find nothing in silence."""

import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import cepheus
from cepheus.core.errors import CepheusWarning, EventError
from cepheus.core.event import Event

RULE = "define Hot() from Temp(value > 99 or valeu > 45)"
PROGRAM = cepheus.compile(RULE)
EVENTS: list[dict[str, Any]] = [{"type": "Temp", "time": 5, "value": 50.0}, {"type": "Temp", "time": 6, "value": 100.0}]
UNSEEN = "no event of Temp has an attribute 'valeu'"


@pytest.fixture(params=["csv", "parquet", "arrow", "frame", "polars", "table", "frames", "files"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    table, frame = pa.Table.from_pylist(EVENTS), pd.DataFrame(EVENTS)
    path = tmp_path / f"events.{request.param}"
    match request.param:
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            pq.write_table(table, path)
        case "arrow":
            feather.write_feather(table, str(path), compression="uncompressed")
        case "frames":
            return {"Temp": frame.drop(columns="type"), "Smoke": frame.drop(columns="type")}
        case "files":
            path = tmp_path / "temps.csv"
            frame.drop(columns="type").to_csv(path, index=False)
            return {"Temp": path}
        case _:
            return {"frame": frame, "polars": pl.DataFrame(EVENTS), "table": table}[request.param]
    return path


def test_columns_that_are_known_are_refused(data: Any) -> None:
    with pytest.raises(EventError, match=UNSEEN) as raised:
        PROGRAM.detect(data, time_unit="s")
    assert raised.value.diagnostics[0].hint == "did you mean 'value'?"


@pytest.fixture(params=["dicts", "events", "batch", "jsonl", "two files"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, EVENTS)))
    events = [Event("Temp", each["time"] * 1_000_000, {"value": each["value"]}) for each in EVENTS]
    other = tmp_path / "b.csv"
    pd.DataFrame(EVENTS).to_csv(other, index=False)
    match request.param:
        case "dicts":
            return EVENTS
        case "events":
            return events
        case "batch":
            return cepheus.EventBatch.from_events(events)
        case "jsonl":
            return path
    return [path, other]


def test_events_of_any_form_are_warned_of_at_the_end(records: Any) -> None:
    with pytest.warns(CepheusWarning, match=f"{UNSEEN}\\n.*did you mean 'value'"):
        assert len(PROGRAM.detect(records, time_unit="s"))
    with pytest.raises(EventError, match=UNSEEN):
        PROGRAM.detect(records, time_unit="s", strict=True)


def test_what_some_event_has_is_no_slip() -> None:
    late = [*EVENTS, {"type": "Temp", "time": 7, "value": 1.0, "valeu": 46.0}]
    table = pa.Table.from_pylist(EVENTS).append_column("valeu", pa.nulls(2, pa.float64()))
    for events in (late, late[2:], table, []):
        PROGRAM.detect(events, time_unit="s")
    with PROGRAM.start(time_unit="s") as session:
        for event in late:
            session.feed(event)


def test_a_column_that_only_another_type_has() -> None:
    shared = pa.Table.from_pylist([{"type": "Smoke", "time": 1, "valeu": 2.0, "value": None}, *EVENTS])
    with pytest.warns(CepheusWarning, match=UNSEEN):
        cepheus.compile(f"{RULE}; define Fire() from Smoke()").detect(shared, time_unit="s")


def test_what_is_declared_may_lack() -> None:
    program = cepheus.compile(f"event Temp(value: double, valeu: double?); {RULE}")
    assert len(program.detect(pd.DataFrame(EVENTS), time_unit="s")) == 1
    with pytest.raises(EventError) as raised:
        cepheus.compile("define Hot() from Temp(coalesce(humidity, 0.0) = 0)").detect(pd.DataFrame(EVENTS))
    hint = "if events may lack it, declare it with its type and '?': event Temp(.., humidity: double?)"
    assert raised.value.diagnostics[0].hint == f"there are 'value'; {hint}"


def test_subscriptions_and_later_rules_and_restored_sessions() -> None:
    session = cepheus.compile("define A() from Temp()").start()
    session.subscribe("Temp(valeu >= 12)", lambda _: None)
    session.feed([Event("Temp", 1, {"value": 50.0})])
    with pytest.warns(CepheusWarning, match=UNSEEN):
        session.close()
    first = PROGRAM.start()
    first.feed([Event("Temp", 1, {"value": 50.0})])
    early = first.snapshot()
    first.feed([Event("Temp", 2, {"value": 50.0, "valeu": 3.0})])
    late = first.snapshot()
    first.close()
    with pytest.warns(CepheusWarning, match=UNSEEN), PROGRAM.start(snapshot=early) as session:
        session.feed([Event("Temp", 3, {"value": 50.0})])
    with warnings.catch_warnings(), PROGRAM.start(snapshot=late) as session:
        warnings.simplefilter("error")
        session.feed([Event("Temp", 3, {"value": 50.0})])
        session.deploy("define Cold() from Temp(value < 0 or valleu < 0)")
        assert session._admission.unseen.keys == [("Temp", "valleu")]
        session.withdraw("Cold")


def test_what_events_had_before_a_rule_read_it_was_there() -> None:
    session = PROGRAM.start()
    session.feed([{"type": "Temp", "time": 5, "value": 50.0, "km": 3.0}])
    session.deploy("define Near() from Temp(value > 99 or km < 2)")
    with pytest.warns(CepheusWarning) as told:
        session.close()
    assert [str(each.message).splitlines()[0] for each in told] == [f"warning[unseen-attribute]: {UNSEEN}"]
