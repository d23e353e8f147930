"""A table of addresses: where compiled code finds the arrays that an engine owns, and numbers that both change."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Generic, TypeVar

import numpy as np

from cepheus.kernel.memory import address, words_in
from cepheus.kernel.tables import Declared, Fields, Words

F = TypeVar("F", bound=Fields)


class Addresses(Generic[F]):
    """The table of addresses and numbers that a kernel is called with; its declaration tells what each place is.

    Whoever points it at an array keeps the array.
    """

    def __init__(self, places: type[F]) -> None:
        self.words = np.array(places.row(), np.int64)
        self.address = address(self.words, places, label=places.__name__)
        self._places = places
        self._cells = words_in(self.words)
        self._sizes = {at: size for at in places for size in places if _tells_size(size.declared, at.declared)}

    def __getitem__(self, at: F) -> int:
        cell: int = self._cells[at]
        return cell

    def __setitem__(self, at: F, value: int) -> None:
        self._cells[at] = value

    def point(self, at: F, array: Words) -> None:
        """Point at an array, and note its size where there is a place for that: in rows if it is of a table."""
        declared = at.declared
        tables = declared.points_at
        assert tables is not None, f"{at.name} is no place for an address"
        self._cells[at] = address(array, *tables, mixed=declared.mixed, label=at)
        size = self._sizes.get(at)
        if size is not None:
            self._cells[size] = array.size if declared.mixed else array.size // tables[0].row_words()

    def point_all(self, **arrays: Words) -> None:
        """Point at arrays, each named like its place."""
        for name, array in arrays.items():
            self.point(self._places[name.upper()], array)


def arrays_of(owner: Any) -> dict[str, Words]:
    """The arrays that a dataclass holds, by name."""
    return {each.name: getattr(owner, each.name) for each in fields(owner)}


def _tells_size(size: Declared, pointer: Declared) -> bool:
    return size.sizes is pointer
