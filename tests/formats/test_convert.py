"""Events from and to dicts, Arrow tables and pandas frames, and batches made to fit a schema."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal
from cepheus.core.errors import EventError
from cepheus.core.event import Event
from cepheus.core.options import OnBadEvent
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats import attributes, conform, from_arrow, from_dicts, from_pandas, schema_of, to_arrow, to_pandas
from cepheus.formats.problems import BadEvents


def test_dicts() -> None:
    batch = from_dicts(
        [
            {"type": "A", "time": 1, "x": {"value": 1, "error": "N(0,1)"}, "id": "a", "probability": 0.5},
            {"type": "B", "time": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), "x": "s", "at": datetime(1970, 1, 2)},
            {"type": "C", "time": np.int64(3), "y": np.float32(0.5), "from": ("a", 1)},
        ],
        TimeUnit.S,
    )
    assert batch.to_events() == [
        Event("A", 1_000_000, {"x": 1}, id="a", probability=0.5, errors={"x": Normal(0, 1)}),
        Event("B", 2_000_000, {"x": "s", "at": 86_400_000_000}, id=1),
        Event("C", 3_000_000, {"y": 0.5}, id=2, made_of=("a", 1)),
    ]
    assert ("at", ValueType.TIMESTAMP) in batch.columns


def test_dicts_that_are_not_events() -> None:
    untyped: list[Any] = [{1: "A"}]
    with pytest.raises(EventError, match=r"events:2: error\[event\]: row 2: an event has no time"):
        from_dicts([{"type": "A", "time": 1}, {"type": "A"}])
    with pytest.raises(EventError, match="row 1: an event is a dict with names as keys"):
        from_dicts(untyped)
    with pytest.raises(EventError, match=r"A.x: nan is not a finite number"):
        from_dicts([{"type": "A", "time": 1, "x": float("nan")}])


def test_an_arrow_table_is_not_copied() -> None:
    table = pa.table(
        {
            "type": pa.array(["Temp", "Smoke", "Temp"]).dictionary_encode(),
            "time": [1, 2, 3],
            "area": [7, 8, 9],
            "value": [0.5, 1.5, 2.5],
            "name": pa.array(["a", "b", "a"]).dictionary_encode(),
        }
    )
    batch = from_arrow(table)
    assert batch.ids is None
    assert batch.types == ("Temp", "Smoke")
    for name, kind in (("area", ValueType.INT), ("value", ValueType.FLOAT)):
        column = batch.columns[name, kind]
        assert column.buffers()[1].address == table.column(name).chunk(0).buffers()[1].address
    assert batch.times.ctypes.data == table.column("time").chunk(0).buffers()[1].address
    assert pa.types.is_dictionary(batch.columns["name", ValueType.STRING].type)
    assert batch.to_dicts()[1] == {"type": "Smoke", "time": 2, "area": 8, "value": 1.5, "name": "b"}


def test_arrow_tables_in_chunks_and_odd_types() -> None:
    parts = [
        pa.table(
            {"type": pa.array([name]).dictionary_encode(), "time": pa.array([time], pa.timestamp("s", "Europe/Rome"))}
        )
        for name, time in (("B", 1), ("A", 2))
    ]
    table = pa.concat_tables(parts).append_column("x", pa.array([1, 2], pa.int8()))
    table = table.append_column("d", pa.array([1, None], pa.decimal128(5, 2)))
    table = table.append_column("s", pa.array(["a", None], pa.large_string()))
    assert from_arrow(table).to_dicts() == [
        {"type": "B", "time": 1_000_000, "x": 1, "d": 1.0, "s": "a"},
        {"type": "A", "time": 2_000_000, "x": 2},
    ]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"time": pa.array([1])}, "there is no column 'type'"),
        ({"type": pa.array(["A"]), "Time": pa.array([1])}, "there is no column 'time'\n  hint: did you mean 'Time'"),
        ({"type": pa.array([["A"]]), "time": pa.array([1])}, "the column 'type' holds list<.*>, not strings"),
        ({"type": pa.array([None], pa.string()), "time": pa.array([1])}, "row 1: an event has no type"),
        ({"type": pa.array(["A"]), "time": pa.array([1.5])}, "row 1: time: the time 1.5 is not a whole number"),
        ({"type": pa.array(["A"]), "time": pa.array([1], pa.timestamp("ns"))}, "row 1: time: a time of 1 ns is finer"),
        ({"type": pa.array(["A"]), "time": pa.array([2**62], pa.timestamp("s"))}, "does not fit in 64 bits"),
        (
            {"type": pa.array(["A"]), "time": pa.array([1]), "x": pa.array([2**63], pa.uint64())},
            "does not fit in 64 bits",
        ),
        ({"type": pa.array(["A"]), "time": pa.array([1]), "x": pa.array([[None]])}, "row 1: A.x: a list holds null"),
        ({"type": pa.array(["A"]), "time": pa.array([1]), "x": pa.array([np.inf])}, "row 1: A.x: inf is not a finite"),
        (
            {"type": pa.array(["A"]), "time": pa.array([1]), "probability": pa.array([2.0])},
            "the probability 2.0 is not",
        ),
    ],
)
def test_arrow_tables_that_are_not_events(columns: dict[str, pa.Array], found: str) -> None:
    with pytest.raises(EventError, match=found):
        from_arrow(pa.table(columns))


def test_pandas_there_and_back() -> None:
    frame = pd.DataFrame({"type": ["A", "B"], "time": [1, 2], "x": [0.5, None], "s": [None, "t"]})
    batch = from_pandas(frame, TimeUnit.MS)
    assert batch.to_dicts() == [{"type": "A", "time": 1000, "x": 0.5}, {"type": "B", "time": 2000, "s": "t"}]
    assert to_pandas(batch, TimeUnit.MS).to_dict("list")["time"] == [1, 2]
    times = pd.DataFrame({"time": pd.to_datetime(["1970-01-01T00:00:01Z"])})
    assert from_pandas(times, type_name="A").times.tolist() == [1_000_000]
    with pytest.raises(EventError, match=r"row:2: error\[type\]: the column 'x' holds 's', and 1 in a row before"):
        from_pandas(pd.DataFrame({"type": ["A", "B"], "time": [1, 2], "x": [1, "s"]}))


def test_to_arrow_uses_timestamps_where_the_unit_does_not_divide() -> None:
    batch = EventBatch.from_events([Event("A", 1_000_000), Event("A", 1_500_000)])
    assert to_arrow(batch, TimeUnit.MS).column("time").to_pylist() == [1000, 1500]
    assert to_arrow(batch, TimeUnit.S).column("time").type == pa.timestamp("us", tz="UTC")


def test_schema_of_a_batch_tells_types_apart() -> None:
    batch = EventBatch.from_events([Event("A", 1, {"x": 1}), Event("B", 2, {"x": "s"})])
    assert str(schema_of(batch)) == "Schema(A(x: int?), B(x: string?))"


SCHEMA = Schema(
    [
        EventType("Temp", (Attribute("value", ValueType.FLOAT), Attribute("area", None))),
        EventType("Smoke", (Attribute("area", None),)),
    ]
)


def test_conform_converts_and_prunes() -> None:
    batch = EventBatch.from_events(
        [
            Event("Rain", 1, {"area": "A0"}, id="r"),
            Event(
                "Temp",
                2,
                {"value": 3, "area": "A1", "km": 5},
                id="t",
                errors={"value": Normal(0, 1), "km": Normal(0, 1)},
            ),
            Event("Smoke", 3, {"value": 9, "area": "A2"}, id="s", probability=0.5, errors={"value": Normal(0, 2)}),
        ]
    )
    found = conform(batch, SCHEMA)
    assert found.types == ("Temp", "Smoke")
    assert found.to_events() == [
        Event("Temp", 2, {"value": 3.0, "area": "A1"}, id="t", errors={"value": Normal(0, 1)}),
        Event("Smoke", 3, {"area": "A2"}, id="s", probability=0.5),
    ]


def test_conform_leaves_good_columns_as_they_are() -> None:
    table = pa.table({"type": ["Temp"] * 3, "time": [1, 2, 3], "value": [0.5, 1.5, 2.5], "area": [1, 2, 3]})
    batch = from_arrow(table)
    found = conform(batch, SCHEMA)
    key = ("value", ValueType.FLOAT)
    assert found.columns[key].buffers()[1].address == batch.columns[key].buffers()[1].address


@pytest.mark.parametrize(
    ("event", "closed", "found"),
    [
        (Event("Temp", 2, {"area": "A1"}), False, "row 2: Temp has no value for its attribute 'value'"),
        (Event("Temp", 2, {"area": "A1", "value": "x"}), False, "row 2: Temp.value: 'x' is not a number"),
        (
            Event("Temp", 2, {"area": "A1", "value": float("inf")}),
            False,
            "row 2: Temp.value: inf is not a finite number",
        ),
        (Event("Tmep", 2), True, "row 2: there is no event type 'Tmep'\n  hint: did you mean 'Temp'"),
        (
            Event("Smoke", 2, {"area": "A"}, probability=-1.0),
            False,
            "row 2: the probability -1.0 is not between 0 and 1",
        ),
        (
            Event("Smoke", 2, {"area": "A"}, errors={"area": Normal(0, 1)}),
            False,
            "row 2: Smoke.area: only numbers have an",
        ),
    ],
)
def test_conform_names_the_row(event: Event, closed: bool, found: str) -> None:
    good = Event("Smoke", 1, {"area": "A1"})
    with pytest.raises(EventError, match=found):
        conform(EventBatch.from_events([good, event]), Schema(SCHEMA.values(), closed=closed))


def test_what_stops_at_a_fault_looks_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    real = attributes.Prefix.apply

    def noted(self: attributes.Prefix, row: int, error: EventError) -> EventError:
        looked.append(row)
        return real(self, row, error)

    monkeypatch.setattr(attributes.Prefix, "apply", noted)
    table = pa.table({"type": ["Temp"] * 9, "time": range(9), "value": [1.5] * 9, "area": range(9)})
    schema = Schema([EventType("Temp", (Attribute("area", ValueType.STRING), Attribute("value", ValueType.FLOAT)))])
    with pytest.raises(EventError, match=r"row 1: Temp.area: 0 is not a string"):
        conform(from_arrow(table), schema)
    assert looked == [0]
    bad = BadEvents(OnBadEvent.SKIP)
    assert len(conform(from_arrow(table), schema, bad)) == 0
    assert bad.skipped == 9


def test_conform_of_a_name_with_two_types() -> None:
    batch = EventBatch.from_events([Event("A", 1, {"x": 1}), Event("B", 2, {"x": "s"}), Event("A", 3, {"x": "t"})])
    schema = Schema(
        [EventType("A", (Attribute("x", ValueType.INT),)), EventType("B", (Attribute("x", ValueType.STRING),))]
    )
    assert conform(batch.slice(0, 2), schema).to_dicts() == batch.slice(0, 2).to_dicts()
    with pytest.raises(EventError, match=r"row 3: A.x: 't' is not an integer"):
        conform(batch, schema)


def test_events_that_last_have_their_start_as_dicts() -> None:
    batch = EventBatch.from_events([Event("e", 4, {"arg1": 7}, start=1), Event("e", 5, {"start": 2}, start=1)])
    assert batch.to_dicts() == [
        {"type": "e", "time": 4, "arg1": 7, "start": 1},
        {"type": "e", "time": 5, "start": 2},
    ]
