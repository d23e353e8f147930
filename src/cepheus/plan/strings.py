"""Strings as numbers: each distinct text has a code, and functions of one text are tables over the codes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from cepheus.core.event import text_digest
from cepheus.core.values import Value
from cepheus.plan.program import UNDEFINED_ENTRY, Words

UNFILLED = -(2**63) + 1
"""In a table of a string function: nobody has asked for that string yet."""


class StringTable:
    """Gives each distinct text a code, in order of appearance, and keeps the tables of string functions.

    A table has an entry per code. It is filled when a kernel asks for it, so a function is computed once per distinct
    text that it is really applied to.

    >>> table = StringTable()
    >>> table.code("A1"), table.code("B2"), table.code("A1"), table.text(1)
    (0, 1, 0, 'B2')
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._functions: list[Callable[[str], Value | None]] = []
        self._numbers: dict[Hashable, int] = {}
        self._digests = np.zeros(64, np.uint64)
        self._digested = 0
        self.tables: Words = np.full((0, 64), UNFILLED, np.int64)
        for text in texts:
            self.code(text)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts in order of their codes."""
        return tuple(self._texts)

    def code(self, text: str) -> int:
        """Give the code of a text, a new one if it has none."""
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self._texts)
            self._texts.append(text)
        return code

    def text(self, code: int) -> str:
        """Give the text of a code."""
        return self._texts[code]

    def function(self, key: Hashable, compute: Callable[[str], Value | None]) -> int:
        """Give the number of a text function's table, a new one for a new key; texts that it gives become codes."""
        if key not in self._numbers:
            self._numbers[key] = len(self._functions)
            self._functions.append(compute)
        return self._numbers[key]

    def fit(self) -> bool:
        """Give every function a table with an entry for every code; True if the tables are new arrays now."""
        rows, width = self.tables.shape
        if rows == len(self._functions) and (rows == 0 or width >= len(self._texts)):
            return False
        tables = np.full((len(self._functions), max(width, 2 * len(self._texts))), UNFILLED, np.int64)
        tables[:rows, :width] = self.tables
        self.tables = tables
        return True

    def fill(self, table: int, code: int) -> None:
        """Compute one entry of a table."""
        value = self._functions[table](self._texts[code])
        if isinstance(value, str):
            value = self.code(value)
        self.tables[table, code] = UNDEFINED_ENTRY if value is None else int(value)

    def digests(self) -> Words:
        """Give the digest of every text, for ids of composite events."""
        if len(self._texts) > len(self._digests):
            self._digests = np.resize(self._digests, 2 * len(self._texts))
        for code in range(self._digested, len(self._texts)):
            self._digests[code] = text_digest(self._texts[code])
        self._digested = len(self._texts)
        return self._digests.view(np.int64)
