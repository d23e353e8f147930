"""The order in which one engine would have made composite events, for those that Spark has gathered from everywhere.

A composite event comes after what it was made of: right where the event that completed it stands in the total order.
Those that one event completes are ordered by rule, then by their parts. What rules of TESLA make of one event follows
in rounds, each of what the last one completes; what rules over intervals make goes to all rules before the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch, IntArray
from cepheus.core.event import EventId
from cepheus.rules.model import RuleSet

Way = tuple[Any, ...]
"""How an event came about: the place of an event from outside, and then of each composite event on the way to it."""

_BEFORE, _AT, _AFTER = range(3)


def order_of_making(made: EventBatch, given: EventBatch, rules: RuleSet) -> IntArray:
    """Give the rows of composite events in the order in which one engine makes them out of the given events."""
    ways = _Ways(made, given, rules)
    keys = [(int(made.times[row]), ways.key(ways.of_row(row))) for row in range(len(made))]
    return np.array(sorted(range(len(made)), key=keys.__getitem__), np.int64)


class _Ways:
    """Finds out how composite events came about."""

    def __init__(self, made: EventBatch, given: EventBatch, rules: RuleSet) -> None:
        self._made, self._times = made, given.times
        self._places = {event_id: place for place, event_id in enumerate(given.id_list() or range(len(given)))}
        self._rows = {event_id: row for row, event_id in enumerate(made.id_list() or [])}
        self._parts: Sequence[tuple[EventId, ...]] = () if made.provenance is None else made.provenance.made_of
        names = [*(rule.composite.name for rule in rules.rules), *(rule.head.name for rule in rules.interval_rules)]
        self._rules = {name: names.index(name) for name in names}
        self._strata = {rule.composite.name: rule.decided_late for rule in rules.interval_rules}
        self._known: dict[int, Way] = {}

    def key(self, way: Way) -> Way:
        """Give what an event is ordered by that came about in some way."""
        return way if self._strata else (way[0], len(way), way)

    def of_row(self, row: int) -> Way:
        """Give how a composite event came about, once that is known of its parts; hierarchies may be deep."""
        work = [row]
        while work:
            parts = [self._rows[part] for part in self._parts[work[-1]] if part in self._rows]
            unknown = [part for part in parts if part not in self._known]
            if unknown:
                work += unknown
            else:
                here = work.pop()
                self._known[here] = self._found(here)
        return self._known[row]

    def _found(self, row: int) -> Way:
        name, time = self._made.types[self._made.codes[row]], self._made.times[row]
        parts = [
            self._known[self._rows[part]] if part in self._rows else ((self._places.get(part, -1), _AT, 0),)
            for part in self._parts[row]
        ]
        last = parts[0] if parts else ((int(np.searchsorted(self._times, time, "left")), _BEFORE, 0),)
        completed = last
        if name in self._strata:
            last = completed = max(parts, default=last)
            if self._strata[name]:  # when the instant is over
                end = int(np.searchsorted(self._times, time, "right")) - 1
                completed = max(last, ((end, _AFTER, self._strata[name]),))
        return (*completed, (self._rules.get(name, len(self._rules)), *map(self.key, (last, *parts))))
