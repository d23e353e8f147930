"""The checked build: which arrays are alive, what they hold, and what is said when compiled code misses them.

With ``CEPHEUS_CHECKED=1`` in the environment every access of compiled code is looked up here (by ``guard``): it must
lie in a live array whose address was handed out, be of the table that its field belongs to, and begin at a row of it.
Without, nothing of this is compiled or called.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from cepheus.core.errors import OptionError
from cepheus.kernel.tables import WORD_BYTES, Fields, Words, cell, run

CHECKED_SETTING = "CEPHEUS_CHECKED"


def _is_checked() -> bool:
    told = os.environ.get(CHECKED_SETTING, "0")
    if told not in ("", "0", "1"):
        raise OptionError.of(
            "option", f"{CHECKED_SETTING} is '{told}', which is neither 1 nor 0", hint=f"{CHECKED_SETTING}=1 checks"
        )
    return told == "1"


CHECKED = _is_checked()
"""Whether every access of compiled code is verified."""

MOST_TABLES = 4
ANYTHING = -1
"""In the place of a table: what overlaps so that nothing can be said."""


class Region(Fields):
    """Of a live array, for compiled code: its bytes, the tables of its rows, the rows that are inside those.

    Rows lie one after the other from the beginning on if ``ROW_BYTES`` is not 0, else anywhere.
    """

    BEGIN = cell()
    END = cell()
    LABEL = cell()
    ROW_BYTES = cell()
    TABLES = run(MOST_TABLES)
    NESTED = cell(0)
    NESTED_OFFSET = cell(0)
    NESTED_BYTES = cell(0)
    NESTED_END = cell(0)


class Watch(Fields):
    """What compiled code finds by a symbol: the address of the regions and their number, and its latest fault."""

    REGIONS = cell(0)
    FAULT = cell(0)
    ADDRESS = cell(0)
    INDEX = cell(0)
    UNIT = cell(0)
    TABLE = cell(0)
    BEGIN = cell(0)
    END = cell(0)
    LABEL = cell(0)


class FaultCode:
    """What can be wrong with an access."""

    NOWHERE, UNALIGNED, OTHER_TABLE, BETWEEN_ROWS, OUTSIDE = range(1, 6)


watch = np.array(Watch.row(), np.int64)


@cache
def table_number(table: type[Fields]) -> int:
    """The number by which compiled code knows a table: the same in every process."""
    name = f"{table.__module__}.{table.__qualname__}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "little")


@dataclass(frozen=True, slots=True)
class _Array:
    """A piece of memory that is alive, the number of what it is called, and what it holds."""

    begin: int
    end: int
    label: int
    tables: tuple[type[Fields], ...]
    mixed: bool


class _Arrays:
    """All live arrays; compiled code sees a sorted copy, which is replaced whole because other threads may read it."""

    def __init__(self) -> None:
        self._lock = Lock()  # an array may die at any moment, even in a thread that holds it
        self._by_owner: dict[int, set[_Array]] = {}
        self._dead: deque[int] = deque()
        self._labels: list[str] = [""]
        self._numbers = {"": 0}
        self._published: deque[Words] = deque(maxlen=256)
        self._publish()

    def add(self, array: np.ndarray[Any, Any], label: str, tables: tuple[type[Fields], ...], mixed: bool) -> None:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        with self._lock:
            self._bury()
            known = self._by_owner.get(id(owner))
            if known is None:
                known = self._by_owner[id(owner)] = set()
                weakref.finalize(owner, self._die, id(owner)).atexit = False
            number = self._numbers.setdefault(label, len(self._labels))
            if number == len(self._labels):
                self._labels.append(label)
            pieces = {_Array(begin, end, number, tables, mixed) for begin, end in _pieces(array)}
            if not pieces <= known:
                known |= pieces
                self._publish()
        self._bury_all()

    def label(self, number: int) -> str:
        return self._labels[number] if 0 <= number < len(self._labels) else ""

    def _die(self, owner: int) -> None:
        self._dead.append(owner)
        self._bury_all()

    def _bury_all(self) -> None:
        """Strike the dead off, unless that is being done: whoever does it looks again when he is done."""
        while self._dead and self._lock.acquire(blocking=False):
            try:
                self._bury()
                self._publish()
            finally:
                self._lock.release()

    def _bury(self) -> None:
        while self._dead:
            self._by_owner.pop(self._dead.popleft(), None)

    def _publish(self) -> None:
        living = [array for arrays in self._by_owner.values() for array in arrays]
        rows = [_region(array, vague) for array, vague in _joined(sorted(living, key=_begin))]
        block = np.array([len(rows), *chain.from_iterable(rows)], np.int64)
        self._published.append(block)
        watch[Watch.REGIONS] = block.ctypes.data


def _begin(array: _Array) -> int:
    return array.begin


@lru_cache(1 << 14)
def _region(array: _Array, vague: bool) -> tuple[int, ...]:
    """What compiled code is told of an array, which may be vague."""
    told = {"begin": array.begin, "end": array.end, "label": array.label}
    if vague:
        return Region.row(**told, row_bytes=0, tables=[ANYTHING])
    tables = [table_number(table) for table in array.tables]
    if array.mixed or not tables:
        return Region.row(**told, row_bytes=0, tables=tables)
    (table,) = array.tables
    for field in table:
        nested = field.declared.nested
        if nested is not None:
            told["nested"] = table_number(nested)
            told["nested_offset"] = table.unit_bytes() * field
            told["nested_bytes"] = nested.row_bytes()
            told["nested_end"] = table.unit_bytes() * (field + field.declared.units)
    return Region.row(**told, row_bytes=table.row_bytes(), tables=tables)


def _pieces(array: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Where the bytes of an array begin and end: as one piece, or row by row if there are gaps."""
    begin = int(array.ctypes.data)
    if array.flags.c_contiguous or array.ndim != 2:
        return [(begin, begin + array.nbytes)]
    assert array.strides[1] == array.itemsize
    return [
        (at, at + array.itemsize * array.shape[1]) for at in (begin + array.strides[0] * k for k in range(len(array)))
    ]


def _joined(arrays: list[_Array]) -> Iterator[tuple[_Array, bool]]:
    """Arrays that do not overlap: those that do are joined, and nothing is said of them but where all tell the same."""
    group: list[_Array] = []
    end = 0
    for array in arrays:
        if array.begin == array.end:
            continue
        if group and array.begin >= end:
            yield _join(group, end)
            group = []
        group.append(array)
        end = max(end, array.end) if len(group) > 1 else array.end
    if group:
        yield _join(group, end)


def _join(group: list[_Array], end: int) -> tuple[_Array, bool]:
    whole = [each for each in group if (each.begin, each.end) == (group[0].begin, end)]
    told = {(each.tables, each.mixed) for each in group if each.tables}
    best = next((each for each in whole if each.tables), next((each for each in whole if each.label), group[0]))
    joined = _Array(group[0].begin, end, best.label, best.tables, best.mixed)
    return joined, len(told) > 1 or (len(told) == 1 and not best.tables)


_arrays = _Arrays()


def remember(array: np.ndarray[Any, Any], label: str | Fields, tables: tuple[type[Fields], ...], mixed: bool) -> None:
    """Take note of an array that compiled code may use as long as it lives; it may be called like its place."""
    _arrays.add(array, _name(label) if isinstance(label, Fields) else label, tables, mixed)


def _name(place: Fields) -> str:
    return f"{type(place).__name__}.{place.name}"


class KernelFaultError(Exception):
    """Compiled code has missed its arrays; only the checked build tells. The message is that of the latest fault."""

    def __init__(self) -> None:
        super().__init__(_message([int(word) for word in watch]))


def _message(found: list[int]) -> str:
    table = _tables().get(found[Watch.TABLE])
    index, unit = found[Watch.INDEX], found[Watch.UNIT]
    what = f"{'word' if unit == WORD_BYTES else 'half word'} {index}"
    if table is not None:
        place = next((each.name for each in table if each == index), f"place {index}")
        what = f"{table.__name__}.{place} ({what})"
    size = (found[Watch.END] - found[Watch.BEGIN]) // unit if unit else 0
    label = _arrays.label(found[Watch.LABEL]) or "an array"
    begin = (found[Watch.ADDRESS] - found[Watch.BEGIN]) // unit if unit else 0
    where = f"{label} of {size} {'words' if unit == WORD_BYTES else 'half words'}"
    match found[Watch.FAULT]:
        case FaultCode.NOWHERE:
            return f"{what} of an address that lies in no live array"
        case FaultCode.UNALIGNED:
            return f"{what} of an address that is not one of words"
        case FaultCode.OTHER_TABLE:
            return f"{what} of a row in {where}, which is of another table"
        case FaultCode.BETWEEN_ROWS:
            return f"{what} of {where} from {begin} on, where no row begins"
        case _:
            return f"{what} from {begin} on is outside {where}"


def _tables() -> dict[int, type[Fields]]:
    found: dict[int, type[Fields]] = {}
    ahead = [Fields]
    while ahead:
        for table in ahead.pop().__subclasses__():
            found[table_number(table)] = table
            ahead.append(table)
    return found
