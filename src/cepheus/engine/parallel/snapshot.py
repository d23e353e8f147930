"""Snapshots of several engines: how rules and events are spread over them, the texts once, the state of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cepheus.core.errors import SnapshotError
from cepheus.core.event import EventId
from cepheus.engine.columns import snapshot as columns
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.columns.snapshot import Saved
from cepheus.engine.snapshot import pack, unpack


@dataclass(frozen=True, slots=True)
class SavedGroup:
    """The keys of a group, who has which bucket of them, and what each of its engines remembers."""

    keys: Mapping[str, str] | None
    owners: Mapping[int, int]
    engines: tuple[Saved, ...]


@dataclass(frozen=True, slots=True)
class SavedGroups:
    """All that a snapshot holds; ``shards`` is None if it was made by one engine on its own."""

    shards: int | None
    fed: int
    order: tuple[str, ...]
    texts: tuple[EventId | None, ...]
    groups: tuple[SavedGroup, ...]


def write(saved: SavedGroups) -> bytes:
    """Give a snapshot as bytes."""
    header = {
        "shards": saved.shards,
        "fed": saved.fed,
        "order": saved.order,
        "texts": saved.texts,
        "groups": [
            {"keys": group.keys, "owners": list(group.owners.items()), "engines": len(group.engines)}
            for group in saved.groups
        ],
    }
    blobs = {
        _blob(number, shard): columns.write(ColumnsEngine.name, replace(state, texts=()))
        for number, group in enumerate(saved.groups)
        for shard, state in enumerate(group.engines)
    }
    return pack(ColumnsEngine.name, header, blobs)


def is_parallel(header: Mapping[str, Any]) -> bool:
    """Tell from the header of a snapshot whether several engines made it."""
    return "groups" in header


def read(data: bytes) -> SavedGroups:
    """Open the bytes of a snapshot, be it of one engine or of several; SnapshotError if they do not hold together."""
    header, blobs = unpack(ColumnsEngine.name, data)
    if not is_parallel(header):
        saved = columns.read(ColumnsEngine.name, data)
        order = tuple(str(deployed.rule.name) for deployed in saved.rules)
        return SavedGroups(None, saved.fed, order, saved.texts, (SavedGroup(None, {}, (saved,)),))
    try:
        groups = tuple(
            SavedGroup(
                group["keys"],
                dict(group["owners"]),
                tuple(columns.read(ColumnsEngine.name, blobs[_blob(number, at)]) for at in range(group["engines"])),
            )
            for number, group in enumerate(header["groups"])
        )
        return SavedGroups(header["shards"], header["fed"], tuple(header["order"]), tuple(header["texts"]), groups)
    except (KeyError, ValueError, TypeError) as error:
        raise SnapshotError.of("snapshot-content", "the snapshot does not hold what it should") from error


def _blob(group: int, engine: int) -> str:
    return f"engine {group}.{engine}"
