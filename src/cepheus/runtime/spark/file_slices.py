"""What a task does that reads its slice of time from Parquet files itself: row groups in, composite events out.

Row groups are read in the order of their first times. What lies before the first time of all that are still to be
read is complete, and goes to the engine in total order; the rest waits. So a task holds as much as overlaps in time.
Arrow in, Arrow out, without a word of Spark.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch
from cepheus.core.errors import EventError
from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.file_conditions import ARROW_TYPES, Condition
from cepheus.runtime.spark.layout import ID, SEQUENCE, TIME, TYPE, EventLayout, IdKind
from cepheus.runtime.spark.parquet_scan import ScanFile
from cepheus.runtime.spark.shard import Job, ShardRun
from cepheus.runtime.spark.shard_files import StateFolder

_MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of files that becomes one of events: its name there, and its type in Spark.

    ``scale`` is how many microseconds one of its integers stands for, if they are times.
    """

    name: str
    type: str
    scale: int = 1

    def micros(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Its values as integers of microseconds since the epoch."""
        if self.type == "date":
            return pc.multiply(values.cast(pa.int32()).cast(pa.int64()), _MICROSECONDS_A_DAY)
        if self.type.startswith("timestamp"):
            return values.cast(pa.int64())
        whole = values.cast(pa.int64())
        return whole if self.scale == 1 else pc.multiply_checked(whole, self.scale)


@dataclass(frozen=True, slots=True)
class FileAttribute:
    """An attribute: its key, its column, None if the files have none, and the codes of the types that have it so.

    ``shared`` says that other types of the same files have an attribute of the name, and another type.
    """

    key: ColumnKey
    column: FileColumn | None
    readers: tuple[int, ...] = ()
    shared: bool = False


@dataclass(frozen=True, slots=True)
class FileSource:
    """How rows of files become events: which column is what, by name the codes of event types, or the only code.

    Texts of the columns ``coded`` are read as codes and a dictionary of each row group.
    """

    time: FileColumn
    type: str | None
    codes: Mapping[str, int]
    attributes: tuple[FileAttribute, ...]
    sequence: FileColumn | None = None
    id: FileColumn | None = None
    condition: Condition | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    coded: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        read = [self.time.name, *([self.type] if self.type is not None else [])]
        read += [each.name for each in (self.sequence, self.id) if each is not None]
        read += [each.column.name for each in self.attributes if each.column is not None]
        read += list(self.condition.columns) if self.condition is not None else []
        return list(dict.fromkeys(read))

    def rows(self, table: pa.Table, layout: EventLayout) -> pa.Table:
        """The rows that matter, as events of the layout."""
        if self.condition is not None:
            table = self.condition.rows(table)
        count = table.num_rows
        codes = self._codes(table)
        columns: dict[str, Any] = {
            TYPE: codes,
            TIME: self.time.micros(table.column(self.time.name)),
        }
        if layout.sequenced:
            assert self.sequence is not None
            columns[SEQUENCE] = table.column(self.sequence.name).cast(pa.int64())
        for each in self.attributes:
            columns[layout.name_of(each.key)] = _attribute(table, each, codes, count)
        if layout.ids is not IdKind.NONE:
            assert self.id is not None
            kind = pa.int64() if layout.ids is IdKind.NUMBER else pa.string()
            columns[ID] = table.column(self.id.name).cast(kind)
        return pa.table(columns)

    def _codes(self, table: pa.Table) -> pa.Array:
        if self.type is None:
            (code,) = self.codes.values()
            return pa.array(np.full(table.num_rows, code, np.int32))
        names = table.column(self.type).combine_chunks()
        coded = names if pa.types.is_dictionary(names.type) else names.dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = (
                pa.concat_arrays(coded.chunks) if coded.num_chunks else pa.array([], pa.string()).dictionary_encode()
            )
        known = pa.array([self.codes.get(name) for name in coded.dictionary.to_pylist()], pa.int32())
        return known.take(coded.indices)


_NO_TEXTS = pa.array([], pa.string()).dictionary_encode()


def _cast(values: Any, arrow: pa.DataType) -> Any:
    """Values of another width, rounded to doubles as Spark does."""
    return values.cast(arrow, safe=not pa.types.is_floating(arrow))


def _attribute(table: pa.Table, attribute: FileAttribute, codes: pa.Array, count: int) -> Any:
    kind = attribute.key[1]
    arrow = pa.int64() if kind is ValueType.TIMESTAMP else kind.arrow
    if attribute.column is None:
        return pa.nulls(count, arrow)
    values = table.column(attribute.column.name)
    values = attribute.column.micros(values) if kind is ValueType.TIMESTAMP else _cast(values, arrow)
    if attribute.shared:
        own = pc.is_in(codes, pa.array(attribute.readers, pa.int32()))
        values = pc.if_else(own, values, pa.scalar(None, arrow))
    return values


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file of a source, and between which times its events lie, in microseconds."""

    source: int
    file: ScanFile
    number: int
    first: int
    last: int
    rows: int


@dataclass(frozen=True, slots=True)
class SliceTask:
    """What tasks need: the row groups of each slice in order of their first times, and from when on each is read."""

    job: Job
    sources: tuple[FileSource, ...]
    slices: tuple[tuple[RowGroup, ...], ...]
    since: tuple[int, ...]
    until: tuple[int, ...]

    def run(self, number: int) -> Generator[pa.RecordBatch, None, TieCounts]:
        """Read a slice and give what is found in it; returns what was counted of simultaneous events."""
        shard = ShardRun(self.job, number)
        for rows in self._in_order(number):
            yield from self._out(shard.push(rows))
        yield from self._out(shard.finish())
        return shard.ties

    def _out(self, composites: EventBatch) -> Iterator[pa.RecordBatch]:
        if len(composites):
            yield self.job.composites.rows(composites)

    def _in_order(self, number: int) -> Iterator[pa.RecordBatch]:
        """The events of a slice in order of time; those of equal times in any."""
        groups = self.slices[number]
        waiting: pa.Table | None = None
        files = OpenFiles(self.sources)
        for place, group in enumerate(groups):
            complete = groups[place + 1].first if place + 1 < len(groups) else MAX_TIME
            rows = self._read(files, group, number)
            waiting = rows if waiting is None else pa.concat_tables([waiting, rows])
            if not waiting.num_rows:
                continue
            waiting = _sorted(waiting)
            times = waiting.column(TIME).to_numpy()
            ready = int(np.searchsorted(times, complete)) if complete < MAX_TIME else len(times)
            if ready:
                yield from waiting.slice(0, ready).combine_chunks().to_batches()
                waiting = waiting.slice(ready)

    def _read(self, files: OpenFiles, group: RowGroup, number: int) -> pa.Table:
        table = files.read(group)
        rows = self.sources[group.source].rows(table, self.job.events)
        times = rows.column(TIME)
        if times.null_count:
            raise EventError.of("event", "an event has no time", hint="leave out such events: on_bad_event='skip'")
        since, until = self.since[number], self.until[number]
        if group.first >= since and group.last < until:
            return rows
        inside = pc.and_(pc.greater_equal(times, since), pc.less(times, until))
        return rows.filter(inside)


def _sorted(rows: pa.Table) -> pa.Table:
    times: NDArray[np.int64] = rows.column(TIME).to_numpy()
    if (times[1:] >= times[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(times, kind="stable")))


_CODED = pa.dictionary(pa.int32(), pa.string())


class OpenFiles:
    """The file that was read last stays open: the next row group is mostly of the same."""

    def __init__(self, sources: Sequence[FileSource]) -> None:
        self._sources = sources
        self._open: tuple[str, int, pq.ParquetFile] | None = None

    def read(self, group: RowGroup) -> pa.Table:
        """Read a row group: the columns that its source asks for, those of the partition included."""
        source, file = self._sources[group.source], group.file
        opened = self._opened(group)
        present = set(opened.schema_arrow.names)
        names = [name for name in source.columns if name in present]
        table = opened.read_row_group(group.number, columns=names, use_threads=False)
        for name in source.columns:
            kind = ARROW_TYPES[source.types[name]]
            stored = _CODED if name in source.coded else kind
            if name in file.partition:
                value = pa.array([file.partition[name]], kind if kind != pa.date32() else pa.int32()).cast(kind)
                values = pa.DictionaryArray.from_arrays(np.zeros(group.rows, np.int32), value).cast(kind)
                position = table.schema.get_field_index(name)
                table = table.append_column(name, values) if position < 0 else table.set_column(position, name, values)
            elif name not in present:
                table = table.append_column(name, pa.nulls(group.rows, stored))
            elif table.schema.field(name).type != stored:
                position, column = table.schema.get_field_index(name), table.column(name).cast(kind)
                table = table.set_column(position, name, column.dictionary_encode() if stored is _CODED else column)
        return table

    def _opened(self, group: RowGroup) -> pq.ParquetFile:
        path = group.file.path
        if self._open is not None and self._open[:2] == (path, group.source):
            return self._open[2]
        system, place = StateFolder(path).open()
        file = system.open_input_file(place)
        metadata = pq.read_metadata(file)
        there = set(metadata.schema.to_arrow_schema().names) - group.file.partition.keys()
        coded = [name for name in self._sources[group.source].coded if name in there]
        opened = pq.ParquetFile(file, metadata=metadata, read_dictionary=coded)
        if system.get_file_info(place).size != group.file.size:
            raise EventError.of(
                "file", f"the file '{path}' has changed since the job was planned", hint="run detect(..) again"
            )
        self._open = (path, group.source, opened)
        return opened
