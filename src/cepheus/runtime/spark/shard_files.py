"""The state of shards in files under a checkpoint: for streams whose micro-batches we run ourselves.

Every shard has a folder. What it wrote in a micro-batch becomes valid by one small file, the *manifest* of that
micro-batch, which is there as a whole or not at all: it has the shard's head, and says in which files its blobs are.
Files are never changed. So the micro-batch that was under way when a query died is simply run again, from the manifest
of the one before. What no manifest that is kept needs is deleted by and by.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pyarrow import fs

from cepheus.core.errors import OptionError, SnapshotError
from cepheus.engine.base.snapshot import restoring

FORMAT = 1
"""The version of the form of manifests."""

KEPT = 10
"""So many manifests of a shard are kept: Spark runs at most the last micro-batch again, people may go back further."""

_MANIFEST = "manifest-"


@dataclass(frozen=True, slots=True)
class StateFolder:
    """A folder that driver and tasks see under one address: a path, or a URI that Arrow can open."""

    location: str

    def open(self) -> tuple[fs.FileSystem, str]:
        """The file system and the path in it; OptionError if Arrow cannot open it."""
        if "://" not in self.location and not self.location.startswith("file:"):
            return fs.LocalFileSystem(), self.location
        try:
            system, path = fs.FileSystem.from_uri(_plain_uri(self.location))
        except (OSError, ValueError, ImportError) as error:
            raise OptionError.of(
                "checkpoint",
                f"tasks cannot open the checkpoint '{self.location}': {str(error).splitlines()[0]}",
                hint="use a location that pyarrow can open (file, s3, gs, hdfs, abfs), or Spark's own writeStream",
            ) from None
        return system, path

    def below(self, *names: str) -> StateFolder:
        """A folder in this one."""
        return StateFolder("/".join([self.location.rstrip("/"), *names]))


def _plain_uri(location: str) -> str:
    """A URI as Arrow takes it: Hadoop writes ``file:/path``, and calls S3 s3a.

    >>> _plain_uri("file:/tmp/x"), _plain_uri("s3a://bucket/x")
    ('file:///tmp/x', 's3://bucket/x')
    """
    if location.startswith("file:") and not location.startswith("file://"):
        return "file://" + location.removeprefix("file:")
    scheme, _, rest = location.partition("://")
    return f"{ {'s3a': 's3', 's3n': 's3'}.get(scheme, scheme) }://{rest}"


@dataclass(slots=True)
class _Manifest:
    """What was valid after a micro-batch: the head, the files of blobs by number and part, and the files that later
    manifests do not need, each with the micro-batch that dropped it.
    """

    head: str | None = None
    blobs: dict[str, str] = field(default_factory=dict)
    dropped: list[tuple[int, str]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        told = {
            "format": FORMAT,
            "head": self.head,
            "blobs": self.blobs,
            "dropped": self.dropped,
            "notes": self.notes,
        }
        return json.dumps(told, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> _Manifest:
        with restoring():
            found = json.loads(data)
            if found["format"] != FORMAT:
                raise SnapshotError.of(
                    "snapshot-version",
                    f"the state of the query has version {found['format']}, this Cepheus reads version {FORMAT}",
                    hint="go on with the Cepheus that wrote the checkpoint, or start with a new checkpoint",
                )
            blobs = {str(key): _file_name(name) for key, name in found["blobs"].items()}
            dropped = [(int(batch), _file_name(name)) for batch, name in found["dropped"]]
            return cls(None if found["head"] is None else str(found["head"]), blobs, dropped, dict(found["notes"]))


def _file_name(name: object) -> str:
    """A file in the shard's own folder, and nowhere else."""
    if not isinstance(name, str) or "/" in name or name.startswith("."):
        raise ValueError("a blob is not in the shard's folder")
    return name


def _batch_of_unnamed(name: str) -> int:
    """The micro-batch of a manifest that has not got its name; of other files one that never comes."""
    start, _, rest = name.partition(_MANIFEST)
    number = rest.partition("-")[0]
    return int(number) if start == "." and number.isdigit() else sys.maxsize


def has_manifest(folder: StateFolder, batch: int) -> bool:
    """Whether a shard has written its state after a micro-batch."""
    system, path = folder.open()
    if system.get_file_info(f"{path}/{_MANIFEST}{batch}").type is fs.FileType.File:
        return True
    return bool(_unnamed(system, path, batch))


def _unnamed(system: fs.FileSystem, path: str, batch: int) -> list[str]:
    """Manifests of a micro-batch that have not got their name, the newest first."""
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    start = f".{_MANIFEST}{batch}-"
    own = [info for info in found if info.base_name.startswith(start)]
    return [info.path for info in sorted(own, key=lambda info: info.mtime_ns or 0, reverse=True)]


class ShardFiles:
    """The state of one shard, as micro-batch ``batch`` finds and leaves it.

    Blobs are written at once, under names that nothing refers to before ``commit`` writes the manifest. A second
    attempt at the same micro-batch starts from the same manifest and replaces what the first one left. ``before`` is
    the micro-batch that this one follows, None for the first.
    """

    def __init__(self, folder: StateFolder, batch: int, before: int | None) -> None:
        self._system, self._path = folder.open()
        self._batch = batch
        self._attempt = uuid4().hex[:12]
        self._was = _Manifest() if before is None else self._read(before)
        self._now = _Manifest(self._was.head, dict(self._was.blobs), list(self._was.dropped), dict(self._was.notes))

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the micro-batch before has noted down beside the head."""
        return self._was.notes

    def note(self, notes: Mapping[str, Any]) -> None:
        """Note something down for the next micro-batch."""
        self._now.notes = dict(notes)

    def head(self) -> bytes | None:
        """Read the head."""
        return None if self._now.head is None else self._now.head.encode()

    def set_head(self, data: bytes) -> None:
        """Write the head."""
        self._now.head = data.decode()

    def part(self, number: int, part: int) -> bytes:
        """Read a part of a blob."""
        return self._bytes(self._now.blobs[f"{number}.{part}"])

    def set_part(self, number: int, part: int, data: bytes) -> None:
        """Write a part of a blob, in a file of its own."""
        key = f"{number}.{part}"
        if key in self._now.blobs:
            self.remove_part(number, part)
        name = f"{self._batch}-{key}-{self._attempt}"
        self._create(name, data)
        self._now.blobs[key] = name

    def remove_part(self, number: int, part: int) -> None:
        """Forget a part of a blob; its file stays until no manifest that is kept has it."""
        self._now.dropped.append((self._batch, self._now.blobs.pop(f"{number}.{part}")))

    def commit(self) -> None:
        """Make what was written valid, and delete what is not needed any longer."""
        old = [name for batch, name in self._now.dropped if batch <= self._batch - KEPT]
        self._now.dropped = [each for each in self._now.dropped if each[0] > self._batch - KEPT]
        self._replace(f"{_MANIFEST}{self._batch}", self._now.to_bytes())
        self._delete([*old, f"{_MANIFEST}{self._batch - KEPT}"])

    def tidy(self) -> None:
        """Delete what attempts have left that came to nothing: files of earlier micro-batches that no manifest has."""
        try:
            found = self._system.get_file_info(fs.FileSelector(self._path))
        except FileNotFoundError:
            return
        names = {info.base_name for info in found if info.type is fs.FileType.File}
        manifests = [int(name.removeprefix(_MANIFEST)) for name in names if name.startswith(_MANIFEST)]
        needed = set(self._was.blobs.values()) | {name for _, name in self._was.dropped}
        for batch in manifests:
            manifest = self._read(batch)
            needed |= set(manifest.blobs.values()) | {name for _, name in manifest.dropped}
        strays = [
            name
            for name in names
            if (first := name.partition("-")[0]).isdigit() and int(first) < self._batch and name not in needed
        ]
        old = [f"{_MANIFEST}{batch}" for batch in manifests if batch <= self._batch - KEPT]
        unnamed = [name for name in names if _batch_of_unnamed(name) <= self._batch - KEPT]
        self._delete([*strays, *old, *unnamed])

    def _read(self, batch: int) -> _Manifest:
        try:
            return _Manifest.from_bytes(self._bytes(f"{_MANIFEST}{batch}"))
        except FileNotFoundError:
            found = self._read_unnamed(batch)
        if found is None:
            raise SnapshotError.of(
                "checkpoint-state",
                f"the state that micro-batch {batch} left is not in the checkpoint: {self._path}",
                hint="a checkpoint is moved and kept as a whole; to begin anew, start with a new checkpoint",
            )
        return found

    def _read_unnamed(self, batch: int) -> _Manifest | None:
        """A manifest whose writer was killed when it had deleted the one of an attempt before, and not yet put its own
        in place: see ``_replace``. One that was not written to its end is none.
        """
        for path in _unnamed(self._system, self._path, batch):
            with self._system.open_input_file(path) as file:
                data = bytes(file.read())
            if data.endswith(b"}"):
                with suppress(SnapshotError, FileNotFoundError):
                    return _Manifest.from_bytes(data)
        return None

    def _bytes(self, name: str) -> bytes:
        with self._system.open_input_file(f"{self._path}/{name}") as file:
            return bytes(file.read())

    def _create(self, name: str, data: bytes) -> None:
        try:
            self._write(name, data)
        except FileNotFoundError:
            self._system.create_dir(self._path, recursive=True)
            self._write(name, data)

    def _write(self, name: str, data: bytes) -> None:
        with self._system.open_output_stream(f"{self._path}/{name}") as file:
            file.write(data)

    def _replace(self, name: str, data: bytes) -> None:
        """Write a file so that it is there as a whole or not at all.

        Where a rename does not replace, an old file of the name has to go first. A kill in between leaves the new one
        under its other name, by which it is found as well.
        """
        fresh = f".{name}-{self._attempt}"
        if self._system.type_name in ("s3", "gcs", "abfs"):  # there a file appears when it is closed
            self._create(name, data)
            return
        self._create(fresh, data)
        if self._system.type_name != "local":  # a rename onto an old one, of an attempt before, would be refused
            self._delete([name])
        self._system.move(f"{self._path}/{fresh}", f"{self._path}/{name}")

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            try:
                self._system.delete_file(f"{self._path}/{name}")
            except FileNotFoundError:
                continue
