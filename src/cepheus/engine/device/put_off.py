"""Terminators that are put off: records that the kernel writes and that are evaluated many at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheus.core.time import MIN_TIME
from cepheus.kernel.addresses import Addresses
from cepheus.kernel.program import Words
from cepheus.kernel.tables import Fields, cell, words_at

MOST_PUT_OFF = 4096
"""So many terminators are put off before they are evaluated."""


class RecordField(Fields):
    """Of a terminator that was put off: its rule, and where in the output what it makes belongs.

    ``OTHERS`` is how many composite events rules that were not put off have made of the same event, ``SERIAL`` tells
    events apart, ``ROW`` is its number among those of its type (``KIND``) if it was stored, and ``MADE`` how many
    composite events it made. Its row follows.
    """

    RULE = cell()
    PLACE = cell()
    OTHERS = cell()
    SERIAL = cell()
    KIND = cell()
    ROW = cell()
    MADE = cell()


HEAD = RecordField.row_words()


class PutOffAt(Fields):
    """Places in the memory of the device engine's kernel.

    ``RULES`` has a 1 for each rule whose terminators are put off, ``TYPES`` the types of all rules' terminators. So
    many events (``LEFT``) may be taken before something that they look at would be forgotten; the latest was at
    ``TIME``.
    """

    RULES = words_at()
    TYPES = words_at()
    RECORDS = words_at()
    WIDTH = cell(HEAD)
    MOST = cell(MOST_PUT_OFF)
    COUNT = cell(0)
    DONE = cell(0)
    LEFT = cell(0)
    TIME = cell(MIN_TIME)
    SERIAL = cell(0)


class PutOff(Addresses[PutOffAt]):
    """The terminators that are put off, and the table by which the kernel finds them."""

    def __init__(self) -> None:
        super().__init__(PutOffAt)
        self.fit([], 0)

    def fit(self, types: Sequence[int], width: int) -> None:
        """Make room for rules with terminators of these types, whose rows have up to so many words."""
        self._types = np.array([*types, -1], np.int64)
        self.rules = np.zeros(len(self._types), np.int64)
        self._records = np.zeros((MOST_PUT_OFF, HEAD + width), np.int64)
        self.point_all(rules=self.rules, types=self._types, records=self._records)
        self[PutOffAt.WIDTH] = HEAD + width
        self.forget()

    def __len__(self) -> int:
        return self[PutOffAt.COUNT]

    @property
    def records(self) -> Words:
        """What is put off, a row each."""
        return self._records[: len(self)]

    @property
    def all_records(self) -> Words:
        """What is put off, or was before it was forgotten, and room for more."""
        return self._records

    def forget(self) -> None:
        """Have nothing put off."""
        self[PutOffAt.COUNT] = self[PutOffAt.DONE] = 0
