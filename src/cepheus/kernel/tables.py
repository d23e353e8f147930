"""Tables of words that Python writes and compiled code reads, each declared once.

A table is an enumeration of the fields of its rows, in the order in which they lie in memory. Nobody counts them: the
declaration gives the places that compiled code reads by (constants for the compiler, of a type that names the table),
how wide a row is, and a writer that takes fields by name. The checked build knows tables by their declarations, too.

>>> class Seat(Fields):
...     ROW = cell()
...     PRICE = real(default=9.5)
...     NEIGHBOURS = run(2)
>>> Seat.NEIGHBOURS == 2, Seat.row_words()
(True, 4)
>>> Seat.row(row=7, neighbours=[1])
(7, 4621537642612260864, 1, 0)
>>> Seat.row(row=7, rwo=8)
Traceback (most recent call last):
...
TypeError: a row of Seat lacks neighbours and has no field rwo
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]
Content = int | float | Sequence[int]
"""What a field is written with: a number, or the words of a run."""

WORD_BYTES = 8
LINE_WORDS = 8
"""Of a line of the cache."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared of a field.

    ``units`` is how many words (or half words) it has, ``fills`` that it reaches up to a multiple of so many. A field
    without a ``default`` must be written. A place of addresses tells what lies there: ``points_at`` has the tables of
    the rows, which are ``mixed`` with other words or not; another place may hold how many rows those are (``sizes``).
    """

    units: int = 1
    default: Content | None = None
    is_run: bool = False
    is_float: bool = False
    is_word: bool = False
    fills: int = 0
    nested: type[Fields] | None = None
    points_at: tuple[type[Fields], ...] | None = None
    mixed: bool = False
    sizes: Declared | None = None


def cell(default: int | None = None) -> Declared:
    """A field of one word (of one half word in a table of those)."""
    return Declared(default=default)


def real(default: float | None = None) -> Declared:
    """A field that holds the bits of a float."""
    return Declared(default=default, is_float=True)


def whole_word(default: int | None = None) -> Declared:
    """A field of one word in a table of half words."""
    return Declared(units=2, default=default, is_word=True)


def run(units: int, default: Sequence[int] | None = None) -> Declared:
    """A field of so many words; it may be written with fewer, zeros follow."""
    return Declared(units=units, default=default, is_run=True)


def rows_inside(table: type[Fields], count: int) -> Declared:
    """A field that has so many rows of another table inside; they are written as a run, without any by default."""
    return Declared(units=count * table.row_units(), default=(), is_run=True, nested=table)


def padding(units: int = LINE_WORDS) -> Declared:
    """Zeros that make a row a multiple of so many units, as a rule of a line."""
    return Declared(units=0, default=(), is_run=True, fills=units)


def rows_of(table: type[Fields]) -> Declared:
    """A place for the address of an array that has rows of a table, and nothing else."""
    return Declared(default=0, points_at=(table,))


def words_at(*tables: type[Fields]) -> Declared:
    """A place for the address of an array of words, among which rows of some tables may lie anywhere."""
    return Declared(default=0, points_at=tables, mixed=True)


def size_of(pointer: Declared) -> Declared:
    """A place for how many rows (or words) the array has whose address is at another place."""
    return Declared(default=0, sizes=pointer)


class Fields(IntEnum):
    """The fields of a table, a subclass each: a member is the place of a field in a row, in words."""

    def __new__(cls, declared: Declared) -> Self:
        """Place a field behind those before it."""
        place = sum(each.declared.units for each in cls.__members__.values())
        member = int.__new__(cls, place)
        member._value_ = place
        if declared.fills:
            declared = replace(declared, units=-place % declared.fills)
        vars(member)["declared as"] = declared
        return member

    @property
    def declared(self) -> Declared:
        """What is declared of the field."""
        found: Declared = vars(self)["declared as"]
        return found

    @classmethod
    def unit_bytes(cls) -> int:
        """How many bytes a place stands for."""
        return WORD_BYTES

    @classmethod
    def row_units(cls) -> int:
        """How many places a row has."""
        return _units_of(cls)

    @classmethod
    def row_bytes(cls) -> int:
        """How many bytes a row has."""
        return cls.unit_bytes() * cls.row_units()

    @classmethod
    def row_words(cls) -> int:
        """How many words a row has."""
        return cls.row_bytes() // WORD_BYTES

    @classmethod
    def row(cls, **fields: Content) -> tuple[int, ...]:
        """A row with these fields, which must be all that have no default and no others."""
        found: list[Any] = []
        lacking: list[str] = []
        for name, declared, is_number in _named(cls):
            cell = fields.pop(name, declared.default)
            if cell is None:
                lacking.append(name)
            elif is_number:
                found.append(cell)
            else:
                found += _units(cls, name, declared, cell)
        if lacking or fields:
            wrong = [f"lacks {', '.join(lacking)}"] * bool(lacking) + [f"has no field {', '.join(fields)}"] * bool(
                fields
            )
            raise TypeError(f"a row of {cls.__name__} {' and '.join(wrong)}")
        return tuple(found)

    @classmethod
    def array(cls, rows: Sequence[Sequence[int]], least: int = 0) -> Words:
        """Rows as an array of words, whose first begins with a line of the cache; zeros up to ``least`` rows."""
        unit = np.int64 if cls.unit_bytes() == WORD_BYTES else np.int32
        table = np.array(rows, unit).reshape(len(rows), cls.row_units()).view(np.int64)
        found = cls.zeros(max(len(rows), least))
        found[: len(rows)] = table
        return found

    @classmethod
    def zeros(cls, rows: int) -> Words:
        """So many rows of zeros, the first of which begins with a line of the cache."""
        return zeros_in_lines(rows, cls.row_words())


class HalfFields(Fields):
    """The fields of a table of half words: a member is the place of a field in half words."""

    @classmethod
    def unit_bytes(cls) -> int:
        """How many bytes a place stands for."""
        return WORD_BYTES // 2


@cache
def _units_of(table: type[Fields]) -> int:
    """How many places a row of a table has."""
    return sum(each.declared.units for each in table)


@cache
def _named(table: type[Fields]) -> tuple[tuple[str, Declared, bool], ...]:
    """The fields of a table with their names, and whether each is a whole number that stands in one unit."""
    return tuple(
        (each.name.lower(), declared, not (declared.is_run or declared.is_float or declared.is_word))
        for each in table
        for declared in (each.declared,)
    )


def _units(table: type[Fields], name: str, declared: Declared, cell: Content) -> Iterable[int]:
    """What is written for a field."""
    if declared.is_run:
        given = list(cast(Sequence[int], cell))
        if len(given) > declared.units:
            raise TypeError(f"{table.__name__} has room for {declared.units} words of {name}, not for {len(given)}")
        return given + [0] * (declared.units - len(given))
    number = cast(float, cell)
    if declared.is_float:
        return struct.unpack("=q", struct.pack("=d", number))
    return halves(int(number)) if declared.is_word else (int(number),)


def halves(whole: int) -> tuple[int, int]:
    """The two half words of a word, as they lie in memory."""
    first, second = struct.unpack("=ii", struct.pack("=Q", whole % (1 << 64)))
    return first, second


def zeros_in_lines(rows: int, width: int) -> Words:
    """A table of zeros whose first row begins with a line of the cache: a row of one or two lines touches no more.

    >>> zeros_in_lines(3, 8).ctypes.data % 64
    0
    """
    words = np.zeros(rows * width + LINE_WORDS, np.int64)
    begin = -(words.ctypes.data // WORD_BYTES) % LINE_WORDS
    table: Words = words[begin : begin + rows * width].reshape(rows, width)
    return table


def copied_in_lines(table: Words, used: int | None = None) -> Words:
    """A copy of an array; the first row of a table begins with a line of the cache.

    If only so many rows are ``used``, there are zeros in place of the others.

    >>> copied_in_lines(np.array([1, 2, 3]), 2).tolist()
    [1, 2, 0]
    """
    copied: Words = np.zeros(len(table), table.dtype) if table.ndim == 1 else zeros_in_lines(*table.shape)
    copied[:used] = table[:used]
    return copied
