"""Row patterns whose conditions look back at the match: open matches in order of preferment, each with its own history.

Two open matches in one state have one future only if the variables of their rows are the same, so histories are kept as
chains, equal ones once, and open matches are told apart by state and chain. Rows are taken one at a time, in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheus.core.errors import LimitError
from cepheus.core.values import as_int
from cepheus.plan.rows.automaton import ACCEPT, ACCEPT_AT_END, FIRST, LATER, Automaton, automaton, shortened
from cepheus.plan.rows.near import is_near
from cepheus.rules.rows.evaluate import Moment, value_of
from cepheus.rules.rows.matches import RowSearch, Way

OPEN_LIMIT = 20_000
"""How many matches may be open at once from one row."""


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The variable that took a row, and the history of the rows before it; equal ones are the same object."""

    before: History | None
    label: str
    excluded: bool


@dataclass(slots=True)
class HistorySearch(RowSearch):
    """The matches in the rows of one partition, by the automaton of the pattern."""

    automaton: Automaton | None = None
    near: dict[str, bool] = field(default_factory=dict)
    _held: dict[tuple[int, str], bool] = field(default_factory=dict)

    def _preferred(self) -> Way | None:
        if self.automaton is None:
            self.automaton = automaton(self.query.pattern)
            self.near = {name: is_near(condition, name) for name, condition in self.conditions.items()}
        machine = self.automaton
        begin = FIRST if self.start == 0 else LATER
        opened: list[tuple[int, History | None]] = [(begin, None)]
        candidate: History | None = None
        found = ACCEPT in machine.next_of[begin]
        for row in range(self.start, len(self.rows)):
            opened, ended = self._step(machine, opened, row)
            if ended is not None:
                candidate, found = ended, True
            if not opened:
                break
            if len(opened) > OPEN_LIMIT:
                raise self._too_many()
        else:
            for state, history in opened:
                if history is not None and {ACCEPT, ACCEPT_AT_END} & set(machine.next_of[state]):
                    candidate, found = history, True
                    break
        return _way(candidate) if found else None

    def _step(
        self, machine: Automaton, opened: list[tuple[int, History | None]], row: int
    ) -> tuple[list[tuple[int, History | None]], History | None]:
        """Take a row: what is open after it, and the match that ends with it, which cuts off what is less preferred."""
        following: list[tuple[int, History | None]] = []
        known: dict[tuple[int, str, bool], History] = {}
        met: set[tuple[int, int]] = set()
        for state, history in opened:
            for goal in machine.next_of[state]:
                if goal < 0:
                    continue
                label, excluded = machine.names[machine.variable[goal]], machine.excluded[goal]
                key = (id(history), label, excluded)
                grown = known.get(key)
                if grown is None:
                    if not self._may_take(label, history, row):
                        continue
                    grown = known[key] = History(history, label, excluded)
                if (goal, id(grown)) in met:
                    continue
                met.add((goal, id(grown)))
                if machine.next_of[goal] != (ACCEPT,):
                    following.append((goal, grown))
                if ACCEPT in machine.next_of[goal]:
                    return following, grown
        return following, None

    def _may_take(self, label: str, history: History | None, row: int) -> bool:
        condition = self.conditions.get(label)
        if self.query.within is not None and not self._is_within(row):
            return False
        if condition is None:
            return True
        if self.near[label]:
            if (row, label) not in self._held:
                moment = Moment(self.rows, row, (label,), row, self.number)
                self._held[row, label] = value_of(condition, moment) is True
            return self._held[row, label]
        labels = [*(label for label, _ in _way(history)), label]
        return value_of(condition, Moment(self.rows, self.start, labels, row, self.number)) is True

    def _is_within(self, row: int) -> bool:
        column = self.query.order[0].column
        first, last = self.rows[self.start].get(column), self.rows[row].get(column)
        return first is not None and last is not None and as_int(last) - as_int(first) < as_int(self.query.within or 0)

    def _too_many(self) -> LimitError:
        return LimitError.of(
            "too-many-steps",
            f"the pattern {shortened(self.query.pattern)} has more than {OPEN_LIMIT} matches open at once",
            span=self.query.pattern.span,
            hint="bound it with WITHIN, or let its variables exclude one another",
        )


def _way(history: History | None) -> Way:
    return tuple(reversed([(each.label, each.excluded) for each in _chain(history)]))


def _chain(history: History | None) -> Iterator[History]:
    while history is not None:
        yield history
        history = history.before
