"""All thresholds at once, compiled: what is found and what false alarms are left, threshold by threshold.

These few loops are where learning spends its time: each learner asks them thousands of times.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.learning.history import COST, F1, Floats, Ints, Truths


@inlined
def judged(kind: int, found: float, alarms: float, wanted: float, dear: float, floor: float) -> float:
    """What finding so many occurrences with so many false alarms is worth.

    ``dear`` is the care of the search, or the cost of a false alarm.
    """
    if kind == F1:
        return 2.0 * found / (found + alarms + max(wanted, 1e-9))
    if kind == COST:
        return (found - dear * alarms) / max(wanted, 1e-9)
    if found <= 0.0:
        return -np.inf
    return dear * math.log(found / max(wanted, 1.0)) - math.log(alarms / found + floor)


@compiled
def extremes_of(starts: Ints, values: Floats, highest: bool) -> Floats:
    """The highest (or lowest) of the values between one start and the next; what is missing is never it."""
    found = np.full(len(starts), -np.inf if highest else np.inf)
    for trace in range(len(starts)):
        last = starts[trace + 1] if trace + 1 < len(starts) else len(values)
        best = found[trace]
        for row in range(starts[trace], last):
            value = values[row]
            if (value > best) if highest else (value < best):
                best = value
        found[trace] = best
    return found


@compiled
def best_thresholds(
    extreme: Floats,
    order: Ints,
    traces: Ints,
    gains: Floats,
    losses: Floats,
    before: tuple[float, float, float],
    judge: tuple[int, float, float, float],
) -> tuple[int, float, int, float]:
    """Walk through traces in the order of their extremes: the place with the greatest worth, and the first at which no
    occurrence is lost any more, each with its worth; -1 where there is none.

    A place is the last trace of those with equal extremes. ``before`` is what is found and what false alarms there are
    without any of the traces, and whether each adds to that (1) or takes away (-1).
    """
    kind, wanted, dear, floor = judge
    found, alarms, sign = before
    complete = 0.0
    for each in traces:
        complete += gains[each]
    best, most, whole, worth_whole = -1, -np.inf, -1, -np.inf
    gained = 0.0
    for place in range(len(order) - 1):
        trace = traces[order[place]]
        gained += gains[trace]
        found += sign * gains[trace]
        alarms += sign * losses[trace]
        value = extreme[order[place]]
        if value == extreme[order[place + 1]] or not np.isfinite(value):
            continue
        worth = judged(kind, found, max(alarms, 0.0), wanted, dear, floor)
        if worth > most:
            best, most = place, worth
        if whole < 0 and gained >= complete - 1e-9:
            whole, worth_whole = place, worth
    return best, most, whole, worth_whole


@compiled
def counted_where(trace: Ints, mask: Truths, gains: Floats, losses: Floats) -> tuple[float, float]:
    """What traces count that have a row for which something is true: occurrences, and false alarms."""
    found, alarms, last = 0.0, 0.0, -1
    for row in range(len(trace)):
        if mask[row] and trace[row] != last:
            last = trace[row]
            found += gains[last]
            alarms += losses[last]
    return found, alarms
