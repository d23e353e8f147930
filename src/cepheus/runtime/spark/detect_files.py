"""Files that the embedded engine reads, run on Spark: the same events, in the same order, with the same ids.

The driver reads the files, since what an event is called and how ties are broken depends on where it stands in them.
For data that does not fit there, let Spark read it: ``cepheus run``, or ``cepheus.spark.detect``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch, IntArray, Provenance
from cepheus.core.distribution import parse_distribution
from cepheus.core.event import EventId
from cepheus.core.options import ColumnNames, RunKeywords, RunOptions
from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.ties import TieCounts
from cepheus.formats.cells import id_of_text
from cepheus.formats.table import as_uncertain
from cepheus.rules.check import Checked
from cepheus.rules.model import RuleSet
from cepheus.rules.run_settings import with_provenance, with_ties
from cepheus.runtime.embedded.detect import FileDetection, Files, FilesByType, Tally
from cepheus.runtime.spark.detect import Detection, cores, find
from cepheus.runtime.spark.planning import SparkOptions, on_spark
from cepheus.runtime.spark.row_streams import EVERYTHING, TYPE, reads_everything, with_everything
from cepheus.runtime.spark.session import plain_failures
from cepheus.runtime.spark.sources import Naming, Source, sources_of, start_column
from cepheus.uncertainty.belief.belief import beliefs_of

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
    run = RunOptions.of(**options)
    on_spark(replace(run, time_format=None))  # the files are read here
    checked = replace(
        program.checked, rules=with_provenance(with_ties(program.checked.rules, run.ties), run.provenance)
    )
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

    def finish(self, last: int | None) -> EventBatch:  # noqa: ARG002  # Spark finds out for itself
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
    sources = sources_of(frames, rules, naming)
    if reads_everything(rules):
        rules = with_everything(rules)
        frame = spark.createDataFrame(_table_of_all(events, rules))
        sources = (*sources, Source(frame, (EVERYTHING,), False))
    return find(rules, sources, options)


def _table_of_all(events: EventBatch, rules: RuleSet) -> pa.Table:
    """All events as a table, for queries that take any of them for a row; an attribute that no event has is NULL."""
    read = {name for rule in rules.row_rules if rule.query.source == EVERYTHING for name in rule.query.read()}
    attributes = []
    for name in sorted(read - {TYPE, TIME_ATTRIBUTE}):
        found = {kind for own, kind in events.columns if own == name}
        number = found == {ValueType.INT, ValueType.FLOAT}
        attributes.append(Attribute(name, ValueType.FLOAT if number else next(iter(found), ValueType.STRING)))
    types = pa.array(events.types, pa.string()).take(pa.array(events.codes))
    as_one = replace(events, types=(EVERYTHING,), codes=np.zeros(len(events), np.int32))
    kinds = _Kinds(Checked(rules, Schema(), Schema()), {})
    return _table(as_one, EVERYTHING, EventType(EVERYTHING, tuple(attributes)), kinds).append_column(TYPE, types)


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
    """The events of one type as a table, with their places in the total order."""
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


Way = tuple[Any, ...]
"""How an event came about: the place of an event from outside, and then of each composite event on the way to it."""

_BEFORE, _AT, _AFTER = range(3)


def order_of_making(made: EventBatch, given: EventBatch, rules: RuleSet) -> IntArray:
    """The rows of composite events in the order in which one engine makes them out of the given events."""
    if rules.row_rules:  # a match is decided by later rows, of whichever partition: there is no one order
        ids = made.id_list() or []
        return np.array(sorted(range(len(made)), key=lambda row: (int(made.times[row]), str(ids[row]))), np.int64)
    ways = _Ways(made, given, rules)
    keys = [(int(made.times[row]), ways.key(ways.of_row(row))) for row in range(len(made))]
    return np.array(sorted(range(len(made)), key=keys.__getitem__), np.int64)


class _Ways:
    """Finds out how composite events came about."""

    def __init__(self, made: EventBatch, given: EventBatch, rules: RuleSet) -> None:
        self._made, self._times = made, given.times
        self._places = {event_id: place for place, event_id in enumerate(given.id_list() or range(len(given)))}
        self._rows = {event_id: row for row, event_id in enumerate(made.id_list() or [])}
        self._parts: Sequence[tuple[EventId, ...]] = () if made.provenance is None else made.provenance.made_of
        names = [*(rule.composite.name for rule in rules.rules), *(rule.head.name for rule in rules.interval_rules)]
        self._rules = {name: names.index(name) for name in names}
        self._strata = {rule.composite.name: rule.decided_late for rule in rules.interval_rules}
        self._known: dict[int, Way] = {}

    def _is_moment(self, terminator: EventId, time: int) -> bool:
        """Whether a composite event was made at a moment: its terminator has another time, or is no event."""
        if terminator in self._rows:
            return int(self._made.times[self._rows[terminator]]) != time
        return terminator not in self._places or int(self._times[self._places[terminator]]) != time

    def key(self, way: Way) -> Way:
        """What an event is ordered by that came about in some way."""
        return way if self._strata else (way[0], len(way), way)

    def of_row(self, row: int) -> Way:
        """How a composite event came about, once that is known of its parts; hierarchies may be deep."""
        work = [row]
        while work:
            parts = [self._rows[part] for part in self._parts[work[-1]] if part in self._rows]
            unknown = [part for part in parts if part not in self._known]
            if unknown:
                work += unknown
            else:
                here = work.pop()
                self._known[here] = self._found(here)
        return self._known[row]

    def _found(self, row: int) -> Way:
        name, time = self._made.types[self._made.codes[row]], self._made.times[row]
        parts = [
            self._known[self._rows[part]] if part in self._rows else ((self._places.get(part, -1), _AT, 0),)
            for part in self._parts[row]
        ]
        last = parts[0] if parts else ((int(np.searchsorted(self._times, time, "left")), _BEFORE, 0),)
        if parts and self._is_moment(self._parts[row][0], int(time)):
            place = int(np.searchsorted(self._times, time, "left"))
            last = ((place, _BEFORE, (self._rules.get(name, len(self._rules)), self.key(parts[0]))),)
        completed = last
        if name in self._strata:
            last = completed = max(parts, default=last)
            if self._strata[name]:  # when the instant is over
                end = int(np.searchsorted(self._times, time, "right")) - 1
                completed = max(last, ((end, _AFTER, self._strata[name]),))
        return (*completed, (self._rules.get(name, len(self._rules)), *map(self.key, (last, *parts))))
