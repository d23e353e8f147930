"""Values as tagged words: what an argument of an event is, and 64 bits that hold it.

A variable of a rule may meet an integer in one event and a text in the next, so a type travels with each value. Four
bits tell the type; those of all arguments of a row are packed together, sixteen to a word.

A stream of events with ids of their own brings new texts for ever. When the texts have doubled since the last time,
the codes that nothing refers to are freed; a code in use keeps its number, so nothing that holds one has to change.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cepheus.core.event import EventId, text_digest
from cepheus.core.lists import list_of_text, list_text
from cepheus.core.values import Value
from cepheus.kernel.program import Words
from cepheus.kernel.state import STRING_ID_FLOOR
from cepheus.kernel.strings import StringTable
from cepheus.plan.interval.layout import MATCH_HEADER, RECORD_HEADER, TAG_BITS, TAGS_PER_WORD, Record, Tag

_TRUTHS = 2
_LEAST = 1 << 16  # fewer texts than this are not worth a look
_DOUBLE, _WORD = struct.Struct("<d"), struct.Struct("<q")

CODED = (Tag.STRING, Tag.LIST)
"""Types of values whose words are codes of texts; the text of a list stands for it."""

Tagged = tuple[int, int]
"""A tag and a word."""


class _NotedTable(StringTable):
    """A table that notes new codes, so that what is derived from their texts can be brought up to date."""

    def __init__(self, texts: Iterable[EventId | None] = ()) -> None:
        super().__init__(texts)
        self.noted = list(range(len(self)))

    def _new(self, text: EventId) -> int:
        code = super()._new(text)
        self.noted.append(code)
        return code


class Texts:
    """All texts that the engine has met, their codes, and their alphabetical order.

    >>> texts = Texts()
    >>> texts.encode("b"), texts.encode(2.5)[0] == Tag.FLOAT, texts.decode(*texts.encode(True))
    ((<Tag.STRING: 4>, 0), True, True)
    """

    def __init__(self, texts: Iterable[EventId | None] = ()) -> None:
        self.table = _NotedTable(texts)
        self.ranks: Words = np.zeros(0, np.int64)
        self._digests = np.zeros(64, np.uint64)
        self._digests[:_TRUTHS] = [text_digest(repr(truth)) for truth in (False, True)]
        self._constants: set[int] = set()
        self._most = _LEAST

    def encode(self, value: Value | None) -> Tagged:
        """A value as a tag and a word."""
        if value is None:
            return Tag.NONE, 0
        if isinstance(value, str):
            return Tag.STRING, self.table.code(value)
        if isinstance(value, tuple):
            return Tag.LIST, self.table.code(list_text(value))
        if isinstance(value, bool):
            return Tag.BOOL, int(value)
        if isinstance(value, int):
            return Tag.INT, value
        (word,) = _WORD.unpack(_DOUBLE.pack(value))
        return Tag.FLOAT, word

    def constant(self, value: Value) -> Tagged:
        """Encode a value that rules refer to; if it is a text or a list, its code stands for it for ever."""
        tag, word = self.encode(value)
        if tag in CODED:
            self._constants.add(word)
        return tag, word

    @property
    def many(self) -> bool:
        """Whether there are twice as many texts as were needed last time."""
        return self.table.used > self._most

    def keep(self, live: NDArray[np.bool_]) -> None:
        """Free the codes of all texts but the live ones and constants.

        The table is a new one: complex events that were given away are still read through the old.
        """
        live[list(self._constants)] = True
        texts = self.table.texts
        self.table = _NotedTable(text if alive else None for text, alive in zip(texts, live.tolist(), strict=True))
        self.ranks = np.zeros(0, np.int64)
        self._most = max(_LEAST, 2 * self.table.used)

    def decode(self, tag: int, word: int) -> Value | None:
        """The value of a tag and a word."""
        match Tag(tag):
            case Tag.NONE:
                return None
            case Tag.STRING:
                return self.table.text(word)
            case Tag.LIST:
                return list_of_text(self.table.text(word))
            case Tag.BOOL:
                return word != 0
            case Tag.INT:
                return word
            case Tag.FLOAT:
                (number,) = _DOUBLE.unpack(_WORD.pack(word))
                return float(number)

    def digests(self) -> Words:
        """Return the words by which truths and then texts enter the ids of complex events."""
        size = _TRUTHS + len(self.table)
        if size > len(self._digests):
            self._digests = np.resize(self._digests, 2 * size)
        for code in self.table.noted:
            self._digests[_TRUTHS + code] = text_digest(repr(self.table.text(code)))
        self.table.noted.clear()
        return self._digests.view(np.int64)

    def rank(self) -> None:
        """Put all texts known so far in order, so that compiled code can compare their codes."""
        order = sorted(range(len(self.table)), key=self.table.text)
        self.ranks = np.empty(len(order), np.int64)
        self.ranks[order] = np.arange(len(order))


def mark_matches(live: NDArray[np.bool_], matches: Words, variables: int) -> None:
    """Mark the codes that matches refer to: texts that variables are bound to, and the ids of parts."""
    values_at = MATCH_HEADER + (variables + TAGS_PER_WORD - 1) // TAGS_PER_WORD
    _mark_values(live, matches, MATCH_HEADER, values_at, variables)
    _mark_ids(live, matches[:, values_at + variables :])


def mark_records(live: NDArray[np.bool_], records: Words, arities: Sequence[int]) -> None:
    """Mark the codes that the events of an instant refer to; ``arities`` are those of types, by their numbers."""
    for kind in np.unique(records[:, Record.TYPE]).tolist():
        rows = records[records[:, Record.TYPE] == kind]
        values_at = RECORD_HEADER + (arities[kind] + TAGS_PER_WORD - 1) // TAGS_PER_WORD
        _mark_values(live, rows, RECORD_HEADER, values_at, arities[kind])
        _mark_ids(live, rows[:, Record.ID])


def _mark_values(live: NDArray[np.bool_], rows: Words, tags_at: int, values_at: int, count: int) -> None:
    for place in range(count):
        packed = rows[:, tags_at + place // TAGS_PER_WORD] >> (TAG_BITS * (place % TAGS_PER_WORD))
        texts = np.isin(packed & (2**TAG_BITS - 1), CODED)
        live[rows[texts, values_at + place]] = True


def _mark_ids(live: NDArray[np.bool_], ids: Words) -> None:
    live[~ids[(ids < 0) & (ids >= STRING_ID_FLOOR)]] = True
