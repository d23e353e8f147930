"""The state of a shard in a dict."""

from __future__ import annotations


class MemoryStore:
    """A store in memory.

    >>> from cepheus.runtime.spark.state_machine import read_blob, write_blob
    >>> store = MemoryStore()
    >>> write_blob(store, 3, b"abc"), read_blob(store, 3, 1)
    (1, b'abc')
    """

    def __init__(self) -> None:
        self._head: bytes | None = None
        self.parts: dict[tuple[int, int], bytes] = {}

    def head(self) -> bytes | None:
        """Give the head."""
        return self._head

    def set_head(self, data: bytes) -> None:
        """Write the head."""
        self._head = data

    def part(self, number: int, part: int) -> bytes:
        """Give a part of a blob."""
        return self.parts[number, part]

    def set_part(self, number: int, part: int, data: bytes) -> None:
        """Write a part of a blob."""
        self.parts[number, part] = data

    def remove_part(self, number: int, part: int) -> None:
        """Forget a part of a blob."""
        del self.parts[number, part]
