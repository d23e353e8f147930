"""Snapshots taken apart, changed in one place or a few, and put together again with the right checksum."""

from __future__ import annotations

import copy
import json
import struct
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from cepheus.engine.base.snapshot import pack

_HEAD = struct.Struct("<8sHH32sQ")
_MAGIC = b"CEPHSNAP"
_INSTEAD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    1000,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
    10**30,
    0.5,
    -1.5,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "x",
    "R1",
    "Temp",
    "value",
    "string",
    "int64",
    "N(0, 1)",
    "\ud800",
    [],
    [[]],
    [0],
    [1, 2, 3],
    ["x"],
    [None],
    {},
    {"x": 1},
    {"Temp": 0},
    {"0": None},
)
_WORDS = (0, 1, -1, 2, 3, 17, 64, 1 << 20, 1 << 40, 2**62, -(2**62), 2**63 - 1, -(2**63), ~5, ~(1 << 30))


@dataclass(slots=True)
class Opened:
    """A snapshot taken apart: a header that is JSON, and blobs that are words, snapshots themselves, or just bytes."""

    kind: str
    header: Any
    blobs: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: bytes) -> Opened:
        _, _, name_length, _, _ = _HEAD.unpack_from(data)
        body = data[_HEAD.size :]
        (length,) = struct.unpack_from("<Q", body, name_length)
        offset = name_length + 8 + length
        directory = json.loads(body[name_length + 8 : offset])
        opened = cls(body[:name_length].decode(), directory["header"])
        for name, size in directory["blobs"]:
            blob = body[offset : offset + size]
            offset += size
            opened.blobs[name] = cls.of(blob) if blob[:8] == _MAGIC else _words(name, blob)
        return opened

    def closed(self) -> bytes:
        blobs = {}
        for name, blob in self.blobs.items():
            if isinstance(blob, Opened):
                blobs[name] = blob.closed()
            else:
                blobs[name] = blob.tobytes() if isinstance(blob, np.ndarray) else blob
        return pack(self.kind, self.header, blobs)


def _words(name: str, blob: bytes) -> Any:
    return np.frombuffer(blob, "<i8").copy() if len(blob) % 8 == 0 and name != "waiting" else blob


def mutated(data: bytes, random: Random) -> bytes:
    """Give a snapshot with one change, seldom with a few."""
    opened = Opened.of(data)
    for _ in range(random.choice((1, 1, 1, 1, 2, 4))):
        _change(opened, random)
    return opened.closed()


def _change(opened: Opened, random: Random) -> None:
    inner = [blob for blob in opened.blobs.values() if isinstance(blob, Opened)]
    words = [name for name, blob in opened.blobs.items() if isinstance(blob, np.ndarray) and len(blob)]
    where = random.random()
    if inner and where < 0.6:
        _change(random.choice(inner), random)
    elif words and where < 0.8:
        _change_words(opened, random.choice(words), random)
    elif opened.blobs and where < 0.84:
        _change_blobs(opened, random)
    else:
        opened.header = change_json(opened.header, random)


def _change_words(opened: Opened, name: str, random: Random) -> None:
    words = opened.blobs[name]
    match random.randrange(6):
        case 0:
            opened.blobs[name] = words[: random.randrange(len(words))]
        case 1:
            opened.blobs[name] = np.concatenate([words, words[: random.randrange(1, 1 + len(words))]])
        case 2:
            opened.blobs[name] = random.sample(words.tolist(), len(words))
            opened.blobs[name] = np.array(opened.blobs[name], np.int64)
        case _:
            for _ in range(random.choice((1, 1, 3, 10))):
                at = random.randrange(len(words))
                words[at] = random.choice((*_WORDS, int(words[at]) ^ 1, int(words[random.randrange(len(words))])))


def _change_blobs(opened: Opened, random: Random) -> None:
    name = random.choice(list(opened.blobs))
    match random.randrange(4):
        case 0:
            del opened.blobs[name]
        case 1:
            opened.blobs[name] = b""
        case 2:
            other = random.choice(list(opened.blobs))
            opened.blobs[name], opened.blobs[other] = opened.blobs[other], opened.blobs[name]
        case _:
            opened.blobs[name] = random.randbytes(random.choice((1, 8, 64)))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in _places(each, (*path, key)))]


def change_json(header: Any, random: Random) -> Any:
    """Give a JSON value with one change somewhere in it."""
    header = copy.deepcopy(header)
    places = _places(header)[1:]
    shallow = [place for place in places if len(place) <= 3]
    if not places:
        return random.choice(_INSTEAD)
    *above, key = random.choice(shallow if random.random() < 0.4 else places)
    holder = header
    for each in above:
        holder = holder[each]
    _change_at(holder, key, random)
    return header


def _change_at(holder: Any, key: Any, random: Random) -> None:
    value = holder[key]
    choice = random.randrange(8)
    if choice == 0:
        del holder[key]
    elif choice == 1 and isinstance(holder, list):
        holder.insert(random.randrange(1 + len(holder)), copy.deepcopy(value))
    elif choice == 1:
        holder[random.choice(("x", "", "R1", f"{key}2"))] = holder.pop(key)
    elif choice == 2 and isinstance(value, int) and not isinstance(value, bool):
        holder[key] = value + random.choice((-1, 1, 2, -1000, 1000, 10**9, -(10**9)))
    elif choice == 2 and isinstance(value, str):
        holder[key] = random.choice((value[:-1], f"{value}x", value.upper(), ""))
    elif choice == 2 and isinstance(value, list):
        random.shuffle(value)
    elif choice == 3 and isinstance(holder, list):
        other = random.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif choice == 3:
        holder[key] = copy.deepcopy(random.choice(list(holder.values())))
    else:
        holder[key] = copy.deepcopy(random.choice(_INSTEAD))
