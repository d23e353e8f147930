"""Files that the embedded engine reads, run on Spark: the same events, in the same order, with the same ids.

The driver reads the files, since what an event is called and how ties are broken depends on where it stands in them.
For data that does not fit there, let Spark read it: ``cepheus run``, or ``cepheus.spark.detect``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch, Provenance
from cepheus.core.distribution import parse_distribution
from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.formats.cells import id_of_text
from cepheus.formats.table import as_uncertain
from cepheus.rules.check import Checked
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark.detect import Detection, cores, find
from cepheus.runtime.spark.making import order_of_making
from cepheus.runtime.spark.planning import Options
from cepheus.runtime.spark.sources import Naming, sources_of, start_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ID, _SEQUENCE, _TIME, _START, _PROBABILITY = (
    f"#{name}" for name in ("id", "sequence", "time", "start", "probability")
)
"""No attribute is called so."""


def detect_gathered(
    spark: SparkSession,
    checked: Checked,
    gathered: Sequence[EventBatch],
    settled: Mapping[tuple[str, str], ValueType],
    *,
    engine: str,
    limit: int,
) -> Detection:
    """Find composite events among gathered events; ``settled`` are types that only the data told."""
    events = EventBatch.concat(gathered)
    kinds = _Kinds(checked, settled)
    frames = {
        name: spark.createDataFrame(_table(events, name, event_type, kinds))
        for name, event_type in checked.inputs.items()
    }
    rules = replace(checked.rules, declarations=(*checked.rules.declarations, *_with_lists(checked, kinds)))
    naming = Naming(
        time=_TIME,
        sequence=_SEQUENCE,
        id=_ID,
        start=start_column(frames, rules, None if events.starts is None else _START),
        probability=None if events.probabilities is None else _PROBABILITY,
    )
    options = Options(naming, cores(spark), provenance=True, engine=engine, limit=limit)
    return find(rules, sources_of(frames, rules, naming), options)


def composites_of(detection: Detection, gathered: Sequence[EventBatch], rules: RuleSet) -> EventBatch:
    """Let a detection run and give its rows as composite events, in the order in which one engine makes them."""
    found = _composites(detection)
    return found.take(order_of_making(found, EventBatch.concat(gathered), rules))


def _composites(detection: Detection) -> EventBatch:
    table: pa.Table = detection.dataframe.toArrow()
    types = _one(table.column("type")).dictionary_encode()
    parts = [tuple(map(id_of_text, made_of)) for made_of in table.column("from").to_pylist()]
    layout = detection.layout
    columns, errors = {}, {}
    for key, name in zip(layout.columns, layout.names, strict=True):
        array = _one(table.column(name))
        if key in layout.uncertain:
            texts = pc.struct_field(array, "error").to_pylist()
            errors[key[0]] = [None if text is None else parse_distribution(text) for text in texts]
            array = pc.struct_field(array, "value")
        columns[key] = array.cast(key[1].arrow)
    return EventBatch(
        types=tuple(types.dictionary.to_pylist()),
        codes=types.indices.to_numpy().astype(np.int32),
        times=_micros(table, "time"),
        columns=columns,
        ids=table.column("id").to_pylist(),
        probabilities=table.column("probability").to_numpy() if layout.probability else None,
        errors=errors,
        starts=_micros(table, "start") if layout.heads else None,
        provenance=Provenance(("",), np.zeros(table.num_rows, np.int32), parts),
    )


def _micros(table: pa.Table, name: str) -> NDArray[np.int64]:
    times: NDArray[np.int64] = _one(table.column(name)).cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
    return times


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The types of attributes, of those that nobody told as well: such an attribute has no values."""

    checked: Checked
    settled: Mapping[tuple[str, str], ValueType]

    def of(self, event_type: str, name: str, told: ValueType | None) -> ValueType:
        if told is not None:
            return told
        key = (event_type, name)
        alike = next((keys for keys in self.checked.equal_types if key in keys), frozenset({key}))
        return next((self.settled[one] for one in sorted({key} | alike) if one in self.settled), ValueType.STRING)


def _with_lists(checked: Checked, kinds: _Kinds) -> Iterator[EventType]:
    """Declare the types that have lists by the data alone: in a table a list is a text, which tells nothing."""
    declared = {event_type.name for event_type in checked.rules.declarations}
    for name, event_type in checked.inputs.items():
        told = tuple(replace(a, type=kinds.of(name, a.name, a.type)) for a in event_type.attributes)
        if name not in declared and any(attribute.type is ValueType.LIST for attribute in told):
            yield replace(event_type, attributes=told)


def _table(events: EventBatch, name: str, event_type: EventType, kinds: _Kinds) -> pa.Table:
    """Give the events of one type as a table, with their places in the total order."""
    rows = np.flatnonzero(events.codes == events.types.index(name)) if name in events.types else np.empty(0, np.int64)
    mine = events.take(rows)
    ids = mine.id_list() or []
    plain = all(isinstance(one, int) for one in (events.id_list() or []))
    columns: dict[str, pa.Array] = {
        _TIME: pa.array(mine.times, pa.int64()),
        _SEQUENCE: pa.array(rows, pa.int64()),
        _ID: pa.array(ids if plain else list(map(str, ids)), pa.int64() if plain else pa.string()),
    }
    if mine.starts is not None:
        columns[_START] = pa.array(mine.starts, pa.int64())
    if mine.probabilities is not None:
        columns[_PROBABILITY] = pa.array(mine.probabilities, pa.float64())
    for attribute in event_type.attributes:
        kind = kinds.of(name, attribute.name, attribute.type)
        values = _values(mine, attribute.name, kind)
        if attribute.name in mine.errors and kind.is_numeric:
            values = as_uncertain(values, mine.errors[attribute.name])
        columns[attribute.name] = values
    return pa.table(columns)


def _values(events: EventBatch, name: str, kind: ValueType) -> pa.Array:
    found = events.column(name, kind)
    return pa.nulls(len(events), kind.arrow) if found is None else found.cast(kind.arrow)
