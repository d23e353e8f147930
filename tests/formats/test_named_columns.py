"""Columns that were named and are not there: a slip must not turn uncertain events into certain ones."""

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

PROGRAM = cepheus.compile("define Fire() from Smoke()")
EVENTS: list[dict[str, Any]] = [{"type": "Smoke", "time": 5, "prob": 0.5, "nr": 7}]
SLIPS = [("probability", "prb", "prob"), ("id", "nrs", "nr"), ("start", "tme", "time")]


@pytest.fixture(params=["csv", "parquet", "arrow", "frame", "polars", "table", "frames"])
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
            return {"Smoke": frame.drop(columns="type")}
        case _:
            return {"frame": frame, "polars": pl.DataFrame(EVENTS), "table": table}[request.param]
    return path


@pytest.mark.parametrize(("field", "slip", "meant"), SLIPS)
def test_data_with_columns_is_refused(data: Any, field: str, slip: str, meant: str) -> None:
    options: Any = {field: slip}
    with pytest.raises(EventError, match=f"there is no column '{slip}', which was named for the {field}") as raised:
        PROGRAM.detect(data, time_unit="s", **options)
    assert raised.value.diagnostics[0].hint == f"did you mean '{meant}'?"


@pytest.fixture(params=["dicts", "jsonl"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path = tmp_path / "events.jsonl"
    path.write_text('{"type": "Smoke", "time": 5, "prob": 0.5, "nr": 7}\n')
    return EVENTS if request.param == "dicts" else path


@pytest.mark.parametrize(("field", "slip", "meant"), SLIPS)
def test_records_are_warned_of_at_the_end(records: Any, field: str, slip: str, meant: str) -> None:
    options: Any = {field: slip}
    with pytest.warns(CepheusWarning, match=f"no column '{slip}'.*\\n.*did you mean '{meant}'"):
        assert len(PROGRAM.detect(records, time_unit="s", **options)) == 1
    with pytest.raises(EventError, match=f"no column '{slip}'"):
        PROGRAM.detect(records, time_unit="s", strict=True, **options)


def test_some_events_and_files_may_lack_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("type,time,prob\nSmoke,5,0.5\n")
    second.write_text("type,time\nSmoke,6\n")
    for events in ([first, second], [{"type": "Smoke", "time": 6}, *EVENTS]):
        found = PROGRAM.detect(events, time_unit="s", probability="prob", sort=True).to_events()
        assert sorted(each.probability for each in found) == [0.5, 1.0]
    with pytest.warns(CepheusWarning, match="no column 'prb'"):
        PROGRAM.detect([first, second], time_unit="s", probability="prb")


def test_a_session_tells_when_it_ends_and_one_that_goes_on_does_not() -> None:
    session = PROGRAM.start(time_unit="s", probability="prob")
    session.feed(EVENTS)
    snapshot = session.snapshot()
    session.close()
    with PROGRAM.start(snapshot=snapshot, time_unit="s", probability="prob") as later:
        later.feed({"type": "Smoke", "time": 9})
    wrong = PROGRAM.start(time_unit="s", probability="prb")
    wrong.feed(EVENTS)
    with pytest.warns(CepheusWarning, match="no column 'prb'"):
        wrong.close()


def test_an_index_of_pandas_is_a_column() -> None:
    frame = pd.DataFrame({"type": ["Temp"], "time": [1], "value": [50.0], "nr": ["a"]}).set_index("nr")
    program = cepheus.compile("define Hot(v: double) from Temp(value > 45) where v = Temp.value")
    (hot,) = program.detect(frame, id="nr", time_unit="s").to_events()
    assert hot.made_of == ("a",)
    with pytest.raises(cepheus.CepheusError, match="there is no column 'nrr'"):
        program.detect(frame, id="nrr", time_unit="s")
