"""Events from and to what Python programs hold: dicts, Arrow tables, pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, Place
from cepheus.core.options import ColumnNames
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.arrays import validity
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.parquet_arrow import LIBRARY_FAILURES, array_rows, check_columns, check_type_column, unreadable
from cepheus.formats.problems import BadEvents
from cepheus.formats.records import Record
from cepheus.formats.rows import RecordRows, Rows
from cepheus.formats.table import in_unit, is_whole, to_table

if TYPE_CHECKING:
    import pandas as pd

_NAME = "events"


def from_dicts(
    dicts: Iterable[Mapping[str, object]],
    unit: TimeUnit = TimeUnit.US,
    *,
    type_name: str | None = None,
    sequence: str | None = None,
) -> EventBatch:
    """Return a batch of events that are flat dicts, as JSON lines have them; a time may also be a datetime.

    >>> from_dicts([{"type": "Temp", "time": 10, "value": {"value": 24.5, "error": "N(0,1)"}}]).to_dicts()
    [{'type': 'Temp', 'time': 10, 'value': {'value': 24.5, 'error': 'N(0, 1)'}}]
    """
    records: list[Record] = []
    for row, record in enumerate(dicts, 1):
        if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
            raise EventError.of("event", f"row {row}: an event is a dict with names as keys", place=Place(_NAME, row))
        records.append(dict(record))
    return _taken(RecordRows(records), _options(unit, type_name, sequence))


def from_arrow(
    table: pa.Table | pa.RecordBatch,
    unit: TimeUnit = TimeUnit.US,
    *,
    type_name: str | None = None,
    sequence: str | None = None,
) -> EventBatch:
    """Return a batch of events in an Arrow table with columns ``type`` and ``time``, without copying its columns.

    ``type_name`` is the type of every event of a table without a type column. Times are timestamps, or integers
    in the unit.

    >>> from_arrow(pa.table({"type": ["Smoke"], "time": [7], "area": ["A1"]}), TimeUnit.S).to_dicts()
    [{'type': 'Smoke', 'time': 7000000, 'area': 'A1'}]
    """
    check_columns(table.schema.names, None, ("type", "time") if type_name is None else ("time",))
    arrays = {name: _one_array(table.column(name)) for name in table.schema.names}
    if "type" in arrays:
        check_type_column(arrays["type"], None)
    return _taken(array_rows(arrays, table.num_rows), _options(unit, type_name, sequence))


def from_pandas(
    frame: pd.DataFrame,
    unit: TimeUnit = TimeUnit.US,
    *,
    type_name: str | None = None,
    sequence: str | None = None,
) -> EventBatch:
    """Return a batch of events in a pandas frame; a missing value is an attribute that the event does not have.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"type": ["Temp", "Smoke"], "time": [1, 2], "value": [24.5, None]})
    >>> from_pandas(frame).to_dicts()
    [{'type': 'Temp', 'time': 1, 'value': 24.5}, {'type': 'Smoke', 'time': 2}]
    """
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except LIBRARY_FAILURES as error:
        raise unreadable(frame, error) from None
    return from_arrow(table, unit, type_name=type_name, sequence=sequence)


def to_arrow(batch: EventBatch, unit: TimeUnit = TimeUnit.US) -> pa.Table:
    """Return a batch as an Arrow table; times are integers in the unit if it divides them all, else timestamps.

    >>> to_arrow(from_dicts([{"type": "Temp", "time": 10, "value": 24.5}])).to_pylist()
    [{'type': 'Temp', 'time': 10, 'value': 24.5}]
    """
    return in_unit(to_table(batch), unit, all(is_whole(part.times, unit) for part in batch.parts))


def to_pandas(batch: EventBatch, unit: TimeUnit = TimeUnit.US) -> pd.DataFrame:
    """Return a batch as a pandas frame (see to_arrow).

    >>> to_pandas(from_dicts([{"type": "Temp", "time": 10, "value": 24.5}])).columns.tolist()
    ['type', 'time', 'value']
    """
    return pandas_frame(to_arrow(batch, unit))


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """A table as a pandas frame, whose integers stay integers where some are missing.

    >>> pandas_frame(pa.table({"n": [2**53 + 1, None]})).n.tolist()
    [9007199254740993, <NA>]
    """
    frame = table.to_pandas(integer_object_nulls=True)
    gaps = [name for name in table.column_names if pa.types.is_integer(table[name].type) and table[name].null_count]
    return frame.astype(dict.fromkeys(gaps, "Int64"))


def schema_of(batch: EventBatch) -> Schema:
    """The types of a batch's events, with every attribute that any event of the type has, as optional.

    >>> schema_of(from_dicts([{"type": "Temp", "time": 1, "value": 2.5}, {"type": "Smoke", "time": 2}]))
    Schema(Temp(value: double?), Smoke())
    """
    kinds: dict[str, dict[str, ValueType]] = {name: {} for name in batch.types}
    for (name, value_type), column in batch.columns.items():
        for code in set(batch.codes[validity(column)].tolist()):
            own = kinds[batch.types[code]]
            own[name] = ValueType.FLOAT if own.get(name) is ValueType.FLOAT else value_type
    return Schema(
        EventType(event_type, tuple(Attribute(name, kind, optional=True) for name, kind in own.items()))
        for event_type, own in kinds.items()
    )


def _options(unit: TimeUnit, type_name: str | None, sequence: str | None) -> IntakeOptions:
    return IntakeOptions(
        unit=unit, type_name=type_name, columns=ColumnNames(sequence=sequence), keep_all=True, numbered=False
    )


def _taken(rows: Rows, options: IntakeOptions) -> EventBatch:
    intake = Intake(_NAME, options, BadEvents(), counts_rows=True)
    return intake.chunk(rows, range(1, len(rows) + 1), range(len(rows))).batch


def _one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()
