"""Events as flat records, the way JSON lines have them, with times in the unit of the output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheus.core.batch import EventBatch, IntArray, python_values
from cepheus.core.errors import EventError
from cepheus.core.schema import ID_FIELD, SPARE_ID_FIELD
from cepheus.core.time import TimeUnit, format_time
from cepheus.core.values import ValueType, as_int
from cepheus.formats.records import Record


def flatten(batch: EventBatch, unit: TimeUnit = TimeUnit.US) -> list[Record]:
    """Write each event as a dict: type, time, attributes, and id, probability, sequence and ``from`` where it has them.

    A time is an integer where the unit divides it exactly, else an ISO 8601 text.
    """
    types = [batch.types[code] for code in batch.codes.tolist()]
    times = written_times(batch.times, unit)
    records: list[Record] = [{"type": kind, "time": time} for kind, time in zip(types, times, strict=True)]
    for (name, value_type), column in batch.columns.items():
        values = python_values(column, value_type)
        if value_type is ValueType.TIMESTAMP:
            values = [None if time is None else written_time(as_int(time), unit) for time in values]
        errors = batch.errors.get(name)
        for row, value in enumerate(values):
            if value is not None:
                error = None if errors is None else errors[row]
                records[row][name] = value if error is None else {"value": value, "error": str(error)}
    for record, event_id in zip(records, batch.id_list() or (), strict=False):
        record[ID_FIELD if ID_FIELD not in record else SPARE_ID_FIELD] = event_id
    _add(records, "sequence", None if batch.sequences is None else batch.sequences.tolist())
    if batch.probabilities is not None:
        for row in np.flatnonzero(batch.probabilities != 1.0).tolist():
            records[row]["probability"] = float(batch.probabilities[row])
    if batch.provenance is not None:
        for record, made_of in zip(records, batch.provenance.made_of, strict=True):
            if made_of:
                record["from"] = list(made_of)
    return records


def written_times(times: IntArray, unit: TimeUnit) -> list[int | str]:
    """Write times: integers in the unit, or ISO 8601 texts where the unit does not divide them.

    >>> written_times(np.array([2_000_000, 1_500_000]), TimeUnit.S)
    [2, '1970-01-01T00:00:01.500000Z']
    """
    if is_whole(times, unit):
        whole: list[int | str] = (times // unit.microseconds).tolist()
        return whole
    return [written_time(time, unit) for time in times.tolist()]


def written_time(time: int, unit: TimeUnit) -> int | str:
    """Return one time as it is written."""
    quotient, rest = divmod(time, unit.microseconds)
    if rest == 0:
        return quotient
    text = format_time(time)
    if not text.endswith("Z"):
        raise EventError.of(
            "time",
            f"the time {text} cannot be written in {unit.value}: no calendar reaches it",
            hint="write times in us",
        )
    return text


def is_whole(times: IntArray, unit: TimeUnit) -> bool:
    """Whether the unit divides every time exactly."""
    return unit is TimeUnit.US or not np.any(times % unit.microseconds)


def _add(records: Sequence[Record], name: str, values: Sequence[object] | None) -> None:
    if values is not None:
        for record, value in zip(records, values, strict=True):
            record[name] = value
