"""Frames as a stream of bytes, each with its length before it, cut into pieces that connections bear.

Small frames travel many together, long ones in several pieces: how long a message is matters to nobody but its reader.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from cepheus.runtime.network.protocol.codec import MessageError
from cepheus.runtime.network.protocol.link import Frame, decode_frame

PIECE = 1 << 20
"""Bytes of the longest piece."""

LONGEST = 1 << 30
"""Bytes of the longest message between processors, who trust one another."""

_LENGTH = struct.Struct("<I")


def encode_frames(frames: Iterable[bytes]) -> bytes:
    """Put frames one after the other, each with its length before it."""
    parts = []
    for frame in frames:
        parts += [_LENGTH.pack(len(frame)), frame]
    return b"".join(parts)


def pieces(data: bytes) -> Iterator[bytes]:
    """Cut bytes into pieces."""
    if len(data) <= PIECE:
        yield data
        return
    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]


class FrameReader:
    """Puts frames together again; MessageError where there is something else, or one longer than ``longest``.

    >>> reader, data = FrameReader(), encode_frames([bytes(16), bytes(16)])
    >>> len([*reader.take(data[:30])]), len([*reader.take(data[30:])])
    (1, 1)
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._missing = 0

    def take(self, data: bytes) -> Iterator[Frame]:
        """Give the frames that end in these bytes, one after the other."""
        if self._parts:
            self._parts.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return
            data = b"".join(self._parts)
            self._parts = []
        start = 0
        while start < len(data):
            end = start + _LENGTH.size
            if end <= len(data):
                end += self._length(data, start)
            if end > len(data):
                self._parts, self._missing = [data[start:]], end - len(data)
                return
            yield decode_frame(data[start + _LENGTH.size : end])
            start = end

    def end(self) -> None:
        """No more bytes come."""
        if self._parts:
            raise MessageError.of("message", "this is no message of the network: it is cut off")

    def _length(self, data: bytes, start: int) -> int:
        (length,) = _LENGTH.unpack_from(data, start)
        if length > self._longest:
            raise MessageError.of(
                "message-size", f"a message has {length} bytes, more than {self._longest} are not taken"
            )
        return int(length)
