"""Frames in and out: by event type, with columns, times and gaps of their own, and results with real times."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheus
from cepheus.core.errors import CepheusWarning, EventError, OptionError

RULES = """
event Temp(area: string from sensor, value: double? from celsius)
event Smoke(area: string from sensor)
define Fire(area: string, temp: double, due: timestamp)
from   Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where  area=Smoke.area and temp=Temp.value and due = Smoke.time + 5 min
"""
FRAME = pd.DataFrame(
    {
        "when": ["31.01.2026 10:00", "31.01.2026 10:02", "31.01.2026 10:03"],
        "kind": ["Temp", "Temp", "Smoke"],
        "sensor": ["A1", "A1", "A1"],
        "celsius": [51.0, None, None],
    }
)
OPTIONS: dict[str, Any] = {"time": "when", "type": "kind", "time_format": "%d.%m.%Y %H:%M"}
AT = pd.Timestamp("2026-01-31T10:03:00Z")


def test_a_frame_of_a_newcomer() -> None:
    found = cepheus.compile(RULES).detect(FRAME, **OPTIONS)
    (row,) = found.to_pandas().to_dict("records")
    assert (row["area"], row["temp"], row["time"], row["due"]) == ("A1", 51.0, AT, AT + pd.Timedelta("5min"))
    assert found.to_polars()["time"].dtype == pl.Datetime("us", "UTC")
    assert found.to_arrow().schema.field("time").type == pa.timestamp("us", "UTC")


def test_results_of_nothing_are_frames_too() -> None:
    found = cepheus.compile(RULES).detect(FRAME[:2], **OPTIONS)
    assert (len(found.to_pandas()), len(found.to_polars()), found.to_dicts()) == (0, 0, [])


def test_results_of_sessions_are_frames_too() -> None:
    with cepheus.compile(RULES).start(**OPTIONS) as session:
        assert session.feed(FRAME).to_pandas()["time"].tolist() == [AT]


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_dicts_have_times_in_a_unit(unit: Any) -> None:
    scale = {"us": 1, "ms": 1_000, "s": 1_000_000}[unit]
    events = [
        {"type": "Temp", "time": 10_000_000 // scale, "sensor": "A1", "celsius": 51.0},
        {"type": "Smoke", "time": 20_000_000 // scale, "sensor": "A1"},
    ]
    (found,) = cepheus.compile(RULES).detect(events, time_unit=unit).to_dicts(unit)
    assert found["time"] == 20_000_000 // scale
    assert (found["start"], found["due"]) == (10_000_000 // scale, 320_000_000 // scale)


def test_frames_by_type() -> None:
    temps, smoke = FRAME[FRAME.kind == "Temp"].drop(columns="kind"), FRAME[FRAME.kind == "Smoke"][["when", "sensor"]]
    program = cepheus.compile(RULES)
    options = {**OPTIONS, "type": "event_type"}
    for frames in (
        {"Temp": temps, "Smoke": smoke},
        {"Smoke": pl.from_pandas(smoke), "Temp": pl.from_pandas(temps)},
        {"Smoke": pa.Table.from_pandas(smoke, preserve_index=False), "Temp": temps},
    ):
        (fire,) = program.detect(frames, **options).to_events()
        assert (fire["temp"], fire.made_of) == (51.0, ("Smoke:0", "Temp:0"))


def test_frames_by_type_that_are_out_of_order() -> None:
    temps = FRAME[FRAME.kind == "Temp"][::-1].drop(columns="kind")
    frames = {"Temp": temps, "Smoke": FRAME[FRAME.kind == "Smoke"][["when", "sensor"]]}
    program = cepheus.compile(RULES)
    with pytest.raises(EventError, match=r"Temp:2: .*comes after later events"):
        program.detect(frames, **OPTIONS)
    skipped = program.detect(frames, **OPTIONS, on_bad_event="skip")
    assert (len(skipped), skipped.late) == (0, 1)
    assert len(program.detect(frames, **OPTIONS, sort=True)) == 1
    assert len(program.detect(frames, **OPTIONS, lateness="5 min")) == 1


def test_bad_events_of_frames() -> None:
    program = cepheus.compile(RULES.replace("double?", "double"))
    with pytest.raises(EventError, match="question mark"):
        program.detect(FRAME, **OPTIONS)
    found = program.detect(FRAME, **OPTIONS, on_bad_event="skip")
    assert (len(found), found.skipped) == (1, 1)
    by_type = {"Temp": FRAME[:2], "Smoke": FRAME[2:][["when", "sensor"]]}
    found = program.detect(by_type, **{**OPTIONS, "type": "kind"}, on_bad_event="skip")
    assert (len(found), found.skipped) == (1, 1)


def test_times_that_are_written_otherwise() -> None:
    wrong = FRAME.assign(when=["31.01.2026 10:00", "2026-01-31", "31.01.2026 10:03"])
    with pytest.raises(EventError, match=r"row 2: when: '2026-01-31' is not a time written as"):
        cepheus.compile(RULES).detect(wrong, **OPTIONS)
    with pytest.raises(EventError, match="time_format"):
        cepheus.compile(RULES).detect(FRAME, time="when", type="kind")
    with pytest.raises(EventError, match="there are 'when', 'kind'"):
        cepheus.compile(RULES).detect(FRAME, type="kind")


@pytest.mark.parametrize(("unit", "time"), [(None, 1_769_853_600), (None, 1_769_853_600_000), ("s", 1_769_853_600_000)])
def test_a_forgotten_unit_is_noticed(unit: Any, time: int) -> None:
    events = [{"type": "Smoke", "time": time, "sensor": "A1"}]
    with pytest.warns(CepheusWarning, match="time_unit="):
        cepheus.compile(RULES).detect(events, time_unit=unit)


CSV = FRAME.to_csv(index=False)


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "readings.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    assert len(cepheus.compile(RULES).detect(path, **OPTIONS)) == 1
    lines = tmp_path / "readings.jsonl.gz"
    lines.write_bytes(gzip.compress(FRAME.to_json(orient="records", lines=True).encode()))
    assert len(cepheus.compile(RULES).detect([lines], **OPTIONS)) == 1
    path.write_bytes(gzip.compress(CSV.encode())[:-12])
    with pytest.raises(EventError, match="cut off"):
        cepheus.compile(RULES).detect(path, **OPTIONS)
    path.write_text(CSV)
    with pytest.raises(EventError, match="not compressed"):
        cepheus.compile(RULES).detect(path, **OPTIONS)
    with pytest.raises(OptionError, match="no extension"):
        cepheus.compile(RULES).detect(_empty(tmp_path / "a.parquet.gz"))


def _empty(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize("text", [CSV.encode(), FRAME.to_json(orient="records", lines=True).encode()])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(text: bytes, pack: Any, tmp_path: Path) -> None:
    (tmp_path / "fire.tesla").write_text(RULES)
    flags = ["--events", "-", "--time", "when", "--type", "kind", "--time-format", "%d.%m.%Y %H:%M", "--sort"]
    done = subprocess.run(
        [sys.executable, "-m", "cepheus", "detect", str(tmp_path / "fire.tesla"), *flags],
        input=pack(text),
        capture_output=True,
        check=False,
    )
    assert b"1 composite events (Fire 1)" in done.stderr, done.stderr
    assert io.BytesIO(done.stdout).read().count(b"Fire") == 1


def test_attributes_that_are_called_as_times_are_elsewhere_stay_numbers() -> None:
    """Found by trying: an int called `start`, or as a timestamp of another type, was written as a time."""
    program = cepheus.compile("""
        define A(start: int, at: timestamp) from B() where start=B.v, at=B.time
        define C(at: int, start: timestamp) from B() where at=B.v, start=B.time
    """)
    first, second = program.detect([{"type": "B", "time": 3, "v": 7}], time_unit="s").to_dicts()
    assert (first["start"], first["at"]) == (7, 3)
    assert (second["start"], second["at"]) == (3, 7)


def test_integers_stay_what_they_are_where_some_are_missing() -> None:
    program = cepheus.compile("event Order(n: int?) define Seen(n: int?) from Order() where n = Order.n")
    orders = pd.DataFrame(
        {"time": pd.to_datetime(["2026-01-31", "2026-02-01"]), "n": pd.array([2**53 + 1, None], "Int64")}
    )
    found = program.detect({"Order": orders}).to_pandas()
    assert found.n.tolist() == [2**53 + 1, pd.NA]


@pytest.mark.parametrize("column", ["time", "n"])
def test_periods_are_no_numbers(column: str) -> None:
    frame = pd.DataFrame({"time": pd.to_datetime(["2026-01-31"]), "n": [1]})
    frame[column] = pd.PeriodIndex(["2026-01-31"], freq="D")
    program = cepheus.compile("event Order(n: int) define Seen(n: int) from Order() where n = Order.n")
    with pytest.raises(EventError, match="cannot be read"):
        program.detect({"Order": frame})


def test_truths_of_eight_bits_are_truths() -> None:
    late = pa.array([1, None, 0, -1], pa.int8()).cast(pa.bool8())
    table = pa.table({"time": [1, 2, 3, 4], "late": late})
    program = cepheus.compile("event Order(late: bool?) define Seen(late: bool?) from Order() where late = Order.late")
    assert [seen.get("late") for seen in program.detect({"Order": table}).to_dicts()] == [True, None, False, True]
    numbers = cepheus.compile("event Order(late: int) define Seen() from Order()")
    with pytest.raises(EventError, match="late"):
        numbers.detect({"Order": table})
