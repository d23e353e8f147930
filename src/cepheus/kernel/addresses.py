"""A table of addresses: where compiled code finds the arrays that an engine owns, and numbers that both change."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from cepheus.kernel.memory import address, words_in
from cepheus.kernel.tables import Fields, Words

F = TypeVar("F", bound=Fields)


class Addresses(Generic[F]):
    """The table of addresses and numbers that a kernel is called with; its declaration tells what each place is.

    Whoever points it at an array keeps the array.
    """

    def __init__(self, places: type[F]) -> None:
        self.words = np.array(places.row(), np.int64)
        self.address = address(self.words, places, label=places.__name__)
        self._cells = words_in(self.words)
        self._pointers = _pointers_of(places)

    def __getitem__(self, at: F) -> int:
        cell: int = self._cells[at]
        return cell

    def __setitem__(self, at: F, value: int) -> None:
        self._cells[at] = value

    def point(self, at: F, array: Words) -> None:
        """Point at an array, and note its size where there is a place for that: in rows if it is of a table."""
        pointer = self._pointers.get(at.name.lower())
        assert pointer is not None, f"{at.name} is no place for an address"
        self._point(pointer, array)

    def _point(self, pointer: _Pointer, array: Words) -> None:
        self._cells[pointer.at] = address(array, *pointer.tables, mixed=pointer.mixed, label=pointer.at)
        if pointer.size is not None:
            self._cells[pointer.size] = array.size // pointer.row_words

    def point_all(self, **arrays: Words) -> None:
        """Point at arrays, each named like its place."""
        for name, array in arrays.items():
            self._point(self._pointers[name], array)


def arrays_of(owner: Any) -> dict[str, Words]:
    """The arrays that a dataclass holds, by name."""
    return {each.name: getattr(owner, each.name) for each in fields(owner)}


class _Pointer(NamedTuple):
    """A place for the address of an array: what lies there, and the place of its size, counted in so many words."""

    at: Fields
    tables: tuple[type[Fields], ...]
    mixed: bool
    size: Fields | None
    row_words: int


@cache
def _pointers_of(places: type[Fields]) -> dict[str, _Pointer]:
    """The places for addresses of a table, by their names in small letters."""
    declared = {at: at.declared for at in places}
    sizes = {id(told.sizes): at for at, told in declared.items() if told.sizes is not None}
    return {
        at.name.lower(): _Pointer(
            at, told.points_at, told.mixed, sizes.get(id(told)), 1 if told.mixed else told.points_at[0].row_words()
        )
        for at, told in declared.items()
        if told.points_at is not None
    }
