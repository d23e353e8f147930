"""The envelope of snapshots: named, versioned, checksummed; made of JSON and raw arrays, nothing that runs code."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

from cepheus.core.errors import SnapshotError

_MAGIC = b"CEPHSNAP"
_VERSION = 2
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
    found = body[:name_length].decode()
    if found != kind:
        raise SnapshotError.of("snapshot-kind", f"the snapshot was made by '{found}', not by '{kind}'")
    (text_length,) = struct.unpack_from("<Q", body, name_length)
    offset = name_length + 8 + text_length
    directory = json.loads(body[name_length + 8 : offset])
    blobs = {}
    for name, size in directory["blobs"]:
        blobs[name] = body[offset : offset + size]
        offset += size
    return directory["header"], blobs
