"""Rows packed into few large ones, so that a stateful operator moves blobs and not events one by one.

Spark hands rows to a stateful operator in Python one at a time, which costs more than all the work on them. So the rows
of each task are packed before the shuffle, one blob for each shard. A blob is an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from cepheus.runtime.spark.layout import SHARD

PACKED = "slot int, payload binary"
"""The schema of packed events; ``slot`` stands for a shard."""

ROWS_TOGETHER = 1 << 17
"""How many rows are packed together at most: enough to make blobs large, few enough to hold."""


def pack(slots: Sequence[int], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack rows by shard; ``slots`` gives what each shard is called in the shuffle."""
    held: list[pa.RecordBatch] = []
    count = 0
    for rows in batches:
        held.append(rows)
        count += rows.num_rows
        if count >= ROWS_TOGETHER:
            yield _packed(slots, held)
            held, count = [], 0
    if count:
        yield _packed(slots, held)


def _packed(slots: Sequence[int], held: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(held)
    numbers = table.column(SHARD).to_numpy()
    events = table.drop_columns([SHARD])
    found, payloads = [], []
    for shard in np.unique(numbers).tolist():
        rows = np.flatnonzero(numbers == shard)
        part = events if len(rows) == len(numbers) else events.take(pa.array(rows))
        found.append(slots[shard])
        payloads.append(to_bytes(part))
    return pa.record_batch({"slot": pa.array(found, pa.int32()), "payload": pa.array(payloads, pa.binary())})


def to_bytes(rows: pa.Table | pa.RecordBatch) -> bytes:
    """Write rows as one blob.

    >>> from_bytes(to_bytes(pa.table({"a": [1, 2]}))).to_pydict()
    {'a': [1, 2]}
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pa.Table:
    """Read rows that were written as one blob."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all().combine_chunks()


def spread_slots(shards: int) -> tuple[int, ...]:
    """Find numbers for shards that Spark's hash spreads evenly: the n-th goes to the n-th of so many partitions.

    >>> spread_slots(3)
    (0, 1, 11)
    """
    slots: dict[int, int] = {}
    candidate = 0
    while len(slots) < shards:
        slots.setdefault(_murmur3(candidate) % shards, candidate)
        candidate += 1
    return tuple(slots[partition] for partition in range(shards))


def _murmur3(value: int) -> int:
    """Spark's hash of an int: murmur3 of 32 bits with seed 42, as a signed number."""
    mask = 0xFFFFFFFF
    word = (value * 0xCC9E2D51) & mask
    word = ((word << 15) | (word >> 17)) & mask
    word = (word * 0x1B873593) & mask
    found = 42 ^ word
    found = ((found << 13) | (found >> 19)) & mask
    found = (found * 5 + 0xE6546B64) & mask
    found ^= 4
    found = ((found ^ (found >> 16)) * 0x85EBCA6B) & mask
    found = ((found ^ (found >> 13)) * 0xC2B2AE35) & mask
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found
