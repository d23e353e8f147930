"""The total order of events on Spark: by time, then sequence number, then the events' own content.

Rows come out of a shuffle in any order. Events of equal time that no sequence number tells apart are ordered by type,
start, then attributes by name, undefined values first, errors, probability, then id, so that every run gives the same
answer.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.schema import OWNED_ATTRIBUTE
from cepheus.core.values import ValueType


def settle_ties(batch: EventBatch) -> EventBatch:
    """Put a batch that is in order of time into total order.

    >>> from cepheus.core.event import Event
    >>> events = [Event("A", 1), Event("B", 2, {"x": 7}), Event("B", 2, {"x": 5}), Event("A", 2)]
    >>> settle_ties(EventBatch.from_events(events)).to_dicts()[1:]
    [{'type': 'A', 'time': 2}, {'type': 'B', 'time': 2, 'x': 5}, {'type': 'B', 'time': 2, 'x': 7}]
    """
    rows = tied_rows(batch)
    return batch if rows is None else batch.take(rows)


def tied_rows(batch: EventBatch) -> NDArray[np.int64] | None:
    """The total order of the rows of a batch that is in order of time; None if no two have equal times."""
    same = batch.times[1:] == batch.times[:-1]
    if not same.any():
        return None
    tied = np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))
    rows = np.arange(len(batch))
    rows[tied] = tied[np.lexsort(_keys(batch.take(tied)))]
    return rows


def _keys(batch: EventBatch) -> list[NDArray[np.generic]]:
    """What events are sorted by, the first criterion last."""
    keys: list[NDArray[np.generic]] = [batch.times]
    if batch.sequences is not None:
        keys.append(batch.sequences)
    keys.append(_ranks(pa.array(batch.types, pa.string()))[batch.codes])
    if batch.starts is not None:
        keys.append(batch.starts)
    content = sorted((name, kind.value, kind) for name, kind in batch.columns if name != OWNED_ATTRIBUTE)
    for name, _, value_type in content:
        column = batch.columns[name, value_type]
        if column.null_count:
            keys.append(column.is_valid().to_numpy(zero_copy_only=False))
        keys.append(_sortable(column, value_type))
    for name in sorted(batch.errors):
        keys += _error_keys(ErrorColumn.of(batch.errors[name]))
    if batch.probabilities is not None:
        keys.append(batch.probabilities)
    if batch.ids is not None:
        ids = batch.ids
        keys.append(np.asarray(ids) if isinstance(ids, range | np.ndarray) else _sortable_ids(list(map(str, ids))))
    keys.reverse()
    return keys


def _error_keys(errors: ErrorColumn) -> list[NDArray[np.generic]]:
    """What errors are sorted by: kind, then parameters, of other kinds than Normal and Uniform their text."""
    first = errors.first
    if errors.others:
        ranks = _ranks(pa.array(list(map(str, errors.others)), pa.string())).astype(np.float64)
        others = errors.kinds == ErrorKind.OTHER
        first = first.copy()
        first[others] = ranks[errors.first[others].astype(np.int64)]
    return [errors.kinds, first, errors.second]


def _sortable(column: pa.Array, value_type: ValueType) -> NDArray[np.generic]:
    match value_type:
        case ValueType.STRING | ValueType.LIST:
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            if not len(coded.dictionary):
                return np.zeros(len(column), np.int64)
            indices = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            found: NDArray[np.generic] = _ranks(coded.dictionary)[indices]
        case ValueType.FLOAT:
            found = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        case ValueType.TIMESTAMP:
            found = column.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        case ValueType.BOOL:
            found = column.fill_null(False).to_numpy(zero_copy_only=False)
        case ValueType.INT:
            found = column.fill_null(0).to_numpy(zero_copy_only=False)
    return found


def _sortable_ids(ids: list[str]) -> NDArray[np.generic]:
    return _sortable(pa.array(ids, pa.string()), ValueType.STRING)


def _ranks(texts: pa.Array) -> NDArray[np.int64]:
    """The rank of each text among all, by its bytes."""
    ranks = np.empty(len(texts), np.int64)
    ranks[pc.sort_indices(texts).to_numpy()] = np.arange(len(texts))
    return ranks
