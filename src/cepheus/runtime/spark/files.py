"""Files that the embedded engine reads, run on Spark: the same events, in the same order, with the same ids.

The driver reads the files, since what an event is called and how ties are broken depends on where it stands in them.
For data that does not fit there, let Spark read it: ``cepheus run``, or ``cepheus.spark.detect``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch, Provenance
from cepheus.core.distribution import parse_distribution
from cepheus.core.options import ColumnNames, RunKeywords, RunOptions
from cepheus.core.schema import EventType, Schema
from cepheus.core.values import ValueType
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.ties import TieCounts
from cepheus.formats.cells import id_of_text
from cepheus.formats.table import as_uncertain
from cepheus.rules.check import Checked
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.detect import FileDetection, Files, FilesByType, Tally
from cepheus.runtime.spark.detect import Detection, cores, find, on_spark
from cepheus.runtime.spark.failures import plain_failures
from cepheus.runtime.spark.making import order_of_making
from cepheus.runtime.spark.planning import SparkOptions
from cepheus.runtime.spark.sources import Naming, sources_of, start_column
from cepheus.uncertainty.belief.beliefs import beliefs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ID, _SEQUENCE, _TIME, _START, _PROBABILITY = (
    f"#{name}" for name in ("id", "sequence", "time", "start", "probability")
)
"""No attribute is called so."""


class Compiled(Protocol):
    """Rules that have been compiled, as ``cepheus.compile`` gives them."""

    @property
    def checked(self) -> Checked:
        """The rules, checked together."""


def detect_files(
    program: Compiled,
    files: Files = (),
    of_type: FilesByType | None = None,
    *,
    spark: SparkSession | Callable[[], SparkSession],
    **options: Unpack[RunKeywords],
) -> FileDetection:
    """Find the composite events in files as ``Program.detect_files`` does, on Spark; all of them come in one batch.

    ``spark`` is a session, or what starts one when the files have been read. The keywords are those of ``detect``.
    """
    run = on_spark(RunOptions.of(**options))
    checked = program.checked
    types = Schema({**checked.composites, **checked.inputs}.values())
    create(run, checked.rules.all_rules, types, beliefs=beliefs_of(checked.rules))  # or say why not
    return FileDetection(files, of_type or {}, checked, run, lambda tally: _Gathered(checked, tally, run, spark))


@dataclass(slots=True)
class _Gathered:
    """Stands in the place of an engine: keeps what files give, and has Spark find the composite events at the end."""

    checked: Checked
    tally: Tally
    run: RunOptions
    spark: SparkSession | Callable[[], SparkSession]
    batches: list[EventBatch] = field(default_factory=list)
    ties: TieCounts = field(default_factory=TieCounts.none)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Keep some events."""
        self.batches.append(batch)
        return EventBatch.empty()

    def advance(self, time: int) -> EventBatch:  # noqa: ARG002  # it is the end of time: files are finite
        """Find the composite events of all that was kept."""
        spark = self.spark() if callable(self.spark) else self.spark
        with plain_failures():
            events = EventBatch.concat(self.batches)
            detection = detect_gathered(spark, self.checked, events, self.tally.settled, self.run)
            composites = composites_of(detection, events, self.checked.rules)
            self.ties = detection.ties()
        return composites


def detect_gathered(
    spark: SparkSession,
    checked: Checked,
    events: EventBatch,
    settled: Mapping[tuple[str, str], ValueType],
    run: RunOptions,
) -> Detection:
    """Find composite events among gathered events; ``settled`` are types that only the data told."""
    kinds = _Kinds(checked, settled)
    frames = {
        name: spark.createDataFrame(_table(events, name, event_type, kinds))
        for name, event_type in checked.inputs.items()
    }
    rules = replace(checked.rules, declarations=(*checked.rules.declarations, *_with_lists(checked, kinds)))
    columns = ColumnNames(time=_TIME, sequence=_SEQUENCE, id=_ID, probability=_PROBABILITY)
    own = replace(run, columns=columns, time_unit=None, uncertain={})
    naming = Naming.of(own, start_column(frames, rules, None if events.starts is None else _START))
    options = SparkOptions(own, naming, cores(spark), provenance=True)
    return find(rules, sources_of(frames, rules, naming), options)


def composites_of(detection: Detection, events: EventBatch, rules: RuleSet) -> EventBatch:
    """Let a detection run and return its rows as composite events, in the order in which one engine makes them."""
    found = _composites(detection)
    return found.take(order_of_making(found, events, rules))


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
