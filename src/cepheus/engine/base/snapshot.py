"""The envelope of snapshots: named, versioned, checksummed; made of JSON and raw arrays, nothing that runs code."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cepheus.core.errors import CepheusError, SnapshotError

_MAGIC = b"CEPHSNAP"
_VERSION = 5
_HEAD = struct.Struct("<8sHH32sQ")


def pack(kind: str, header: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None) -> bytes:
    """Put a JSON header and named blobs into one checksummed envelope.

    >>> unpack("reference", pack("reference", {"time": 5}))
    ({'time': 5}, {})
    """
    blobs = blobs or {}
    directory = {"header": header, "blobs": [[name, len(blob)] for name, blob in blobs.items()]}
    text = json.dumps(directory, separators=(",", ":")).encode()
    name = kind.encode()
    body = name + struct.pack("<Q", len(text)) + text + b"".join(blobs.values())
    return _HEAD.pack(_MAGIC, _VERSION, len(name), hashlib.sha256(body).digest(), len(body)) + body


def unpack(kind: str, data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Open an envelope; SnapshotError if it is damaged or of another kind."""
    if not isinstance(data, bytes | bytearray | memoryview) or len(data) < _HEAD.size or data[:8] != _MAGIC:
        raise SnapshotError.of("snapshot", "this is not a snapshot of Cepheus")
    _, version, name_length, digest, length = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise SnapshotError.of(
            "snapshot-version",
            f"the snapshot has version {version}, this Cepheus reads version {_VERSION}",
            hint="restore it with the Cepheus that made it, or start anew from history",
        )
    body = data[_HEAD.size :]
    if len(body) != length or hashlib.sha256(body).digest() != digest:
        raise SnapshotError.of("snapshot-damaged", "the snapshot is damaged: its checksum does not fit its content")
    try:
        found = bytes(body[:name_length]).decode()
        if found != kind:
            raise SnapshotError.of("snapshot-kind", f"the snapshot was made by '{found}', not by '{kind}'")
        (text_length,) = struct.unpack_from("<Q", body, name_length)
        start = name_length + 8
        return _contents(json.loads(bytes(body[start : start + text_length])), body[start + text_length :])
    except (ValueError, TypeError, LookupError, struct.error, RecursionError) as error:
        raise wrong_content() from error


def _contents(directory: Any, content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read the header and the blobs of a snapshot; ValueError if they are not what its directory says."""
    header, blobs, offset = directory["header"], {}, 0
    if not isinstance(header, dict):
        raise TypeError
    for name, size in directory["blobs"]:
        if type(size) is not int or type(name) is not str or size < 0 or name in blobs:
            raise ValueError
        blobs[name] = bytes(content[offset : offset + size])
        offset += size
    if offset != len(content):
        raise ValueError
    return header, blobs


def wrong_content(why: str = "") -> SnapshotError:
    """The error for a snapshot that is whole but makes no sense."""
    return SnapshotError.of(
        "snapshot-content",
        f"the snapshot does not hold what it should{why and ': '}{why}",
        hint="it was changed since it was made, or is of another version: take another, or start anew from history",
    )


@contextmanager
def restoring(*parts: object) -> Iterator[None]:
    """Take over a snapshot, all of it or nothing: if that fails, SnapshotError, and the parts are what they were.

    Whatever goes wrong on the way, it is the snapshot that is wrong: every part that is restored begins anew, with
    nothing but what the snapshot says.
    """
    before: dict[int, tuple[object, dict[str, Any]]] = {}
    for part in parts:
        _note(part, before)
    try:
        yield
    except Exception as error:
        for part, attributes in before.values():
            vars(part).clear()
            vars(part).update(attributes)
        if isinstance(error, SnapshotError):
            raise
        raise wrong_content(error.diagnostics[0].message if isinstance(error, CepheusError) else "") from error


def _note(part: object, noted: dict[int, tuple[object, dict[str, Any]]]) -> None:
    """Note what a part is made of, and the parts in it that restore something themselves."""
    if id(part) not in noted:
        noted[id(part)] = (part, dict(vars(part)))
        for each in list(vars(part).values()):
            if hasattr(type(each), "restore") and hasattr(each, "__dict__"):
                _note(each, noted)
