"""Lists of members outside the kernel: their room, and the values and errors that composite events get from them."""

from __future__ import annotations

import numpy as np

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.error_column import ErrorColumn, distribution_of
from cepheus.core.values import ValueType
from cepheus.engine.lowered.outlet import Found
from cepheus.engine.uncertain.others import OtherErrors
from cepheus.engine.uncertain.state import Of, WorthTable
from cepheus.engine.uncertain.tables import ListedField, ListField
from cepheus.engine.uncertain.weighed import WEIGHED
from cepheus.kernel.program import FunctionCode, Words
from cepheus.plan.pattern.code import float_bits
from cepheus.uncertainty.aggregates import Member, compute_aggregate
from cepheus.uncertainty.laws import law_of
from cepheus.uncertainty.production import error_of_computed

_FIRST_ROOM = 1 << 10


class Lists:
    """The room for lists of members: those of the match under way, and those that composite events were given."""

    def __init__(self, table: WorthTable, calculus: Calculus) -> None:
        self._table = table
        self._calculus = calculus
        table[Of.EXACT_MEMBERS] = calculus.exact_members
        table[Of.IGNORE], table[Of.ACCEPT] = float_bits(calculus.ignore), float_bits(calculus.accept)
        self._make_room(Of.MEMBERS, _FIRST_ROOM)
        self._given = self._make_room(Of.LAWS, _FIRST_ROOM)

    def _make_room(self, at: Of, words: int) -> Words:
        made = np.zeros(words, np.int64)
        self._table.lend(at, made)
        return made

    def begin(self) -> None:
        """Forget the lists that were given before."""
        self._table[Of.LAWS_USED] = 0

    def grow(self) -> bool:
        """Give the kernel the room that it came back for; False if it did not ask for any."""
        wanted, given = self._table[Of.MEMBERS_NEEDED], self._table[Of.LAWS_NEEDED]
        self._table[Of.MEMBERS_NEEDED] = self._table[Of.LAWS_NEEDED] = 0
        if wanted:
            self._make_room(Of.MEMBERS, 2 * wanted)
        if given:
            before = self._given
            self._given = self._make_room(Of.LAWS, 2 * given)
            self._given[: len(before)] = before
        return bool(wanted or given)

    def described(self, found: Found, attribute: str, errors: ErrorColumn, others: OtherErrors) -> ErrorColumn:
        """Give the errors of an attribute, those that come from lists worked out, and put the values in place."""
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
            value, made[row] = self._computed(words, others)
            rule = found.rule[row]
            if doubles is not None and doubles[rule] >= 0:
                found.fields[doubles[rule]][row] = float_bits(value)
            else:
                assert integers is not None
                found.fields[integers[rule]][row] = value
        return ErrorColumn.of(made)

    def _computed(self, words: Words, others: OtherErrors) -> tuple[int | float, Distribution]:
        function = FunctionCode(words[ListField.FUNCTION]).name.capitalize()
        records = words[ListField.row_words() :].reshape(-1, ListedField.row_words())
        numbers = records.view(np.float64)
        members, listed = [], others.listed
        for record, parts in zip(records, numbers, strict=True):
            value = float(parts[ListedField.VALUE])
            first, second = float(parts[ListedField.FIRST]), float(parts[ListedField.SECOND])
            error = distribution_of(int(record[ListedField.KIND]), first, second, listed)
            law = None if error is None else law_of(error, value)
            observed = int(record[ListedField.WORD]) if words[ListField.ARE_WHOLE] else value
            members.append(Member(float(parts[ListedField.PROBABILITY]), observed, law))
        computed = compute_aggregate(function, members, self._calculus)
        assert computed.law is not None
        assert isinstance(computed.value, int | float)
        return computed.value, error_of_computed(float(computed.value), computed.law, self._calculus)
