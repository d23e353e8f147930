"""The types an attribute may have, and how each is stored and written."""

from __future__ import annotations

import math
from enum import Enum

import pyarrow as pa

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1

Scalar = bool | int | float | str
"""A value that is no list: a timestamp is an int of microseconds since the epoch."""

Value = Scalar | tuple["Value", ...]
"""A value of an attribute in Python; a list is a tuple in normal form (see ``core.lists``)."""


class ValueType(Enum):
    """The type of an attribute; the value is its canonical name in rules."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "double"
    STRING = "string"
    TIMESTAMP = "timestamp"
    LIST = "list"

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic applies."""
        return self in (ValueType.INT, ValueType.FLOAT)

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type that holds values of this type; a list is held by its text (see ``core.lists``)."""
        return _ARROW[self]


TYPE_NAMES: dict[str, ValueType] = {
    "bool": ValueType.BOOL,
    "boolean": ValueType.BOOL,
    "int": ValueType.INT,
    "integer": ValueType.INT,
    "long": ValueType.INT,
    "float": ValueType.FLOAT,
    "double": ValueType.FLOAT,
    "string": ValueType.STRING,
    "timestamp": ValueType.TIMESTAMP,
    "list": ValueType.LIST,
}
"""Every name that a rule may give to a type."""

_ARROW: dict[ValueType, pa.DataType] = {
    ValueType.BOOL: pa.bool_(),
    ValueType.INT: pa.int64(),
    ValueType.FLOAT: pa.float64(),
    ValueType.STRING: pa.string(),
    ValueType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    ValueType.LIST: pa.string(),
}


def representable(number: float) -> Value | None:
    """The result of a computation, None if it is undefined: beyond 64 bits, infinite or not a number.

    >>> representable(2**62), representable(2**63), representable(1e300 * 1e10)
    (4611686018427387904, None, None)
    """
    if isinstance(number, int):
        return number if INT_MIN <= number <= INT_MAX else None
    return number if math.isfinite(number) else None


def as_float(value: Value) -> float:
    """Return a number as a float; whoever asks knows that it is one.

    >>> as_float(3)
    3.0
    """
    assert not isinstance(value, tuple)
    return float(value)


def as_int(value: Value) -> int:
    """Return a whole number, a time or a truth as an int; whoever asks knows that it is one.

    >>> as_int(True)
    1
    """
    assert not isinstance(value, tuple)
    return int(value)


def from_arrow(data_type: pa.DataType) -> ValueType | None:
    """The attribute type that an Arrow column holds, or None if it is none of ours.

    >>> from_arrow(pa.int32())
    <ValueType.INT: 'int'>
    """
    if pa.types.is_dictionary(data_type):
        return from_arrow(data_type.value_type)
    if pa.types.is_boolean(data_type):
        return ValueType.BOOL
    if pa.types.is_integer(data_type):
        return ValueType.INT
    if pa.types.is_floating(data_type) or pa.types.is_decimal(data_type):
        return ValueType.FLOAT
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type):
        return ValueType.STRING
    if pa.types.is_timestamp(data_type) or pa.types.is_date(data_type):
        return ValueType.TIMESTAMP
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type):
        return ValueType.LIST
    return None


def type_of(value: Value) -> ValueType:
    """The type of a Python value.

    >>> type_of(3.0)
    <ValueType.FLOAT: 'double'>
    """
    if isinstance(value, bool):
        return ValueType.BOOL
    if isinstance(value, int):
        return ValueType.INT
    if isinstance(value, tuple):
        return ValueType.LIST
    return ValueType.FLOAT if isinstance(value, float) else ValueType.STRING
