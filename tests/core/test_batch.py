from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal
from cepheus.core.errors import EventError
from cepheus.core.event import Event
from cepheus.core.values import ValueType

EVENTS = [
    Event("Temp", 1, {"value": 24.5, "area": "A1"}, id="a", errors={"value": Normal(0, 1)}, sequence=4),
    Event("Smoke", 2, {"area": "A2"}, id=7, probability=0.5, sequence=5),
    Event("Fire", 3, {"area": "A1"}, id="f", rule="R", made_of=("a", 7), start=1, sequence=6),
]


def with_starts(events: list[Event]) -> list[Event]:
    """A batch with any interval has one for every event; an instant's is its own time."""
    return [
        Event(
            e.type,
            e.time,
            e.attributes,
            e.id,
            e.sequence,
            e.probability,
            e.errors,
            e.start or e.time,
            e.rule,
            e.made_of,
        )
        for e in events
    ]


def test_values_of_numpy_and_of_other_kinds() -> None:
    given = {"n": np.int64(3), "v": np.float32(2.5), "on": np.bool_(True), "text": np.str_("x")}
    [event] = EventBatch.from_events([Event("T", 1, given)]).to_events()  # type: ignore[arg-type]  # as callers do
    assert event.attributes == {"n": 3, "v": 2.5, "on": True, "text": "x"}
    assert list(map(type, event.attributes.values())) == [int, float, bool, str]
    for value in (np.uint64(2**63), Decimal("2.5"), datetime(2026, 1, 1)):
        with pytest.raises(EventError, match=r"T\.v = "):
            EventBatch.from_events([Event("T", 1, {"v": value})])  # type: ignore[dict-item]  # as callers do


def test_events_survive_columns() -> None:
    assert EventBatch.from_events(EVENTS).to_events() == with_starts(EVENTS)


def test_slice_and_take_keep_every_field() -> None:
    batch = EventBatch.from_events(EVENTS)
    assert batch.slice(1, 3).to_events() == with_starts(EVENTS)[1:3]
    assert batch.slice(1, 99).to_events() == with_starts(EVENTS)[1:]
    assert batch.take(np.array([2, 0])).to_events() == [with_starts(EVENTS)[2], with_starts(EVENTS)[0]]


def test_concat_keeps_every_field() -> None:
    parts = [EventBatch.from_events([event]) for event in EVENTS]
    assert EventBatch.concat(parts).to_events() == with_starts(EVENTS)
    assert EventBatch.concat([]).to_events() == []


def test_concat_keeps_timestamps_and_counts_positions_for_missing_ids() -> None:
    key = ("at", ValueType.TIMESTAMP)
    one = EventBatch(
        ("A",),
        np.zeros(1, np.int32),
        np.array([1]),
        {key: pa.array([5], pa.int64()).cast(key[1].arrow)},
        ids=range(9, 10),
    )
    two = EventBatch(("B",), np.zeros(1, np.int32), np.array([2]))
    joined = EventBatch.concat([one, two])
    assert list(joined.columns) == [key]
    assert [event.id for event in joined.to_events()] == [9, 1]
    assert isinstance(joined.ids, np.ndarray)


@pytest.mark.parametrize("ids", [range(10, 13), np.array([10, 11, 12]), [10, 11, 12]])
def test_ids_may_be_a_range_an_array_or_a_list(ids: range) -> None:
    batch = EventBatch(("A",), np.zeros(3, np.int32), np.arange(3), ids=ids)
    assert batch.id_list() == [10, 11, 12]
    assert batch.take(np.array([2, 1])).id_list() == [12, 11]
    assert batch.slice(1, 3).id_list() == [11, 12]
    assert [type(event.id) for event in batch.to_events()] == [int, int, int]


def test_an_integer_over_64_bits_is_refused() -> None:
    with pytest.raises(EventError, match=r"A.x = 9223372036854775808 does not fit in 64 bits"):
        EventBatch.from_events([Event("A", 1, {"x": 2**63})])
