"""Which event ends a trace: the type that comes just before occurrences, more often than by chance.

For every type the delays from its last event to an occurrence are compared with the delays to random times (the
greatest difference of both distributions, as in the test of Kolmogorov and Smirnov). The terminator has the greatest
difference; the delay at which it is greatest is how late labels are: the slack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheus.core.time import format_duration
from cepheus.core.values import ValueType
from cepheus.learning.history import Column, Floats, History, Ints, TypeEvents
from cepheus.learning.occurrences import Occurrences

MOST_LOOKED_AT = 2_000
"""So many occurrences, and random times, are enough to tell types apart."""

LEAST = 0.02
"""A type that comes before occurrences no more often than this, in relation to random times, is passed over."""

KeyPair = tuple[str, str]
"""An attribute of occurrences and the attribute of the terminator that has the same value."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A type that may end traces: it comes up to ``late`` before an occurrence, or up to ``early`` after it.

    ``keys`` are the attributes in which both agree; ``score`` is how much more often than by chance, 0 to 1.
    """

    type: str
    late: int
    early: int
    keys: tuple[KeyPair, ...]
    score: float


def find_endings(
    history: History,
    occurrences: Occurrences,
    rng: np.random.Generator,
    slack: int | None = None,
    most: int = 4,
    moments: Ints | None = None,
) -> list[Ending]:
    """The types that may end traces, best first; with a stated ``slack`` in microseconds it is not estimated.

    Occurrences are compared with ``moments``, by default times at random. Where no type comes with them more often, as
    within a great slack all do, the conditions must tell: the best are given all the same.
    """
    if len(occurrences) > MOST_LOOKED_AT:
        occurrences = occurrences.take(np.sort(rng.choice(len(occurrences), MOST_LOOKED_AT, replace=False)))
    low, high = history.span
    moments = rng.integers(low, high + 1, MOST_LOOKED_AT) if moments is None else moments
    lengths = rng.choice(occurrences.ends - occurrences.begins, len(moments))
    found = [
        _ending(events, occurrences, moments, lengths, slack, rng) for events in history.types.values() if len(events)
    ]
    found.sort(key=lambda each: (-each.score, each.late, each.type))
    likely = [each for each in found[:most] if each.score >= 0.4 * found[0].score and each.score > LEAST]
    return likely or found[:most]


FORWARD = 0.15
"""By so much more must a type follow occurrences than any comes before them, for labels to be called early."""


def labels_early(history: History, occurrences: Occurrences, rng: np.random.Generator) -> str | None:
    """A sentence if it rather looks as if labels come before the event that decides: rules only look back."""
    if len(occurrences) > MOST_LOOKED_AT:
        occurrences = occurrences.take(np.sort(rng.choice(len(occurrences), MOST_LOOKED_AT, replace=False)))
    low, high = history.span
    moments = rng.integers(low, high + 1, MOST_LOOKED_AT)
    before, after = [0.0], [(0.0, 0, "")]
    for name, events in history.types.items():
        back = [_delays(events, each, each, None, None) for each in (occurrences.ends, moments)]
        ahead = [_until(events, each) for each in (occurrences.ends, moments)]
        before.append(_best_gap(*back)[1])
        reach, score = _best_gap(*ahead)
        after.append((score, reach, name))
    score, reach, name = max(after)
    if score < 0.5 or score < max(before) + FORWARD:
        return None
    length = format_duration(reach)
    return (
        f"{name} follows occurrences within {length}, more surely than anything comes before them: "
        f"if labels are early, say so with a slack of {length}"
    )


def _until(events: TypeEvents, moments: Ints) -> Floats:
    """How long after each moment the next event of a type comes; endless if there is none."""
    place = np.searchsorted(events.times, moments, side="right")
    found = np.where(place < len(events), events.times[np.minimum(place, len(events) - 1)] - moments, 2**61)
    return found.astype(np.float64)


def _ending(
    events: TypeEvents,
    occurrences: Occurrences,
    moments: Ints,
    lengths: Ints,
    slack: int | None,
    rng: np.random.Generator,
) -> Ending:
    early = slack or 0
    delays = _delays(events, occurrences.begins, occurrences.ends + early, None, None)
    chance = _delays(events, moments - lengths, moments + early, None, None)
    late, score = _best_gap(delays, chance) if slack is None else (slack, _gap(delays, chance, slack))
    keys = []
    for name, own in occurrences.columns.items():
        best: tuple[float, float, str] | None = None
        for other, column in events.columns.items():
            if not own.comparable(column) or len(np.unique(own.values[~np.isnan(own.values)])) < 2:
                continue
            keyed = _delays(events, occurrences.begins, occurrences.ends + early, own, column)
            shuffled = Column(name, own.type, rng.permutation(own.values))
            by_chance = _delays(events, occurrences.begins, occurrences.ends + early, shuffled, column)
            reach, keyed_score = (
                _best_gap(keyed, by_chance) if slack is None else (slack, _gap(keyed, by_chance, slack))
            )
            agree = float(np.mean(keyed <= reach))
            if agree >= 0.8 and keyed_score >= 0.2 and (best is None or (agree, keyed_score) > best[:2]):
                best = agree, keyed_score, other
        if best is not None:
            keys.append((name, best[2]))
            score = max(score, best[1])
    if slack is None and keys:
        own, column = occurrences.columns[keys[0][0]], events.columns[keys[0][1]]
        keyed = _delays(events, occurrences.begins, occurrences.ends, own, column)
        chance = _delays(
            events, occurrences.begins, occurrences.ends, Column("", own.type, rng.permutation(own.values)), column
        )
        late, _ = _best_gap(keyed, chance)
    # of two types that are as close, the one with keys is more likely the one that decides
    return Ending(events.name, late, early, tuple(keys), score)


def _delays(events: TypeEvents, begins: Ints, ends: Ints, own: Column | None, column: Column | None) -> Floats:
    """How long before each interval the last event of a type is, 0 inside it; endless if there is none."""
    if own is None or column is None:
        place = np.searchsorted(events.times, ends, side="right") - 1
        found = np.where(place >= 0, events.times[np.maximum(place, 0)], np.iinfo(np.int64).min // 2)
        return np.maximum(begins - found, 0).astype(np.float64)
    values, codes = np.unique(column.values, return_inverse=True)
    order = np.lexsort((events.times, codes))
    wanted = np.searchsorted(values, own.values)
    known = (wanted < len(values)) & (values[np.minimum(wanted, len(values) - 1)] == own.values)
    base = int(min(events.times.min(), ends.min()))
    width = int(max(events.times.max(), ends.max())) - base + 2
    if len(values) * width > 2**62:  # too many keys for one number each: by thousandths of a second
        return (
            _delays(
                TypeEvents(events.name, events.times // 1000, events.rows, events.columns),
                begins // 1000,
                ends // 1000,
                own,
                column,
            )
            * 1000.0
        )
    keyed = codes[order] * width + (events.times[order] - base)
    place = np.searchsorted(keyed, wanted * width + (ends - base), side="right") - 1
    hit = known & (place >= 0) & (codes[order][np.maximum(place, 0)] == wanted)
    found = np.where(hit, events.times[order][np.maximum(place, 0)], np.iinfo(np.int64).min // 2)
    return np.maximum(begins - found, 0).astype(np.float64)


def _gap(delays: Floats, chance: Floats, reach: float) -> float:
    return float(np.mean(delays <= reach) - np.mean(chance <= reach))


def _best_gap(delays: Floats, chance: Floats) -> tuple[int, float]:
    """The delay at which both distributions differ most, and by how much."""
    steps = np.unique(delays[np.isfinite(delays) & (delays < 2**60)])
    if not len(steps):
        return 0, 0.0
    ours = np.searchsorted(np.sort(delays), steps, side="right") / len(delays)
    theirs = np.searchsorted(np.sort(chance), steps, side="right") / len(chance)
    gaps = ours - theirs
    place = int(np.argmax(gaps))
    return int(steps[place]), float(gaps[place])


def is_category(column: Column) -> bool:
    """Whether values of a column only name something."""
    return column.type in (ValueType.STRING, ValueType.BOOL)
