"""Where the state of a shard is kept: an interface small enough for a dict, a test that kills, and Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

PART = 4 << 20
"""The most bytes that are kept under one key."""


class ShardStore(Protocol):
    """The state of one shard. All changes of one micro-batch become durable together, or none does."""

    def head(self) -> bytes | None:
        """Give the head; None for a shard that is new."""

    def set_head(self, data: bytes) -> None:
        """Write the head."""

    def part(self, number: int, part: int) -> bytes:
        """Give a part of the blob of that number."""

    def set_part(self, number: int, part: int, data: bytes) -> None:
        """Write a part of a blob."""

    def remove_part(self, number: int, part: int) -> None:
        """Forget a part of a blob."""


def write_blob(store: ShardStore, number: int, data: bytes) -> int:
    """Write a blob in parts, and give how many there are."""
    parts = 0
    for part in _cut(data):
        store.set_part(number, parts, part)
        parts += 1
    return parts


def read_blob(store: ShardStore, number: int, parts: int) -> bytes:
    """Give a blob."""
    return b"".join(store.part(number, part) for part in range(parts))


def remove_blob(store: ShardStore, number: int, parts: int) -> None:
    """Forget a blob."""
    for part in range(parts):
        store.remove_part(number, part)


def _cut(data: bytes) -> Iterator[bytes]:
    for start in range(0, max(len(data), 1), PART):
        yield data[start : start + PART]
