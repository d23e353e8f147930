"""From rows to events: one chunk of any file becomes a batch, its bad events found and reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Ids, IntArray, Provenance
from cepheus.core.distribution_column import ErrorColumn
from cepheus.core.error_columns import NO_PARAMETERS, ErrorSources, Parameter
from cepheus.core.errors import Diagnostic, EventError, OptionError, Place, did_you_mean
from cepheus.core.event import EventId
from cepheus.core.options import ColumnNames
from cepheus.core.schema import ID_FIELD, Schema
from cepheus.core.time import TimeCheck, TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.arrays import BoolArray, float_array, int_array, validity
from cepheus.formats.attributes import ArgumentNames, AttributeReader, Errors, Faults, TypedRows, coerce
from cepheus.formats.cells import coerce_id, id_of_text, not_a_probability
from cepheus.formats.columns import Column, ObjectColumn, TextColumn
from cepheus.formats.event_fields import (
    has_start,
    id_field_of,
    ids_of,
    late_start,
    no_such_type,
    of_field,
    start_field,
    type_of,
    uncertain_field,
)
from cepheus.formats.named_columns import NamedColumns
from cepheus.formats.own_ids import OwnIds
from cepheus.formats.problems import BadEvents, lacking, placed, shown
from cepheus.formats.rows import ArrayRows, Numbers, Rows, pick
from cepheus.formats.unseen_attributes import UnseenAttributes
from cepheus.formats.written_times import read_by_format


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some events of a file and where each of them stands in it.

    >>> chunk = Chunk(EventBatch.empty(), "a.jsonl", range(1, 3))
    >>> str(chunk.place_of(1))
    'a.jsonl:2'
    """

    batch: EventBatch
    name: str
    lines: Numbers

    def place_of(self, row: int) -> Place:
        """The file and the line (for Parquet and Arrow the row, counted from 1) of an event of the batch."""
        return Place(self.name, int(self.lines[row]))


@dataclass(frozen=True, slots=True)
class IntakeOptions:
    """How rows become events.

    ``type_name`` is the type of every event of a file without a type column. ``columns`` names the columns that are
    not attributes. ``keep_all`` keeps attributes and types that the schema does not
    name. ``id_prefix`` goes before the position of an event without an id, to tell files apart; ``numbered`` False
    leaves such events without an id. ``uncertain`` names, by attribute, the columns that have its error. With
    ``intervals`` events may have a ``start`` (unless that is an attribute of their type), and in JSON lines ``args``.
    ``named`` is shown the names of columns, ``unseen`` the events of each type, ``own_ids`` the ids of good ones.
    ``check`` is told the first times that are mere numbers. ``time_format`` is how times are written as texts, by
    default as ISO 8601.
    """

    schema: Schema = field(default_factory=Schema)
    unit: TimeUnit = TimeUnit.US
    type_name: str | None = None
    columns: ColumnNames = field(default_factory=ColumnNames)
    keep_all: bool = False
    id_prefix: str | None = None
    numbered: bool = True
    uncertain: ErrorSources = field(default_factory=dict)
    intervals: bool = False
    check: TimeCheck | None = None
    time_format: str | None = None
    named: NamedColumns | None = None
    unseen: UnseenAttributes | None = None
    own_ids: OwnIds | None = None


_FILE_OF_ONE_TYPE = "give the type of all its events together with the file"


class Intake:
    """Turns the rows of one file into events, chunk after chunk.

    ``read`` counts the rows, bad ones included. With ``counts_rows`` places are rows, not lines, and messages say so.
    """

    def __init__(self, name: str, options: IntakeOptions, bad: BadEvents, *, counts_rows: bool = False) -> None:
        self._name = name
        self._counts_rows = counts_rows
        self._options = options
        self._bad = bad
        self.read = 0
        if options.type_name is not None and options.type_name not in options.schema and options.schema.closed:
            finding = no_such_type(options.type_name, options.schema).diagnostics[0]
            raise OptionError.of("type", finding.message, hint=finding.hint)
        self._schema = options.schema
        self._attributes = AttributeReader(options.schema, options.unit, options.keep_all)
        self._columns = options.columns
        self._starts_in = start_field(options.columns, intervals=options.intervals)
        self._arguments = ArgumentNames(options.schema, options.columns) if options.intervals else None
        self._check = options.check

    @property
    def type_column(self) -> str:
        """The column of the event types."""
        return self._columns.type

    def chunk(self, rows: Rows, lines: Numbers, positions: Numbers, findings: Iterable[Diagnostic] = ()) -> Chunk:
        """The good events of some rows; report the bad ones, together with what the parser found among them."""
        findings = list(findings)
        self.read += len(rows) + len(findings)
        faults: Faults = {}
        if self._options.named is not None and self._options.named.missing:
            self._options.named.look(rows.names(), Place(self._name), all_there=isinstance(rows, ArrayRows))
        types, codes, all_known = self._types(rows, faults)
        if not all_known:
            relevant = np.flatnonzero(codes >= 0)
            findings += self._placed(faults, lines)
            faults = {}
            rows, codes = rows.take(relevant), codes[relevant]
            lines, positions = pick(lines, relevant), pick(positions, relevant)
        events = TypedRows(rows, types, codes)
        if self._arguments:
            self._settle_arguments(events, self._arguments, lines)
        if self._options.unseen is not None and self._options.unseen.missing:
            self._options.unseen.look(events, Place(self._name), all_there=isinstance(rows, ArrayRows))
        batch = self._batch(events, positions, faults)
        if self._arguments:
            batch = self._arguments.back(batch)
        self._bad.report(sorted([*findings, *self._placed(faults, lines)], key=_line))
        brought = self._with_own_ids(events)
        if faults:
            good = np.setdiff1d(np.arange(len(batch)), np.fromiter(faults, np.int64))
            batch, lines, brought = batch.take(good), pick(lines, good), brought[good]
        if self._options.own_ids is not None and batch.ids is not None and brought.any():
            ids = batch.ids
            self._options.own_ids.look(ids if brought.all() else [ids[row] for row in np.flatnonzero(brought).tolist()])
        return Chunk(batch, self._name, lines)

    def _settle_arguments(self, events: TypedRows, arguments: ArgumentNames, lines: Numbers) -> None:
        """Find out what the file calls the arguments of types that nobody declares."""
        try:
            if arguments.look(events):
                self._schema = arguments.reading()
                self._attributes = AttributeReader(self._schema, self._options.unit, self._options.keep_all)
        except EventError as error:
            line = int(lines[0]) if len(lines) else None
            raise EventError([placed(error, Place(self._name, line))]) from None

    def _placed(self, faults: Faults, lines: Numbers) -> list[Diagnostic]:
        found = []
        for row, error in faults.items():
            line = int(lines[row])
            found.append(placed(error, Place(self._name, line), f"row {line}: " if self._counts_rows else ""))
        return found

    def _types(self, rows: Rows, faults: Faults) -> tuple[list[str], NDArray[np.int32], bool]:
        """The types of interest and each row's code into them, -1 for rows that are bad or concern no one.

        The third tells that there are no such rows.
        """
        given = self._options.type_name
        cells, raw_codes = rows.type_codes(self._columns.type)
        types: dict[str, int] = {}
        recode = np.full(len(cells) + 1, -1, np.int32)  # the last entry is for rows without a type
        if given is not None and self._known(given) is not None:
            types[given] = 0
            recode[-1] = 0
        for index, cell in enumerate(cells):
            try:
                name = self._known(cell)
            except EventError as error:
                faults |= dict.fromkeys(np.flatnonzero(raw_codes == index).tolist(), error)
                continue
            if name is not None:
                recode[index] = types.setdefault(name, len(types))
        untyped_rows = raw_codes.min(initial=0) < 0
        if given is None and untyped_rows:
            untyped = lacking(self._columns.type, rows.names(), _FILE_OF_ONE_TYPE)
            faults |= dict.fromkeys(np.flatnonzero(raw_codes < 0).tolist(), untyped)
        if np.array_equal(recode[:-1], np.arange(len(cells))) and not untyped_rows:
            return list(types), raw_codes, True
        codes = recode[raw_codes]
        return list(types), codes, codes.min(initial=0) >= 0

    def _known(self, cell: object) -> str | None:
        """The type that a cell names, or None if no rule concerns it."""
        options = self._options
        if options.type_name is not None and isinstance(cell, str) and cell and cell != options.type_name:
            raise EventError.of(
                "event",
                f"an event of type {shown(cell)} in a file of {options.type_name}",
                hint="give a file that has types of its own without one",
            )
        return type_of(cell, options.schema, keep_all=options.keep_all)

    def _batch(self, events: TypedRows, positions: Numbers, faults: Faults) -> EventBatch:
        rows = events.rows
        times = self._integers(rows, self._columns.time, ValueType.TIMESTAMP, faults)
        if self._check is not None:
            self._check_times(rows, times, faults)
        sequence = self._columns.sequence
        columns, errors = self._attributes.read(events, faults)
        if self._options.uncertain:
            errors = {**errors, **self._given_errors(rows, columns, errors, faults)}
        return EventBatch(
            types=tuple(events.types),
            codes=events.codes,
            times=times,
            columns=columns,
            sequences=None if sequence is None else self._integers(rows, sequence, ValueType.INT, faults),
            ids=self._own_ids(events, positions, faults),
            probabilities=self._probabilities(rows.column(self._columns.probability), faults),
            errors=errors,
            starts=None if self._starts_in is None else self._starts(events, times, self._starts_in, faults),
            provenance=_provenance(rows.column("from"), len(rows), faults),
            renamed=frozenset(name for name in events.types if name in self._schema and self._schema[name].columns),
        )

    def _starts(self, events: TypedRows, times: IntArray, name: str, faults: Faults) -> IntArray | None:
        """Read where events start; one without a start is an instant, and none starts after its end."""
        column = events.rows.column(name)
        own = [has_start(self._schema.get(each), self._columns) for each in events.types]
        if column is None or not any(own):
            return None
        found: Faults = {}
        array = self._field(column, name, ValueType.TIMESTAMP, found)
        has = np.array(own)[events.codes] & validity(array)
        starts = np.where(has, int_array(array.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0)), times)
        for row, error in found.items():
            if own[events.codes[row]]:
                faults.setdefault(row, error)
        for row in np.flatnonzero(starts > times).tolist():
            faults.setdefault(row, late_start())
        return starts

    def _integers(self, rows: Rows, name: str, kind: ValueType, faults: Faults) -> IntArray:
        """Read a column in which every row must have a value."""
        column = rows.column(name)
        array = pa.nulls(len(rows), kind.arrow) if column is None else self._field(column, name, kind, faults)
        if array.null_count:
            missing = lacking(name, rows.names())
            for row in np.flatnonzero(~validity(array)).tolist():
                faults.setdefault(row, missing)
            array = array.cast(pa.timestamp("us")).cast(pa.int64()) if kind is ValueType.TIMESTAMP else array
            array = array.fill_null(0)
        return int_array(array)

    def _field(self, column: Column, name: str, kind: ValueType, faults: Faults) -> pa.Array:
        """Read a column of fields that are events' own, null where there is none or a bad one."""
        found: Faults = {}
        if kind is ValueType.TIMESTAMP and self._options.time_format is not None:
            column = read_by_format(column, self._options.time_format, found)
        coerced = coerce(column, kind, self._options.unit, found)
        for row, error in found.items():
            faults.setdefault(row, of_field(error, name))
        for row, uncertain in enumerate(coerced.errors or ()):
            if uncertain is not None:
                faults.setdefault(row, uncertain_field(name, column.raw(row)))
        return coerced.array

    def _check_times(self, rows: Rows, times: IntArray, faults: Faults) -> None:
        """Let the first times that are mere numbers be looked at."""
        column = rows.column(self._columns.time)
        numbers = np.zeros(len(rows), np.bool_) if column is None else column.numbers()
        numbers[list(faults)] = False
        if numbers.any() and self._check is not None:
            check, self._check = self._check, None
            check.look(times[numbers], None if self._counts_rows else Place(self._name))

    def _given_errors(
        self, rows: Rows, columns: Mapping[ColumnKey, pa.Array], errors: Errors, faults: Faults
    ) -> dict[str, ErrorColumn]:
        """The errors that stand in columns of their own; an error in the cell itself goes before them."""

        def read(parameter: Parameter) -> NDArray[np.float64]:
            if not isinstance(parameter, str):
                return np.full(len(rows), float(parameter))
            column = rows.column(parameter)
            if column is None:
                hint = did_you_mean(parameter, rows.names())
                raise OptionError.of("uncertain", f"there is no column '{parameter}'", hint=hint)
            return float_array(self._field(column, parameter, ValueType.FLOAT, faults).fill_null(NO_PARAMETERS))

        made = {}
        for name, source in self._options.uncertain.items():
            arrays = [array for (attribute, kind), array in columns.items() if attribute == name and kind.is_numeric]
            if not arrays:
                continue
            column, bad = source.errors(read)
            for row, error in bad.items():
                faults.setdefault(row, of_field(error, name))
            own = ErrorColumn.of(errors[name]) if name in errors else None
            if own is not None:
                column = own.or_else(column)
            made[name] = column.where(np.logical_or.reduce([validity(array) for array in arrays]))
        return made

    def _probabilities(self, column: Column | None, faults: Faults) -> NDArray[np.float64] | None:
        if column is None:
            return None
        array = self._field(column, "probability", ValueType.FLOAT, faults).fill_null(1.0)
        numbers = float_array(array)
        for row in np.flatnonzero((numbers < 0) | (numbers > 1)).tolist():
            faults.setdefault(row, not_a_probability(float(numbers[row])))
        return None if pc.all(pc.equal(array, 1.0)).as_py() in (True, None) else numbers

    def _id_fields(self, events: TypedRows) -> list[str]:
        """The fields with the ids of each type: another one for types with an attribute ``id``."""
        return [id_field_of(self._schema.get(name), self._columns) for name in events.types]

    def _with_own_ids(self, events: TypedRows) -> BoolArray:
        """Mark the events that bring an id along, if somebody looks at those."""
        brought = np.zeros(len(events.codes), np.bool_)
        fields = self._id_fields(events) if self._options.own_ids is not None else []
        for name in dict.fromkeys(fields):
            column = events.rows.column(name)
            if column is not None:
                rows = events.of_types([code for code, field in enumerate(fields) if field == name])
                brought |= column.present() if rows is None else column.present() & rows
        return brought

    def _own_ids(self, events: TypedRows, positions: Numbers, faults: Faults) -> Ids | None:
        """Read the ids of events."""
        fields = self._id_fields(events) or [ID_FIELD]
        if len(set(fields)) == 1:
            return self._ids(events.rows.column(fields[0]), positions, faults)
        ids: list[EventId] = [0] * len(events.codes)
        for name in dict.fromkeys(fields):
            found: Faults = {}
            column = self._ids(events.rows.column(name), positions, found)
            if column is None:
                return None
            codes = [code for code, field in enumerate(fields) if field == name]
            for row in np.flatnonzero(np.isin(events.codes, codes)).tolist():
                ids[row] = column[row]
                if row in found:
                    faults.setdefault(row, found[row])
        return ids

    def _ids(self, column: Column | None, positions: Numbers, faults: Faults) -> Ids | None:
        options = self._options
        if column is None or not column.present().any():
            if not options.numbered:
                return None
            return positions if options.id_prefix is None else [f"{options.id_prefix}:{row}" for row in positions]
        numbers = _plain_integers(column)
        if numbers is not None:
            return numbers
        as_text = not isinstance(column, ObjectColumn)
        ids: list[EventId] = []
        for row, (has_id, position) in enumerate(zip(column.present().tolist(), _plain(positions), strict=True)):
            try:
                ids.append(_id(column.raw(row), as_text) if has_id else self._position(position))
            except EventError as error:
                faults.setdefault(row, error)
                ids.append(position)
        return ids

    def _position(self, position: int) -> EventId:
        prefix = self._options.id_prefix
        return position if prefix is None else f"{prefix}:{position}"


def _line(finding: Diagnostic) -> int:
    return -1 if finding.place is None or finding.place.line is None else finding.place.line


def _plain(numbers: Numbers) -> Sequence[int]:
    return numbers if isinstance(numbers, range) else numbers.tolist()


def _plain_integers(column: Column) -> IntArray | None:
    """The ids of a column that holds nothing but integers; a text such as 07 is no integer."""
    numbers = column.convert(ValueType.INT, TimeUnit.US, None)
    if numbers is None or numbers.null_count:
        return None
    if isinstance(column, TextColumn) and not pc.all(pc.equal(numbers.cast(pa.string()), column.array)).as_py():
        return None
    return int_array(numbers)


def _id(raw: object, as_text: bool) -> EventId:
    """Return an id; where columns have one type for all, texts may stand for integers, and floats for them too."""
    if as_text and isinstance(raw, str):
        return id_of_text(raw)
    return coerce_id(int(raw) if as_text and isinstance(raw, float) and raw.is_integer() else raw)


def _provenance(column: Column | None, length: int, faults: Faults) -> Provenance | None:
    if column is None or not column.present().any():
        return None
    as_text = not isinstance(column, ObjectColumn)
    made_of: list[tuple[EventId, ...]] = [()] * length
    for row in np.flatnonzero(column.present()).tolist():
        raw = column.raw(row)
        parts = raw.split() if as_text and isinstance(raw, str) else raw
        try:
            made_of[row] = ids_of(parts, lambda part: _id(part, as_text))
        except EventError as error:
            faults.setdefault(row, error)
    return Provenance(("",), np.zeros(length, np.int32), made_of)
