"""How far probabilities of composite events can be believed: what was told beside what was so.

A probability is calibrated if of the events told with 0.7, seven in ten were so. The reliability diagram shows it bin
by bin, the expected calibration error sums it up, the Brier score also rewards sharpness, the ROC curve tells how well
probabilities sort what was so from what was not, and a threshold is where acting costs least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError
from cepheus.learning.history import Floats, History, Truths
from cepheus.rules.belief.model import NO, YES
from cepheus.uncertainty.belief.belief import RuleBelief

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Events told with a probability in a range: how many, with what mean probability, and the share that was so."""

    low: float
    high: float
    count: int
    told: float
    so: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far probabilities can be believed; made by ``calibration``.

    ``brier`` is the mean squared difference, ``error`` the expected calibration error, ``area`` that under the ROC
    curve (NaN where all or none was so). Telling what has at least ``threshold`` costs least: ``cost`` for each event.
    """

    count: int
    confirmed: int
    brier: float
    error: float
    area: float
    threshold: float
    cost: float
    bins: tuple[Bin, ...]
    curve: tuple[tuple[float, float], ...]


def calibration(told: Floats, so: Truths, *, miss_cost: float = 1.0, alarm_cost: float = 1.0) -> Calibration:
    """Compare probabilities with what was so; costs are those of not telling what was so, and of telling what was not.

    >>> made = calibration(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, True, False, False]))
    >>> round(made.brier, 4), made.area, made.threshold, made.cost
    (0.0375, 1.0, 0.8, 0.0)
    """
    if not len(told):
        raise OptionError.of("calibrate", "there is no composite event to compare", hint="the rules found nothing")
    if not (0 < miss_cost < np.inf and 0 < alarm_cost < np.inf):
        raise OptionError.of("calibrate", "costs must be greater than 0")
    bins = _bins(told, so)
    curve, area = _roc(told, so)
    threshold, cost = _threshold(told, so, miss_cost, alarm_cost)
    return Calibration(
        len(told),
        int(so.sum()),
        float(np.mean((told - so) ** 2)),
        float(sum(each.count * abs(each.told - each.so) for each in bins) / len(told)),
        area,
        threshold,
        cost,
        bins,
        curve,
    )


@dataclass(frozen=True, slots=True)
class Correction:
    """What probabilities are worth by experience: told ``told[n]`` and more, it was so with ``so[n]``.

    It never sorts two events otherwise than they were: it is the monotone function nearest to what was so.
    """

    told: Floats
    so: Floats

    def __call__(self, told: Floats) -> Floats:
        """Probabilities put right; between two that were seen, in proportion."""
        return np.asarray(np.interp(told, self.told, self.so))


def correction(told: Floats, so: Truths) -> Correction:
    """Learn what probabilities are worth from what was so (isotonic regression, by pooling what is out of order).

    >>> made = correction(np.array([0.1, 0.1, 0.9, 0.9, 0.9, 0.9]), np.array([False, False, True, False, False, True]))
    >>> made(np.array([0.1, 0.9])).tolist()
    [0.0, 0.5]
    """
    if not len(told):
        raise OptionError.of("calibrate", "there is no composite event to learn from", hint="the rules found nothing")
    values, places = np.unique(told, return_inverse=True)
    weights = np.bincount(places).astype(np.float64)
    blocks: list[tuple[float, float, int]] = []  # the mean of a block, its weight, and how many values it has
    for mean, weight in zip((np.bincount(places, so) / weights).tolist(), weights.tolist(), strict=True):
        blocks.append((mean, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (low, light, few), (high, heavy, many) = blocks[-2:]
            both = light + heavy
            blocks[-2:] = [((low * light + high * heavy) / both, both, few + many)]
    return Correction(values, np.concatenate([np.full(many, mean) for mean, _, many in blocks]))


def _bins(told: Floats, so: Truths) -> tuple[Bin, ...]:
    place = np.minimum((told * BINS).astype(np.int64), BINS - 1)
    made = []
    for number in range(BINS):
        own = place == number
        if own.any():
            share = float(so[own].mean())
            made.append(Bin(number / BINS, (number + 1) / BINS, int(own.sum()), float(told[own].mean()), share))
    return tuple(made)


def _roc(told: Floats, so: Truths) -> tuple[tuple[tuple[float, float], ...], float]:
    """The curve of false and true positive rates, from the highest threshold to the lowest, and the area under it."""
    positive, negative = int(so.sum()), int((~so).sum())
    if not positive or not negative:
        return (), float("nan")
    order = np.argsort(-told, kind="stable")
    last = np.append(np.diff(told[order]) != 0, True)
    right = np.concatenate([[0.0], np.cumsum(so[order])[last] / positive])
    wrong = np.concatenate([[0.0], np.cumsum(~so[order])[last] / negative])
    area = float(np.sum((wrong[1:] - wrong[:-1]) * (right[1:] + right[:-1]) / 2))
    return tuple(zip(wrong.tolist(), right.tolist(), strict=True)), area


def _threshold(told: Floats, so: Truths, miss_cost: float, alarm_cost: float) -> tuple[float, float]:
    """The probability from which on telling costs least, and the cost for each event; 1.01 is never to tell."""
    order = np.argsort(-told, kind="stable")
    last = np.append(np.diff(told[order]) != 0, True)
    missed = so.sum() - np.concatenate([[0], np.cumsum(so[order])[last]])
    alarms = np.concatenate([[0], np.cumsum(~so[order])[last]])
    costs = (miss_cost * missed + alarm_cost * alarms) / len(told)
    best = int(np.argmin(costs))
    thresholds = np.concatenate([[1.01], told[order][last]])
    return float(thresholds[best]), float(costs[best])


def confirmed(made: EventBatch, labels: EventBatch, target: str, slack: int, keys: Mapping[str, str]) -> Truths:
    """Which composite events were so: those with a label at most ``slack`` microseconds away that has the same keys.

    ``keys`` are attributes of the composite events and those of the labels that must be equal.
    """
    ours = History.of(made)
    theirs = History.of(labels, ours.texts)
    events = theirs.types.get(target)
    if events is None:
        raise OptionError.of("calibrate", f"the history has no event of type '{target}' that confirms anything")
    so = np.zeros(len(ours.batch), np.bool_)
    for own in ours.types.values():
        for name, other in keys.items():
            for columns, wanted in ((own.columns, name), (events.columns, other)):
                if wanted not in columns:
                    raise OptionError.of("calibrate", f"'{wanted}' is to be compared, but no event has it")
            if not own.columns[name].comparable(events.columns[other]):
                kinds = f"{own.columns[name].type.value} in one and {events.columns[other].type.value} in the other"
                message = f"'{name}' and '{other}' are to be compared, but are {kinds}: they are never equal"
                raise OptionError.of("calibrate", message, hint="give both the same type")
        first = np.searchsorted(events.times, own.times - slack, side="left")
        last = np.searchsorted(events.times, own.times + slack, side="right")
        for row, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            fits = np.ones(high - low, np.bool_)
            for name, other in keys.items():
                fits &= events.columns[other].values[low:high] == own.columns[name].values[row]
            so[own.rows[row]] = bool(fits.any())
    return so


def counted_belief(belief: RuleBelief, so: int, not_so: int, smoothing: float = 1.0) -> RuleBelief:
    """The network of a rule whose matches were counted: what it makes has the share that was so as its probability.

    ``smoothing`` is added to both counts, so that a few events do not make anything certain.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> rules = name_rules(parse("define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke"))
    >>> counted_belief(RuleBelief.of(rules.rules[0]), 17, 1).probability()
    0.9
    """
    if so < 0 or not_so < 0 or smoothing < 0 or so + not_so + smoothing == 0:
        raise OptionError.of("calibrate", "counts and smoothing must be 0 or more, and not all 0")
    share = (so + smoothing) / (so + not_so + 2 * smoothing)
    belief = belief.set(belief.composite, {YES: share, NO: 1 - share}, given=[])
    for part, state in belief.parts.items():
        other = NO if state == YES else YES
        belief = belief.set(part, {"*": {state: 1.0, other: 0.0}}, given=[belief.composite])
    return belief
