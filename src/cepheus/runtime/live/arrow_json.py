"""Many JSON payloads of the same shape decoded at once: Arrow reads all of them into columns, no object is made.

What Arrow would read differently from ``formats.jsonl``, or not at all, is left to that: a batch that is not exactly as
the rules expect is decoded one payload after the other, and there every fault is found and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json
from numpy.typing import NDArray

from cepheus.core.batch import IntArray
from cepheus.core.options import ColumnNames, RunOptions
from cepheus.core.schema import ID_FIELD, SPARE_ID_FIELD, Schema
from cepheus.core.values import ValueType
from cepheus.formats.columns import Column, ObjectColumn
from cepheus.formats.records import Record
from cepheus.formats.rows import ArrayRows

FEWEST = 64
"""So many payloads are worth a call of Arrow."""

_READ_AS = {
    ValueType.BOOL: pa.bool_(),
    ValueType.INT: pa.int64(),
    ValueType.FLOAT: pa.float64(),
    ValueType.STRING: pa.string(),
}
_LEARNT = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_PROVENANCE = "from"


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows that Arrow has read; their ids are what JSON said, as a text that looks like a number stays a text."""

    rows: ArrayRows
    ids: frozenset[str]

    def __len__(self) -> int:
        return len(self.rows)

    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.rows.names()

    def column(self, name: str) -> Column | None:
        """The column of that name, or None if no row has a value there."""
        array = self.rows.arrays.get(name)
        if array is None or array.null_count == len(array):
            return None
        if name in self.ids and not pa.types.is_integer(array.type):
            return ObjectColumn(array.to_pylist())
        return self.rows.column(name)

    def take(self, rows: IntArray) -> DecodedRows:
        """Select some of the rows."""
        return DecodedRows(self.rows.take(rows), self.ids)

    def type_codes(self, name: str) -> tuple[list[object], NDArray[np.int32]]:
        """The distinct cells of a column and which of them each row has."""
        return self.rows.type_codes(name)


class ArrowJson:
    """Decodes batches of JSON payloads whose keys have the types that rules expect.

    ``keys`` are the fields of events by the key that payloads have them under. The types of times, of ids and of
    attributes of which rules tell none are what the payloads themselves show: ``learn`` is told of some that were
    decoded in the other way.
    """

    def __init__(
        self,
        attributes: Mapping[str, pa.DataType | None],
        columns: ColumnNames,
        keys: Mapping[str, str],
        type_name: str | None = None,
    ) -> None:
        self._type_name = type_name
        self._attributes = {name: kind for name, kind in attributes.items() if kind is not None}
        self._open = [name for name, kind in attributes.items() if kind is None]
        self._open += [name for name in (columns.time, columns.sequence, columns.probability) if name is not None]
        self._ids = frozenset([columns.id] if columns.id is not None else [ID_FIELD, SPARE_ID_FIELD])
        self._open += [name for name in sorted(self._ids) if name not in attributes and name not in self._open]
        self._type = columns.type
        self._key_of = {name: key for key, name in keys.items()}
        self._schema: pa.Schema | None = None

    @classmethod
    def of(
        cls, expected: Schema, options: RunOptions, keys: Mapping[str, str], type_name: str | None = None
    ) -> ArrowJson | None:
        """A decoder for what rules expect, of events that may all be of one type; None if Arrow cannot do it."""
        if expected.others is not None or options.uncertain or options.columns.start is not None:
            return None
        attributes: dict[str, pa.DataType | None] = {}
        for event_type in expected.values():
            for attribute in event_type.attributes:
                kind = None if attribute.type is None else _READ_AS.get(attribute.type)
                if attribute.type is ValueType.LIST or attributes.setdefault(attribute.named_by_data, kind) != kind:
                    return None
        return cls(attributes, options.columns, keys, type_name)

    def learn(self, records: Sequence[Record]) -> None:
        """See what times and ids are like."""
        self._schema = None
        if any(_PROVENANCE in record for record in records):
            return
        kinds: dict[str, pa.DataType] = dict(self._attributes)
        if self._type_name is None:
            kinds[self._type] = pa.string()
        for name in self._open:
            met = {type(record[name]) for record in records if record.get(name) is not None}
            if len(met) > 1 or not met <= _LEARNT.keys():
                return
            kinds[name] = _LEARNT[met.pop()] if met else pa.string()
        self._schema = pa.schema({self._key_of.get(name, name): kind for name, kind in kinds.items()})

    def decode(self, lines: bytes, count: int) -> DecodedRows | None:
        """The rows of payloads, one a line; None if they are not as expected."""
        # Every payload begins an object: a first one that is null would crash Arrow.
        if self._schema is None or not lines.startswith(b"{") or lines.count(b"\n{") != count - 1:
            return None
        try:
            table = pa_json.read_json(
                pa.BufferReader(lines),
                read_options=pa_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
                parse_options=pa_json.ParseOptions(
                    explicit_schema=self._schema, newlines_in_values=False, unexpected_field_behavior="ignore"
                ),
            )
            if table.num_rows != count:
                return None
            arrays = {name: _one_piece(table.column(name)) for name in table.column_names}
        except pa.ArrowInvalid:
            return None
        name_of = {key: name for name, key in self._key_of.items()}
        named = {name_of.get(key, key): array for key, array in arrays.items()}
        if self._type_name is not None:
            codes = pa.array(np.zeros(count, np.int32))
            named[self._type] = pa.DictionaryArray.from_arrays(codes, pa.array([self._type_name]))
        return DecodedRows(ArrayRows(named, count), self._ids)


def _one_piece(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_string(array.type):
        array.validate(full=True)  # Arrow takes bytes for text that are none
    elif pa.types.is_floating(array.type) and not np.isfinite(array.drop_null().to_numpy()).all():
        raise pa.ArrowInvalid("not finite")
    return array
