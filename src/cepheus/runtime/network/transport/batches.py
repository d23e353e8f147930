"""Batches of events, as files give them, in the columns that messages have."""

from __future__ import annotations

import numpy as np

from cepheus.core.batch import EventBatch, python_values
from cepheus.core.event import EventId
from cepheus.core.values import Value, ValueType
from cepheus.runtime.network.protocol.event_columns import EventColumns, Shape
from cepheus.runtime.network.transport.carried import no_lists


def columns_of(batch: EventBatch) -> EventColumns:
    """Give the events of a batch in columns; attributes that no event of a type has are left out.

    >>> from cepheus.core.event import Event
    >>> events = [Event("Smoke", 1, {"area": "A1"}), Event("Temp", 2, {"area": "A1", "value": 51.5})]
    >>> columns_of(EventBatch.from_events(events)) == events
    True
    """
    for name, value_type in batch.columns:
        if value_type is ValueType.LIST:
            raise no_lists(name)
    if batch.errors or batch.probabilities is not None or batch.starts is not None or batch.provenance is not None:
        return EventColumns.of(batch.to_events())
    values = {key: python_values(column, key[1]) for key, column in batch.columns.items()}
    shapes: list[Shape] = []
    columns: list[list[list[Value | None]]] = []
    for code, kind in enumerate(batch.types):
        rows = np.flatnonzero(batch.codes == code).tolist()
        found: dict[str, list[Value | None]] = {}
        for (name, _), column in values.items():
            own = [column[row] for row in rows]
            if all(value is None for value in own):
                continue
            if name in found:  # an attribute of several types of values: one column holds them all
                own = [one if one is not None else other for one, other in zip(found[name], own, strict=True)]
            found[name] = own
        shapes.append((kind, tuple(found)))
        columns.append(list(found.values()))
    known = batch.id_list()
    ids: list[EventId | None] = [None] * len(batch) if known is None else [*known]
    rests = {} if batch.sequences is None else {row: {"sequence": n} for row, n in enumerate(batch.sequences.tolist())}
    return EventColumns(shapes, batch.codes.tolist(), batch.times.tolist(), ids, columns, rests)
