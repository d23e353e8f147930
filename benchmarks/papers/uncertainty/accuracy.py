"""Figure 11 of the paper on uncertainty: how often the engine is right, against the threshold of acceptance.

Events with their true values give what really happened: the oracle. The same events with measurement errors go to the
engine, once without a word about the errors and once with their distributions. A composite event is accepted if
its probability, and that of each composite event it was made of, reaches the threshold. The paper does not give its
constants; here values are uniform between 0 and 100 and rules take what lies between 30 and 70, or within 20 of
another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.measuring.timing import Say
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.distribution_column import ErrorColumn
from cepheus.core.time import SECOND
from cepheus.core.values import ValueType

Floats = NDArray[np.float64]

_NORMAL, _UNIFORM = Normal(0.0, 1.0), Uniform(-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A panel of the figure: rules, the composite type that is judged, and the error of all measurements."""

    name: str
    rules: str
    judged: str
    error: Distribution


SCENARIOS = (
    Scenario("selection, Gaussian error", "define CE() from A(30 < x < 70)", "CE", _NORMAL),
    Scenario("selection, uniform error", "define CE() from A(30 < x < 70)", "CE", _UNIFORM),
    Scenario(
        "combination",
        "define CE() from A(x=$x) and each B($x-20 < x < $x+20) within 3 s from A",
        "CE",
        _NORMAL,
    ),
    Scenario(
        "hierarchy",
        "rule R1 define Lower(x: double) from A(x > 30) where x=A.x\nrule R2 define CE() from Lower(x < 70)",
        "CE",
        _NORMAL,
    ),
)


@dataclass(frozen=True, slots=True)
class AccuracyCurve:
    """One scenario: at each threshold accuracy and rates of true and false positives; and those of the plain engine.

    ``by_chance`` is how much greater accuracy may be at the best threshold than at 0.5 if that is the best in truth.
    """

    scenario: str
    thresholds: tuple[float, ...]
    accuracy: tuple[float, ...]
    true_positives: tuple[float, ...]
    false_positives: tuple[float, ...]
    plain_accuracy: float
    plain_rates: tuple[float, float]
    by_chance: float

    @property
    def best_threshold(self) -> float:
        """The threshold of the greatest accuracy."""
        return self.thresholds[int(np.argmax(self.accuracy))]

    def at(self, threshold: float) -> float:
        """The accuracy at the nearest threshold."""
        return self.accuracy[int(np.argmin(np.abs(np.array(self.thresholds) - threshold)))]


def accuracy(say: Say, events: int = 20_000, steps: int = 101) -> list[AccuracyCurve]:
    """Judge every scenario."""
    curves = []
    for number, scenario in enumerate(SCENARIOS):
        say(f"accuracy, {scenario.name}")
        curves.append(_curve(scenario, events, steps, seed=11 + number))
    return curves


def _curve(scenario: Scenario, count: int, steps: int, seed: int) -> AccuracyCurve:
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 2, count).astype(np.int32)
    true = draw.uniform(0.0, 100.0, count)
    if isinstance(scenario.error, Normal):
        noise = draw.normal(0.0, np.sqrt(scenario.error.variance), count)
    else:
        noise = draw.uniform(-1.0, 1.0, count)
    subject = Subject.of(scenario.rules)
    happened = _found(subject, scenario, _events(codes, true)).keys()
    plain = _found(subject, scenario, _events(codes, true + noise)).keys()
    told = _found(subject, scenario, _events(codes, true + noise, scenario.error))
    possible = _possible(scenario, codes)
    thresholds = np.linspace(0.0, 1.0, steps)
    ids = list(told)
    probabilities = np.array([told[made_of] for made_of in ids])
    right = np.array([made_of in happened for made_of in ids])
    hits, alarms = [], []
    for threshold in thresholds.tolist():
        accepted = probabilities >= threshold
        hits.append(int((accepted & right).sum()))
        alarms.append(int((accepted & ~right).sum()))
    positives, negatives = len(happened), possible - len(happened)
    plain_hits = len(plain & happened)
    plain_alarms = len(plain) - plain_hits
    return AccuracyCurve(
        scenario.name,
        tuple(thresholds.tolist()),
        tuple((hit + negatives - alarm) / possible for hit, alarm in zip(hits, alarms, strict=True)),
        tuple(hit / positives for hit in hits),
        tuple(alarm / negatives for alarm in alarms),
        (plain_hits + negatives - plain_alarms) / possible,
        (plain_hits / positives, plain_alarms / negatives),
        _by_chance(probabilities, thresholds[int(np.argmax(np.array(hits) - np.array(alarms)))], possible),
    )


def _by_chance(probabilities: Floats, best: float, possible: int) -> float:
    """Four standard errors of the difference between the accuracies at a threshold and at 0.5.

    What is accepted at one and not at the other makes it: each of these adds to one of the two accuracies.
    """
    between = (probabilities >= min(best, 0.5)) & (probabilities < max(best, 0.5))
    return float(4.0 * np.sqrt(between.sum()) / possible)


def _events(codes: NDArray[np.int32], values: Floats, error: Distribution | None = None) -> EventBatch:
    count = len(codes)
    return EventBatch(
        types=("A", "B"),
        codes=codes,
        times=SECOND * np.arange(count, dtype=np.int64),
        columns={("x", ValueType.FLOAT): pa.array(values)},
        ids=np.arange(count, dtype=np.int64),
        errors={} if error is None else {"x": ErrorColumn.constant(error, count)},
    )


def _found(subject: Subject, scenario: Scenario, events: EventBatch) -> dict[tuple[object, ...], float]:
    """The probabilities of composite events by the ids of the primitive events they were made of."""
    found = subject.engine("columns").feed(events).to_events()
    known = {event.id: event for event in found}
    told: dict[tuple[object, ...], float] = {}
    for event in found:
        if event.type != scenario.judged:
            continue
        parts: list[object] = []
        probability = event.probability
        for part in event.made_of:
            made = known.get(part)
            parts += [part] if made is None else made.made_of
            probability = probability if made is None else min(probability, made.probability)
        told[tuple(parts)] = probability
    return told


def _possible(scenario: Scenario, codes: NDArray[np.int32]) -> int:
    """Count what might have happened: every event of type A, or every pair of an A and a B that the window allows."""
    if scenario.name != "combination":
        return int((codes == 0).sum())
    return sum(int(((codes[3:] == 0) & (codes[3 - back : len(codes) - back] == 1)).sum()) for back in (1, 2, 3)) + sum(
        int(codes[at] == 0 and codes[at - back] == 1) for at in range(3) for back in range(1, at + 1)
    )
