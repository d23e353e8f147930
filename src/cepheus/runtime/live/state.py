"""The folder in which a live run keeps what it needs to go on: one file, replaced as a whole.

The session's snapshot and the positions of all sources and sinks are one file, so that they always fit together: it is
written beside the old one, brought to the disk, and takes its name in one step. A crash at any moment leaves one or
the other.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from cepheus.core.errors import OptionError, Place, SnapshotError
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.runtime.live.contract import Output, Position

KIND = "live run"
_FILE = "state"
_ANYTHING = form.by_name(lambda value, _path: value)
_HEADER = form.record(
    sources=_ANYTHING,
    sinks=_ANYTHING,
    repeats=form.by_name(form.count),
    repeats_at=form.maybe(form.time),
    pending=form.listing(form.row(form.text, form.text, form.text)),
    options=form.text,
)


@dataclass(frozen=True, slots=True)
class SavedState:
    """All that a run needs to go on.

    ``pending`` are composite events that no sink has yet, ``repeats`` how often a key was given at the time
    ``repeats_at``; ``options`` tells which options the session was started with.
    """

    session: bytes
    sources: Mapping[str, Position] = field(default_factory=dict)
    sinks: Mapping[str, Position] = field(default_factory=dict)
    repeats: Mapping[str, int] = field(default_factory=dict)
    repeats_at: int | None = None
    pending: Output = field(default_factory=lambda: Output((), (), ()))
    options: str = ""

    def to_bytes(self) -> bytes:
        """The state as one checksummed envelope."""
        header: dict[str, Any] = {
            "sources": dict(self.sources),
            "sinks": dict(self.sinks),
            "repeats": dict(self.repeats),
            "repeats_at": self.repeats_at,
            "pending": list(zip(self.pending.keys, self.pending.types, self.pending.lines, strict=True)),
            "options": self.options,
        }
        return pack(KIND, header, {"session": self.session})

    @classmethod
    def from_bytes(cls, data: bytes) -> SavedState:
        """Read a state; SnapshotError if it is damaged, or of another version.

        >>> SavedState.from_bytes(SavedState(b"..", sources={"file": 7}).to_bytes()).sources
        {'file': 7}
        """
        header, blobs = unpack(KIND, data)
        form.only_blobs(blobs, ("session",))
        read = _HEADER(header, "$")
        pending = read.pop("pending")
        columns = ([row[place] for row in pending] for place in range(3))
        return cls(blobs["session"], pending=Output(*columns), **read)


class StateFolder:
    """The folder of a run's state; one process at a time may have it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = StateFolder(Path(name))
    ...     folder.save(SavedState(b"..").to_bytes())
    ...     found = folder.load()
    ...     folder.close()
    >>> found.session
    b'..'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[bytes] | None = None
        try:
            path.mkdir(0o700, parents=True, exist_ok=True)
            self._lock = (path / "lock").open("wb")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise OptionError.of(
                "live-state",
                "another process has this folder of a live run",
                place=Place(str(path)),
                hint="stop it, or give every run a folder of its own",
            ) from None
        except OSError as error:
            raise self._unusable(error) from None

    def load(self) -> SavedState | None:
        """What was saved last, None if nothing was."""
        path = self.path / _FILE
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error) from None
        try:
            return SavedState.from_bytes(data)
        except SnapshotError as error:
            found = error.diagnostics[0]
            hint = (
                found.hint or "begin anew with --fresh: what was under way is forgotten, sources begin at their start"
            )
            raise SnapshotError.of(found.code, found.message, place=Place(str(path)), hint=hint) from None

    def save(self, data: bytes) -> None:
        """Put a state in place of the last one; once this returns, no crash loses it."""
        part = self.path / f"{_FILE}.part"
        try:
            with open(part, "wb", opener=_for_us_alone) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path / _FILE)
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise self._unusable(error) from None

    def forget(self) -> None:
        """Begin anew: remove all that was kept, of sources and sinks as well."""
        own = (self.path / _FILE, self.path / f"{_FILE}.part", *self.path.rglob("*.spool"))
        try:
            for path in own:  # nothing else: the folder may hold what is not ours
                path.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        """Let another process have the folder."""
        if self._lock is not None:
            self._lock.close()

    def _unusable(self, error: OSError) -> OptionError:
        reason = (error.strerror or "it failed").lower()
        return OptionError.of("live-state", f"the state cannot be kept: {reason}", place=Place(str(self.path)))


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
