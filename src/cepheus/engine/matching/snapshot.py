"""Snapshots of the matching engine: rules, remembered and waiting events, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.restored_rules import check_restored, require_values
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.engine.matching.store import Record
from cepheus.rules.json_form import to_json
from cepheus.rules.model import Rule, RuleSet


@dataclass(frozen=True, slots=True)
class SavedRule:
    """A rule, the time from which it sees events, and its place among the others."""

    rule: Rule
    since: int
    place: int


@dataclass(frozen=True, slots=True)
class Saved:
    """All that later answers depend on; ``fed`` and ``deployments`` are how many events and rules there have been."""

    rules: list[SavedRule]
    remembered: list[Record]
    waiting: list[Record]
    fed: int
    deployments: int
    time: int


_RECORDS = form.listing(
    form.record(
        event=form.event,
        counter=form.integer,
        depth=form.count,
        path=form.listing(form.count),
        consumed_by=form.listing(form.text),
    )
)
_HEADER = form.record(
    rules=form.rules,
    since=form.listing(form.time),
    places=form.distinct(form.listing(form.count)),
    remembered=_RECORDS,
    waiting=_RECORDS,
    fed=form.count,
    deployments=form.count,
    time=form.time,
)


def write(kind: str, saved: Saved) -> bytes:
    """Put what is saved into an envelope."""
    header = {
        "rules": to_json(RuleSet((), tuple(each.rule for each in saved.rules))),
        "since": [each.since for each in saved.rules],
        "places": [each.place for each in saved.rules],
        "remembered": _to_json(saved.remembered),
        "waiting": _to_json(saved.waiting),
        "fed": saved.fed,
        "deployments": saved.deployments,
        "time": saved.time,
    }
    return pack(kind, header)


def _to_json(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [
        {
            "event": form.event_to_json(record.event),
            "counter": record.counter,
            "depth": record.key[3],
            "path": list(record.key[4]),
            "consumed_by": sorted(record.consumed or ()),
        }
        for record in records
    ]


def read(kind: str, data: bytes) -> Saved:
    """Open an envelope; an error if what is in it does not hold together."""
    header, blobs = unpack(kind, data)
    form.only_blobs(blobs, ())
    found = _HEADER(header, "$")
    saved = Saved(
        [SavedRule(*each) for each in zip(found["rules"], found["since"], found["places"], strict=True)],
        _records(found["remembered"]),
        _records(found["waiting"]),
        found["fed"],
        found["deployments"],
        found["time"],
    )
    both = (*saved.remembered, *saved.waiting)
    require_values((record.event for record in both), check_restored(found["rules"]))
    form.require(not any(each.event.errors for each in both), "$", "an event has an error of measurement")
    form.require(all(each.place < saved.deployments for each in saved.rules), "$.places", "a rule has not come yet")
    form.require(all(each.time <= saved.time for each in saved.remembered), "$", "an event has not come yet")
    form.require(all(each.time >= saved.time for each in saved.waiting), "$", "an event waits in the past")
    distinct = all(len({each.key for each in group}) == len(group) for group in (saved.remembered, saved.waiting))
    form.require(distinct, "$", "an event is there twice")
    return saved


def _records(found: list[dict[str, Any]]) -> list[Record]:
    records = []
    for each in found:
        record = Record(each["event"], "", each["counter"], each["depth"], tuple(each["path"]))
        record.consumed = set(each["consumed_by"]) or None
        records.append(record)
    return records
