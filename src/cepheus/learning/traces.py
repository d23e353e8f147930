"""History cut into traces: positive ones end at an occurrence, negative ones where there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheus.learning.bindings import Bindings, spread
from cepheus.learning.history import Floats, History, Ints, Truths, TypeEvents
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.terminators import Ending

TERMINATOR = "#"
"""What bindings call the place of the terminator."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of one type of terminator, the positive ones first.

    ``weight`` is how many traces of the history each stands for. ``ends`` are the terminators: all that may belong to
    an occurrence are in its trace. ``all_positive`` also counts occurrences that have no such terminator.
    """

    history: History
    ending: Ending
    positive: Truths
    weight: Floats
    ends: Bindings
    occurrence: Ints
    all_positive: int

    def __len__(self) -> int:
        return len(self.positive)

    @property
    def terminators(self) -> TypeEvents:
        """The events of the terminator's type."""
        return self.history.types[self.ending.type]


def claimed(events: TypeEvents, ending: Ending, occurrences: Occurrences) -> tuple[Ints, Ints]:
    """Which terminators may belong to which occurrence: the number of the occurrence and that of the event.

    An occurrence of which a key is not known may belong to any.
    """
    first = np.searchsorted(events.times, occurrences.begins - ending.late, side="left")
    last = np.searchsorted(events.times, occurrences.ends + ending.early, side="right")
    owner, numbers = spread(first, last)
    fits = np.ones(len(owner), np.bool_)
    for name, attribute in ending.keys:
        own = occurrences.columns[name].values[owner]
        fits &= (own == events.columns[attribute].values[numbers]) | np.isnan(own)
    return owner[fits], numbers[fits]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Where only some events are in memory: ``known`` are the occurrences, by number, whose events are; ``covered`` the
    terminators that may end negative traces, which stand for ``everything`` that does not belong to an occurrence and
    is no mistake; the hard ones stand for so many ``mistakes``.
    """

    known: Ints
    covered: Truths
    everything: int
    mistakes: float


def cut(
    history: History,
    ending: Ending,
    occurrences: Occurrences,
    span: tuple[int, int],
    rng: np.random.Generator,
    *,
    most_positive: int = 1_500,
    most_negative: int = 4_000,
    hard: Ints | None = None,
    sampling: Sampling | None = None,
) -> Traces:
    """Cut the traces that end in a span of time; occurrences outside it are nobody's negatives.

    Negative traces are drawn by key, so that a rare machine has its share. ``hard`` are terminators that earlier rules
    took for occurrences: they are all looked at. ``sampling`` says what is in memory if not all is.
    """
    events = history.types[ending.type]
    owner, numbers = claimed(events, ending, occurrences)
    inside = occurrences.between(*span)
    chosen = np.flatnonzero((occurrences.ends >= span[0]) & (occurrences.ends < span[1]))
    known = chosen if sampling is None else np.intersect1d(chosen, sampling.known)
    has_one = known[np.isin(known, owner)]
    share = len(chosen) / max(len(known), 1)
    if len(has_one) > most_positive:
        share *= len(has_one) / most_positive
        has_one = np.sort(rng.choice(has_one, most_positive, replace=False))
    row = np.isin(owner, has_one)
    trace_of = np.full(len(occurrences), -1)
    trace_of[has_one] = np.arange(len(has_one))
    positive_rows, positive_trace = numbers[row], trace_of[owner[row]]
    order = np.argsort(positive_trace, kind="stable")

    low, high = np.searchsorted(events.times, span)
    free = np.ones(high - low, np.bool_)
    own = numbers[(numbers >= low) & (numbers < high)] - low
    free[own] = False
    if sampling is not None:
        free &= sampling.covered[low:high]
    negative, weights = _sample(events, np.flatnonzero(free) + low, ending, rng, most_negative, hard)
    if sampling is not None:
        marked = np.isin(negative, np.empty(0, np.int64) if hard is None else hard)
        weights = _standing_for_all(weights, marked, sampling, len(inside))
    return Traces(
        history,
        ending,
        np.arange(len(has_one) + len(negative)) < len(has_one),
        np.concatenate([np.full(len(has_one), share), weights]),
        Bindings(
            np.concatenate([positive_trace[order], len(has_one) + np.arange(len(negative))]),
            {TERMINATOR: np.concatenate([positive_rows[order], negative])},
        ),
        np.concatenate([has_one, np.full(len(negative), -1)]),
        len(inside),
    )


def _standing_for_all(weights: Floats, hard: Truths, sampling: Sampling, occurrences: int) -> Floats:
    """Weights of negative traces such that those in memory stand for all of history."""
    others = max(sampling.everything - occurrences, 1)
    each = sampling.mistakes / max(int(hard.sum()), 1)
    scaled = weights * (others / max(float(weights[~hard].sum()), 1e-9))
    return np.asarray(np.where(hard, each, scaled), np.float64)


def _sample(
    events: TypeEvents, free: Ints, ending: Ending, rng: np.random.Generator, most: int, hard: Ints | None
) -> tuple[Ints, Floats]:
    """Some of the free terminators, all of the hard ones, and how many each stands for."""
    kept = np.intersect1d(free, hard) if hard is not None else np.empty(0, np.int64)
    if len(kept) > most:
        kept = np.sort(rng.choice(kept, most, replace=False))
    rest = np.setdiff1d(free, kept)
    if len(rest) <= most:
        everything = np.concatenate([kept, rest])
        return everything, np.ones(len(everything))
    strata = np.zeros(len(rest), np.int64)
    for _, attribute in ending.keys[:1]:
        strata = np.unique(events.columns[attribute].values[rest], return_inverse=True)[1]
    counts = np.bincount(strata)
    wanted = np.maximum(1, np.round(counts * most / len(rest))).astype(np.int64)
    order = np.lexsort((rng.random(len(rest)), strata))
    rank = np.arange(len(rest)) - (np.cumsum(counts) - counts)[strata[order]]
    taken = order[rank < wanted[strata[order]]]
    drawn = np.sort(taken)
    weights = (counts / np.minimum(wanted, counts))[strata[drawn]]
    return np.concatenate([kept, rest[drawn]]), np.concatenate([np.ones(len(kept)), weights])
