"""Whether a rule finds occurrences more often than by chance: a permutation test on held-out history.

The rule was learned from earlier history, so that its firings in the later part know nothing of the labels there.
Under chance the labels might as well stand elsewhere. They are moved along the sequence of terminators, all by the
same random distance, which keeps their clusters together; how often the moved labels are met as often as the true
ones is the p-value. Where there are few terminators there are few distances: all are tried, and the p-value is at least
what it is if every label might stand anywhere (the test of Fisher).
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.learning.history import Truths

MOVES = 999
LEVEL = 0.01
"""A rule is reported if its p-value is at most this."""


def p_value(fired: Truths, labelled: Truths, rng: np.random.Generator, moves: int = MOVES) -> float:
    """The chance that labels which mean nothing are met as often, terminator by terminator in order of time.

    >>> labels = np.zeros(1000, np.bool_)
    >>> labels[::50] = labels[3::77] = True
    >>> p_value(labels, labels, np.random.default_rng(1)) < 0.02
    True
    >>> p_value(labels[48:54], labels[48:54], np.random.default_rng(1)) > 0.1  # too few to tell
    True
    >>> p_value(np.ones(1000, np.bool_), labels, np.random.default_rng(1))
    1.0
    """
    met = int((fired & labelled).sum())
    if len(fired) < 2 or met == 0:
        return 1.0
    where, places = np.flatnonzero(labelled), len(fired)
    few = places - 1 < moves
    shifts = np.arange(1, places) if few else rng.integers(1, places, moves)
    moved = fired[(where[None, :] + shifts[:, None]) % places].sum(axis=1)
    as_good = int((moved >= met).sum())
    if few:
        return max(as_good / len(shifts), _by_chance(places, int(fired.sum()), len(where), met), 1 / (1 + moves))
    return (1 + as_good) / (1 + moves)


def _by_chance(places: int, fired: int, labelled: int, met: int) -> float:
    """How likely so many of the fired places are labelled, if labels are dealt at random.

    >>> round(_by_chance(6, 2, 2, 2), 4), round(_by_chance(6, 2, 2, 0), 4)
    (0.0667, 1.0)
    """
    ways = (math.comb(labelled, each) * math.comb(places - labelled, fired - each) for each in range(met, fired + 1))
    return sum(ways) / math.comb(places, fired)
