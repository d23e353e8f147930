"""History from wherever it is: files, tables, frames, dicts and events, with all their attributes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import AsEvent, Event
from cepheus.core.options import RunOptions
from cepheus.core.time import TimeCheck
from cepheus.core.values import ValueType
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.parquet_arrow import array_rows, arrow_table, check_columns, one_array
from cepheus.formats.problems import BadEvents
from cepheus.formats.read import open_files
from cepheus.runtime.embedded.admission import ArrowTable, Given
from cepheus.runtime.embedded.detect import FilesByType

HistoryInput = (
    EventBatch | ArrowTable | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | FilesByType | Iterable[Given]
)
"""Events in memory, a table, a frame, a file or several, or files by the type of their events."""


def read_history(events: HistoryInput, options: RunOptions, type_name: str | None = None) -> EventBatch:
    """All events of an input, in order of time; ``type_name`` is the type of events that have none of their own.

    >>> read_history([{"type": "A", "time": 2, "x": 1.5}, {"type": "B", "time": 1}], RunOptions.of(time_unit="s")).types
    ('A', 'B')
    """
    batch = _read(events, options, type_name)
    if len(batch) > 1 and bool((np.diff(batch.times) < 0).any()):
        batch = batch.take(np.argsort(batch.times, kind="stable"))
        batch = EventBatch.concat([batch.slice(0, 1), batch.slice(1, len(batch))])
    return batch


def _read(events: HistoryInput, options: RunOptions, type_name: str | None) -> EventBatch:
    if isinstance(events, EventBatch):
        return events
    if isinstance(events, str | os.PathLike):
        return _files([Path(events)], {}, options, type_name)
    if isinstance(events, Mapping):
        names = {str(path): name for name, paths in events.items() for path in _several(paths)}
        return _files([Path(path) for path in names], names, options, type_name)
    if isinstance(events, ArrowTable):
        return _table(arrow_table(events), options, type_name)
    what = "history" if type_name is None else "list of occurrences"
    if not isinstance(events, Iterable):
        raise EventError.of("event", f"{events!r:.60} is no {what}", hint=_INPUT)
    given = list(cast("Iterable[object]", events))
    if given and all(isinstance(each, str | os.PathLike) for each in given):
        return _files([Path(cast("str", each)) for each in given], {}, options, type_name)
    made = [each.__cepheus_event__() if isinstance(each, AsEvent) else each for each in given]
    if all(isinstance(each, Event) for each in made):
        return _finite(EventBatch.from_events(cast("list[Event]", made)))
    if not all(isinstance(each, Mapping) for each in made):
        raise EventError.of("event", f"the {what} is not made of events", hint=_INPUT)
    try:
        rows = cast("list[Mapping[str, object]]", made)
        names = dict.fromkeys(name for row in rows for name in row)  # from_pylist takes the first row's
        table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
        return _table(table, options, type_name)
    except pa.ArrowException as error:
        raise EventError.of("event", f"the events do not fit into one table: {str(error).splitlines()[0]}") from None


def _finite(batch: EventBatch) -> EventBatch:
    """Refuse numbers that runs refuse: a rule learned from them could not be tried."""
    for (name, kind), column in batch.columns.items():
        if kind is ValueType.FLOAT:
            place = np.flatnonzero(np.isinf(column.fill_null(0.0).to_numpy(zero_copy_only=False)))
            if len(place):
                where = f"{batch.types[batch.codes[place[0]]]}.{name}"
                message = f"{where}: {column[int(place[0])].as_py()} is not a finite number"
                raise EventError.of("number", message, hint="leave the attribute out of events that have no number")
    return batch


_INPUT = "give events, dicts, a table or files"


def _several(paths: object) -> list[str]:
    if isinstance(paths, str | os.PathLike):
        return [str(paths)]
    if not isinstance(paths, Iterable):
        raise OptionError.of("events", f"{paths!r:.60} is no file of events", hint="give files by the type of events")
    return [str(each) for each in paths]


def _intake(options: RunOptions, type_name: str | None, *, intervals: bool) -> IntakeOptions:
    return IntakeOptions(
        unit=options.unit,
        type_name=type_name,
        columns=options.columns,
        keep_all=True,
        uncertain=options.uncertain,
        intervals=intervals,
        check=TimeCheck.of(options.time_unit, strict=options.strict),
        time_format=options.time_format,
    )


def _files(paths: list[Path], names: Mapping[str, str], options: RunOptions, type_name: str | None) -> EventBatch:
    if not paths:
        raise OptionError.of("events", "there is no history to learn from", hint="name a file of events")
    bad = BadEvents(options.on_bad_event)
    files = open_files(paths, _intake(options, type_name, intervals=type_name is not None), bad, type_names=names)
    return EventBatch.concat([file.batch() for file in files])


def _table(table: pa.Table, options: RunOptions, type_name: str | None) -> EventBatch:
    needed = (options.columns.time,) if type_name is not None else (options.columns.type, options.columns.time)
    check_columns(table.schema.names, None, needed)
    arrays = {name: one_array(table.column(name)) for name in table.schema.names}
    bad = BadEvents(options.on_bad_event)
    starts = type_name is not None and (options.columns.start or "start") in table.schema.names
    intake = Intake("history", _intake(options, type_name, intervals=starts), bad, counts_rows=True)
    rows = range(table.num_rows)
    return intake.chunk(array_rows(arrays, table.num_rows), range(1, table.num_rows + 1), rows).batch
