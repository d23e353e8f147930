"""Columns of cells, in the three shapes that files have: Python objects, text, and typed Arrow arrays.

Each shape converts a whole column at once where every cell is plain and well-formed. Where one is not, ``convert``
gives None and the caller goes through the cells one by one, which finds the bad ones and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.errors import EventError
from cepheus.core.time import MAX_TIME, TimeUnit
from cepheus.core.values import Value, ValueType, from_arrow
from cepheus.formats.arrays import BoolArray, all_finite, float_array, int_array, validity
from cepheus.formats.cells import (
    BOOL_WORDS,
    DECIMAL,
    Moment,
    Uncertain,
    coerce_text,
    coerce_value,
    kind_of_text,
    kind_of_value,
)
from cepheus.kernel.blocks import words

_FAILURES = (pa.lib.ArrowException, OverflowError, UnicodeError, TypeError, ValueError)
_PLAIN: dict[ValueType, frozenset[type]] = {
    ValueType.BOOL: frozenset({bool}),
    ValueType.INT: frozenset({int}),
    ValueType.FLOAT: frozenset({int, float}),
    ValueType.STRING: frozenset({str}),
    ValueType.TIMESTAMP: frozenset({int}),
    ValueType.LIST: frozenset(),  # each is looked at by itself
}
_NUMBERS = {ValueType.INT, ValueType.FLOAT}
_PERIOD = "pandas.period"
_FIRST_CALENDAR_TIME = -62_135_596_800_000_000  # the year 1, where ISO 8601 as we read it begins
_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


class Column(Protocol):
    """A column of cells, one a row."""

    @property
    def kind(self) -> ValueType | None:
        """The type of every cell, where the format itself says so."""

    def present(self) -> BoolArray:
        """Whether each row has a value."""

    def infer(self, rows: BoolArray | None) -> ValueType | None:
        """The type that the cells of the marked rows (all if None) suggest, or None if they hold no value."""

    def convert(self, expected: ValueType, unit: TimeUnit, rows: BoolArray | None) -> pa.Array | None:
        """The cells of the marked rows as one array, null elsewhere, or None if any cell needs a closer look."""

    def numbers(self) -> BoolArray:
        """Whether each row has a mere number, which as a time would need a unit."""

    def raw(self, row: int) -> object:
        """The cell of a row as it stands in the file; times in Arrow columns are moments."""

    def cell(self, row: int, expected: ValueType, unit: TimeUnit) -> Value | Uncertain:
        """Return one cell as the expected type; raise an EventError that says what is wrong."""


@dataclass(frozen=True, slots=True)
class ObjectColumn:
    """Cells that are Python objects, as a JSON reader gives them; None is no value."""

    values: Sequence[object]

    @property
    def kind(self) -> ValueType | None:
        """None: each object has its own type."""
        return None

    def present(self) -> BoolArray:
        """Whether each row has a value."""
        if type(None) not in set(map(type, self.values)):
            return np.ones(len(self.values), np.bool_)
        return np.fromiter((value is not None for value in self.values), np.bool_, len(self.values))

    def infer(self, rows: BoolArray | None) -> ValueType | None:
        """The type that the cells suggest: that of the first, or float where integers and floats mix."""
        values = self.values if rows is None else self._only(rows)
        kinds = list({kind_of_value(sample): None for sample in _samples(values)})
        return _common([kind for kind in kinds if kind is not None])

    def convert(self, expected: ValueType, unit: TimeUnit, rows: BoolArray | None) -> pa.Array | None:
        """The marked cells as one array, or None if any needs a closer look."""
        values = self.values if rows is None else self._only(rows)
        kinds = set(map(type, values)) - {type(None)}
        try:
            if expected is ValueType.TIMESTAMP and kinds == {str}:
                return text_to_times(pa.array(values, pa.string()))
            if not kinds <= _PLAIN[expected]:
                return None
            return _checked(pa.array(values, _read_type(expected)), expected, unit)
        except _FAILURES:
            return None

    def numbers(self) -> BoolArray:
        """Whether each row has a mere number."""
        return np.fromiter((kind_of_value(value) in _NUMBERS for value in self.values), np.bool_, len(self.values))

    def raw(self, row: int) -> object:
        """The cell of a row."""
        return self.values[row]

    def cell(self, row: int, expected: ValueType, unit: TimeUnit) -> Value | Uncertain:
        """Return one cell as the expected type."""
        return coerce_value(self.values[row], expected, unit)

    def _only(self, rows: BoolArray) -> Sequence[object]:
        return [value if wanted else None for value, wanted in zip(self.values, rows.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Cells of text, as CSV has them, in an Arrow array of strings; null is an empty cell."""

    array: pa.Array

    @property
    def kind(self) -> ValueType | None:
        """None: a text may stand for anything."""
        return None

    def present(self) -> BoolArray:
        """Whether each row has a value."""
        return validity(self.array)

    def infer(self, rows: BoolArray | None) -> ValueType | None:
        """The narrowest type that all the texts fit: int, float, bool, else string."""
        array = (self.array if rows is None else self.array.filter(pa.array(rows))).drop_null()
        if not len(array):
            return None
        column = TextColumn(array)
        for kind in (ValueType.INT, ValueType.FLOAT, ValueType.BOOL):
            if column.convert(kind, TimeUnit.US, None) is not None:
                return kind
        kinds = {kind_of_text(text) for text in array.unique().to_pylist()}
        return ValueType.FLOAT if kinds == _NUMBERS else kinds.pop() if len(kinds) == 1 else ValueType.STRING

    def convert(self, expected: ValueType, unit: TimeUnit, rows: BoolArray | None) -> pa.Array | None:
        """The marked cells as one array, or None if any needs a closer look."""
        array = masked(self.array, rows)
        try:
            match expected:
                case ValueType.STRING:
                    return array
                case ValueType.BOOL:
                    return _text_to_bools(array)
                case ValueType.INT:
                    return _text_to_integers(array)
                case ValueType.FLOAT:
                    numbers = array.cast(pa.float64())
                    # integers over 64 bits are refused, so that a sum of digits never turns into a rounded float
                    large = numbers.null_count < len(numbers) and pc.max(pc.abs(numbers)).as_py() >= 2.0**63
                    return None if large else _finite(numbers)
                case ValueType.TIMESTAMP:
                    return self._times(array, unit)
                case ValueType.LIST:
                    return None
        except _FAILURES:
            return None

    def numbers(self) -> BoolArray:
        """Whether the text of each row is a mere number."""
        found = pc.fill_null(pc.match_substring_regex(self.array, f"^(?:{DECIMAL.pattern})$"), False)
        return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)

    def raw(self, row: int) -> object:
        """The text of a row."""
        return self.array[row].as_py()

    def cell(self, row: int, expected: ValueType, unit: TimeUnit) -> Value | Uncertain:
        """Return one cell as the expected type."""
        return coerce_text(self.array[row].as_py(), expected, unit)

    @staticmethod
    def _times(array: pa.Array, unit: TimeUnit) -> pa.Array | None:
        try:
            integers = _text_to_integers(array)
        except pa.lib.ArrowException:
            return text_to_times(array)
        return None if integers is None else _scaled(integers, unit)


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """Cells of a typed Arrow array."""

    array: pa.Array

    @property
    def kind(self) -> ValueType | None:
        """The type of the array, if an attribute may have it."""
        return from_arrow(self.array.type)

    def present(self) -> BoolArray:
        """Whether each row has a value."""
        return validity(self.array)

    def infer(self, rows: BoolArray | None) -> ValueType | None:
        """The type of the array; for uncertain numbers that of the numbers."""
        found = self.present() if rows is None else self.present() & rows
        if not found.any():
            return None
        if pa.types.is_struct(self.array.type) and self.array.type.get_field_index("value") >= 0:
            return from_arrow(self.array.type.field("value").type)
        return self.kind

    def convert(self, expected: ValueType, unit: TimeUnit, rows: BoolArray | None) -> pa.Array | None:
        """The marked cells as one array, without a copy where the type is right already."""
        if pa.types.is_null(self.array.type):
            return pa.nulls(len(self.array), expected.arrow)
        array = masked(self.array, rows)
        kind = from_arrow(array.type)
        try:
            match expected:
                case ValueType.BOOL | ValueType.STRING:
                    return normalised(array, expected) if kind is expected else None
                case ValueType.INT:
                    return array.cast(pa.int64()) if kind in _NUMBERS else None
                case ValueType.FLOAT:
                    return _finite(_to_floats(array)) if kind in _NUMBERS else None
                case ValueType.TIMESTAMP:
                    return self._times(array, kind, unit)
                case ValueType.LIST:
                    return None
        except _FAILURES:
            return None

    def numbers(self) -> BoolArray:
        """Whether each row has a mere number: all of them or none."""
        return self.present() if self.kind in _NUMBERS else np.zeros(len(self.array), np.bool_)

    def raw(self, row: int) -> object:
        """The cell of a row as JSON would have it; a time is a moment."""
        array = self.array[row : row + 1]
        if from_arrow(array.type) is ValueType.TIMESTAMP and array.null_count == 0:
            return _moment(array)
        value: object = array[0].as_py()
        if isinstance(value, dict) and value.keys() == {"value", "error"} and value["error"] is None:
            value = value["value"]  # a certain number in a column that has uncertain ones
        return float(value) if isinstance(value, Decimal) else value

    def cell(self, row: int, expected: ValueType, unit: TimeUnit) -> Value | Uncertain:
        """Return one cell as the expected type."""
        kind = self.array.type
        try:
            if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == _PERIOD:
                raise TypeError(kind)  # it is kept as a number, which says nothing by itself
            return coerce_value(self.raw(row), expected, unit)
        except _FAILURES:
            raise EventError.of("type", f"a value of the column's type ({self.array.type}) cannot be read") from None

    @staticmethod
    def _times(array: pa.Array, kind: ValueType | None, unit: TimeUnit) -> pa.Array | None:
        match kind:
            case ValueType.TIMESTAMP:
                return normalised(array, ValueType.TIMESTAMP)
            case ValueType.INT:
                return _scaled(array.cast(pa.int64()), unit)
            case ValueType.STRING:
                return text_to_times(normalised(array, ValueType.STRING).cast(pa.string()))
            case _:
                return None


def masked(array: pa.Array, rows: BoolArray | None) -> pa.Array:
    """Return an array with nulls in the rows that are not marked; the array itself if it has none there to hide."""
    if rows is None or not (~rows if array.null_count == 0 else validity(array) & ~rows).any():
        return array
    if pa.types.is_struct(array.type) or pa.types.is_dictionary(array.type):
        return array.take(pa.array(np.arange(len(array)), mask=~rows))
    if array.type in (pa.int64(), pa.float64()) and array.buffers()[1] is not None:
        return _with_validity(array, rows if array.null_count == 0 else validity(array) & rows)
    return pc.if_else(pa.array(rows), array, pa.scalar(None, array.type))


def _with_validity(array: pa.Array, valid: BoolArray) -> pa.Array:
    """The same numbers of 64 bits where they lie, with nulls in all rows but those that are marked."""
    numbers = array.buffers()[1]
    marks = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [marks, numbers.slice(8 * array.offset)])


def normalised(array: pa.Array, kind: ValueType) -> pa.Array:
    """Return an array in the Arrow type of its value type; strings that are dictionary-coded stay so."""
    wanted = kind.arrow
    if array.type == wanted:
        return array
    if kind in (ValueType.STRING, ValueType.LIST) and pa.types.is_dictionary(array.type):
        coded = pa.dictionary(pa.int32(), pa.string())
        return array if array.type == coded else array.cast(coded)
    if kind is ValueType.TIMESTAMP:
        zoned = pa.types.is_timestamp(array.type) and array.type.tz is not None
        return array.cast(pa.timestamp("us", array.type.tz if zoned else None)).cast(wanted)
    return array.cast(wanted)


def text_to_times(array: pa.Array) -> pa.Array | None:
    """Read ISO 8601 texts as times; None if any needs a closer look."""
    for zone in ("UTC", None):
        try:
            times = array.cast(pa.timestamp("us", tz=zone)).cast(ValueType.TIMESTAMP.arrow)
        except pa.lib.ArrowException:
            continue
        if times.null_count == len(times) or pc.min(times.cast(pa.int64())).as_py() >= _FIRST_CALENDAR_TIME:
            return times
    return None


def _samples(values: Sequence[object]) -> list[object]:
    """Return one value of each Python type, in order of appearance; objects can differ inside, so all of those."""
    samples: list[object] = []
    seen: set[type] = {type(None)}
    if set(map(type, values)) <= seen:
        return samples
    for value in values:
        kind = type(value)
        if kind not in seen:
            samples.append(value)
            if kind is not dict:
                seen.add(kind)
    return samples


def _common(kinds: list[ValueType]) -> ValueType | None:
    if not kinds:
        return None
    return ValueType.FLOAT if kinds[0] in _NUMBERS and ValueType.FLOAT in kinds else kinds[0]


def _read_type(expected: ValueType) -> pa.DataType:
    return pa.int64() if expected is ValueType.TIMESTAMP else expected.arrow


def _checked(array: pa.Array, expected: ValueType, unit: TimeUnit) -> pa.Array | None:
    if expected is ValueType.FLOAT:
        return _finite(array)
    return _scaled(array, unit) if expected is ValueType.TIMESTAMP else array


_known_finite: WeakValueDictionary[int, pa.Array] = WeakValueDictionary()
"""Arrays, by what ``id`` says of them while they live, that were looked through: batches are checked more than once."""


def _finite(array: pa.Array) -> pa.Array | None:
    if _known_finite.get(id(array)) is array:
        return array
    if all_finite(float_array(array)):
        _known_finite[id(array)] = array
        return array
    return array if pc.all(pc.is_finite(array)).as_py() is not False else None


def _to_floats(array: pa.Array) -> pa.Array:
    if pa.types.is_uint64(array.type):
        array = array.cast(pa.int64())  # fails where an integer is over 64 bits with its sign
    return array if array.type == pa.float64() else array.cast(pa.float64(), safe=False)


def _scaled(integers: pa.Array, unit: TimeUnit) -> pa.Array | None:
    factor = unit.microseconds
    if factor != 1 and len(integers) and integers.null_count == 0:
        numbers = int_array(integers)
        if max(int(numbers.max()), -int(numbers.min())) > MAX_TIME // factor:
            return None
        made = np.multiply(numbers, factor, out=words(len(numbers)), dtype=np.int64)
        return pa.Array.from_buffers(ValueType.TIMESTAMP.arrow, len(made), [None, pa.py_buffer(made)])
    if factor != 1 and integers.null_count < len(integers):
        bounds = pc.min_max(integers).as_py()
        if max(bounds["max"], -bounds["min"]) > MAX_TIME // factor:
            return None
        integers = pc.multiply(integers, pa.scalar(factor, pa.int64()))
    return integers.view(ValueType.TIMESTAMP.arrow)


def _text_to_integers(array: pa.Array) -> pa.Array | None:
    integers = array.cast(pa.int64())
    # Arrow also takes hexadecimal, which we do not
    return None if any(pc.any(pc.match_substring(array, mark)).as_py() for mark in "xX") else integers


def _text_to_bools(array: pa.Array) -> pa.Array | None:
    words = pa.array(BOOL_WORDS, pa.string())
    if pc.sum(pc.is_in(array, words)).as_py() not in (None, len(array) - array.null_count):
        return None
    true = pa.array([word for word, meaning in BOOL_WORDS.items() if meaning], pa.string())
    return pc.if_else(array.is_valid(), pc.is_in(array, true), pa.scalar(None, pa.bool_()))


def _moment(array: pa.Array) -> Moment:
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    number = array.cast(pa.timestamp(array.type.unit)).cast(pa.int64())[0].as_py()
    return Moment(number * _NANOSECONDS[array.type.unit])
