"""How far back a network may have to look when its trees are built anew.

Windows are told in the time of events, outages in that of the clock; a history that is published again passes much
faster than it once happened. So how far something was a while ago is noted, not worked out.
"""

from __future__ import annotations

from collections.abc import Iterable

from cepheus.core.time import MAX_TIME
from cepheus.plan.partial import anatomy, input_types
from cepheus.rules.model import Rule

Past = list[tuple[int, int]]
"""Moments of the clock, and how far something was then; times are microseconds."""

_NOTES = 8
"""So many notes are made in the time that one looks back."""


def as_it_was(past: Past, ago: int, now: int, value: int) -> int | None:
    """Note how far something is now, if the last note is old; give how far it was that long ago, None if unknown.

    >>> past: Past = []
    >>> [as_it_was(past, 80, now, 1000 * now) for now in (0, 5, 10, 50, 85, 95, 300)]
    [None, None, None, None, 0, 10000, 95000]
    >>> past
    [(95, 95000), (300, 300000)]
    """
    if not past or now - past[-1][0] >= ago // _NOTES:
        past.append((now, value))
    while len(past) > 1 and past[1][0] <= now - ago:
        del past[0]
    moment, then = past[0]
    return then if moment <= now - ago else None


def reach_of_all(rules: Iterable[Rule]) -> int:
    """Give how far back rules look, through the composite events that feed them, too: windows add up."""
    makers: dict[str, list[Rule]] = {}
    for rule in rules:
        makers.setdefault(rule.composite.name, []).append(rule)
    known: dict[int, int] = {}

    def look(rule: Rule) -> int:
        if id(rule) not in known:
            known[id(rule)] = 0  # whoever feeds itself is not gone into again
            below = [look(maker) for kind in input_types(rule) for maker in makers.get(kind, ())]
            known[id(rule)] = min(anatomy(rule).reach + max(below, default=0), MAX_TIME)
        return known[id(rule)]

    return max([look(rule) for made in makers.values() for rule in made], default=0)
