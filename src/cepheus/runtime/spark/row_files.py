"""Finite rows that tasks read themselves: each looks through all Parquet files and takes the partitions it owns.

No rows of Java's, no shuffle, no sort. Taken only where it is right and pays: the DataFrame is a plain scan of Parquet
files, ORDER BY begins with a time or an integer whose statistics tell in which order row groups come, and there are so
few tasks that reading everything in each of them is cheaper than to shuffle it once. Whatever is in the way is said in
words, and Spark reads the rows as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.rows.columns import one_array
from cepheus.engine.rows.engine import RowEngine
from cepheus.rules.rows.model import RowQuery
from cepheus.runtime.embedded.row_tables import column_types as types_of
from cepheus.runtime.embedded.row_tables import in_order, in_own_types, matches_in
from cepheus.runtime.spark.file_plan import column_types, known_type, row_groups
from cepheus.runtime.spark.file_slices import FileAttribute, FileColumn, FileSource, OpenFiles, RowGroup
from cepheus.runtime.spark.parquet_scan import NotPlainError, Scan
from cepheus.runtime.spark.row_order import portions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_TASKS = 8
"""By more tasks rows are not read: all of them read everything, and a shuffle reads it once."""

MOST_SORTED = 3
"""Rows of row groups that overlap are sorted again with each; more often than so, on average, Spark sorts them."""

MOST_HELD = 64_000_000
"""So many values a task may hold to look at all its rows as a whole, which is faster than piece by piece."""

PIECE = 500_000
"""How many rows a task gathers before it looks for matches: a look has a price of its own."""

_ORDERED = frozenset({"timestamp", "timestamp_ntz", "date", "bigint", "int", "smallint", "tinyint"})
_KEYS = _ORDERED | {"string", "boolean"}


@dataclass(frozen=True, slots=True)
class RowTask:
    """What tasks need: the query, how files are read, and all row groups in the order in which they are read."""

    query: RowQuery
    engine: str
    source: FileSource
    names: tuple[tuple[str, str], ...]
    groups: tuple[RowGroup, ...]
    tasks: int
    whole: bool

    def run(self, number: int) -> Iterator[pa.RecordBatch]:
        """The matches in the partitions of a task."""
        pieces = portions(self._in_order(number), PIECE)
        if self.whole or self.engine == "reference":
            tables = list(pieces)
            if tables:
                yield from matches_in(self.query, pa.concat_tables(tables), self.engine).to_batches()
            return
        matching = None
        for piece in pieces:
            rows = in_own_types(piece)
            if matching is None:
                matching = RowEngine(self.query, types_of(rows.schema, self.query)).build()
            yield from matching.feed(rows).table.to_batches()
        if matching is not None:
            yield from matching.finish().table.to_batches()

    def _in_order(self, number: int) -> Iterator[pa.Table]:
        """The rows of a task, by ORDER BY."""
        files = OpenFiles((self.source,))
        waiting: pa.Table | None = None
        for place, group in enumerate(self.groups):
            rows = self._own(files.read(group), number)
            waiting = rows if waiting is None else pa.concat_tables([waiting, rows])
            waiting = in_order(self.query, waiting)
            ready = waiting.num_rows
            if place + 1 < len(self.groups):
                ready = int(np.searchsorted(self._places(waiting), self._first(self.groups[place + 1])))
            yield waiting.slice(0, ready)
            waiting = waiting.slice(ready)

    def _own(self, table: pa.Table, number: int) -> pa.Table:
        """The rows of the partitions that belong to a task, with the names of the DataFrame."""
        if self.source.condition is not None:
            table = self.source.condition.rows(table)
        file_names = dict(self.names)
        if self.tasks > 1:
            keys = [one_array(table.column(file_names[name])) for name in self.query.partition]
            table = table.filter(pa.array(shares(keys, self.tasks) == number))
        return pa.table({name: table.column(own) for name, own in self.names})

    def _places(self, table: pa.Table) -> NDArray[np.int64]:
        """Where rows stand in the order, as far as the first column of ORDER BY tells it."""
        key = self.query.order[0]
        places: NDArray[np.int64] = one_array(self.source.time.micros(table.column(key.column))).to_numpy()
        return ~places if key.descending else places  # minus would leave the range of integers at its end

    def _first(self, group: RowGroup) -> int:
        return ~group.last if self.query.order[0].descending else group.first


def plan_rows(query: RowQuery, scan: Scan, names: Sequence[str], engine: str, tasks: int) -> RowTask:
    """How tasks read the rows of a query, of which these columns are needed; NotPlainError says what is in the way."""
    if not query.order:
        raise NotPlainError("there is no ORDER BY")
    tasks = tasks if query.partition else 1
    if tasks > MOST_TASKS:
        raise NotPlainError(f"each of {tasks} tasks would read all rows; up to {MOST_TASKS} do")
    types = {name: known_type(scan.types[name], name) for name in names}
    first = query.order[0].column
    if types[first] not in _ORDERED:
        raise NotPlainError(f"the column '{first}', by which rows are ordered, has the type {types[first]}")
    for name in query.partition:
        if types[name] not in _KEYS:
            raise NotPlainError(f"the column '{name}', which parts rows, has the type {types[name]}")
    columns = {name: FileColumn(scan.columns[name], types[name]) for name in names}
    attributes = tuple(FileAttribute((name, ValueType.STRING), column) for name, column in columns.items())
    coded = tuple(scan.columns[name] for name in query.partition if types[name] == "string")
    source = FileSource(columns[first], None, {}, attributes, None, None, scan.condition, column_types(scan), coded)
    for own in source.columns:
        known_type(source.types[own], own)
    groups = [group for file in scan.files for group in row_groups(0, source, file)]
    task = RowTask(query, engine, source, tuple((name, scan.columns[name]) for name in names), (), tasks, whole=False)
    groups.sort(key=lambda group: (task._first(group), group.file.path, group.number))
    total = sum(group.rows for group in groups)
    if not total:
        raise NotPlainError("the files have no rows")
    task = replace(task, groups=tuple(groups), whole=total * len(names) <= MOST_HELD * tasks)
    if (often := _times_sorted(task)) > MOST_SORTED:
        raise NotPlainError(f"row groups overlap so much that rows would be sorted {often:.0f} times")
    return task


def run_rows(task: RowTask, frame: DataFrame, schema: str) -> DataFrame:
    """Find the matches."""
    numbers = frame.sparkSession.range(0, task.tasks, 1, task.tasks)
    return numbers.mapInArrow(partial(_work, task=task), schema)


def _work(batches: Iterable[pa.RecordBatch], task: RowTask) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from task.run(number)


def _times_sorted(task: RowTask) -> float:
    """How often a row is sorted at the most, on average: with each row group that is read before it may go."""
    waiting: list[RowGroup] = []
    taken = 0
    for place, group in enumerate(task.groups):
        waiting = [*waiting, group]
        taken += sum(each.rows for each in waiting)
        if place + 1 < len(task.groups):
            following = task._first(task.groups[place + 1])
            descending = task.query.order[0].descending
            waiting = [each for each in waiting if (~each.first if descending else each.last) >= following]
    return taken / sum(group.rows for group in task.groups)


def shares(keys: Sequence[Any], tasks: int) -> NDArray[np.int64]:
    """Which task each row belongs to: rows of equal keys, NULL among them, to the same one.

    >>> keys = pa.array(["a", "b", None, "a", None]), pa.array([1, 1, 2, 1, 2])
    >>> found = shares(keys, 1 << 40)
    >>> bool(found[0] == found[3] and found[2] == found[4] and len(set(found.tolist())) == 3)
    True
    """
    together = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        together = _stirred(together + _numbers(key))
    found: NDArray[np.int64] = (together % np.uint64(tasks)).astype(np.int64)
    return found


_ODD, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_TEXT_BYTES = 32
"""So many of its last bytes, and its length, tell where the rows of a text go."""


def _stirred(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    numbers = (numbers + _ODD) * _STIR
    return numbers ^ (numbers >> np.uint64(29))


def _numbers(key: Any) -> NDArray[np.uint64]:
    """A number for each value of a column, equal for equal values."""
    if pa.types.is_dictionary(key.type):
        of_texts = np.append(_numbers(key.dictionary), np.uint64(0))  # the last one is that of NULL
        places: NDArray[np.int64] = key.indices.cast(pa.int64()).fill_null(len(of_texts) - 1).to_numpy()
        return of_texts[places]
    if pa.types.is_string(key.type) or pa.types.is_large_string(key.type):
        found = _numbers_of_texts(key.cast(pa.string()))
    else:
        whole = key.cast(pa.int32()) if pa.types.is_date32(key.type) else key
        values = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        found = _stirred(values.astype(np.int64).view(np.uint64))
    return np.where(key.is_null().to_numpy(zero_copy_only=False), np.uint64(0), found)


def _numbers_of_texts(texts: pa.Array) -> NDArray[np.uint64]:
    _, places, data = texts.buffers()
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.append(np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), np.uint8(0))
    begins, ends = offsets[:-1], offsets[1:]
    found = _stirred((ends - begins).astype(np.uint64))
    longest = int((ends - begins).max(initial=0))
    for back in range(1, min(longest, _TEXT_BYTES) + 1):
        there = begins + back <= ends
        letter = letters[np.where(there, ends - back, len(letters) - 1)].astype(np.uint64)
        found = np.where(there, _stirred(found ^ letter), found)
    return found
