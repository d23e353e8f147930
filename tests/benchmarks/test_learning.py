"""The experiment on learning: what is kept, what is judged, and that labels are what they are said to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.learning import experiment
from benchmarks.learning.generator import TARGET, Scenario, draw, labelled_by, shuffled
from benchmarks.learning.on_spark import bars
from cepheus.core.batch import EventBatch
from cepheus.core.time import MINUTE

SMALL = Scenario(types=5, events=2, length=4_000, positives=50)


def _labels(batch: EventBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    times: np.ndarray[tuple[int], np.dtype[np.int64]] = batch.times[batch.codes == batch.types.index(TARGET)]
    return times


def test_what_was_measured_is_judged() -> None:
    samples: experiment.Samples = {}
    for name, scenario in experiment.points(experiment.SWEEPS):
        for measure, value in (("precision", 1.0), ("recall", 0.9), ("seconds", 60.0)):
            samples[experiment._key(name, scenario, measure)] = {1: value}
        for measure in ("precision, intersection", "recall, intersection"):
            samples[experiment._key(name, scenario, measure)] = {1: 1.0 if name == "noise" else 0.5}
    samples["learning, chance: found"] = dict.fromkeys(range(1, 101), 0.0) | {7: 1.0}
    judged, table = experiment.tables_of(samples, experiment.SWEEPS, judged=True)
    verdicts = {row[0]: row[3] for row in judged.rows}
    assert len(table.rows) == len(list(experiment.points(experiment.SWEEPS)))
    assert verdicts["default scenario, F1"] == "missed"  # 0.947
    assert verdicts["default scenario, time"] == "met"
    assert verdicts["noise: 5%, F1"] == "missed"
    assert verdicts["window: 20 s, unknown, F1"] == "met"
    assert verdicts["shuffled labels, something found"] == "met"
    spark = {"F1": 0.99, "seconds": 600.0, "collected": 1_200_000.0, "F1 alone": 1.0}
    kept = {f"learning, spark 20,000,000 events: {measure}": {1: value} for measure, value in spark.items()}
    assert [bar.verdict for bar in bars(kept)] == ["met", "met"]
    assert bars({}) == []


def test_what_was_measured_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(experiment, "KEPT", tmp_path / "results.json")
    assert experiment.load() == {}
    experiment.save({"b: recall": {2: 0.5, 1: 1.0}, "a: recall": {1: 0.25}})
    assert experiment.load() == {"a: recall": {1: 0.25}, "b: recall": {2: 0.5, 1: 1.0}}


def test_labels_are_what_the_hidden_rule_finds() -> None:
    case = draw(SMALL, 1, fresh=1_000)
    history = case.history
    events = history.take(np.flatnonzero(history.codes != history.types.index(TARGET)))
    again = labelled_by(case.rule, events, after=10 * MINUTE)
    assert again.times[0] == 10 * MINUTE
    assert len(_labels(history)) == case.occurrences > 0
    assert (_labels(again) - (10 * MINUTE - events.times[0])).tolist() == _labels(history).tolist()


@pytest.mark.parametrize("of_one_type", [True, False])
def test_shuffled_labels_are_at_events(of_one_type: bool) -> None:
    batch = shuffled(SMALL, 1, of_one_type=of_one_type)
    other = shuffled(SMALL, 1, of_one_type=of_one_type)
    assert batch.times.tolist() == other.times.tolist()
    labels = _labels(batch)
    assert len(labels) == SMALL.positives
    at = {int(batch.codes[place]) for place in range(len(batch)) if batch.times[place] in set(labels.tolist())}
    assert len(at) == (2 if of_one_type else SMALL.types + 1)  # with the labels themselves
