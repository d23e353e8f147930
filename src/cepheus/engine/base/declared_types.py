"""Where events whose values tell their own types get those that rules say: for other rules, for files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.schema import EventType
from cepheus.core.values import Value, ValueType, type_of

Kinds = Mapping[str, ValueType]
"""The types of attributes by name, as far as rules know them."""


def kinds_of(event_type: EventType) -> Kinds:
    """The types of attributes that rules know."""
    return {attribute.name: attribute.type for attribute in event_type.attributes if attribute.type is not None}


def event_as_taken(event: Event, kinds: Kinds) -> Event | None:
    """Return an event as rules with types take it: integers stand for doubles; None if a value is of another type.

    >>> event_as_taken(Event("e", 1, {"x": 2}), {"x": ValueType.FLOAT})["x"]
    2.0
    >>> event_as_taken(Event("e", 1, {"x": "two"}), {"x": ValueType.INT}) is None
    True
    """
    changed: dict[str, Value | None] = {}
    for name, kind in kinds.items():
        value = event.attributes.get(name)
        if value is None:
            continue
        given = type_of(value)
        if not _fits(given, kind):
            return None
        if kind is ValueType.FLOAT and type(value) is int:
            changed[name] = float(value)
    return replace(event, attributes={**event.attributes, **changed}) if changed else event


def batch_as_taken(batch: EventBatch, kinds: Mapping[str, Kinds]) -> EventBatch:
    """Return a batch without the events of some types that ``event_as_taken`` leaves out, and with its doubles."""
    left_out = np.zeros(len(batch), np.bool_)
    columns = dict(batch.columns)
    for code, event_type in enumerate(batch.types):
        for name, kind in kinds.get(event_type, {}).items():
            for key in [key for key in columns if key[0] == name and key[1] is not kind]:
                valid = np.asarray(columns[key].is_valid().to_numpy(zero_copy_only=False), np.bool_)
                rows = valid & (batch.codes == code)
                if not rows.any():
                    continue
                if not _fits(key[1], kind):
                    left_out |= rows
                elif kind is ValueType.FLOAT:
                    mine = pa.array(rows)
                    column = columns[key]
                    doubles = pc.if_else(
                        mine, column.cast(pa.float64(), safe=False), pa.nulls(len(batch), pa.float64())
                    )
                    own = columns.get((name, kind))
                    columns[name, kind] = doubles if own is None else pc.coalesce(own, doubles)
                    columns[key] = pc.if_else(mine, pa.nulls(len(batch), column.type), column)
    if any(column is not batch.columns.get(key) for key, column in columns.items()):
        batch = replace(batch, columns=columns)
    return batch.take(np.flatnonzero(~left_out)) if left_out.any() else batch


def moments_of(event_type: EventType) -> tuple[str, ...]:
    """The attributes that are times."""
    return tuple(each.name for each in event_type.attributes if each.type is ValueType.TIMESTAMP)


def with_moments(batch: EventBatch, moments: Mapping[str, tuple[str, ...]]) -> EventBatch:
    """Return a batch in which attributes that are times are no mere integers, so that they are written as times.

    >>> batch = with_moments(EventBatch.from_events([Event("e", 1, {"at": 2})]), {"e": ("at",)})
    >>> list(batch.columns)
    [('at', <ValueType.TIMESTAMP: 'timestamp'>)]
    """
    columns = dict(batch.columns)
    for code, event_type in enumerate(batch.types):
        for name in moments.get(event_type, ()):
            numbers = columns.get((name, ValueType.INT))
            if numbers is None:
                continue
            mine = pa.array(batch.codes == code)
            times = pc.if_else(mine, numbers, pa.scalar(None, pa.int64())).cast(ValueType.TIMESTAMP.arrow)
            if times.null_count == len(batch):
                continue
            own = columns.get((name, ValueType.TIMESTAMP))
            others = pc.if_else(mine, pa.scalar(None, pa.int64()), numbers)
            columns = {  # the place of the attribute among the others stays
                (name, ValueType.TIMESTAMP) if key == (name, ValueType.INT) else key: column
                for key, column in columns.items()
            }
            columns[name, ValueType.TIMESTAMP] = times if own is None else pc.coalesce(own, times)
            if others.null_count < len(batch):
                columns[name, ValueType.INT] = others
    return replace(batch, columns=columns) if columns.keys() != batch.columns.keys() else batch


def batch_of_made(events: Iterable[Event], types: Iterable[EventType]) -> EventBatch:
    """Put composite events of some types into columns; in Python a time is an integer, in a column it is a time."""
    return with_moments(EventBatch.from_events(events), {each.name: moments_of(each) for each in types})


def _fits(given: ValueType, kind: ValueType) -> bool:
    """Whether values of a type may stand for those of another; times are integers to interval rules."""
    return given is kind or (given is ValueType.INT and kind in (ValueType.FLOAT, ValueType.TIMESTAMP))
