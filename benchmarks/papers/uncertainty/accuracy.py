"""Figure 11 of the paper on uncertainty: how often the engine is right, against the threshold of acceptance.

Events with their true values give what really happened: the oracle. The same events with measurement errors go to the
engine, once without a word about the errors and once with their distributions. A composite event is accepted if
its own probability reaches the threshold. The paper does not give its constants; here values are uniform between 0 and
100 and rules take what lies between 30 and 70, or within 20 of another. The two rules of the hierarchy have bounds two
standard deviations apart, so that both are in doubt for the same event: only there can one tell that the second takes
what the first made for certain.

The hierarchy is judged twice, for the paper's "filter out all the composite events whose probability is lower" can be
read in two ways: of the last rule's events alone, whatever the first one's are worth, or of the first one's, too, as
``min probability`` in both rules does it, so that an event that is filtered out feeds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from cepheus.learning.calibration import calibration, correction

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

_NORMAL, _UNIFORM = Normal(0.0, 1.0), Uniform(-1.0, 1.0)
THRESHOLDS = (0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9)
"""Those of which accuracies are kept."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A panel of the figure: rules, the composite type that is judged, the error of all measurements, true values.

    With ``threshold_everywhere`` the composite events that it was made of have to reach the threshold, too.
    """

    name: str
    rules: str
    judged: str
    error: Distribution
    values: tuple[float, float] = (0.0, 100.0)
    threshold_everywhere: bool = False


_HIERARCHY = "rule R1 define Lower(x: double) from A(x > 49) where x=A.x\nrule R2 define CE() from Lower(x < 51)"
SCENARIOS = (
    Scenario("selection, Gaussian error", "define CE() from A(30 < x < 70)", "CE", _NORMAL),
    Scenario("selection, uniform error", "define CE() from A(30 < x < 70)", "CE", _UNIFORM),
    Scenario(
        "combination",
        "define CE() from A(x=$x) and each B($x-20 < x < $x+20) within 3 s from A",
        "CE",
        _NORMAL,
    ),
    Scenario("hierarchy", _HIERARCHY, "CE", _NORMAL, (40.0, 60.0)),
    Scenario("hierarchy, threshold in both rules", _HIERARCHY, "CE", _NORMAL, (40.0, 60.0), threshold_everywhere=True),
)


@dataclass(frozen=True, slots=True)
class AccuracyCurve:
    """One scenario in one run: at each threshold accuracy and rates of true and false positives; the plain engine's.

    ``wrongly`` is how many composite events were accepted at 0.5 that did not happen, ``missed`` how many that did
    happen were not.
    """

    scenario: str
    run: int
    thresholds: tuple[float, ...]
    accuracy: tuple[float, ...]
    true_positives: tuple[float, ...]
    false_positives: tuple[float, ...]
    plain_accuracy: float
    plain_rates: tuple[float, float]
    wrongly: int
    missed: int
    told: Floats
    right: Truths

    def at(self, threshold: float) -> float:
        """The accuracy at the nearest threshold."""
        return self.accuracy[int(np.argmin(np.abs(np.array(self.thresholds) - threshold)))]


def accuracy(say: Say, runs: int = 10, events: int = 4_000, steps: int = 101) -> list[AccuracyCurve]:
    """Judge every scenario in so many runs, each with other events."""
    curves = []
    for number, scenario in enumerate(SCENARIOS):
        say(f"accuracy, {scenario.name}")
        curves += [_curve(scenario, run, events, steps, seed=(11 + number, run)) for run in range(1, runs + 1)]
    return curves


def samples_of(curves: Sequence[AccuracyCurve]) -> dict[str, dict[int, float]]:
    """Accuracies at some thresholds, the least of all but the ends, and wrong ones in relation to missed ones."""
    samples: dict[str, dict[int, float]] = {}
    for curve in curves:
        figures = {f"accuracy at {threshold:g}": curve.at(threshold) for threshold in THRESHOLDS}
        figures |= {
            "plain accuracy": curve.plain_accuracy,
            "least accuracy": min(curve.accuracy[1:-1]),
            "accepted wrongly": float(curve.wrongly),
            "missed": float(curve.missed),
        }
        for measure, value in figures.items():
            samples.setdefault(f"{measure}: {curve.scenario}", {})[curve.run] = value
    return samples


def calibration_errors(curves: Sequence[AccuracyCurve], scenario: str) -> tuple[float, float]:
    """The expected calibration error of a scenario: as probabilities are told, and on the later runs when they are put
    right by the earlier ones.
    """
    own = [curve for curve in curves if curve.scenario == scenario]
    early, late = own[: len(own) // 2] or own, own[len(own) // 2 :]
    told, right = (np.concatenate([getattr(curve, name) for curve in late]) for name in ("told", "right"))
    put_right = correction(*(np.concatenate([getattr(curve, name) for curve in early]) for name in ("told", "right")))
    whole = calibration(*(np.concatenate([getattr(curve, name) for curve in own]) for name in ("told", "right")))
    return whole.error, calibration(put_right(told), right).error


def _curve(scenario: Scenario, run: int, count: int, steps: int, seed: tuple[int, int]) -> AccuracyCurve:
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 2, count).astype(np.int32)
    true = draw.uniform(*scenario.values, count)
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
    right = np.array([made_of in happened for made_of in ids], np.bool_)
    accepted = [probabilities >= threshold for threshold in thresholds.tolist()]
    hits = [int((each & right).sum()) for each in accepted]
    alarms = [int((each & ~right).sum()) for each in accepted]
    positives, negatives = len(happened), possible - len(happened)
    plain_hits = len(plain & happened)
    plain_alarms = len(plain) - plain_hits
    half = int(np.argmin(np.abs(thresholds - 0.5)))
    return AccuracyCurve(
        scenario.name,
        run,
        tuple(thresholds.tolist()),
        tuple((hit + negatives - alarm) / possible for hit, alarm in zip(hits, alarms, strict=True)),
        tuple(hit / positives for hit in hits),
        tuple(alarm / negatives for alarm in alarms),
        (plain_hits + negatives - plain_alarms) / possible,
        (plain_hits / positives, plain_alarms / negatives),
        wrongly=alarms[half],
        missed=positives - hits[half],
        told=probabilities,
        right=right,
    )


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
    """Up to which threshold composite events are accepted, by the ids of the primitive events they were made of."""
    found = subject.engine("columns").feed(events).to_events()
    known = {event.id: event for event in found}
    told: dict[tuple[object, ...], float] = {}
    for event in found:
        if event.type == scenario.judged:
            parts: list[object] = []
            least = event.probability
            for part in event.made_of:
                made = known.get(part)
                parts += [part] if made is None else made.made_of
                if made is not None and scenario.threshold_everywhere:
                    least = min(least, made.probability)
            told[tuple(parts)] = least
    return told


def _possible(scenario: Scenario, codes: NDArray[np.int32]) -> int:
    """Count what might have happened: every event of type A, or every pair of an A and a B that the window allows."""
    if scenario.name != "combination":
        return int((codes == 0).sum())
    return sum(int(((codes[3:] == 0) & (codes[3 - back : len(codes) - back] == 1)).sum()) for back in (1, 2, 3)) + sum(
        int(codes[at] == 0 and codes[at - back] == 1) for at in range(3) for back in range(1, at + 1)
    )
