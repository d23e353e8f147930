"""What senders push, written down before they are answered: the spool makes a source of it that can be read again.

Whoever posts, or publishes to a broker that forgets what was acknowledged, is answered once its message is on the disk.
From there the messages are read like lines of a growing file. Files of the spool whose messages are all covered by
saved state are removed.

A message is a head (its length, that of its topic, a checksum), the topic, the payload. What a crash cut off at the end
was never answered, and is dropped.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

from cepheus.core.errors import OptionError, Place, SnapshotError
from cepheus.runtime.live.contract import Messages, Position

_HEAD = struct.Struct("<IHI")
FILE_BYTES = 64 << 20
"""A new file is begun when one has so many bytes."""

MOST_AT_ONCE = 20_000


class Spool:
    """A folder of messages: ``append`` writes, ``read`` gives what is behind a position, ``forget`` removes.

    A position is the number of a file, a place in it, and how many messages came before. Not for several threads.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     spool = Spool(Path(name))
    ...     spool.append([(b"one", "t"), (b"two", "")])
    ...     spool.sync()
    ...     messages = spool.read(None)
    ...     spool.close()
    >>> list(messages.payloads), messages.numbers, messages.origins[0]
    ([b'one', b'two'], range(0, 2), 't')
    """

    def __init__(self, folder: Path, file_bytes: int = FILE_BYTES) -> None:
        self._folder = folder
        self._file_bytes = file_bytes
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            numbers = self._numbers()
            self._number = max(numbers, default=0)
            self._size = self._whole_bytes(self._number)
            self._file = FileIO(self._path(self._number), "a")
            self._file.truncate(self._size)
        except OSError as error:
            raise self._unusable(error) from None

    def append(self, messages: Sequence[tuple[bytes, str]]) -> None:
        """Write messages, each with its topic; they survive the end of this process, not yet a loss of power."""
        parts: list[bytes] = []
        for payload, topic in messages:
            name = topic.encode()
            parts += (_HEAD.pack(len(payload), len(name), zlib.crc32(payload, zlib.crc32(name))), name, payload)
        data = memoryview(b"".join(parts))
        try:
            if self._size and self._size + len(data) > self._file_bytes:
                self.sync()
                self._file.close()
                self._number += 1
                self._file = FileIO(self._path(self._number), "a")
                self._size = 0
            whole = self._size + len(data)
            while data:
                data = data[self._file.write(data) :]
            self._size = whole
        except OSError as error:
            with suppress(OSError, ValueError):
                self._file.truncate(self._size)  # half a message would make unreadable what comes after it
            raise self._unusable(error) from None

    def sync(self) -> None:
        """Bring all that was appended to the disk; after this senders may be answered."""
        try:
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise self._unusable(error) from None

    def read(self, position: Position, most: int = MOST_AT_ONCE) -> Messages | None:
        """The messages behind a position, None if there are none now."""
        number, at, count = position or (min(self._numbers(), default=0), 0, 0)
        received = time.perf_counter()
        payloads: list[bytes] = []
        topics: list[str] = []
        while not payloads:
            path = self._path(number)
            end = self._size if number == self._number else path.stat().st_size if path.exists() else 0
            if at >= end:
                if number >= self._number:
                    return None
                number, at = number + 1, 0
                continue
            at = self._read_file(path, at, end, payloads, topics, most)
        after = (number, at, count + len(payloads))
        return Messages(
            after, range(count, after[2]), payloads, origins=topics if any(topics) else None, received=received
        )

    def latest(self) -> Messages | None:
        """The messages of the last file, for whoever must know what came last."""
        return self.read((self._number, 0, 0), 1 << 62)

    def forget(self, position: Position) -> None:
        """Remove the files before the one of a position."""
        for number in self._numbers() if position else ():
            if number < position[0]:
                self._path(number).unlink(missing_ok=True)

    def close(self) -> None:
        """Bring all to the disk and end."""
        self.sync()
        self._file.close()

    def _read_file(self, path: Path, at: int, end: int, payloads: list[bytes], topics: list[str], most: int) -> int:
        with path.open("rb") as file:
            file.seek(at)
            data = file.read(end - at)
        place = 0
        while place + _HEAD.size <= len(data) and len(payloads) < most:
            length, name_length, checksum = _HEAD.unpack_from(data, place)
            start = place + _HEAD.size
            name = data[start : start + name_length]
            payload = data[start + name_length : start + name_length + length]
            if len(payload) < length or zlib.crc32(payload, zlib.crc32(name)) != checksum:
                raise SnapshotError.of(
                    "snapshot-damaged",
                    f"the spool is damaged: the message at byte {at + place} does not fit its checksum",
                    place=Place(str(path)),
                )
            payloads.append(payload)
            topics.append(name.decode())
            place = start + name_length + length
        return at + place

    def _whole_bytes(self, number: int) -> int:
        """How many bytes of a file are whole messages; what a crash cut off comes after them."""
        path = self._path(number)
        if not path.exists():
            return 0
        data = path.read_bytes()
        at = 0
        while at + _HEAD.size <= len(data):
            length, name_length, checksum = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + name_length + length
            content = data[at + _HEAD.size : end]
            if end > len(data) or zlib.crc32(content) != checksum:
                break
            at = end
        return at

    def _numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.spool") if path.stem.isdecimal())

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.spool"

    def _unusable(self, error: OSError) -> OptionError:
        reason = (error.strerror or "it failed").lower()
        return OptionError.of("live-state", f"the spool cannot be written: {reason}", place=Place(str(self._folder)))
