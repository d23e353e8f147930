"""Masters: which partial rules push their events, and which wait to be asked.

A rule fires only with an event of each of its partial rules. So one of them, the master, is enough to tell when the
others, the slaves, can matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cepheus.plan.partial import span_around
from cepheus.runtime.network.processor.sharing import Origin

_MARGIN = 1.2


def choose_masters(
    origins: Sequence[Origin], rates: Mapping[str, float], pushed: frozenset[tuple[str, str]] = frozenset()
) -> list[Origin]:
    """Decide for each origin what pushes and what waits; ``rates`` are events per second by partial rule.

    A partial rule without a rate has not been observed and pushes. ``pushed`` are children and types whose events come
    anyway, for another tree.
    """
    waiting: dict[str, set[str]] = {origin.name: set() for origin in origins}
    master: dict[str, str] = {}
    for kind in _by_rate(origins, rates):
        concerned = [(origin, label) for origin in origins for label in origin.labels if _kind(origin, label) == kind]
        if not all(_measured(origin, label, rates) for origin, label in concerned):
            continue
        gain = max(part_rate(origin, label, rates) or 0.0 for origin, label in concerned)
        found = {origin.name: _master(origin, kind, waiting, master, rates) for origin, _ in concerned}
        if any(name is None for name in found.values()) or any(origin.pulled for origin, _ in concerned):
            continue
        if any((child, kind) in pushed for origin, label in concerned for child in origin.labels[label]):
            continue
        cost = sum(_cost(origin, str(found[origin.name]), label, rates) for origin, label in concerned)
        if gain > _MARGIN * cost:
            for origin, label in concerned:
                waiting[origin.name].add(label)
                master[origin.name] = str(found[origin.name])
    return [
        replace(origin, master=master[origin.name], waiting=frozenset(waiting[origin.name]))
        if origin.name in master
        else origin
        for origin in origins
    ]


def top_masters(origins: Sequence[Origin]) -> list[Origin]:
    """Make the top of each pattern the master and let all others wait, whatever their rates."""
    found = []
    for origin in origins:
        if len(origin.labels) > 1 and origin.possible and not origin.pulled:
            found.append(_with_master(origin, origin.root if origin.root in origin.possible else origin.possible[0]))
        else:
            found.append(origin)
    return found


def rarest_masters(origins: Sequence[Origin], rates: Mapping[str, float]) -> list[Origin]:
    """Make the partial rule of the lowest rate the master of each origin, and let all others wait, as in the paper.

    Of a master whose events come anyway, for that of another origin, none counts: what is chosen is what adds the
    fewest events. Origins are gone through from the rarest on. One of which nothing has been observed pushes all.
    """
    chosen: dict[str, str] = {}
    pushed: set[tuple[str, str]] = set()
    observed = [(least, origin) for origin in origins if (least := _least_rate(origin, rates)) is not None]
    for _, origin in sorted(observed, key=lambda pair: (pair[0], pair[1].name)):
        master = min(_candidates(origin, rates), key=lambda pair: _added(origin, pair[1], pair[0], pushed))[1]
        chosen[origin.name] = master
        pushed |= {(child, _kind(origin, master)) for child in origin.labels[master]}
    return [_with_master(origin, chosen[origin.name]) if origin.name in chosen else origin for origin in origins]


def _candidates(origin: Origin, rates: Mapping[str, float]) -> list[tuple[float, str]]:
    """The roots that can be master, each with its rate; a type of local sources that was never seen has none."""
    return [
        (rate if rate is not None else 0.0, label)
        for label in origin.possible
        if (rate := part_rate(origin, label, rates)) is not None or not origin.labels[label]
    ]


def _least_rate(origin: Origin, rates: Mapping[str, float]) -> float | None:
    """The lowest rate in an origin that needs a master, if all of its partial rules have been observed."""
    found = _candidates(origin, rates)
    if origin.pulled or len(origin.labels) < 2 or not found or len(found) < len(origin.possible):
        return None
    return min(found)[0]


def _added(origin: Origin, label: str, rate: float, pushed: set[tuple[str, str]]) -> tuple[float, float, str]:
    """How many events a master adds to those that come anyway; then its rate, and its name."""
    children = origin.labels[label]
    covered = bool(children) and all((child, _kind(origin, label)) in pushed for child in children)
    return 0.0 if covered else rate, rate, label


def _with_master(origin: Origin, master: str) -> Origin:
    """The origin with a master that all others wait for, as far as they come from children."""
    waiting = frozenset(label for label, children in origin.labels.items() if children and label != master)
    return replace(origin, master=master, waiting=waiting)


def smoothed(before: float | None, rate: float) -> float:
    """Let a rate that was just observed count for a third, so that a quiet period does not turn everything over.

    >>> smoothed(None, 3.0), smoothed(3.0, 0.0)
    (3.0, 2.0)
    """
    return rate if before is None else (2 * before + rate) / 3


def part_rate(origin: Origin, label: str, rates: Mapping[str, float]) -> float | None:
    """The rate of the partial rule at a root, if it has been observed."""
    return rates.get(origin.parts[label].name)


def _measured(origin: Origin, label: str, rates: Mapping[str, float]) -> bool:
    """Whether it is known how many events waiting would save; a pattern of several events filters them itself."""
    return not origin.parts[label].pattern.items and part_rate(origin, label, rates) is not None


def _kind(origin: Origin, label: str) -> str:
    return origin.parts[label].pattern.terminator.type


def _by_rate(origins: Sequence[Origin], rates: Mapping[str, float]) -> list[str]:
    """Return the types at the roots of partial rules that children have, the most frequent first."""
    found: dict[str, float] = {}
    for origin in origins:
        for label, children in origin.labels.items():
            if children:
                kind = _kind(origin, label)
                found[kind] = max(found.get(kind, 0.0), part_rate(origin, label, rates) or 0.0)
    return sorted(found, key=lambda kind: (-found[kind], kind))


def _master(
    origin: Origin,
    kind: str,
    waiting: Mapping[str, set[str]],
    master: Mapping[str, str],
    rates: Mapping[str, float],
) -> str | None:
    """Find a root of the origin, of another type, that pushes: the one chosen before, or the rarest."""
    if origin.name in master:
        return master[origin.name] if _kind(origin, master[origin.name]) != kind else None
    possible = [
        (rate, label)
        for label in origin.possible
        if label not in waiting[origin.name]
        and _kind(origin, label) != kind
        and (rate := part_rate(origin, label, rates)) is not None
    ]
    return min(possible)[1] if possible else None


def _cost(origin: Origin, master: str, label: str, rates: Mapping[str, float]) -> float:
    """Return the messages per second that waking one partial rule takes: awakenings, and the events in open windows."""
    wakes = part_rate(origin, master, rates) or 0.0
    span = span_around(origin.rule, master, label)
    share_open = 1.0 - math.exp(-wakes * (span.past + span.future) / 1_000_000)
    return wakes * len(origin.labels[label]) + share_open * (part_rate(origin, label, rates) or 0.0)
