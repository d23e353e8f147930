"""Composite events as lines of a file, each exactly once: a run that goes on cuts the file to the length it had when
its state was saved, and writes what it finds again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from cepheus.runtime.live.contract import NOWHERE, Output, Position, Surroundings


@dataclass(frozen=True, slots=True)
class ToFile:
    """A file of JSON lines that grows."""

    path: Path

    def build(self, around: Surroundings) -> FileWriter:
        """Make the writer."""
        return FileWriter(self, around)


class FileWriter:
    """Writes lines at the end of a file."""

    sure = False

    def __init__(self, described: ToFile, around: Surroundings) -> None:
        self._path = described.path
        self._around = around
        self._file: FileIO | None = None
        self._length = 0

    async def open(self, position: Position) -> None:
        """Open the file, cut to its length of then; what it holds when a run begins anew is kept."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = FileIO(self._path, "a")
            size = os.fstat(self._file.fileno()).st_size
            if position is not NOWHERE and size < position:
                raise self._around.refused(
                    f"'{self._path}' is shorter than when the state was saved",
                    "put it back, or begin anew with --fresh",
                )
            self._length = size if position is NOWHERE else position
            self._file.truncate(self._length)
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
            raise self._around.refused(f"'{self._path}' cannot be written: {reason}") from None

    async def write(self, output: Output) -> None:
        """Add lines."""
        assert self._file is not None
        data = memoryview("".join(f"{line}\n" for line in output.lines).encode())
        self._length += len(data)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
            raise self._around.refused(f"'{self._path}' cannot be written: {reason}") from None

    async def flush(self) -> Position:
        """Bring the lines to the disk."""
        assert self._file is not None
        await asyncio.to_thread(os.fdatasync, self._file.fileno())
        return self._length

    async def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass(frozen=True, slots=True)
class ToConsole:
    """Standard output; after a kill what was found since the state was last saved is printed again."""

    def build(self, around: Surroundings) -> ConsoleWriter:
        """Make the writer."""
        del around
        return ConsoleWriter()


class ConsoleWriter:
    """Prints lines."""

    sure = True

    async def open(self, position: Position) -> None:
        """There is nothing to open."""

    async def write(self, output: Output) -> None:
        """Print."""
        sys.stdout.write("".join(f"{line}\n" for line in output.lines))
        sys.stdout.flush()

    async def flush(self) -> Position:
        """Lines are printed at once."""
        return True

    async def close(self) -> None:
        """There is nothing to close."""
