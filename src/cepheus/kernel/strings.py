"""Strings as numbers: each distinct text has a code, and functions of one text are tables over the codes.

Ids of events that are no plain words have codes, too: texts, and numbers below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from cepheus.core.event import EventId, id_word
from cepheus.core.values import Value, as_int
from cepheus.kernel.memory import address
from cepheus.kernel.program import UNDEFINED_ENTRY, UNFILLED, Words

_FREE = None
"""Stands for the text of a code that is free."""


class StringTable:
    """The codes of texts, one for each distinct text, and the tables of string functions.

    A table has an entry per code. It is filled when a kernel asks for it, so a function is computed once per distinct
    text that it is really applied to. Several threads may use one table.

    >>> table = StringTable()
    >>> table.code("A1"), table.code("B2"), table.code("A1"), table.text(1)
    (0, 1, 0, 'B2')
    """

    def __init__(self, texts: Iterable[EventId | None] = ()) -> None:
        self._texts: list[EventId | None] = list(texts)
        self._codes = {text: code for code, text in enumerate(self._texts) if text is not None}
        self._free = [code for code, text in enumerate(self._texts) if text is None]
        self._constants: set[int] = set()
        self._functions: list[Callable[[str], Value | None]] = []
        self._numbers: dict[Hashable, int] = {}
        self._use_digests(np.zeros(64, np.uint64))
        self._undigested = list(self._codes.values())
        self._lock = RLock()
        self.tables: Words = np.full((0, 64), UNFILLED, np.int64)

    def __len__(self) -> int:
        """The number of codes, those that are free included."""
        return len(self._texts)

    @property
    def used(self) -> int:
        """How many codes stand for a text."""
        return len(self._codes)

    @property
    def texts(self) -> tuple[EventId | None, ...]:
        """All texts, and ids that are numbers, in order of their codes; None at those that are free."""
        return tuple(self._texts)

    def code(self, text: EventId) -> int:
        """The code of a text, or of an id that is a number; a new one if it has none."""
        code = self._codes.get(text)
        return self._new(text) if code is None else code

    def _new(self, text: EventId) -> int:
        with self._lock:
            if text in self._codes:  # another thread was faster
                return self._codes[text]
            if self._free:
                code = self._free.pop()
                self._texts[code] = text
            else:
                code = len(self._texts)
                self._texts.append(text)
            self._undigested.append(code)
            self._codes[text] = code
            return code

    def constant(self, text: str) -> int:
        """The code of a text that a program refers to; it stands for that text for ever."""
        code = self.code(text)
        self._constants.add(code)
        return code

    def text(self, code: int) -> str:
        """The text of a code; empty if the code is free."""
        return str(self._texts[code] or "")

    def id(self, code: int) -> EventId:
        """The id of a code."""
        return self._texts[code] or ""

    def function(self, key: Hashable, compute: Callable[[str], Value | None]) -> int:
        """The number of a text function's table, a new one for a new key; texts that it gives become codes."""
        if key not in self._numbers:
            self._numbers[key] = len(self._functions)
            self._functions.append(compute)
        return self._numbers[key]

    def fit(self) -> None:
        """Let every function have a table with an entry for every code; the tables may be a new array then."""
        if not self._functions:
            return
        with self._lock:
            rows, width = self.tables.shape
            if rows == len(self._functions) and (rows == 0 or width >= len(self._texts)):
                return
            tables = np.full((len(self._functions), max(width, 2 * len(self._texts))), UNFILLED, np.int64)
            tables[:rows, :width] = self.tables
            self.tables = tables

    def fill(self, table: int, code: int) -> None:
        """Compute one entry of a table."""
        with self._lock:
            value = self._functions[table](self.text(code))
            if isinstance(value, str):
                value = self.code(value)
            self.tables[table, code] = UNDEFINED_ENTRY if value is None else as_int(value)

    def digests(self) -> Words:
        """The digest of every text, for ids of composite events; the same array until it must grow."""
        if self._undigested:
            self._digest()
        return self._digest_words

    @property
    def digests_at(self) -> int:
        """The address of the digests, as long as there are no new texts."""
        if self._undigested:
            self._digest()
        return self._digests_at

    def _digest(self) -> None:
        with self._lock:
            if len(self._texts) > len(self._digests):
                self._use_digests(np.resize(self._digests, 2 * len(self._texts)))
            for code in self._undigested:
                self._digests[code] = id_word(self.id(code))
            self._undigested = []

    def _use_digests(self, digests: NDArray[np.uint64]) -> None:
        self._digests = digests
        self._digest_words: Words = digests.view(np.int64)
        self._digests_at = address(digests, label="digests of texts")

    def keeping(self, live: NDArray[np.bool_]) -> StringTable:
        """Return a table like this one in which only the live codes and constants stand for texts; others are free.

        This table stays as it is: composite events that were given away are still read through it. The tables of
        functions begin anew, as they may hold codes of texts that are gone.
        """
        with self._lock:
            live = live.copy()
            live[list(self._constants)] = True
            end = int(np.flatnonzero(live)[-1]) + 1 if live.any() else 0
            kept = StringTable(
                text if alive else _FREE for text, alive in zip(self._texts[:end], live[:end].tolist(), strict=True)
            )
            kept._constants = set(self._constants)
            kept._functions = list(self._functions)
            kept._numbers = dict(self._numbers)
            kept._use_digests(self.digests().view(np.uint64)[: max(64, end)].copy())
            kept._undigested = []
            kept.fit()
            return kept
