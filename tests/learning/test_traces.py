"""Cutting, sampling, and the test against chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hidden_rules import batch, labelled, stream
from hypothesis import given
from hypothesis import strategies as st

from cepheus.language.tesla import parse
from cepheus.learning.bindings import Bindings, extremes, spread
from cepheus.learning.evaluate import firings, score
from cepheus.learning.history import History
from cepheus.learning.learners.windows import roundest_duration
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.significance import p_value
from cepheus.learning.state import roundest
from cepheus.learning.terminators import Ending, labels_early
from cepheus.learning.traces import claimed, cut


def test_traces_stand_for_all_of_history() -> None:
    history = History.of(batch(labelled(stream(1), "define Incident() from A(value > 70)")))
    occurrences = Occurrences.among(history, "Incident")
    ending = Ending("A", 0, 0, (), 1.0)
    span = (history.span[0], history.span[1] + 1)
    traces = cut(history, ending, occurrences, span, np.random.default_rng(1), most_positive=50, most_negative=100)
    assert traces.positive.sum() == 50
    assert (~traces.positive).sum() <= 101
    weight = traces.weight
    assert np.isclose(weight[traces.positive].sum(), len(occurrences))
    assert np.isclose(weight.sum(), len(history.types["A"]))
    assert not set(traces.ends.events["#"][traces.positive[traces.ends.trace]]) & set(
        traces.ends.events["#"][~traces.positive[traces.ends.trace]]
    )


def test_keys_decide_which_terminator_belongs_to_an_occurrence() -> None:
    rule = "define Incident(room: string) from A(value > 70) where room=A.room"
    history = History.of(batch(labelled(stream(1), rule)))
    occurrences = Occurrences.among(history, "Incident")
    owner, numbers = claimed(history.types["A"], Ending("A", 10**7, 10**7, (("room", "room"),), 1.0), occurrences)
    rooms = history.types["A"].columns["room"].values[numbers]
    assert (rooms == occurrences.columns["room"].values[owner]).all()
    assert set(owner) == set(range(len(occurrences)))


def test_an_occurrence_without_its_key_may_belong_to_any_terminator() -> None:
    rule = "define Incident(room: string) from A(value > 70) where room=A.room"
    history = History.of(batch(labelled(stream(1), rule)))
    known = Occurrences.among(history, "Incident")
    rooms = known.columns["room"].values.copy()
    rooms[::3] = np.nan
    some = replace(known, columns={"room": replace(known.columns["room"], values=rooms)})
    owner, _ = claimed(history.types["A"], Ending("A", 0, 0, (("room", "room"),), 1.0), some)
    assert set(owner) == set(range(len(known)))


def test_labels_that_come_before_what_decides_are_told() -> None:
    history = History.of(batch(stream(1)))
    decides = history.types["A"].times[10:400:3]
    rng = np.random.default_rng(1)
    early, exact = (Occurrences("Incident", times, times, {}) for times in (decides - 50_000, decides))
    said = labels_early(history, early, rng)
    assert said is not None
    assert said.startswith("A follows occurrences within 50 ms")
    assert labels_early(history, exact, rng) is None


def test_the_engine_scores_the_true_rule_as_perfect() -> None:
    text = "define Incident() from A(value > 70) and last B() within 5 s from A"
    history = History.of(batch(labelled(stream(1), text)))
    occurrences = Occurrences.among(history, "Incident")
    rule = parse(text).rules[0]
    wide = parse("define Incident() from A()").rules[0]
    rows = firings([rule, wide], history.only("ABCD"), (history.span[0], history.span[1] + 1), 0)
    exact, loose = (score(each, history, Ending("A", 0, 0, (), 1.0), occurrences) for each in rows)
    assert (exact.precision, exact.recall, exact.f1) == (1.0, 1.0, 1.0)
    assert loose.recall == 1.0
    assert len(loose.right) + len(loose.alarms) == len(history.types["A"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=20))
def test_spread_gives_every_number_once(ranges: list[tuple[int, int]]) -> None:
    first = np.array([start for start, _ in ranges], np.int64)
    last = np.array([start + length for start, length in ranges], np.int64)
    owner, numbers = spread(first, last)
    assert list(zip(owner.tolist(), numbers.tolist(), strict=True)) == [
        (place, number) for place, (start, length) in enumerate(ranges) for number in range(start, start + length)
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5) | st.just(float("nan"))), min_size=1, max_size=20))
def test_extremes_are_those_of_each_trace(rows: list[tuple[int, float]]) -> None:
    rows.sort(key=lambda row: row[0])
    table = Bindings(np.array([trace for trace, _ in rows], np.int64), {})
    found = extremes(table, np.array([value for _, value in rows]), highest=True)
    for trace, value in zip(table.traces.tolist(), found.tolist(), strict=True):
        known = [each for own, each in rows if own == trace and not np.isnan(each)]
        assert value == max(known, default=-np.inf)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e5))
def test_round_numbers_stay_between_their_ends(low: float, width: float) -> None:
    value = roundest(low, low + width, whole=False, low_included=True)
    assert low <= value < low + width


@given(st.integers(1, 10**12), st.integers(1, 10**10))
def test_round_durations_stay_between_their_ends(least: int, width: int) -> None:
    assert least <= roundest_duration(least, least + width) < least + width


def test_p_values_of_chance_are_spread_evenly() -> None:
    rng = np.random.default_rng(4)
    values = [p_value(rng.random(400) < 0.3, rng.random(400) < 0.1, rng, 99) for _ in range(200)]
    assert 0.0 < np.mean(np.array(values) <= 0.1) < 0.2
