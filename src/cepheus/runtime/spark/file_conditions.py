"""Conditions on rows of files, as plain data, and what they are worth on an Arrow table: the same as in Spark.

Logic is three-valued. In Spark a number that is none (NaN) equals itself and is greater than every other; Arrow's own
comparisons say otherwise, so those of floating-point numbers are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Value = bool | int | float | str | None
"""A constant; a time is an integer of microseconds."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An operator and what it is applied to. A column has its name and type, a literal its value and type."""

    operator: str
    parts: tuple[Condition, ...] = ()
    data: tuple[Any, ...] = ()

    @property
    def columns(self) -> Iterator[str]:
        """The names of the columns that it reads."""
        if self.operator == "column":
            yield self.data[0]
        for part in self.parts:
            yield from part.columns

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows of a table for which it is true."""
        return table.filter(evaluate(self, table))


ARROW_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
}
"""What Spark's types are in Arrow: those that conditions and events may have."""


def evaluate(condition: Condition, table: pa.Table) -> Any:
    """What a condition, or a part of it, is worth on a table: an array, or a scalar for a constant.

    >>> hot = Condition(">", (Condition("column", (), ("v", "double")), Condition("literal", (), (1.5, "double"))))
    >>> evaluate(hot, pa.table({"v": [1.0, None, 2.0, float("nan")]})).to_pylist()
    [False, None, True, True]
    """
    match condition.operator:
        case "column":
            return table.column(condition.data[0])
        case "literal":
            value, kind = condition.data
            return pa.scalar(value, ARROW_TYPES.get(kind, pa.null()))
    parts = [evaluate(part, table) for part in condition.parts]
    match condition.operator:
        case "and":
            return reduce(pc.and_kleene, parts)
        case "or":
            return reduce(pc.or_kleene, parts)
        case "not":
            return pc.invert(parts[0])
        case "is null":
            return pc.is_null(parts[0])
        case "is not null":
            return pc.is_valid(parts[0])
        case "is nan":
            return pc.fill_null(pc.is_nan(parts[0]), False)
        case "in":
            return reduce(pc.or_kleene, [_compare("=", parts[0], choice) for choice in parts[1:]])
        case "cast":
            return parts[0].cast(ARROW_TYPES[condition.data[0]], safe=False)
        case "starts with":
            return pc.starts_with(_texts(parts[0]), parts[1].as_py())
        case "ends with":
            return pc.ends_with(_texts(parts[0]), parts[1].as_py())
        case "contains":
            return pc.match_substring(_texts(parts[0]), parts[1].as_py())
        case operator:
            return _compare(operator, *parts)


def _texts(values: Any) -> Any:
    """Texts without their dictionary: Arrow looks into those of no dictionary."""
    return values.cast(pa.string()) if pa.types.is_dictionary(values.type) else values


_COMPARE = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


def _compare(operator: str, left: Any, right: Any) -> Any:
    if pa.types.is_dictionary(left.type) and isinstance(left, pa.ChunkedArray) and isinstance(right, pa.Scalar):
        # few texts, many rows: each text is compared once
        chunks = [_COMPARE[operator](chunk.dictionary, right).take(chunk.indices) for chunk in left.chunks]
        return pa.chunked_array(chunks, pa.bool_())
    found = _COMPARE[operator](left, right)
    if not (pa.types.is_floating(left.type) or pa.types.is_floating(right.type)):
        return found
    nan_left, nan_right = _is_nan(left), _is_nan(right)
    match operator:
        case "=":
            return pc.or_(found, pc.and_(nan_left, nan_right))
        case ">":
            return pc.or_(found, pc.and_(nan_left, pc.invert(nan_right)))
        case ">=":
            return pc.or_(found, nan_left)
        case "<":
            return pc.or_(found, pc.and_(nan_right, pc.invert(nan_left)))
        case _:
            return pc.or_(found, nan_right)


def _is_nan(values: Any) -> Any:
    return pc.is_nan(values) if pa.types.is_floating(values.type) else pc.and_(pc.is_null(values), False)
