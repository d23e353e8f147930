"""Snapshots of the reference engine: rules and remembered events, as JSON."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from cepheus.core.event import Event
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.restored_rules import check_restored, require_values
from cepheus.engine.base.snapshot import unpack

_HEADER = form.record(
    rules=form.rules,
    since=form.listing(form.count),
    earlier=form.listing(form.by_name(form.integer)),
    errors=form.by_name(form.by_name(form.distribution)),
    factors=form.listing(form.probability),
    fed=form.count,
    ordinal=form.count,
    time=form.time,
    history=form.listing(form.record(event=form.event, ordinal=form.count, consumed_by=form.listing(form.text))),
)


def stored_to_json(event: Event, ordinal: int, consumed_by: set[str]) -> dict[str, Any]:
    """A remembered event as JSON."""
    return {"event": form.event_to_json(event), "ordinal": ordinal, "consumed_by": sorted(consumed_by)}


def read(kind: str, data: bytes) -> dict[str, Any]:
    """Read the header of a snapshot, each field as what it stands for; an error if it does not hold together."""
    header, blobs = unpack(kind, data)
    form.only_blobs(blobs, ())
    found = _HEADER(header, "$")
    history = found["history"]
    require_values((each["event"] for each in history), check_restored(found["rules"]))
    by_type: dict[str, list[tuple[int, int]]] = {}
    for each in history:
        ordinal, event = each["ordinal"], each["event"]
        has_come = ordinal < found["ordinal"] and event.time <= found["time"]
        form.require(has_come, "$.history", "a remembered event has not come yet")
        by_type.setdefault(event.type, []).append((ordinal, event.time))
    for places in by_type.values():
        in_order = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(places))
        form.require(in_order, "$.history", "the events are not in the order of the stream")
    return found
