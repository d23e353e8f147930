"""Events on their way out: as flat records, the way JSON lines have them, and as an Arrow table.

The table has one column for each attribute name, whatever event types have it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import ColumnKey, EventBatch, InArrow, IntArray, python_values
from cepheus.core.distribution import Distribution
from cepheus.core.errors import EventError
from cepheus.core.event import EventId
from cepheus.core.schema import ID_FIELD, SPARE_ID_FIELD
from cepheus.core.time import TimeUnit, format_time
from cepheus.core.values import ValueType, as_int, from_arrow
from cepheus.formats.arrays import validity
from cepheus.formats.columns import normalised
from cepheus.formats.records import Record


def flatten(batch: EventBatch, unit: TimeUnit | None = TimeUnit.US) -> list[Record]:
    """Write each event as a dict: type, time, attributes, and id, probability, sequence and ``from`` where it has them.

    A time is an integer where the unit divides it exactly, else an ISO 8601 text; without a unit it is always a text.
    """
    types = [batch.types[code] for code in batch.codes.tolist()]
    times = written_times(batch.times, unit)
    records: list[Record] = [{"type": kind, "time": time} for kind, time in zip(types, times, strict=True)]
    for (name, value_type), column in batch.columns.items():
        values = python_values(column, value_type)
        if value_type is ValueType.TIMESTAMP:
            values = [None if time is None else written_time(as_int(time), unit) for time in values]
        errors = batch.errors.get(name)
        for row, value in enumerate(values):
            if value is not None:
                error = None if errors is None else errors[row]
                records[row][name] = value if error is None else {"value": value, "error": str(error)}
    for record, event_id in zip(records, batch.id_list() or (), strict=False):
        record[ID_FIELD if ID_FIELD not in record else SPARE_ID_FIELD] = event_id
    _add(records, "sequence", None if batch.sequences is None else batch.sequences.tolist())
    if batch.probabilities is not None:
        for row in np.flatnonzero(batch.probabilities != 1.0).tolist():
            records[row]["probability"] = float(batch.probabilities[row])
    if batch.provenance is not None:
        for record, made_of in zip(records, batch.provenance.made_of, strict=True):
            if made_of:
                record["from"] = list(made_of)
    return records


def written_times(times: IntArray, unit: TimeUnit | None) -> list[int | str]:
    """Write times: integers in the unit, or ISO 8601 texts where the unit does not divide them or there is none.

    >>> written_times(np.array([2_000_000, 1_500_000]), TimeUnit.S)
    [2, '1970-01-01T00:00:01.500000Z']
    >>> written_times(np.array([2_000_000]), None)
    ['1970-01-01T00:00:02Z']
    """
    if unit is not None and is_whole(times, unit):
        whole: list[int | str] = (times // unit.microseconds).tolist()
        return whole
    return [written_time(time, unit) for time in times.tolist()]


def written_time(time: int, unit: TimeUnit | None) -> int | str:
    """Return one time as it is written; one that no calendar reaches, and has no unit, in microseconds."""
    if unit is None:
        text = format_time(time)
        return text if text.endswith("Z") else time
    quotient, rest = divmod(time, unit.microseconds)
    if rest == 0:
        return quotient
    text = format_time(time)
    if not text.endswith("Z"):
        raise EventError.of(
            "time",
            f"the time {text} cannot be written in {unit.value}: no calendar reaches it",
            hint="write times in us",
        )
    return text


def is_whole(times: IntArray, unit: TimeUnit) -> bool:
    """Whether the unit divides every time exactly."""
    return unit is TimeUnit.US or not np.any(times % unit.microseconds)


def _add(records: Sequence[Record], name: str, values: Sequence[object] | None) -> None:
    if values is not None:
        for record, value in zip(records, values, strict=True):
            record[name] = value


_MOMENT = ValueType.TIMESTAMP.arrow
_LAST = (ID_FIELD, SPARE_ID_FIELD, "sequence", "probability", "from")


def to_table(batch: EventBatch) -> pa.Table:
    """Return a batch as a table with its times as timestamps.

    The columns are type, time, the attributes (null where an event has none; a struct of value and error where any
    is uncertain), then id, sequence, probability and ``from`` (a list of texts) where the batch has them. What is in
    chunks stays so.
    """
    if batch.chunks:
        tables = [to_table(chunk) for chunk in batch.chunks]
        if all(table.schema == tables[0].schema for table in tables):
            return pa.concat_tables(tables)
    columns: dict[str, pa.Array] = {
        "type": pa.array(batch.types, pa.string()).take(pa.array(batch.codes, pa.int32())),
        "time": pa.array(batch.times, pa.int64()).view(pa.timestamp("us")).cast(_MOMENT),
    }
    for name in {name: None for name, _ in batch.columns}:
        keys = [key for key in batch.columns if key[0] == name]
        array = _one_column(batch, keys)
        errors = batch.errors.get(name)
        columns[name] = array if errors is None else as_uncertain(array, errors)
    if batch.ids is not None:
        own = ID_FIELD if ID_FIELD not in columns else SPARE_ID_FIELD
        columns[own] = _ids(batch)
    if batch.sequences is not None:
        columns["sequence"] = pa.array(batch.sequences, pa.int64())
    if batch.probabilities is not None:
        columns["probability"] = pa.array(batch.probabilities, pa.float64())
    if batch.provenance is not None:
        columns["from"] = _made_of(batch.provenance.made_of)
    return pa.table(columns)


def _ids(batch: EventBatch) -> pa.Array:
    """The ids of a batch: numbers if all of them are, else texts."""
    if isinstance(batch.ids, InArrow) and len(batch):
        return batch.ids.in_arrow()
    ids = batch.id_list() or []
    if all(isinstance(event_id, int) for event_id in ids):
        return pa.array(ids, pa.int64())
    return pa.array(list(map(str, ids)), pa.string())


def _made_of(made_of: Sequence[tuple[EventId, ...]]) -> pa.Array:
    """The ids of the events that composite events were made of, as lists of texts; null where none are known."""
    if isinstance(made_of, InArrow):
        return made_of.in_arrow()
    return pa.array([list(map(str, ids)) or None for ids in made_of], pa.list_(pa.string()))


def merge_schemas(first: pa.Schema, second: pa.Schema) -> pa.Schema:
    """Return a schema that can hold tables of both: the union of the columns, each wide enough.

    >>> merge_schemas(pa.schema({"a": pa.int64()}), pa.schema({"a": pa.float64(), "b": pa.bool_()})).to_string()
    'a: double\\nb: bool'
    """
    types = {field.name: field.type for field in first}
    for field in second:
        types[field.name] = (
            merge_types(field.name, types[field.name], field.type) if field.name in types else field.type
        )
    order = [name for name in types if name not in _LAST] + [name for name in _LAST if name in types]
    return pa.schema({name: types[name] for name in order})


def merge_types(name: str, first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """Return an Arrow type that holds the values of both."""
    if first == second:
        return first
    if pa.types.is_struct(first) or pa.types.is_struct(second):
        return _struct(merge_types(name, _inner(first), _inner(second)))
    if {first, second} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if name in (ID_FIELD, SPARE_ID_FIELD):
        return pa.string()
    kinds = [kind.value if kind else str(kind) for kind in map(from_arrow, (first, second))]
    raise EventError.of(
        "column",
        f"the attribute '{name}' is {kinds[0]} in some events and {kinds[1]} in others: one column cannot hold both",
        hint="write .jsonl or .events, where every event stands by itself",
    )


def cast_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in a schema that merge_schemas made for it."""
    arrays = []
    for field in schema:
        index = table.schema.get_field_index(field.name)
        if index < 0:
            arrays.append(pa.nulls(table.num_rows, field.type))
        else:
            arrays.append(_cast(table.column(index).combine_chunks(), field))
    return pa.table(arrays, schema=schema)


def in_unit(table: pa.Table, unit: TimeUnit, whole: bool) -> pa.Table:
    """Return a table with its times as integers in a unit, if it divides them all (``whole``); else as they are."""
    if not whole:
        return table
    times = table.column("time").cast(pa.timestamp("us")).cast(pa.int64())
    if unit is not TimeUnit.US:
        times = pc.divide(times, pa.scalar(unit.microseconds, pa.int64()))
    return table.set_column(table.schema.get_field_index("time"), "time", times)


def _one_column(batch: EventBatch, keys: Sequence[ColumnKey]) -> pa.Array:
    arrays = [normalised(batch.columns[key], key[1]) for key in keys]
    arrays = [array.cast(pa.string()) if pa.types.is_dictionary(array.type) else array for array in arrays]
    wanted = arrays[0].type
    for array in arrays[1:]:
        wanted = merge_types(keys[0][0], wanted, array.type)
    field = pa.field(keys[0][0], wanted)
    cast = [_cast(array, field) for array in arrays]
    return cast[0] if len(cast) == 1 else pc.coalesce(*cast)


def as_uncertain(array: pa.Array, errors: Sequence[Distribution | None]) -> pa.Array:
    """Write numbers and their errors as structs of value and error, the latter as texts."""
    texts = pa.array([None if error is None else str(error) for error in errors], pa.string())
    return _as_struct(array, texts)


def _as_struct(array: pa.Array, texts: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([array, texts], ["value", "error"], mask=pa.array(~validity(array)))


def _struct(inner: pa.DataType) -> pa.DataType:
    return pa.struct([("value", inner), ("error", pa.string())])


def _inner(data_type: pa.DataType) -> pa.DataType:
    return data_type.field("value").type if pa.types.is_struct(data_type) else data_type


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    wanted = field.type
    if array.type == wanted:
        return array
    if pa.types.is_struct(wanted):
        if pa.types.is_struct(array.type):
            value, texts = array.field("value"), array.field("error")
        else:
            value, texts = array, pa.nulls(len(array), pa.string())
        return _as_struct(_cast(value, pa.field(field.name, _inner(wanted))), texts)
    try:
        return array.cast(wanted)
    except pa.lib.ArrowInvalid:
        raise EventError.of(
            "column",
            f"an integer of '{field.name}' is too large for the column of doubles it shares",
            hint="write .jsonl or .events, where every event stands by itself",
        ) from None
