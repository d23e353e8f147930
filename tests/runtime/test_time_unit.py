"""A forgotten or wrong time unit is told once, on every host, and refused by those who are strict."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import cepheus
from cepheus import CepheusWarning
from cepheus.cli import app
from cepheus.core.errors import CepheusError, OptionError, RuleError
from cepheus.formats.write import EventWriter

RULE = "define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke"
WARNED = "define Fire() from Smoke(a > 0) consuming Smoke"
DAY = 86_400
NOW = 1_767_225_600  # seconds since 1970, 2026-01-01T00:00:00Z
NANOSECONDS = "they look like nanoseconds since 1970, which is no unit here: divide them by 1000"
FORMS = ["dicts", "table", "pandas", "jsonl", "csv", "parquet", "arrow", "events", "session", "one by one"]


def records(first: int, gap: int, *, as_text: bool = False) -> list[dict[str, Any]]:
    """Give a hot reading and smoke some time later."""
    times: list[Any] = [first, first + gap]
    if as_text:
        times = [datetime.fromtimestamp(time, UTC).isoformat() for time in times]
    return [{"type": "Temp", "time": times[0], "value": 51.5}, {"type": "Smoke", "time": times[1], "value": None}]


def run(form: str, given: list[dict[str, Any]], folder: Path, **options: Any) -> list[cepheus.Event]:
    """Run the rule over events in a form."""
    program = cepheus.compile(RULE)
    if form == "one by one":
        with program.start(**options) as session:
            return [fire for event in given for fire in session.feed(event)]
    if form == "session":
        with program.start(**options) as session:
            return session.feed(given).to_events()
    events: Any = given
    path = folder / f"events.{form}"
    table = pa.Table.from_pylist(given)
    match form:
        case "table":
            events = table
        case "pandas":
            events = table.to_pandas()
        case "jsonl":
            path.write_text("".join(json.dumps(event) + "\n" for event in given))
        case "csv":
            lines = [f"{event['type']},{event['time']},{event['value'] or ''}" for event in given]
            path.write_text("\n".join(["type,time,value", *lines, ""]))
        case "events":
            values = [json.dumps(event["value"]) for event in given]
            times = [json.dumps(event["time"]) for event in given]
            lines = [f"{e['type']}@{t} (value={v})\n" for e, t, v in zip(given, times, values, strict=True)]
            path.write_text("".join(lines))
        case "parquet":
            pa.parquet.write_table(table, path)
        case "arrow":
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
    if form not in ("dicts", "table", "pandas"):
        events = path
    return program.detect(events, **options).to_events()


def told(form: str, given: list[dict[str, Any]], folder: Path, **options: Any) -> list[CepheusWarning]:
    """Give what a run warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(form, given, folder, **options)
    return [each.message for each in caught if isinstance(each.message, CepheusWarning)]


@pytest.mark.parametrize("form", FORMS)
def test_a_forgotten_unit_is_told_once(form: str, tmp_path: Path) -> None:
    (warning,) = told(form, [*records(NOW, DAY), *records(NOW + 7 * DAY, DAY)], tmp_path)
    assert warning.diagnostic.code == "time-unit"
    assert "taken for microseconds they are 1970-01-01T00:29:27" in warning.diagnostic.message
    assert warning.diagnostic.hint == "they look like seconds since 1970: time_unit='s'"


@pytest.mark.parametrize("form", FORMS)
def test_who_is_strict_refuses_it(form: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        run(form, records(NOW, DAY), tmp_path, strict=True)
    assert [finding.code for finding in caught.value.diagnostics] == ["time-unit"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("first", "unit"),
    [(0, "s"), (NOW, "s"), (5, "us"), (NOW * 1000, "ms"), (NOW * 1_000_000, "us"), (NOW * 1_000_000, None)],
)
def test_times_that_make_sense_are_not_doubted(form: str, first: int, unit: str | None, tmp_path: Path) -> None:
    assert not told(form, records(first, 60), tmp_path, time_unit=unit, strict=True)


@pytest.mark.parametrize("form", FORMS)
def test_times_that_need_no_unit_are_not_doubted(form: str, tmp_path: Path) -> None:
    assert not told(form, records(100, 60, as_text=True), tmp_path, strict=True)


@pytest.mark.parametrize(
    ("first", "unit", "hint"),
    [
        (NOW * 1000, None, "they look like milliseconds since 1970: time_unit='ms'"),
        (NOW * 1000, "s", "they look like milliseconds since 1970: time_unit='ms'"),
        (NOW * 1_000_000, "ms", "they look like microseconds since 1970: time_unit='us'"),
        (
            NOW * 1_000_000_000,
            None,
            "they look like nanoseconds since 1970, which is no unit here: divide them by 1000",
        ),
        (
            NOW * 1_000_000_000,
            "us",
            "they look like nanoseconds since 1970, which is no unit here: divide them by 1000",
        ),
        (7, None, "say which unit they are in: time_unit='s', or ms or us"),
    ],
)
def test_what_the_numbers_look_like(first: int, unit: str | None, hint: str, tmp_path: Path) -> None:
    (warning,) = told("jsonl", records(first, 60), tmp_path, time_unit=unit)
    assert warning.diagnostic.hint == hint


def test_a_year_that_is_far_away_is_named(tmp_path: Path) -> None:
    (warning,) = told("dicts", records(NOW * 1000, 60), tmp_path, time_unit="s")
    assert warning.diagnostic.message == "the times are in the year 57971, taken for seconds"


def test_events_of_this_library_are_in_microseconds() -> None:
    events = [cepheus.Event("Temp", 5, {"value": 51.5}), cepheus.Event("Smoke", 7)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = cepheus.compile(RULE)
        batch = cepheus.EventBatch.from_events(events)
        assert len(program.detect(events)) == len(program.detect(batch)) == 1


def test_the_warning_points_to_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cepheus.compile(RULE).detect(records(NOW, DAY))
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]


def test_a_strict_session_takes_nothing_of_the_call_and_goes_on_refusing() -> None:
    session = cepheus.compile(RULE).start(strict=True)
    for _ in range(2):
        for given in (records(NOW, DAY), records(NOW, DAY)[0]):
            with pytest.raises(OptionError):
                session.feed(given)
    assert session.counts.events == 0
    session.feed(records(NOW * 1_000_000, DAY))
    assert session.counts.events == 2


def test_each_file_is_looked_at(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.jsonl", tmp_path / "wrong.jsonl"
    right.write_text(json.dumps({"type": "Temp", "time": NOW * 1_000_000, "value": 50}) + "\n")
    wrong.write_text(json.dumps({"type": "Smoke", "time": NOW + 1}) + "\n")
    with pytest.warns(CepheusWarning, match=r"wrong\.jsonl: warning\[time-unit\]"):
        cepheus.compile(RULE).detect([right, wrong])


def command(folder: Path, given: list[dict[str, Any]], *options: str) -> Any:
    rules, events = folder / "fire.tesla", folder / "events.jsonl"
    rules.write_text(RULE)
    events.write_text("".join(json.dumps(event) + "\n" for event in given))
    arguments = ["detect", str(rules), "--events", str(events), *options]
    return CliRunner().invoke(app, arguments, catch_exceptions=False, standalone_mode=False)


@pytest.mark.filterwarnings("error::cepheus.CepheusWarning")
def test_the_command_names_its_option(tmp_path: Path) -> None:
    said = command(tmp_path, records(NOW, DAY)).stderr
    assert "events.jsonl: warning[time-unit]: the times are numbers without a unit" in said
    assert "hint: they look like seconds since 1970: --time-unit s" in said
    assert said.count("warning") == 1
    assert "warning" not in command(tmp_path, records(NOW, DAY), "--time-unit", "s").stderr


def test_who_ignores_warnings_is_not_told(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheusWarning)
        assert "warning" not in command(tmp_path, records(NOW, DAY)).stderr


def test_the_command_may_be_strict(tmp_path: Path) -> None:
    out = tmp_path / "fires.jsonl"
    with pytest.raises(OptionError, match=r"error\[time-unit\]"):
        command(tmp_path, records(NOW, DAY), "--strict", "-o", str(out))
    assert not out.exists()
    assert "1 composite" in command(tmp_path, records(NOW, 60), "--strict", "--time-unit", "s").stderr
    only_smoke = records(NOW, 60)[1:]
    with pytest.raises(CepheusError, match=r"error\[no-such-event\]"):
        command(tmp_path, only_smoke, "--strict", "--time-unit", "s", "-o", str(out))
    assert not out.exists()
    assert "warning[no-such-event]" in command(tmp_path, only_smoke, "--time-unit", "s").stderr


def test_rules_that_are_warned_of_are_refused_by_the_strict(tmp_path: Path) -> None:
    (tmp_path / "fire.tesla").write_text(WARNED)
    (tmp_path / "events.jsonl").write_text(json.dumps({"type": "Smoke", "time": NOW, "a": 1}) + "\n")
    arguments = ["detect", str(tmp_path / "fire.tesla"), "--events", str(tmp_path / "events.jsonl"), "--time-unit", "s"]
    assert "warning" in CliRunner().invoke(app, arguments, catch_exceptions=False, standalone_mode=False).stderr
    with pytest.raises(RuleError):
        CliRunner().invoke(app, [*arguments, "--strict"], catch_exceptions=False, standalone_mode=False)


def test_what_a_run_writes_without_a_unit_is_read_without_one(tmp_path: Path) -> None:
    found = cepheus.compile(RULE).detect(records(NOW * 1_000_000, 60_000_000), strict=True)
    with EventWriter(tmp_path / "fires.csv") as writer:
        writer.write(found)
    again = cepheus.compile("define Alarm() from Fire()").detect(tmp_path / "fires.csv", strict=True)
    assert again.times.tolist() == found.times.tolist()
