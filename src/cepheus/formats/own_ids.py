"""Ids that events bring along, and whether they tell events apart, as the ids of what is made of them rely on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cepheus.core.batch import Ids, IntArray
from cepheus.core.errors import Diagnostic, EventError, Severity
from cepheus.core.event import EventId
from cepheus.core.time import warn
from cepheus.formats.problems import shown

_FEW = 1 << 16
"""How many ids that come one by one are remembered, at least."""

_FEW_AT_ONCE = 1 << 12
"""How many integers in one column count as coming one by one."""

_MANY = 1 << 20
"""How many integers in columns are remembered, about."""

_LONGEST = _MANY >> 2
"""How many of them become one run at most: the oldest run is forgotten as a whole."""


class OwnIds:
    """Looks for ids that two events have, among those that came lately: memory is bounded, however long a stream is.

    >>> ids = OwnIds()
    >>> ids.look(["a", "b", "a"])
    >>> ids.look(np.arange(5))
    >>> ids.look(np.array([7, 3]))
    >>> print(ids.findings()[0].message)
    2 events have the id of another, such as 'a'
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._count = 0
        self._first: EventId | None = None
        self._recent: set[EventId] = set()
        self._before: set[EventId] = set()
        self._runs: list[IntArray] = []

    def look(self, ids: Ids) -> None:
        """See the ids of some events."""
        if isinstance(ids, np.ndarray):
            if len(ids) < _FEW_AT_ONCE:
                self._look_at_each(ids.tolist())
            else:
                self._look_at_integers(ids)
        elif not isinstance(ids, range):
            self._look_at_each(ids)

    def look_at_one(self, event_id: EventId) -> None:
        """See the id of one event."""
        if event_id in self._recent or event_id in self._before:
            self._note(event_id, 1)
            return
        self._recent.add(event_id)
        if len(self._recent) >= _FEW:
            self._before, self._recent = self._recent, set()

    def _look_at_each(self, ids: Iterable[EventId]) -> None:
        for each in ids:
            self.look_at_one(each)

    def _look_at_integers(self, ids: IntArray) -> None:
        run = ids.copy() if (ids[1:] > ids[:-1]).all() else np.sort(ids)  # whoever gave them may write over them
        again = run[1:][run[1:] == run[:-1]]
        if len(again):
            self._note(int(again[0]), len(again))
        for other in self._runs:
            if other[0] <= run[-1] and run[0] <= other[-1]:
                places = np.minimum(np.searchsorted(other, run), len(other) - 1)
                found = run[other[places] == run]
                if len(found):
                    self._note(int(found[0]), len(found))
        self._keep(run)

    def _keep(self, run: IntArray) -> None:
        """Remember integers in order; short runs become one, so that there are few to look through."""
        while self._runs and len(self._runs[-1]) <= min(2 * len(run), _LONGEST - len(run)):
            run = np.sort(np.concatenate((self._runs.pop(), run)), kind="stable")  # merges what is in order
        self._runs.append(run)
        while len(self._runs) > 1 and sum(map(len, self._runs)) > _MANY:
            del self._runs[0]

    def _note(self, event_id: EventId, count: int) -> None:
        self._count += count
        self._first = event_id if self._first is None else self._first

    def findings(self) -> list[Diagnostic]:
        """What was found so far."""
        if self._first is None:
            return []
        events = "1 event has" if self._count == 1 else f"{self._count} events have"
        message = f"{events} the id of another, such as {shown(self._first)}"
        hint = (
            "composite events of either get the same id and name the same parts: name a column that tells events apart"
        )
        return [Diagnostic("same-id", message, hint=f"{hint}, or leave ids out")]

    def tell(self) -> None:
        """Say at the end of the data what was found."""
        findings = self.findings()
        self._first, self._count = None, 0
        if findings and self._strict:
            raise EventError(findings)
        for finding in findings:
            warn(replace(finding, severity=Severity.WARNING))
