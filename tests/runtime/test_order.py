from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.runtime.embedded.detect import merge
from cepheus.runtime.embedded.order import ReorderBuffer


def batch(*times: int, first_id: int = 0) -> EventBatch:
    return EventBatch.from_events(Event("A", time, id=first_id + row) for row, time in enumerate(times))


def test_in_order_without_lateness_is_handed_on_untouched() -> None:
    given_batch = batch(1, 2, 2, 5)
    ordered = ReorderBuffer().push(given_batch)
    assert ordered.ready is given_batch
    assert len(ordered.late) == 0


def test_without_lateness_an_earlier_event_is_late() -> None:
    ordered = ReorderBuffer().push(batch(1, 5, 4, 5, 6))
    assert ordered.ready.times.tolist() == [1, 5, 5, 6]
    assert ordered.late.tolist() == [2]


def test_an_event_exactly_at_the_floor_is_not_late() -> None:
    buffer = ReorderBuffer(3)
    ordered = buffer.push(batch(10, 7, 6))
    assert ordered.ready.times.tolist() == [7]
    assert ordered.late.tolist() == [2]
    assert buffer.floor == 7


def test_ties_keep_the_order_of_arrival() -> None:
    buffer = ReorderBuffer(5)
    buffer.push(batch(10, 8, 8, first_id=0))
    buffer.push(batch(8, 10, first_id=3))
    assert buffer.flush().id_list() == [1, 2, 3, 0, 4]


def test_a_sequence_breaks_ties_and_holds_back_the_time_of_the_floor() -> None:
    buffer = ReorderBuffer(0, sequenced=True)
    first = EventBatch.from_events([Event("A", 5, sequence=9, id="late number"), Event("A", 5, sequence=2, id="early")])
    assert len(buffer.push(first).ready) == 0
    second = EventBatch.from_events([Event("A", 5, sequence=1, id="first"), Event("A", 6, sequence=0, id="next")])
    assert buffer.push(second).ready.id_list() == ["first", "early", "late number"]
    assert buffer.flush().id_list() == ["next"]


def test_an_event_without_the_sequence_is_an_error() -> None:
    with pytest.raises(EventError, match="no sequence number"):
        ReorderBuffer(0, sequenced=True).push(batch(1))
    with pytest.raises(EventError, match="no sequence number"):
        ReorderBuffer(0, sequenced=True).push_event(Event("A", 1))


def test_advance_releases_and_makes_late() -> None:
    buffer = ReorderBuffer(100)
    buffer.push(batch(10, 20, 30))
    assert buffer.advance(20).times.tolist() == [10, 20]
    assert buffer.push(batch(19, 20)).late.tolist() == [0]
    assert buffer.push_event(Event("A", 19)) is None


def test_after_a_flush_what_belongs_before_is_late() -> None:
    buffer = ReorderBuffer(100)
    buffer.push(batch(10, 20))
    assert buffer.flush().times.tolist() == [10, 20]
    assert buffer.push(batch(19)).late.tolist() == [0]
    assert len(buffer.push(batch(20)).late) == 0


def test_extreme_times_do_not_overflow() -> None:
    buffer = ReorderBuffer(MAX_TIME)
    ordered = buffer.push(batch(MIN_TIME, MAX_TIME, MIN_TIME, 0))
    assert ordered.late.tolist() == [2]
    assert ordered.ready.times.tolist() == [MIN_TIME, 0]
    assert buffer.flush().times.tolist() == [MAX_TIME]


def test_a_negative_lateness_is_refused() -> None:
    with pytest.raises(OptionError, match="negative"):
        RunOptions(lateness=-1)


TIMES = st.lists(st.integers(0, 30), max_size=40)


@given(TIMES, st.integers(0, 10), st.lists(st.integers(0, 3), min_size=1, max_size=40), st.booleans())
def test_the_cutting_into_batches_changes_nothing(
    times: list[int], lateness: int, cuts: list[int], sequenced: bool
) -> None:
    events = [Event("A", time, id=row, sequence=(row * 7) % 5) for row, time in enumerate(times)]
    whole = ReorderBuffer(lateness, sequenced=sequenced)
    expected_order: list[object] = []
    expected_late: list[object] = []
    if events:
        everything = EventBatch.from_events(events)
        ordered = whole.push(everything)
        expected_order += ordered.ready.id_list() or []
        expected_late += [events[row].id for row in ordered.late.tolist()]
    expected_order += whole.flush().id_list() or []

    buffer = ReorderBuffer(lateness, sequenced=sequenced)
    order: list[object] = []
    late: list[object] = []
    start = 0
    for cut in [*cuts, *([1] * len(events))]:
        part = events[start : start + cut]
        start += cut
        if cut == 1 and part:  # alone, through the heap
            ready = buffer.push_event(part[0])
            if ready is None:
                late.append(part[0].id)
            else:
                order += [event.id for event in ready]
        elif part:
            ordered = buffer.push(EventBatch.from_events(part))
            order += ordered.ready.id_list() or []
            late += [part[row].id for row in ordered.late.tolist()]
    order += buffer.flush().id_list() or []
    assert order == expected_order
    assert late == expected_late
    by_definition = [event.id for row, event in enumerate(events) if event.time < max(times[: row + 1]) - lateness]
    assert late == by_definition


@given(st.lists(TIMES.map(sorted), min_size=1, max_size=4), st.integers(1, 5))
def test_merge_is_a_stable_sort_of_all_streams(streams: list[list[int]], size: int) -> None:
    batches = []
    for number, times in enumerate(streams):
        events = [Event("A", time, id=f"{number}:{row}") for row, time in enumerate(times)]
        batches.append([EventBatch.from_events(events[i : i + size]) for i in range(0, len(events), size)])
    merged = [str(name) for part in merge(batches) for name in part.id_list() or []]
    everything = [(time, number, row) for number, times in enumerate(streams) for row, time in enumerate(times)]
    assert merged == [f"{number}:{row}" for _, number, row in sorted(everything)]


def test_merge_uses_sequence_numbers_before_the_order_of_streams() -> None:
    one = EventBatch.from_events([Event("A", 1, id="a", sequence=5), Event("A", 2, id="c", sequence=1)])
    two = EventBatch.from_events([Event("A", 1, id="b", sequence=4), Event("A", 2, id="d", sequence=0)])
    merged = EventBatch.concat(list(merge([[one], [two]])))
    assert merged.id_list() == ["b", "a", "d", "c"]
    assert np.all(np.diff(merged.times) >= 0)


def test_a_bound_holds_back_what_others_have_not_reached() -> None:
    """Two lanes, one far ahead: while the other is behind, nothing of it is late, and nothing is given too early."""
    chance = Random(5)
    for _ in range(50):
        lanes = [sorted(chance.choices(range(200), k=30)) for _ in range(2)]
        lateness = chance.choice([0, 5])
        buffer = ReorderBuffer(lateness)
        given: list[int] = []
        buffer.bound = MIN_TIME
        for lane, bound in ((0, MIN_TIME), (1, None)):
            for start in range(0, 30, 7):
                part = lanes[lane][start : start + 7]
                buffer.bound = MIN_TIME if bound is not None or start == 0 else lanes[1][start - 1] - lateness
                ordered = buffer.push(EventBatch.from_events([Event("A", time) for time in part]))
                assert not len(ordered.late)
                assert buffer.pushed == part[-1]
                given += ordered.ready.times.tolist()
                assert given == sorted(given)
        buffer.bound = None
        given += buffer.push(EventBatch.empty()).ready.times.tolist()
        assert buffer.floor == max(lanes[0][-1], lanes[1][-1]) - lateness
        late = buffer.push(EventBatch.from_events([Event("A", buffer.floor - 1)])).late
        assert len(late) == 1
        given += buffer.flush().times.tolist()
        assert given == sorted(lanes[0] + lanes[1])
