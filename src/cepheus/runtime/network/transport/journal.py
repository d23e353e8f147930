"""A node's journal on disk: a snapshot, and what the node was told since, each line with its checksum.

A line that was cut off by a crash was never answered, so it is dropped when the journal is read; the sender sends it
again. Damage anywhere else is an error: the head of a line has a checksum of its own, to tell one from the other.
What cannot be written, on a full disk for one, must not be answered: then the journal is broken, and the node ends.
Snapshots are written by a forked process, which does not hold the node up.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import signal
import struct
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from cepheus.core.errors import CepheusError, OptionError, Place, SnapshotError
from cepheus.core.private_folder import why_not_private
from cepheus.runtime.network.processor.journaled import Told
from cepheus.runtime.network.protocol.codec import MessageError, decode, encode

_FIRST_OTHER_FILE = 3
_LOOK_EVERY = 0.005


@dataclass(frozen=True, slots=True)
class ForkedWork:
    """Work that is under way in a process of its own, and since when."""

    process: int
    since: float

    @classmethod
    def begin(cls, work: Callable[[], object]) -> ForkedWork:
        """Begin with work that needs nothing but memory and files that it opens itself: no connections, no threads.

        The process is a copy of this one at this moment; memory is copied only where either of them changes it.
        """
        with warnings.catch_warnings():
            # Python warns that locks of other threads stay locked in the copy: the work takes none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            return cls(process, time.perf_counter())
        code = 1
        try:
            gc.disable()
            signal.set_wakeup_fd(-1)
            os.closerange(_FIRST_OTHER_FILE, os.sysconf("SC_OPEN_MAX"))  # connections and locks end with this process
            work()
            code = 0
        finally:
            os._exit(code)

    def ended(self) -> bool | None:
        """Whether the work was done: None while it is under way."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        return status == 0 if process else None

    def wait(self, patience: float) -> bool:
        """Wait for the end, and tell whether the work was done; after so many seconds since its beginning, end it."""
        while (done := self.ended()) is None:
            if self.seconds > patience:
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                return False
            time.sleep(_LOOK_EVERY)
        return done

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.since


log = logging.getLogger("cepheus.node")

_MAGIC = b"CEPHJRN1"
_HEAD = struct.Struct("<IqHI")
_CHECK = struct.Struct("<I")
_LINE = _HEAD.size + _CHECK.size


class JournalBrokenError(CepheusError):
    """What a node was told cannot be written down; whoever told it must not believe that it was heard."""


class DiskJournal:
    """A journal in a directory of its own; only one process at a time may have it open.

    ``append`` only notes a line. ``flush`` hands all of them to the operating system, before any answer leaves; with
    ``sync`` they are on the disk by then, and survive a loss of power too. JournalBrokenError if that fails.
    """

    def __init__(self, directory: Path, *, sync: bool = False, limit: int = 32 << 20) -> None:
        self.directory = directory
        self._limit = limit
        self._sync = sync
        try:
            directory.mkdir(0o700, parents=True, exist_ok=True)
            self._lock = (directory / "lock").open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise OptionError.of(
                "node-state",
                "another process has this directory of a node open",
                place=Place(str(directory)),
                hint="give every node a directory of its own",
            ) from None
        except OSError as error:
            raise OptionError.of(
                "node-state", f"the node's directory cannot be used: {_reason(error)}", place=Place(str(directory))
            ) from None
        problem = why_not_private(directory)
        if problem is not None:  # they could make the node believe anything
            log.warning("others could change what the node knows: %s; give it a directory of its own", problem)
        self._base = max(self._generations("snapshot"), default=0)
        self._generation = max([*self._generations("journal"), self._base])
        self._tidy()
        self.snapshot_bytes = 0
        self.journal_bytes = 0
        self._file: FileIO | None = None
        self._lines_to_write: list[bytes] = []
        self._broken: JournalBrokenError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_new(self) -> bool:
        """Whether nothing has ever been written."""
        path = self._journal(self._generation)
        return self._generation == 0 and (not path.exists() or path.stat().st_size <= len(_MAGIC))

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the journal has grown so long that a snapshot is worth its price."""
        return self.journal_bytes > max(self._limit, 4 * self.snapshot_bytes)

    def append(self, told: Told) -> None:
        """Write one line."""
        body = told.body or encode(told.message)
        sender = told.sender.encode()
        content = sender + body
        head = _HEAD.pack(len(body), told.now, len(sender), zlib.crc32(content))
        line = head + _CHECK.pack(zlib.crc32(head)) + content
        self._lines_to_write.append(line)
        self.journal_bytes += len(line)

    def flush(self) -> None:
        """Write what was appended."""
        if self._broken is not None:
            raise self._broken  # the file may end in half a line, after which nothing must follow
        if not self._lines_to_write:
            return
        data = memoryview(b"".join(self._lines_to_write))
        try:
            file = self._open()
            while data:
                data = data[file.write(data) :]
            if self._sync:
                os.fdatasync(file.fileno())
        except OSError as error:
            self._broken = JournalBrokenError.of(
                "journal-broken",
                f"the journal cannot be written: {_reason(error)}",
                place=Place(str(self._journal(self._generation))),
                hint="make room on the disk and start the node again; what it has not acknowledged is sent to it again",
            )
            raise self._broken from None
        self._lines_to_write.clear()

    def replace(self, snapshot: bytes) -> None:
        """Start anew from a snapshot."""
        generation = self.turn()
        self.write_snapshot(generation, snapshot)
        self.begin_from(generation)

    def turn(self) -> int:
        """Go on in a new file; give the generation that a snapshot of this moment has.

        Until ``begin_from`` is told that it has been written, the last snapshot and all lines after it are kept.
        """
        self.close_file()
        self._generation += 1
        self.journal_bytes = 0
        return self._generation

    def write_snapshot(self, generation: int, snapshot: bytes) -> None:
        """Write a snapshot; another process may do that. OSError if there is no room for it."""
        part = self.directory / f"snapshot.{generation}.part"
        with open(part, "wb", opener=_for_us_alone) as file:
            file.write(snapshot)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._snapshot(generation))
        self._sync_directory()

    def begin_from(self, generation: int) -> None:
        """A snapshot has been written: what is older is not needed any more."""
        self._base = generation
        self._tidy()
        self.snapshot_bytes = self._snapshot(generation).stat().st_size

    def read(self) -> tuple[bytes | None, list[Told]]:
        """Return the last snapshot and the lines after it; a line cut off at the end is removed."""
        path = self._snapshot(self._base)
        snapshot = path.read_bytes() if path.exists() else None
        if snapshot is None and min(self._generations("journal"), default=0):
            raise self._damaged(path, "the snapshot is missing")
        self.snapshot_bytes = len(snapshot or b"")
        lines = [line for generation in range(self._base, self._generation + 1) for line in self._lines(generation)]
        return snapshot, lines

    def close(self) -> None:
        """Write out everything and let another process have the directory."""
        self.close_file()
        self._lock.close()

    def abandon(self) -> None:
        """Let another process have the directory as it is; what could not be written stays unwritten."""
        with suppress(OSError):
            if self._file is not None:
                self._file.close()
        self._lock.close()

    def close_file(self) -> None:
        """Write out everything."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO:
        if self._file is None:
            self._file = FileIO(self._journal(self._generation), "a", opener=_for_us_alone)
            if self._file.tell() == 0:
                self._file.write(_MAGIC)
                if self._sync:
                    self._sync_directory()
        return self._file

    def _tidy(self) -> None:
        """Remove what is older than the last snapshot, and what a crash left behind."""
        for path in [*self.directory.glob("snapshot.*"), *self.directory.glob("journal.*")]:
            if not path.suffix[1:].isdecimal() or int(path.suffix[1:]) < self._base:
                path.unlink(missing_ok=True)

    def _lines(self, generation: int) -> Iterator[Told]:
        path = self._journal(generation)
        data = path.read_bytes() if path.exists() else b""
        if data[: len(_MAGIC)] != _MAGIC[: len(data)]:
            raise self._damaged(path, "this is no journal of a node")
        end = len(_MAGIC) if len(data) >= len(_MAGIC) else 0
        while end and end + _LINE <= len(data):
            head, (checksum,) = data[end : end + _HEAD.size], _CHECK.unpack_from(data, end + _HEAD.size)
            length, now, sender_length, content_checksum = _HEAD.unpack(head)
            content = data[end + _LINE : end + _LINE + sender_length + length]
            if zlib.crc32(head) != checksum:
                raise self._damaged(path, f"the line at byte {end} does not fit its checksum")
            if len(content) < sender_length + length:
                break
            if zlib.crc32(content) != content_checksum:
                raise self._damaged(path, f"the line at byte {end} does not fit its checksum")
            end += _LINE + len(content)
            body = content[sender_length:]
            try:
                told = Told(content[:sender_length].decode(), decode(body), now, body)
            except (MessageError, UnicodeDecodeError) as error:
                raise self._not_told(path, end - _LINE - len(content), error) from error
            yield told
        if end < len(data):
            if generation < self._generation:
                raise self._damaged(path, f"the line at byte {end} is cut off, and others follow in another file")
            with path.open("r+b") as file:
                file.truncate(end)
        self.journal_bytes = end

    def _generations(self, kind: str) -> list[int]:
        return [int(path.suffix[1:]) for path in self.directory.glob(f"{kind}.*") if path.suffix[1:].isdecimal()]

    def _snapshot(self, generation: int) -> Path:
        return self.directory / f"snapshot.{generation}"

    def _journal(self, generation: int) -> Path:
        return self.directory / f"journal.{generation}"

    def _sync_directory(self) -> None:
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _not_told(self, path: Path, at: int, error: Exception) -> SnapshotError:
        """The error for a line that is whole but says nothing, or nothing in this version's words."""
        told = error.diagnostics[0] if isinstance(error, MessageError) else None
        if told is not None and told.code == "message-version":
            return SnapshotError.of("snapshot-version", told.message, place=Place(str(path)), hint=told.hint)
        return self._damaged(path, f"the line at byte {at} says nothing")

    def _damaged(self, path: Path, what: str) -> SnapshotError:
        return SnapshotError.of(
            "snapshot-damaged",
            f"the node's state is damaged: {what}",
            place=Place(str(path)),
            hint="start the node with an empty directory; its neighbours build their trees anew",
        )


def _for_us_alone(path: str, flags: int) -> int:
    """Open a file, a new one for this user alone."""
    return os.open(path, flags, 0o600)


def _reason(error: OSError) -> str:
    return (error.strerror or "it failed").lower()
