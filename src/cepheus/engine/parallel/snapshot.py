"""Snapshots of several engines: how rules and events are spread over them, the texts once, the state of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cepheus.core.event import EventId
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.lowered import snapshot as columns
from cepheus.engine.lowered.snapshot import Saved
from cepheus.engine.parallel.groups import BUCKETS
from cepheus.plan.split.component import components
from cepheus.rules.json_fields import integer_between

_MOST_ENGINES = 1 << 10


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
    """A snapshot as bytes."""
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
    """Whether, by the header of a snapshot, several engines made it."""
    return "groups" in header


_GROUP = form.record(
    keys=form.maybe(form.by_name(form.text)),
    owners=form.listing(form.row(integer_between(0, BUCKETS - 1), form.count)),
    engines=integer_between(1, _MOST_ENGINES),
)
_HEADER = form.record(
    shards=integer_between(1, _MOST_ENGINES),
    fed=form.count,
    order=form.distinct(form.listing(form.text)),
    texts=form.listing(form.maybe(form.event_id)),
    groups=form.listing(_GROUP),
)


def read(data: bytes) -> SavedGroups:
    """Open the bytes of a snapshot, be it of one engine or of several; an error if they do not hold together."""
    header, blobs = unpack(ColumnsEngine.name, data)
    if not is_parallel(header):
        saved = columns.read(ColumnsEngine.name, data)
        columns.require_texts(saved, saved.texts)
        order = tuple(str(deployed.rule.name) for deployed in saved.rules)
        return SavedGroups(None, saved.fed, order, saved.texts, (SavedGroup(None, {}, (saved,)),))
    found = _HEADER(header, "$")
    names = [[_blob(number, at) for at in range(group["engines"])] for number, group in enumerate(found["groups"])]
    form.only_blobs(blobs, (name for own in names for name in own))
    groups = tuple(
        SavedGroup(
            group["keys"],
            dict(group["owners"]),
            tuple(columns.read(ColumnsEngine.name, blobs[name]) for name in own),
        )
        for group, own in zip(found["groups"], names, strict=True)
    )
    saved_groups = SavedGroups(found["shards"], found["fed"], tuple(found["order"]), tuple(found["texts"]), groups)
    _require_sense(saved_groups)
    return saved_groups


def _require_sense(saved: SavedGroups) -> None:
    """Refuse groups whose engines have different rules, rules in two groups or in none, and events without an owner."""
    rules: list[str] = []
    for group in saved.groups:
        own = [tuple(deployed.rule for deployed in engine.rules) for engine in group.engines]
        form.require(all(each == own[0] for each in own), "$.groups", "engines of a group have different rules")
        form.require(group.keys is not None or len(own) == 1, "$.groups", "events cannot be dealt out without keys")
        form.require(all(owner < len(own) for owner in group.owners.values()), "$.groups", "there is no such engine")
        rules += [str(rule.name) for rule in own[0]]
        looked = {name for part in components(own[0]) for name in part.types}
        form.require(group.keys is None or looked <= group.keys.keys(), "$.groups", "a type of event has no key")
        for engine in group.engines:
            columns.require_texts(engine, saved.texts)
    form.require(sorted(rules) == sorted(saved.order), "$.order", "other rules are in order than there are")


def _blob(group: int, engine: int) -> str:
    return f"engine {group}.{engine}"
