"""Snapshots of the automata engine: one of the columns engine's kind, and the instances of each rule's states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheus.engine.automata.model import AutomatonModel
from cepheus.engine.automata.state import In, InstanceLane, Instances, InstanceTable
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.kernel.program import Words
from cepheus.kernel.state import TypeState

_EVENTS = "events"


@dataclass(frozen=True, slots=True)
class SavedInstances:
    """The instances of one state of a rule (states are counted within the rule), lane after lane."""

    rule: str
    state: int
    records: Words


def saved_instances(table: InstanceTable, instances: Instances, states: Mapping[str, range]) -> list[SavedInstances]:
    """Collect all instances; ``states`` are the numbers of each rule's states."""
    owners = {number: (name, number - numbers.start) for name, numbers in states.items() for number in numbers}
    found: dict[tuple[str, int], list[Words]] = {}
    for lane in instances.lanes[: table[In.LANE_COUNT]]:
        entries = np.arange(lane[InstanceLane.FIRST], lane[InstanceLane.NEXT])
        stride = int(lane[InstanceLane.STRIDE])
        places = lane[InstanceLane.OFFSET] + (entries & lane[InstanceLane.MASK]) * stride
        records = instances.pool[places[:, None] + np.arange(stride)]
        found.setdefault(owners[int(lane[InstanceLane.STATE])], []).append(records)
    return [SavedInstances(*owner, np.concatenate(records)) for owner, records in sorted(found.items())]


def write_instances(kind: str, events: bytes, saved: Sequence[SavedInstances]) -> bytes:
    """Put instances into one envelope with the snapshot of the events that they are made of."""
    header = {"instances": [[one.rule, one.state, *one.records.shape] for one in saved]}
    blobs = {str(number): one.records.astype("<i8").tobytes() for number, one in enumerate(saved)}
    return pack(kind, header, {_EVENTS: events, **blobs})


_HEADER = form.record(instances=form.listing(form.row(form.text, form.count, form.count, form.count)))


def read_instances(kind: str, data: bytes) -> tuple[bytes, list[SavedInstances]]:
    """Open the envelope again; an error if it does not hold together."""
    header, blobs = unpack(kind, data)
    instances = _HEADER(header, "$")["instances"]
    form.only_blobs(blobs, (_EVENTS, *map(str, range(len(instances)))))
    saved = [
        SavedInstances(rule, state, form.words(blobs, str(number), shape))
        for number, (rule, state, *shape) in enumerate(instances)
    ]
    return blobs[_EVENTS], saved


def fits(saved: SavedInstances, model: AutomatonModel, rows: Words, now: int) -> bool:
    """Whether instances are of a state that the rule has, and made of stored events up to now.

    ``rows`` tells, by type, which events are stored.
    """
    states = model.state_types()
    if not 0 <= saved.state < len(states) or saved.records.shape[1:] != (1 + len(states[saved.state]),):
        return False
    if len(saved.records) and int(saved.records[:, 0].max()) > now:
        return False
    types = np.array(states[saved.state], np.int64)
    numbers = saved.records[:, 1:]
    first, end = rows[types, TypeState.FIRST], rows[types, TypeState.NEXT]
    return bool(((numbers >= first) & (numbers < end)).all())
