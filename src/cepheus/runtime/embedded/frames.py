"""Frames by the type of their events: ``{"Temp": temps, "Smoke": smoke}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from cepheus.core.batch import EventBatch
from cepheus.core.options import ColumnNames, OnBadEvent, RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import TimeCheck
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.named_columns import NamedColumns
from cepheus.formats.parquet_arrow import array_rows, arrow_table, check_columns, one_array
from cepheus.formats.problems import BadEvents
from cepheus.formats.unseen_attributes import UnseenAttributes
from cepheus.runtime.embedded.admission import ArrowTable
from cepheus.runtime.embedded.detect import late_event
from cepheus.runtime.embedded.order import ReorderBuffer

FramesByType = Mapping[str, ArrowTable]
"""Tables or frames without a column of types, by the type of their events."""


def is_frames_by_type(events: object, columns: ColumnNames) -> TypeGuard[FramesByType]:
    """Whether an input is frames by the type of their events; an event that is a dict has a time or a type."""
    if not isinstance(events, Mapping) or not events or events.keys() & {columns.time, columns.type}:
        return False
    return all(isinstance(frame, ArrowTable) for frame in events.values())


def read_frames(
    frames: FramesByType, expected: Schema, options: RunOptions, bad: BadEvents, *, intervals: bool
) -> tuple[list[EventBatch], int]:
    """The events of frames, one batch for each, in the order of time, and how many came too late.

    An event without an id gets its type and its row: ``Temp:17``. Each frame may be out of order by the lateness.
    """
    late = 0
    check = TimeCheck.of(options.time_unit, strict=options.strict)
    named = NamedColumns(options.columns, refuse=len(frames) == 1, strict=options.strict)
    unseen = UnseenAttributes(refuse=True, strict=options.strict)  # each type has a frame
    unseen.expect(expected)
    batches = []
    for name, frame in frames.items():
        table = arrow_table(frame)
        check_columns(table.schema.names, None, (options.columns.time,))
        arrays = {column: one_array(table.column(column)) for column in table.schema.names}
        intake = IntakeOptions(
            expected,
            options.unit,
            type_name=name,
            columns=options.columns,
            id_prefix=name,
            uncertain=options.uncertain,
            intervals=intervals,
            check=check,
            time_format=options.time_format,
            named=named,
            unseen=unseen,
        )
        rows = range(table.num_rows)
        chunk = Intake(name, intake, bad, counts_rows=True).chunk(
            array_rows(arrays, table.num_rows), range(1, table.num_rows + 1), rows
        )
        buffer = ReorderBuffer(options.waits, sequenced=options.columns.sequence is not None)
        ordered = buffer.push(chunk.batch)
        if len(ordered.late) and options.on_bad_event is OnBadEvent.STOP:
            first = int(ordered.late[0])
            raise late_event(name, int(chunk.batch.times[first]), options.lateness or 0, chunk.place_of(first))
        late += len(ordered.late)
        batches.append(EventBatch.concat([ordered.ready, buffer.flush()]))
    named.tell()
    unseen.tell()
    return batches, late
