"""Strings as numbers: each distinct text has a code, and functions of one text are tables over the codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from cepheus.core.event import text_digest
from cepheus.core.values import Value
from cepheus.plan.program import UNDEFINED_ENTRY, Words


class StringTable:
    """Gives each distinct text a code, in order of appearance, and keeps the tables of string functions filled.

    >>> table = StringTable()
    >>> table.code("A1"), table.code("B2"), table.code("A1"), table.text(1)
    (0, 1, 0, 'B2')
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._functions: list[Callable[[str], Value | None]] = []
        self._filled: list[list[int]] = []
        self._digests: list[int] = []
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

    def function(self, compute: Callable[[str], Value | None]) -> int:
        """Add a function of one text and give the number of its table; text results become codes."""
        self._functions.append(compute)
        self._filled.append([])
        return len(self._functions) - 1

    def tables(self) -> tuple[Words, Words]:
        """Give all tables one after the other, filled for every code, and where each begins."""
        grown = True
        while grown:  # a function may give a text that has no code yet
            grown = False
            for compute, filled in zip(self._functions, self._filled, strict=True):
                while len(filled) < len(self._texts):
                    filled.append(self._entry(compute(self._texts[len(filled)])))
                    grown = True
        count = len(self._texts)
        flat = np.array([entry for filled in self._filled for entry in filled], np.int64)
        return flat, np.arange(len(self._functions), dtype=np.int64) * count

    def _entry(self, value: Value | None) -> int:
        if value is None:
            return UNDEFINED_ENTRY
        return self.code(value) if isinstance(value, str) else int(value)

    def digests(self) -> Words:
        """Give the digest of every text, for ids of composite events."""
        self._digests += [text_digest(text) for text in self._texts[len(self._digests) :]]
        return np.array(self._digests, np.uint64).view(np.int64)
