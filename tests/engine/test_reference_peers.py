"""The questions that peers were measured on, and the counts on which all of them agree."""

from __future__ import annotations

import pyarrow as pa
import pytest
from fire_stream import fire_stream

import cepheus

LAST = "define F() from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke"
NOT = "define F() from Temp(area=$a and value>45) and not Rain(area=$a) within 5 s from Temp"
MINUTES_5, SECONDS_5 = 300_000, 5_000


def found(rule: str, events: pa.Table) -> list[tuple[int | str, ...]]:
    composites = cepheus.compile(rule).detect(events, engine="reference", time_unit="ms")
    return [event.made_of for event in composites.to_events()]


def test_last_on_the_first_events_as_a_loop_finds_it() -> None:
    events = fire_stream(5_000, 8)
    hot: dict[int, tuple[int, int]] = {}
    expected = []
    for row, event in enumerate(events.to_pylist()):
        if event["type"] == "Temp" and event["value"] > 45:
            hot[event["area"]] = (event["time"], row)
        elif event["type"] == "Smoke" and event["area"] in hot:
            time, part = hot[event["area"]]
            if event["time"] - time <= MINUTES_5:
                expected.append((row, part))
    assert found(LAST, events) == expected
    assert len(expected) > 300


def test_not_on_the_first_events_as_a_loop_finds_it() -> None:
    events = fire_stream(5_000, 10, rain=True)
    rain: dict[int, int] = {}
    expected = []
    for row, event in enumerate(events.to_pylist()):
        if event["type"] == "Rain":
            rain[event["area"]] = event["time"]
        elif event["type"] == "Temp" and event["value"] > 45:
            dry = event["area"] not in rain or event["time"] - rain[event["area"]] > SECONDS_5
            if dry:
                expected.append((row,))
    assert found(NOT, events) == expected
    assert len(expected) > 300


@pytest.mark.slow
def test_last_on_the_whole_stream() -> None:
    assert len(found(LAST, fire_stream(100_000, 8))) == 9_733


@pytest.mark.slow
def test_not_on_the_whole_stream() -> None:
    assert len(found(NOT, fire_stream(100_000, 10, rain=True))) == 15_901
