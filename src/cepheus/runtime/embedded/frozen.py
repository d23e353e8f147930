"""A batch of events as bytes, for snapshots: columns in an Arrow stream, the rest in JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch, Provenance
from cepheus.core.distribution import parse_distribution
from cepheus.core.values import ValueType


def freeze(batch: EventBatch) -> tuple[dict[str, Any], bytes]:
    """Give a batch as a JSON object and an Arrow stream.

    >>> from cepheus.core.event import Event
    >>> header, blob = freeze(EventBatch.from_events([Event("Temp", 5, {"value": 1.5}, id="t1")]))
    >>> thaw(header, blob).to_events()[0].attributes
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
        "types": batch.types,
        "columns": [[name, kind.value] for name, kind in batch.columns],
        "ids": batch.id_list(),
        "errors": {
            name: [None if error is None else str(error) for error in row] for name, row in batch.errors.items()
        },
        "provenance": None
        if batch.provenance is None
        else {
            "rules": batch.provenance.rules,
            "codes": batch.provenance.rule_codes.tolist(),
            "made_of": list(batch.provenance.made_of),
        },
    }
    return header, sink.getvalue().to_pybytes()


def thaw(header: dict[str, Any], blob: bytes) -> EventBatch:
    """Give back the batch that was frozen."""
    with pa.ipc.open_stream(blob) as reader:
        table = reader.read_all().combine_chunks()
    arrays = {name: _one(table.column(name)) for name in table.column_names}
    numbers = {name: arrays[name].to_numpy() for name in ("sequences", "probabilities", "starts") if name in arrays}
    provenance = header["provenance"]
    return EventBatch(
        types=tuple(header["types"]),
        codes=arrays["codes"].to_numpy(),
        times=arrays["times"].to_numpy(),
        columns={
            (name, ValueType(kind)): arrays[f"column {index}"] for index, (name, kind) in enumerate(header["columns"])
        },
        sequences=numbers.get("sequences"),
        ids=header["ids"],
        probabilities=numbers.get("probabilities"),
        errors={
            name: [None if text is None else parse_distribution(text) for text in row]
            for name, row in header["errors"].items()
        },
        starts=numbers.get("starts"),
        provenance=None
        if provenance is None
        else Provenance(
            tuple(provenance["rules"]),
            np.array(provenance["codes"], np.int32),
            [tuple(parts) for parts in provenance["made_of"]],
        ),
    )


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
