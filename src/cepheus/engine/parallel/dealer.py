"""Dealing events out to the engines of a group, by their keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheus.core.values import Value
from cepheus.engine.parallel.keys import KeyColumns
from cepheus.engine.parallel.route import BUCKETS, bucket_of, deal_rows, sort_rows
from cepheus.kernel.program import Words


class Dealer:
    """Knows which engine has which keys.

    Keys fall into buckets. A bucket goes to the engine that has had the fewest events when its first event comes, the
    fullest buckets of a batch first, so that a few frequent keys do not meet in one engine; it stays there for ever.
    """

    def __init__(self, engines: int, owners: dict[int, int] | None = None) -> None:
        self._owners = np.full(BUCKETS, -1, np.int64)
        self._loads = np.zeros(engines, np.int64)
        for bucket, owner in (owners or {}).items():
            self._owners[bucket] = owner

    @property
    def owners(self) -> dict[int, int]:
        """The owner of every bucket that has one."""
        return {int(bucket): int(self._owners[bucket]) for bucket in np.flatnonzero(self._owners >= 0)}

    def owner(self, value: Value | None) -> int:
        """Give the engine of an event with that key."""
        bucket = bucket_of(value)
        owner = int(self._owners[bucket])
        if owner < 0:
            owner = self._owners[bucket] = int(self._loads.argmin())
        self._loads[owner] += 1
        return owner

    def settle(self, counts: Words) -> None:
        """Give every bucket that has events an owner; ``counts`` tells how many."""
        met = np.flatnonzero(counts)
        fresh = met[self._owners[met] < 0]
        np.add.at(self._loads, self._owners[met[self._owners[met] >= 0]], counts[met[self._owners[met] >= 0]])
        for bucket in fresh[np.argsort(-counts[fresh], kind="stable")].tolist():
            owner = int(self._loads.argmin())
            self._owners[bucket] = owner
            self._loads[owner] += counts[bucket]

    def deal(self, rows: Words, buckets: NDArray[np.int16]) -> list[Words]:
        """Deal rows out to engines, in order."""
        counts = np.zeros_like(self._loads)
        dealt = np.empty((len(counts), len(rows)), np.int64)
        deal_rows(rows, buckets, self._owners, counts, dealt)
        return [line[:count] for line, count in zip(dealt, counts.tolist(), strict=True)]


class SortedRows:
    """Rows of a batch, with the bucket of each and how many are in each bucket."""

    def __init__(self, rows: Words, keys: KeyColumns) -> None:
        self.rows = rows
        self.buckets = np.empty(len(rows), np.int16)
        self.counts = np.zeros(BUCKETS, np.int64)
        sort_rows(keys.codes, rows, keys.columns, keys.kinds, self.buckets, self.counts)
