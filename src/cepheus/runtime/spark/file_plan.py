"""A finite input that tasks read themselves: slices of time of Parquet files, no rows of Java's, no shuffle.

Taken only where it is right and pays: the DataFrames are plain scans of Parquet files, the rules look back for a
bounded time, the statistics of row groups tell when their events are, and little would have to be read twice. Whatever
is in the way is said in words, and Spark reads the events as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cepheus.core.batch import ColumnKey
from cepheus.core.errors import OptionError
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.values import ValueType
from cepheus.engine.assembly.ending import has_timers
from cepheus.plan.split import BySlice, RuleGroup, Split, WayName
from cepheus.plan.split.memory import memory
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import ResolvedRule, since_start
from cepheus.runtime.spark.file_conditions import ARROW_TYPES
from cepheus.runtime.spark.file_slices import FileAttribute, FileColumn, FileSource, RowGroup, SliceTask
from cepheus.runtime.spark.layout import IdKind
from cepheus.runtime.spark.parquet_scan import NotPlainError, Scan, ScanFile, is_scan_of_parquet, scan_of
from cepheus.runtime.spark.planning import Planned, SparkOptions
from cepheus.runtime.spark.routing import Routed, row_condition
from cepheus.runtime.spark.shard_files import StateFolder
from cepheus.runtime.spark.sources import Source, kind_of
from cepheus.runtime.spark.tie_counts import ReportedTies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_READ = 1.5
"""More than so many times the rows there are is not read: Spark's shuffle would be cheaper."""

FEW = 1_000_000
"""So many rows are read by one task if it has to be."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What tasks read, and how many rows that is of how many."""

    task: SliceTask
    split: Split
    rows: int
    read: int
    told: bool = True

    def options(self, planned: Planned) -> SparkOptions:
        """The options of the run with as many shards as there are slices."""
        return replace(planned.options, shards=len(self.task.slices))

    @property
    def words(self) -> str:
        """How events are read, in words."""
        count = len(self.task.slices)
        twice = self.read - self.rows
        again = f", {100 * twice / self.rows:.0f}% of the rows more than once" if twice else ""
        return f"Parquet files, by the tasks themselves in {count} {'slice' if count == 1 else 'slices'} of time{again}"


@dataclass(frozen=True, slots=True)
class ReadBySpark:
    """Why tasks do not read files themselves; ``told`` says whether that is worth telling."""

    reason: str
    told: bool = True

    @property
    def words(self) -> str:
        """How events are read, in words."""
        return f"by Spark: {self.reason}"


Reading = FilePlan | ReadBySpark


def plan_reading(planned: Planned, sources: Sequence[Source], ways: frozenset[WayName], asked: str) -> Reading:
    """Decide who reads the events. ``asked`` is ``auto``, ``spark`` or ``files``, which is refused if not possible."""
    if asked == "spark":
        return ReadBySpark("as was asked for")
    used = [source for source in sources if any(name in planned.inputs for name in source.types)]
    told = bool(used) and all(is_scan_of_parquet(source.frame) for source in used)
    try:
        if not told:
            raise NotPlainError("the events are not read from Parquet files alone")
        return _file_plan(planned, used, ways)
    except NotPlainError as error:
        reason = str(error)
    if asked == "files":
        raise OptionError.of(
            "read", f"tasks cannot read the events from files themselves: {reason}", hint="leave out read"
        )
    return ReadBySpark(reason, told)


def run_files(plan: FilePlan, frame: DataFrame) -> tuple[DataFrame, ReportedTies]:
    """Find the composite events, and where counts of simultaneous events will be."""
    task = plan.task
    count = len(task.slices)
    spark = frame.sparkSession
    counts = ReportedTies.of(spark.sparkContext, count)
    reported = counts.reported

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                ties = yield from task.run(number)
                reported.add({number: ties.to_dict()})

    return spark.range(0, count, 1, count).mapInArrow(work, task.job.composites.sql), counts


def _file_plan(planned: Planned, sources: Sequence[Source], ways: frozenset[WayName]) -> FilePlan:
    sliced = _sliced(planned, ways)
    planned = replace(planned, split=sliced, events=replace(planned.events, marks_owned=False))
    (group,) = sliced.groups
    assert isinstance(group.way, BySlice)
    reach = max(group.way.reaches.values(), default=0)
    found = [_source(planned, source) for source in sources]
    groups = [each for number, (source, scan) in enumerate(found) for each in _row_groups(number, source, scan)]
    groups.sort(key=lambda each: (each.first, each.last))
    edges = _edges(groups, planned.options.shards)
    total = sum(each.rows for each in groups)
    if not total:
        raise NotPlainError("the files have no rows")
    if planned.options.shards > 1 and not edges and total > FEW:
        raise NotPlainError("the times of the row groups allow only one slice")
    begins, ends = (MIN_TIME, *edges), (*edges, MAX_TIME)
    since = tuple(max(begin - reach, MIN_TIME) if begin > MIN_TIME else MIN_TIME for begin in begins)
    slices = tuple(
        tuple(each for each in groups if each.last >= low and each.first < high)
        for low, high in zip(since, ends, strict=True)
    )
    read = sum(each.rows for one in slices for each in one)
    if read > MOST_READ * total:
        raise NotPlainError(
            f"row groups overlap in time so much that tasks would read {read / total:.1f} times the rows"
        )
    routed = [Routed(group, range(len(slices)))]
    job = planned.job(routed, {0: edges})
    task = SliceTask(job, tuple(source for source, _ in found), slices, since, ends)
    return FilePlan(task, sliced, total, read)


def _sliced(planned: Planned, ways: frozenset[WayName]) -> Split:
    """The rules split by time, all of them."""
    rules = planned.checked.rules
    if WayName.SLICES not in ways:
        raise NotPlainError("another way to split was asked for")
    if rules.interval_rules or rules.row_rules:
        raise NotPlainError("there are rules over intervals or rows")
    if planned.composites.probability or planned.events.errors.columns:
        raise NotPlainError("something is uncertain")
    if has_timers(rules):
        raise NotPlainError("there are timers")
    if planned.events.ids is not IdKind.NONE and planned.options.naming.id is None:
        raise NotPlainError("ids are made of the events' content, which Spark does; name a column: id='..'")
    resolved = [resolve(rule) for rule in rules.rules]
    back = memory(resolved)
    if back is None:
        raise NotPlainError(_endless(resolved))
    inputs = tuple(sorted(planned.inputs))
    return Split((RuleGroup(rules.rules, inputs, BySlice(dict.fromkeys(inputs, back))),), planned.split.inputs)


def _endless(rules: Sequence[ResolvedRule]) -> str:
    """Why rules look back without bound."""
    for rule in rules:
        if rule.consuming:
            return f"in rule '{rule.name}', what it consumes depends on all events before"
        if since_start(rule):
            return f"in rule '{rule.name}', what it aggregates since the start depends on all events before"
    return f"in rule '{rules[0].name}', or another, events feed back into the rule, so windows add up without end"


def _source(planned: Planned, source: Source) -> tuple[FileSource, Scan]:
    """How the files of a source become events."""
    naming, layout = planned.options.naming, planned.events
    types = tuple(name for name in source.types if name in planned.inputs)
    condition = row_condition(source, types, planned.pushed, naming)
    scan = scan_of(source.frame if condition is None else source.frame.where(condition))
    attributes = tuple(_attribute(planned, source, scan, types, key) for key in layout.columns)

    def column(name: str, scale: int = 1) -> FileColumn:
        return FileColumn(scan.columns[name], known_type(scan.types[name], name), scale)

    found = FileSource(
        column(naming.time, naming.unit.microseconds),
        scan.columns[naming.type] if source.typed else None,
        {name: layout.types.index(name) for name in types},
        attributes,
        column(naming.sequence) if layout.sequenced and naming.sequence is not None else None,
        column(naming.id) if layout.ids is not IdKind.NONE and naming.id is not None else None,
        scan.condition,
        column_types(scan),
        (scan.columns[naming.type],) if source.typed else (),
    )
    for name in found.columns:
        known_type(found.types[name], name)
    return found, scan


def column_types(scan: Scan) -> dict[str, str]:
    """The types of the columns of the files, those included that only conditions read."""
    return _condition_types(scan) | {name: scan.types[own] for own, name in scan.columns.items()}


def _condition_types(scan: Scan) -> dict[str, str]:
    """The types of columns that only conditions read."""
    found: dict[str, str] = {}
    waiting = [] if scan.condition is None else [scan.condition]
    while waiting:
        part = waiting.pop()
        if part.operator == "column":
            found[part.data[0]] = part.data[1]
        waiting += part.parts
    return found


def _attribute(planned: Planned, source: Source, scan: Scan, types: Sequence[str], key: ColumnKey) -> FileAttribute:
    name, kind = key
    layout = planned.events
    having = {t: a for t in types if (a := planned.inputs[t].attribute(name)) is not None}
    readers = [t for t, a in having.items() if a.type is kind]
    if not readers or name not in source.frame.columns:
        return FileAttribute(key, None)
    given = kind_of(source.frame.schema[name].dataType)
    if kind is ValueType.LIST or given is ValueType.LIST:
        raise NotPlainError(f"'{name}' is a list")
    if given is ValueType.STRING and kind is not ValueType.STRING:
        raise NotPlainError(f"'{name}' is a text that rules take for something else")
    scale = planned.options.naming.unit.microseconds if given is ValueType.INT else 1
    column = FileColumn(scan.columns[name], known_type(scan.types[name], name), scale)
    codes = tuple(layout.types.index(t) for t in readers)
    return FileAttribute(key, column, codes, shared=len(readers) < len(having))


def known_type(kind: str, name: str) -> str:
    """The type of a column, if tasks can read it."""
    if kind not in ARROW_TYPES:
        raise NotPlainError(f"the column '{name}' has the type {kind}")
    return kind


_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def _row_groups(number: int, source: FileSource, scan: Scan) -> Iterator[RowGroup]:
    for file in scan.files:
        yield from row_groups(number, source, file)


def row_groups(number: int, source: FileSource, file: ScanFile) -> Iterator[RowGroup]:
    """The row groups of a file that have rows, and between which times these are; NotPlainError if that is not told."""
    try:
        system, place = StateFolder(file.path).open()
        with system.open_input_file(place) as opened:
            metadata = pq.read_metadata(opened)
    except (OSError, OptionError, pa.ArrowException) as error:
        raise NotPlainError(f"'{file.path}' cannot be read without Spark: {str(error).splitlines()[0]}") from None
    schema = metadata.schema.to_arrow_schema()
    if any(key in (metadata.metadata or {}) for key in _LEGACY):
        raise NotPlainError(f"'{file.path}' has times of an old calendar")
    _require_fitting(source, schema, file)
    place_of_time = {metadata.schema.column(n).path: n for n in range(metadata.num_columns)}.get(source.time.name)
    if place_of_time is None or source.time.name in file.partition:
        raise NotPlainError(f"'{file.path}' has no column '{source.time.name}'")
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group)
        if not rows.num_rows:
            continue
        told = rows.column(place_of_time).statistics
        if told is None or not told.has_min_max or told.null_count is None or told.null_count:
            raise NotPlainError(f"'{file.path}' does not tell between which times its rows are, or some have none")
        try:
            first, last = _micros(source.time, schema, [told.min, told.max])
        except (OverflowError, ValueError):
            raise NotPlainError(f"'{file.path}' has times that no calendar reaches") from None
        yield RowGroup(number, file, group, first, last, rows.num_rows)


def _micros(column: FileColumn, schema: pa.Schema, values: Sequence[Any]) -> list[int]:
    kind = schema.field(column.name).type
    array = pa.chunked_array([pa.array(values, kind).cast(ARROW_TYPES[column.type])])
    found: list[int] = column.micros(array).to_pylist()
    return found


_FITTING = {
    "boolean": pa.types.is_boolean,
    "tinyint": pa.types.is_signed_integer,
    "smallint": pa.types.is_signed_integer,
    "int": pa.types.is_signed_integer,
    "bigint": pa.types.is_signed_integer,
    "float": lambda kind: kind == pa.float32(),
    "double": lambda kind: kind in (pa.float64(), pa.float32()),
    "string": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind),
    "timestamp": lambda kind: pa.types.is_timestamp(kind) and kind.unit in ("us", "ms") and kind.tz is not None,
    "timestamp_ntz": lambda kind: pa.types.is_timestamp(kind) and kind.unit in ("us", "ms") and kind.tz is None,
    "date": pa.types.is_date32,
}
"""What a column of each type of Spark's may be in a file."""


_NEW = "Spark writes microseconds with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"


def _require_fitting(source: FileSource, schema: pa.Schema, file: ScanFile) -> None:
    """Refuse a file whose columns are not what Spark takes them for."""
    by_case: dict[str, list[str]] = {}
    for name in schema.names:
        by_case.setdefault(name.lower(), []).append(name)
    for name in source.columns:
        if name in file.partition:
            continue
        alike = by_case.get(name.lower(), [])
        if alike not in ([], [name]):
            raise NotPlainError(f"'{file.path}' has columns that differ from '{name}' only in their case")
        if alike and not _FITTING[source.types[name]](kind := schema.field(name).type):
            if kind == pa.timestamp("ns"):
                old = f"in '{file.path}' the times '{name}' are of the old form INT96, or nanoseconds"
                raise NotPlainError(f"{old}; {_NEW}")
            raise NotPlainError(f"in '{file.path}' the column '{name}' is {kind}")


def _edges(groups: Sequence[RowGroup], shards: int) -> tuple[int, ...]:
    """The times at which slices begin: at first times of row groups, so that all slices get about as many rows."""
    total = sum(each.rows for each in groups)
    edges: list[int] = []
    seen = 0
    for each in groups:
        if (
            seen >= (len(edges) + 1) * total / shards
            and len(edges) < shards - 1
            and each.first > (edges or [MIN_TIME])[-1]
        ):
            edges.append(each.first)
        seen += each.rows
    return tuple(edges)
