"""Distributions outside the kernel: those that errors of events have, and those that aggregates come to.

Errors that are neither Normal nor Uniform are listed: events name them by number, the kernel reads their components. A
stream whose errors are all different brings new ones for ever. When they have doubled since the last time, the numbers
that no stored event refers to are freed; a number in use stays, so nothing that holds one has to change.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.distribution_column import ErrorColumn, ErrorKind, distribution_of
from cepheus.core.values import ValueType
from cepheus.engine.lowered.outlet import Found
from cepheus.engine.uncertain.members import WEIGHED
from cepheus.engine.uncertain.state import LAST_HEAD, Of, UncertainAddresses
from cepheus.engine.uncertain.tables import ListedField, ListField, SpreadField, spread_rows
from cepheus.kernel.context import State
from cepheus.kernel.program import Words
from cepheus.kernel.state import TypeState
from cepheus.plan.aggregate_codes import aggregate_of
from cepheus.plan.pattern.code import float_bits
from cepheus.plan.pattern.layouts import ERROR_MARKS
from cepheus.plan.pattern.lower import Lowering
from cepheus.uncertainty.aggregates import Computed, Member, compute_aggregate
from cepheus.uncertainty.computed_errors import error_of_computed
from cepheus.uncertainty.laws import is_foreign, law_of, spreads

_LEAST = 1 << 10
"""Fewer distributions than this are not worth a look."""


class ListedErrors:
    """Numbers for distributions, and the tables by which the kernel finds their components.

    >>> from cepheus.core.distribution import Samples
    >>> listed = ListedErrors()
    >>> listed.number(Samples((0.0, 1.0))), listed.number(Samples((2.0,))), listed.number(Samples((0.0, 1.0)))
    (0, 1, 0)
    """

    def __init__(self, listed: Iterable[Distribution | None] = ()) -> None:
        self._listed: list[Distribution | None] = list(listed)
        self._numbers = {error: number for number, error in enumerate(self._listed) if error is not None}
        self._most = _LEAST
        self._rewrite()

    @property
    def listed(self) -> tuple[Distribution | None, ...]:
        """The distributions in the order of their numbers, None at those that are free."""
        return tuple(self._listed)

    def __len__(self) -> int:
        """How many distributions there are."""
        return len(self._numbers)

    def __getitem__(self, error: Distribution) -> int:
        """Look up the number of a distribution that has one."""
        return self._numbers[error]

    def number(self, error: Distribution) -> int:
        """Look up the number of a distribution, a new one if it has none; the tables may be new arrays then."""
        found = self._numbers.get(error)
        if found is not None:
            return found
        if self._free:
            number = self._free.pop()
            self._listed[number] = error
        else:
            number = len(self._listed)
            self._listed.append(error)
        self._numbers[error] = number
        self._write(number, error)
        return number

    def column(self, kinds: Words, first: NDArray[np.float64], second: NDArray[np.float64]) -> ErrorColumn:
        """Errors that the kernel wrote, with those distributions alone that they name."""
        foreign = kinds == ErrorKind.OTHER
        if not foreign.any():
            return ErrorColumn(kinds, first, second)
        numbers, places = np.unique(first[foreign].astype(np.int64), return_inverse=True)
        first = first.copy()
        first[foreign] = places
        named = (self._listed[number] for number in numbers.tolist())
        return ErrorColumn(kinds, first, second, tuple(error for error in named if error is not None))

    # ---- What is free ----------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        """Whether there are twice as many distributions as were needed last time."""
        return len(self._numbers) > self._most

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Free the numbers that are not live."""
        end = int(np.flatnonzero(live)[-1]) + 1 if live.any() else 0
        self._listed = [
            error if alive else None for error, alive in zip(self._listed[:end], live[:end].tolist(), strict=True)
        ]
        self._numbers = {error: number for number, error in enumerate(self._listed) if error is not None}
        self._most = max(_LEAST, 2 * len(self._numbers))
        self._rewrite()

    # ---- Tables ----------------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        """Write the components of all distributions anew."""
        self._free = [number for number, error in enumerate(self._listed) if error is None]
        self.rows: Words = SpreadField.zeros(64)
        self.ranges: Words = np.zeros((max(64, 2 * len(self._listed)), 2), np.int64)
        self._used = 0
        for error, number in self._numbers.items():
            self._write(number, error)

    def _write(self, number: int, error: Distribution) -> None:
        lines, _ = spread_rows([] if is_foreign(error) else [spreads(error)])
        end = self._used + len(lines)
        self.rows = _with_room(self.rows, end)
        self.ranges = _with_room(self.ranges, number + 1)
        self.rows[self._used : end] = lines
        self.ranges[number] = self._used, end
        self._used = end


def _with_room(table: Words, rows: int) -> Words:
    """A table with so many rows at least, the same one if it has them."""
    if len(table) >= rows:
        return table
    larger = np.zeros((2 * rows, table.shape[1]), np.int64)
    larger[: len(table)] = table
    return larger


def mark_listed(live: NDArray[np.bool_], lowering: Lowering, state: State) -> None:
    """Mark the numbers that the errors of stored events name."""
    for layout in lowering.types.values():
        if layout.index >= len(state.type_state):
            continue
        first, end = state.type_state[layout.index, TypeState.FIRST], state.type_state[layout.index, TypeState.NEXT]
        offset, mask = state.type_state[layout.index, TypeState.OFFSET], state.type_state[layout.index, TypeState.MASK]
        bases = offset + (np.arange(first, end, dtype=np.int64) & mask) * layout.width
        for name, slot in layout.slots.items():
            if name.endswith(ERROR_MARKS[0]):
                foreign = bases[state.store[bases + slot] == ErrorKind.OTHER]
                live[state.store[foreign + slot + 1].view(np.float64).astype(np.int64)] = True


_FIRST_ROOM = 1 << 10


class Lists:
    """The room for lists of members: those of the match under way, and those that composite events were given."""

    def __init__(self, table: UncertainAddresses, calculus: Calculus) -> None:
        self._table = table
        self._calculus = calculus
        table[Of.EXACT_MEMBERS] = calculus.exact_members
        table[Of.IGNORE], table[Of.ACCEPT] = float_bits(calculus.ignore), float_bits(calculus.accept)
        self._make_room(Of.MEMBERS, _FIRST_ROOM)
        self._make_room_for_items(_FIRST_ROOM)
        self._given = self._make_room(Of.LAWS, _FIRST_ROOM)

    def _make_room(self, at: Of, words: int) -> Words:
        made = np.zeros(words, np.int64)
        self._table.lend(at, made)
        return made

    def _make_room_for_items(self, words: int) -> None:
        self._make_room(Of.ITEMS, words)
        self._make_room(Of.LAST_ITEMS, LAST_HEAD + words)

    def begin(self) -> None:
        """Forget the lists that were given before."""
        self._table[Of.LAWS_USED] = 0

    def grow(self) -> bool:
        """Give the kernel the room that it came back for; False if it did not ask for any."""
        wanted, given = self._table[Of.MEMBERS_NEEDED], self._table[Of.LAWS_NEEDED]
        items = self._table[Of.ITEMS_NEEDED]
        self._table[Of.MEMBERS_NEEDED] = self._table[Of.LAWS_NEEDED] = self._table[Of.ITEMS_NEEDED] = 0
        if wanted:
            self._make_room(Of.MEMBERS, 2 * wanted)
        if items:
            self._make_room_for_items(2 * items)
        if given:
            before = self._given
            self._given = self._make_room(Of.LAWS, 2 * given)
            self._given[: len(before)] = before
        return bool(wanted or given or items)

    def described(self, found: Found, attribute: str, errors: ErrorColumn, listed: ListedErrors) -> ErrorColumn:
        """Work out the errors of an attribute, those that come from lists worked out, and put the values in place."""
        rows = np.flatnonzero(errors.kinds == WEIGHED).tolist()
        if not rows:
            return errors
        doubles = found.outlet.places.get((attribute, ValueType.FLOAT))
        integers = found.outlet.places.get((attribute, ValueType.INT))
        sharp = errors.where(errors.kinds != WEIGHED)
        made = list(sharp)
        begins, lengths = errors.first.view(np.int64), errors.second.view(np.int64)
        for row in rows:
            words = self._given[begins[row] : begins[row] + lengths[row]]
            value, made[row] = self._computed(words, listed)
            rule = found.rule[row]
            if doubles is not None and doubles[rule] >= 0:
                found.fields[doubles[rule]][row] = float_bits(value)
            else:
                assert integers is not None
                found.fields[integers[rule]][row] = value
        return ErrorColumn.of(made)

    def _computed(self, words: Words, listed: ListedErrors) -> tuple[int | float, Distribution]:
        computed = self.computed(words, listed)
        assert isinstance(computed.value, int | float)
        assert computed.law is not None
        return computed.value, error_of_computed(float(computed.value), computed.law, self._calculus)

    def computed(self, words: Words, listed: ListedErrors) -> Computed:
        """Work out the aggregate of a list."""
        function = aggregate_of(int(words[ListField.FUNCTION])).name
        records = words[ListField.row_words() :].reshape(-1, ListedField.row_words())
        numbers = records.view(np.float64)
        members, known = [], listed.listed
        for record, parts in zip(records, numbers, strict=True):
            value = float(parts[ListedField.VALUE])
            first, second = float(parts[ListedField.FIRST]), float(parts[ListedField.SECOND])
            error = distribution_of(int(record[ListedField.KIND]), first, second, known)
            law = None if error is None else law_of(error, value)
            observed = int(record[ListedField.WORD]) if words[ListField.ARE_WHOLE] else value
            members.append(Member(float(parts[ListedField.PROBABILITY]), observed, law))
        return compute_aggregate(function, members, self._calculus)
