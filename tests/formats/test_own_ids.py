"""Ids that users name and that two events have: what is made of either would be called the same, so it is told."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepheus
from cepheus.core.errors import CepheusWarning, EventError
from cepheus.core.event import Event
from cepheus.formats.own_ids import OwnIds

PROGRAM = cepheus.compile("define Fire() from Smoke()")


def events(*ids: Any) -> list[dict[str, Any]]:
    return [{"type": "Smoke", "time": time, "id": each} for time, each in enumerate(ids)]


def forms(ids: list[Any], folder: Path) -> list[Any]:
    dicts = events(*ids)
    frame = pd.DataFrame(dicts)
    frame.to_csv(folder / "events.csv", index=False)
    typed = [Event(each["type"], each["time"] * 1_000_000, id=each["id"]) for each in dicts]
    batch = cepheus.EventBatch.from_events(typed)
    by_type = {"Smoke": frame.drop(columns="type")}
    return [dicts, typed, batch, frame, pa.Table.from_pandas(frame), folder / "events.csv", by_type]


@pytest.mark.parametrize("ids", [[0, 0, 1], ["a", "b", "a"], [*range(5000), 17], [0, *range(6000)]])
def test_two_events_of_one_id_are_told_of(ids: list[Any], tmp_path: Path) -> None:
    for given in forms(ids, tmp_path):
        with pytest.warns(CepheusWarning, match="1 event has the id of another, such as"):
            PROGRAM.detect(given, time_unit="s")
        with pytest.raises(EventError, match="1 event has the id of another"):
            PROGRAM.detect(given, time_unit="s", strict=True)


@pytest.mark.parametrize("ids", [[0, 1, 2], ["a", "b", "7"], list(range(9000)), list(reversed(range(9000)))])
def test_ids_of_their_own_are_in_order(ids: list[Any], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CepheusWarning)
        for given in forms(ids, tmp_path):
            PROGRAM.detect(given, time_unit="s")


def test_a_session_sees_all_calls_and_no_event_twice_that_was_not_taken() -> None:
    session = PROGRAM.start(time_unit="s")
    session.feed(events(1))
    session.feed(events(1)[0])
    session.feed(pd.DataFrame(events(1)))
    with pytest.warns(CepheusWarning, match="2 events have the id of another, such as 1"):
        session.close()
    with warnings.catch_warnings(), PROGRAM.start(time_unit="s") as session:
        warnings.simplefilter("error", CepheusWarning)
        with pytest.raises(EventError):
            session.feed([*events("a", "b"), {"type": "Smoke", "id": "c"}])
        session.feed(events("a", "b", "c"))


def test_memory_is_bounded() -> None:
    ids = OwnIds()
    for start in range(0, 3_000_000, 10_000):
        ids.look(np.arange(start, start + 10_000))
    ids.look([f"e{number}" for number in range(300_000)])
    assert sum(map(len, ids._runs)) <= 1 << 20
    assert len(ids._recent) + len(ids._before) <= 1 << 17
    assert not ids.findings()
    ids.look(np.arange(2_990_000, 2_995_000))
    assert ids.findings()[0].message == "5000 events have the id of another, such as 2990000"
