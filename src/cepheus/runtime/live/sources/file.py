"""A file that grows, line by line, as a source; also a finite one, which ends.

A position is the byte behind the last whole line that was read and the number of lines before it, together with the
file's identity: a file that was replaced by another (by a rotation of logs) is noticed, and read from its beginning
once the old one is read to its end.
"""

from __future__ import annotations

import asyncio
import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cepheus.runtime.live.contract import Disconnected, Messages, Position, Surroundings

_BLOCK = 1 << 20
_BEGINNING = 256


@dataclass(frozen=True, slots=True)
class FromFile:
    """A file with one event a line. With ``follow`` it is waited for what is added, else its end is the end.

    >>> FromFile(Path("readings.jsonl"), follow=False).follow
    False
    """

    path: Path
    follow: bool = True
    poll: float = 0.05

    def build(self, around: Surroundings) -> FileReader:
        """Make the reader."""
        return FileReader(self, around)


class FileReader:
    """Reads whole lines; the rest of a line that is still being written waits."""

    def __init__(self, described: FromFile, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._file: BinaryIO | None = None
        self._offset = 0
        self._lines = 0

    async def open(self, position: Position) -> None:
        """Open the file where it was left; one that does not exist yet is waited for, if it is to be followed."""
        self._offset, self._lines, identity = position or (0, 0, None)
        path = self._described.path
        try:
            self._file = path.open("rb")
        except OSError as error:
            reason = (error.strerror or "it cannot be opened").lower()
            if self._described.follow:
                raise Disconnected(f"'{path}' cannot be read: {reason}") from None
            raise self._around.refused(f"'{path}' cannot be read: {reason}") from None
        size = os.fstat(self._file.fileno()).st_size
        if identity is not None and (size < self._offset or identity != self._mark()):
            self._around.say(f"'{path}' is another file than it was: it is read from its beginning")
            self._offset = 0
        self._file.seek(self._offset)

    async def read(self) -> Messages | None:
        """The lines that were added."""
        assert self._file is not None
        while True:
            messages = self._whole_lines(self._file)
            if messages is not None:
                return messages
            if not self._described.follow:
                return self._last_line(self._file)
            if self._replaced():
                await self.close()
                await self.open((self._offset, self._lines, "another"))
                assert self._file is not None
                continue
            await asyncio.sleep(self._described.poll)

    async def acknowledge(self, position: Position) -> None:
        """A file keeps its lines whatever happens."""

    async def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _whole_lines(self, file: BinaryIO) -> Messages | None:
        block = file.read(_BLOCK)
        received = time.perf_counter()
        end = block.rfind(b"\n")
        while end < 0 and len(block) and len(block) % _BLOCK == 0:
            more = file.read(_BLOCK)
            if not more:
                break
            block += more
            end = block.rfind(b"\n")
        if end < 0:
            file.seek(self._offset)
            return None
        file.seek(self._offset + end + 1)
        return self._messages(block[:end], end + 1, received)

    def _last_line(self, file: BinaryIO) -> Messages | None:
        """The last line of a finite file need not end."""
        rest = file.read()
        return self._messages(rest, len(rest), time.perf_counter()) if rest.strip() else None

    def _messages(self, data: bytes, length: int, received: float) -> Messages:
        count = data.count(b"\n") + 1
        first, self._lines = self._lines, self._lines + count
        self._offset += length
        position = (self._offset, self._lines, self._mark())
        return Messages(position, range(first, self._lines), joined=data, received=received)

    def _replaced(self) -> bool:
        """Whether the name stands for another file now, or for one that was cut off."""
        assert self._file is not None
        try:
            now = self._described.path.stat()
        except OSError:
            return False
        return self._identity() != f"{now.st_dev}:{now.st_ino}" or now.st_size < self._offset

    def _mark(self) -> str:
        """The file's identity and a checksum of its beginning: a new file may get the number of one that is gone."""
        assert self._file is not None
        beginning = os.pread(self._file.fileno(), min(self._offset, _BEGINNING), 0)
        return f"{self._identity()}:{zlib.crc32(beginning)}"

    def _identity(self) -> str:
        assert self._file is not None
        status = os.fstat(self._file.fileno())
        return f"{status.st_dev}:{status.st_ino}"
