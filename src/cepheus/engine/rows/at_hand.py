"""Rows that variables may take, many at once: which of them meet the conditions that look at neighbours only."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheus.core.values import ValueType
from cepheus.engine.rows.kernel import Places
from cepheus.engine.rows.places import shifted
from cepheus.engine.rows.vectors import Vector
from cepheus.rules.rows.expressions import Aggregated, At


class Neighbours(Protocol):
    """The row before and after each in its partition, -1 for none."""

    @property
    def before(self) -> Places:
        """The row before each."""

    @property
    def after(self) -> Places:
        """The row after each."""


class ReadRows(Protocol):
    """Rows known by their places."""

    types: dict[str, ValueType]

    @property
    def rows(self) -> Neighbours:
        """Their neighbours."""

    def take(self, name: str, places: Places) -> Any:
        """The values of a column at places; NULL where there is no row."""

    def between(self, name: str, begin: int, end: int) -> Any:
        """The values of a column at the places from one to another, which is left out."""


class RowsAtHand:
    """Rows that a variable may take: what its condition reads, as far as it looks at neighbours only."""

    def __init__(self, store: ReadRows, places: Places) -> None:
        self._store, self.places = store, places
        self._is_range = len(places) > 0 and int(places[-1]) - int(places[0]) == len(places) - 1
        self._is_range &= bool(np.all(np.diff(places) == 1))
        self._read: dict[tuple[str, int], Vector] = {}
        self._shifted: dict[int, Places] = {0: places}
        self.variable = ""

    @property
    def length(self) -> int:
        """How many rows there are."""
        return len(self.places)

    @property
    def types(self) -> dict[str, ValueType]:
        """The types of the columns."""
        return self._store.types

    def column(self, name: str, at: At | None) -> Vector:
        """A column at the rows or at neighbours of them."""
        by = 0 if at is None else at.physical
        if (name, by) not in self._read:
            if by == 0 and self._is_range:
                read = self._store.between(name, int(self.places[0]), int(self.places[-1]) + 1)
            else:
                read = self._store.take(name, self._moved(by))
            self._read[name, by] = read
        return self._read[name, by]

    def _moved(self, by: int) -> Places:
        if by not in self._shifted:
            rows = self._store.rows
            self._shifted[by] = shifted(self.places, by, rows.before, rows.after)
        return self._shifted[by]

    def classifier(self, at: At | None) -> Vector:
        """The variable itself."""
        assert at is not None
        return pa.scalar(self.variable, pa.string())

    def number(self) -> Vector:
        """Conditions on the number of a match are not run here."""
        raise AssertionError("refused before")

    def aggregate(self, expression: Aggregated) -> Vector:
        """Conditions on aggregates are not run here."""
        raise AssertionError(expression)
