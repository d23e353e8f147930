"""Events that wait, as part of a snapshot: a JSON object and an Arrow stream of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch, Provenance
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.base import snapshot_form as form


def batch_to_bytes(batch: EventBatch) -> tuple[dict[str, Any], bytes]:
    """Write a batch as a JSON object and an Arrow stream.

    >>> from cepheus.core.event import Event
    >>> header, blob = batch_to_bytes(EventBatch.from_events([Event("Temp", 5, {"value": 1.5}, id="t1")]))
    >>> batch_from_bytes(header, blob).to_events()[0].attributes
    {'value': 1.5}
    """
    arrays: dict[str, pa.Array] = {"codes": pa.array(batch.codes), "times": pa.array(batch.times)}
    for name, array in (
        ("sequences", batch.sequences),
        ("probabilities", batch.probabilities),
        ("starts", batch.starts),
    ):
        if array is not None:
            arrays[name] = pa.array(array)
    for index, ((_, kind), column) in enumerate(batch.columns.items()):
        arrays[f"column {index}"] = column if column.type == kind.arrow else column.cast(kind.arrow)
    record_batch = pa.record_batch(list(arrays.values()), names=list(arrays))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, record_batch.schema) as writer:
        writer.write_batch(record_batch)
    header = {
        "types": list(batch.types),
        "columns": [[name, kind.value] for name, kind in batch.columns],
        "ids": batch.id_list(),
        "errors": {
            name: [None if error is None else str(error) for error in row] for name, row in batch.errors.items()
        },
        "provenance": None
        if batch.provenance is None
        else {
            "rules": list(batch.provenance.rules),
            "codes": batch.provenance.rule_codes.tolist(),
            "made_of": [list(parts) for parts in batch.provenance.made_of],
        },
    }
    return header, sink.getvalue().to_pybytes()


_PROVENANCE = form.record(
    rules=form.listing(form.text),
    codes=form.listing(form.count),
    made_of=form.listing(form.listing(form.event_id)),
)
_HEADER = form.record(
    types=form.distinct(form.listing(form.text)),
    columns=form.distinct(form.listing(form.row(form.text, form.value_type))),
    ids=form.maybe(form.listing(form.event_id)),
    errors=form.by_name(form.listing(form.maybe(form.distribution))),
    provenance=form.maybe(_PROVENANCE),
)
_NUMBERS: dict[str, pa.DataType] = {
    "codes": pa.int32(),
    "times": pa.int64(),
    "sequences": pa.int64(),
    "probabilities": pa.float64(),
    "starts": pa.int64(),
}


def batch_from_bytes(header: object, blob: bytes) -> EventBatch:
    """Read a batch that waits in a snapshot; an error if this is none, or if its events are not in order."""
    found = _HEADER(header, "$.waiting")
    with pa.ipc.open_stream(blob) as reader:
        table = reader.read_all().combine_chunks()
    table.validate(full=True)  # of what others may have written, not even the offsets are sure
    arrays = {name: _one(table.column(name)) for name in table.column_names}
    numbers = {name: _numbers(arrays[name], kind) for name, kind in _NUMBERS.items() if name in arrays}
    columns = {tuple(key): arrays[f"column {index}"] for index, key in enumerate(found["columns"])}
    for (name, kind), column in columns.items():
        form.require(column.type == kind.arrow, "$.waiting", f"the column {name} is of another type")
    provenance = found["provenance"]
    batch = EventBatch(
        types=tuple(found["types"]),
        codes=numbers["codes"],
        times=numbers["times"],
        columns=columns,
        sequences=numbers.get("sequences"),
        ids=found["ids"],
        probabilities=numbers.get("probabilities"),
        errors=found["errors"],
        starts=numbers.get("starts"),
        provenance=None
        if provenance is None
        else Provenance(
            tuple(provenance["rules"]),
            np.array(provenance["codes"], np.int32),
            [tuple(parts) for parts in provenance["made_of"]],
        ),
    )
    _require_sense(batch)
    return batch


def _numbers(array: pa.Array, kind: pa.DataType) -> NDArray[Any]:
    form.require(array.type == kind and array.null_count == 0, "$.waiting", "numbers are of another type")
    numbers: NDArray[Any] = array.to_numpy()
    return numbers


def _require_sense(batch: EventBatch) -> None:
    """Refuse columns of different lengths, types that do not exist, and what is no time or probability."""
    path, count = "$.waiting", len(batch)
    form.all_between(batch.codes, 0, len(batch.types), path)
    form.all_between(batch.times, MIN_TIME, MAX_TIME + 1, path)
    form.require(bool((np.diff(batch.times) >= 0).all()), path, "the events are not in the order of time")
    form.require(batch.ids is None or len(batch.ids) == count, path, "there are more or fewer ids than events")
    for row in batch.errors.values():
        form.require(len(row) == count, path, "there are more or fewer errors than events")
    if batch.probabilities is not None:
        likely = (batch.probabilities >= 0.0) & (batch.probabilities <= 1.0)
        form.require(bool(likely.all()), path, "a probability is none")
    if batch.starts is not None:
        form.require(bool((batch.starts <= batch.times).all()), path, "an event ends before it starts")
    if batch.provenance is not None:
        made = batch.provenance
        form.require(len(made.rule_codes) == len(made.made_of) == count, path, "events come from more or fewer rules")
        form.all_between(made.rule_codes, -1, max(1, len(made.rules)), path)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
