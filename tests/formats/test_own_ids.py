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


def forms_with_one_bad_event(value: float) -> list[Any]:
    typed = [Event("Smoke", 1, {"value": value}, "a"), Event("Smoke", 2, {"value": 2.0}, "b")]
    dicts = [{"type": "Smoke", "time": each.time, "id": each.id, **each.attributes} for each in typed]
    return [dicts, typed, cepheus.EventBatch.from_events(typed), pd.DataFrame(dicts)]


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_events_that_were_not_taken_may_come_again(form: int, policy: Any) -> None:
    program = cepheus.compile("event Smoke(value: double) define Fire() from Smoke(value > 1)")
    with warnings.catch_warnings(), program.start(on_bad_event=policy, time_unit="us") as session:
        warnings.simplefilter("error", CepheusWarning)
        given = forms_with_one_bad_event(float("inf"))[form]
        if policy == "stop":
            with pytest.raises(EventError):
                session.feed(given)
            session.feed(forms_with_one_bad_event(1.5)[form])
        else:
            session.feed(given)
            session.feed([Event("Smoke", 3, {"value": 1.5}, "a")])
        assert session.counts.composite == {"Fire": 2}


def test_ids_of_events_that_no_rule_concerns_are_theirs() -> None:
    typed = [Event("Log", 1, id="a"), Event("Log", 2, id="a"), Event("Smoke", 3, id="b")]
    frame = pd.DataFrame([{"type": each.type, "time": each.time, "id": each.id} for each in typed])
    with warnings.catch_warnings():
        warnings.simplefilter("error", CepheusWarning)
        for given in (typed, cepheus.EventBatch.from_events(typed), frame):
            PROGRAM.detect(given, time_unit="us")


def test_an_attribute_called_id_is_no_id() -> None:
    program = cepheus.compile(
        "event Order(id: int) event Smoke() define Fire(by: int) from Smoke() and each Order() within 5 s from Smoke"
        " where by = Order.id"
    )
    orders = [{"type": "Order", "time": time, "id": 7, "event_id": time} for time in (1, 2)]
    smokes = [{"type": "Smoke", "time": time, "id": time} for time in (3, 4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", CepheusWarning)
        program.detect(pd.DataFrame([*orders, *smokes]), time_unit="s")
    with pytest.warns(CepheusWarning, match="1 event has the id of another, such as 2"):
        program.detect(pd.DataFrame([*orders, orders[1], *smokes]), time_unit="s")


def test_it_is_told_once() -> None:
    smoke = pd.DataFrame({"time": [1, 2], "id": [1, 1]})
    with pytest.warns(CepheusWarning) as told:
        PROGRAM.detect({"Smoke": smoke}, time_unit="s")
    assert len([each for each in told if "the id of another" in str(each.message)]) == 1


def test_integers_in_no_order_are_found_and_looked_for_among_few_runs() -> None:
    generator = np.random.default_rng(1)
    ids = OwnIds()
    batches = [generator.integers(0, 2**60, 5000) for _ in range(300)]
    for batch in batches:
        ids.look(batch)
        batch.sort()  # what was seen is remembered as it was
    assert not ids.findings()
    assert len(ids._runs) <= 20
    assert 1 << 19 < sum(map(len, ids._runs)) <= 1 << 20
    ids.look(generator.permutation(batches[150]))
    ids.look(np.concatenate([batches[299][:10], np.arange(5000)]))
    assert ids.findings()[0].message.startswith("5010 events have")
