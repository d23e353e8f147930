"""Tables of events as CSV text, whole columns at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.errors import EventError
from cepheus.core.time import TimeUnit
from cepheus.formats.arrays import int_array
from cepheus.formats.flatten import written_time, written_times

_BREAKS = "[\r\n]"


def csv_header(names: Sequence[str]) -> bytes:
    """The line that names the columns."""
    return ",".join(_quoted(pa.array(names, pa.string())).to_pylist()).encode() + b"\n"


def csv_lines(table: pa.Table, unit: TimeUnit) -> bytes:
    """The lines of a table of events; a table without rows has none."""
    if not table.num_rows:
        return b""
    columns = [_cells(name, table.column(name).combine_chunks(), unit) for name in table.column_names]
    lines = pc.binary_join_element_wise(*(pc.fill_null(column, "") for column in columns), ",")
    return "\n".join(lines.to_pylist()).encode() + b"\n"


def _cells(name: str, array: pa.Array, unit: TimeUnit) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        return _times(array, unit)
    if pa.types.is_struct(array.type):
        value = _cells(name, array.field("value"), unit)
        error = array.field("error")
        uncertain = pc.binary_join_element_wise('"<', value, ", ", error, '>"', "")
        cells = pc.if_else(error.is_valid(), uncertain, value)
        return pc.if_else(array.is_valid(), cells, pa.scalar(None, pa.string()))
    if pa.types.is_list(array.type):
        return _lists(array)
    if pa.types.is_floating(array.type):
        texts = array.cast(pa.string())
        plain = pc.match_substring_regex(texts, r"^-?[0-9]+$")
        return pc.if_else(plain, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pa.types.is_string(array.type):
        return _quoted(array)
    return array.cast(pa.string())


def _times(array: pa.Array, unit: TimeUnit) -> pa.Array:
    numbers = array.cast(pa.timestamp("us")).cast(pa.int64())
    if numbers.null_count == 0:
        return pa.array([str(time) for time in written_times(int_array(numbers), unit)], pa.string())
    values = numbers.to_pylist()
    return pa.array([None if time is None else str(written_time(time, unit)) for time in values], pa.string())


def _lists(array: pa.Array) -> pa.Array:
    """Ids are separated by spaces, so none may hold one."""
    ids = array.flatten()
    for bad in ids.filter(pc.match_substring_regex(ids, r"^$|\s")).to_pylist():
        raise EventError.of(
            "csv", f"the id {json.dumps(bad)} is empty or has a space: CSV separates ids by spaces", hint=_ELSE
        )
    return _quoted(pc.binary_join(array, " "))


def _quoted(array: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(array, _BREAKS)).as_py():
        raise EventError.of("csv", "a text holds a line break, which CSV cells may not", hint=_ELSE)
    special = pc.or_(pc.match_substring_regex(array, '[",]'), pc.equal(array, ""))
    if not pc.any(special).as_py():
        return array
    doubled = pc.replace_substring(array, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), array)


_ELSE = "write .jsonl, .parquet or .arrow instead"
