"""Histories on Spark: the same rules as in one process, of a part of the events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hidden_rules import batch, labelled, stream
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.batch import EventBatch
from cepheus.core.time import SECOND
from cepheus.learning import spark_past
from cepheus.learning.evaluate import Score
from cepheus.learning.hints import Hints
from cepheus.learning.history import History, Ints
from cepheus.learning.learn import Learning, Settings
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.past import MemoryPast, Span
from cepheus.learning.spark_events import Tally
from cepheus.learning.spark_past import SparkPast, _joined, _without
from cepheus.learning.terminators import Ending
from cepheus.rules.model import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

RULE = """define Incident(room: string)
from A(room=$r and value > 40) and last B(room=$r and value < 60) within 12 s from A
where room=A.room"""

Spans = list[tuple[int, int]]


def frame(spark: SparkSession, events: EventBatch) -> DataFrame:
    """Events as Spark has them."""
    names = pa.array(events.types).take(pa.array(events.codes))
    times = pa.array(events.times).cast(pa.timestamp("us", tz="UTC"))
    columns = {name: column for (name, _), column in events.columns.items()}
    return spark.createDataFrame(pa.table({"type": names, "time": times, **columns}))


@pytest.mark.slow
def test_the_rule_found_on_spark_is_that_found_in_one_process(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cepheus.spark
    from cepheus.learning import spark_past

    events = batch(labelled(stream(1, 40_000), RULE))
    monkeypatch.setattr(spark_past, "MOST_EVENTS", 30_000)
    learned = cepheus.spark.learn(frame(spark, events), "Incident", longest="30 s")
    assert learned.f1 > 0.97
    assert learned.p_value < 0.01
    assert len(learned.outcome.history.batch) < 0.8 * len(events)
    fresh = stream(2, 6_000)
    truth = {(event.time, event.attributes["room"]) for event in cepheus.compile(RULE).detect(fresh).to_events()}
    told = {(event.time, event.attributes["room"]) for event in cepheus.compile(learned.text).detect(fresh).to_events()}
    assert len(truth & told) / len(truth | told) > 0.95


@pytest.mark.slow
def test_scores_in_tasks_are_those_of_one_engine(spark: SparkSession) -> None:
    import cepheus.spark

    events = batch(labelled(stream(3, 3_000), RULE))
    learned = cepheus.spark.learn(frame(spark, events), "Incident", longest="30 s", budget=60)
    (found, *_) = learned.found
    here = cepheus.learn(events, "Incident", longest="30 s")
    outcome = here.outcome
    span = (outcome.split, outcome.past.span[1] + 1)
    (score,) = outcome.past.scores([found.rule], [found.candidate.ending], outcome.later, span)
    assert (found.precision, found.recall) == (score.precision, score.recall)
    assert found.missed == outcome.later.ends[score.missed].tolist()
    assert found.false_alarms == score.alarm_times.tolist()


def test_what_spark_cannot_learn_from_is_refused(spark: SparkSession) -> None:
    import cepheus.spark

    events = frame(spark, batch(stream(1, 200)))
    with pytest.raises(cepheus.OptionError, match="no event of type 'Incident'"):
        cepheus.spark.learn(events, "Incident")
    with pytest.raises(cepheus.OptionError, match="no column 'type'"):
        cepheus.spark.learn(events.drop("type"), "A")
    with pytest.raises(cepheus.OptionError, match="a stream has no past"):
        cepheus.spark.learn(spark.readStream.format("rate").load(), "A")


class InMemory:
    """Events as Spark would give them, without Spark."""

    def __init__(self, events: EventBatch) -> None:
        self.batch = events
        self.read = 0

    def within(self, lows: Ints, highs: Ints, but: str) -> EventBatch:
        """The events of some spans."""
        place = np.searchsorted(lows, self.batch.times, side="right") - 1
        inside = (place >= 0) & (self.batch.times < highs[np.maximum(place, 0)])
        rows = np.flatnonzero(inside & (self.batch.codes != self.batch.types.index(but)))
        self.read += len(rows)
        return self.batch.take(rows)


def test_a_rule_is_found_though_little_of_history_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_past, "MOST_EVENTS", 3_000)
    given = batch(
        labelled(
            stream(1, 60_000, types=10),
            "define Incident() from A(value > 97) and last B(value < 60) within 12 s from A",
        )
    )
    whole = History.of(given)
    known = Occurrences.among(whole, "Incident")
    everything = MemoryPast(whole.only(set(whole.types) - {"Incident"}))
    split = known.split_at(0.7)
    early = known.between(-(2**62), split)
    counts = {name: len(own) for name, own in whole.types.items()}
    before = {name: int((own.times < split).sum()) for name, own in whole.types.items()}
    events: Any = InMemory(given)
    empty = History(EventBatch.empty(), {}, whole.texts, whole.codes)

    class Scoring(SparkPast):
        """A history in spans whose rules are tried on everything by one engine."""

        def scores(
            self, rules: Sequence[Rule], endings: Sequence[Ending], occurrences: Occurrences, span: Span
        ) -> list[Score]:
            """What rules find within a span."""
            return everything.scores(rules, endings, occurrences, span)

    past = Scoring(
        events, "Incident", Hints(), Tally(counts, before, whole.span), 30 * SECOND, early, 1, 0, empty, lambda *_: None
    )
    made = Learning(past, known, Hints(), Settings())._one_rule(
        early, np.arange(len(early)), (whole.span[0], split), float("inf"), 0
    )
    assert made is not None
    assert made.trained.f1 > 0.85
    assert events.read < 20_000


def covered(lows: np.ndarray, highs: np.ndarray) -> set[int]:
    """All whole numbers in some spans."""
    return {number for low, high in zip(lows.tolist(), highs.tolist(), strict=True) for number in range(low, high)}


def arrays(spans: Spans) -> tuple[np.ndarray, np.ndarray]:
    """Spans as starts and ends."""
    lows = np.array([low for low, _ in spans], np.int64)
    return lows, lows + np.array([length for _, length in spans], np.int64)


@given(*[st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=8)] * 2)
def test_spans_are_joined_and_taken_from_one_another(spans: Spans, others: Spans) -> None:
    lows, highs = _joined(*arrays(spans))
    assert covered(lows, highs) == covered(*arrays(spans))
    assert (lows[1:] > highs[:-1]).all()
    rest = _without(lows, highs, *_joined(*arrays(others)))
    assert covered(*rest) == covered(lows, highs) - covered(*arrays(others))
    assert (rest[0] < rest[1]).all()
