"""Pictures of many events: counts are those of a naive count, and a picture stays small."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.studio.lanes import MOST_ITEMS, MOST_KEYS, Lanes, following, picture

_events = st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 1000), st.sampled_from("xyz")), max_size=400)


def _batch(rows: list[tuple[str, int, str]]) -> EventBatch:
    ordered = sorted(rows, key=lambda row: row[1])
    return EventBatch.from_events(Event(kind, time, {"key": key}) for kind, time, key in ordered)


@given(_events, st.integers(-10, 900), st.integers(1, 500), st.integers(50, 400), st.booleans())
def test_counts_are_those_of_a_naive_count(
    rows: list[tuple[str, int, str]], start: int, span: int, width: int, split: bool
) -> None:
    lanes = Lanes.of(_batch(rows)).lanes({"A": "key"} if split else {})
    assert sum(len(lane.times) for lane in lanes) == len(rows)
    for lane in picture(lanes, start, start + span, width):
        expected = sorted(
            time
            for kind, time, key in rows
            if kind == lane["type"] and lane["key"] in (None, key) and start <= time < start + span
        )
        assert lane["count"] == len(expected)
        if "times" in lane:
            assert lane["times"] == expected
        else:
            step = span / len(lane["bins"])
            edges = [start + int(place * step) for place in range(len(lane["bins"]))] + [start + span]
            naive = [sum(a <= time < b for time in expected) for a, b in pairwise(edges)]
            assert lane["bins"] == naive


def test_a_picture_of_many_lanes_stays_small() -> None:
    times = np.arange(200_000)
    many = EventBatch(("A",), np.zeros(len(times), np.int32), times)
    lanes = [lane for _ in range(200) for lane in Lanes.of(many).lanes({})]
    told = picture(lanes, 0, len(times), 4000)
    assert sum(len(lane.get("bins", lane.get("times", ()))) for lane in told) <= 2 * MOST_ITEMS
    assert sum(sum(lane["bins"]) for lane in told) == 200 * len(times)


def test_rare_values_share_a_lane() -> None:
    batch = EventBatch.from_events(Event("A", n, {"k": f"v{n % 60}"}) for n in range(600))
    lanes = Lanes.of(batch).lanes({"A": "k"})
    assert len(lanes) == MOST_KEYS + 1
    assert lanes[-1].key == "others"
    assert sum(len(lane.times) for lane in lanes) == 600


def test_numbers_order_lanes_as_numbers() -> None:
    batch = EventBatch.from_events(Event("A", n, {"km": float(n)}) for n in (11, 2, 1))
    assert [lane.key for lane in Lanes.of(batch).lanes({"A": "km"})] == ["1", "2", "11"]


def test_from_event_to_event_of_a_lane() -> None:
    (lane,) = Lanes.of(EventBatch.from_events(Event("A", time) for time in (5, 9, 9, 30))).lanes({})
    assert [following(lane, time, None) for time in (0, 5, 9, 30)] == [0, 1, 3, None]
    assert [following(lane, time, None, back=True) for time in (5, 9, 10, 99)] == [None, 0, 2, 3]
    assert [following(lane, 9, row) for row in (1, 2, 3)] == [2, 3, None]
    assert [following(lane, 9, row, back=True) for row in (0, 1, 2)] == [None, 0, 1]
