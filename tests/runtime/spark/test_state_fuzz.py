"""The state of a shard that somebody has tampered with: refused, or the query goes on."""

from __future__ import annotations

import copy
import json
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parents[2] / "engine"))
sys.path.append(str(Path(__file__).parent))

from agreement import to_batch
from memory_store import MemoryStore
from shard_runs import ListedWork
from snapshot_mutations import change_json, mutated

from cepheus.core.errors import CepheusError, SnapshotError
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.spark import state_machine
from cepheus.runtime.spark.shard_state import FORMAT, Head, LiveShards
from cepheus.runtime.spark.state_machine import ShardMachine

RULES = (
    "define Fire(area: string) from Smoke(area=$a) and last Temp(area=$a) within 9 s from Smoke where area=Smoke.area"
)
COUNT = 60


def started(*, bounded: bool) -> tuple[ListedWork, MemoryStore]:
    """Give a shard that has seen most of a stream."""
    events = [Event("Smoke" if n % 3 == 0 else "Temp", n * SECOND, {"area": f"A{n % 2}"}, id=n) for n in range(COUNT)]
    work = ListedWork(check(parse(RULES)), to_batch(events), bounded=bounded)
    store = MemoryStore()
    for first in range(0, COUNT - 10, 5):
        handle(work, store, first, first + 5)
    return work, store


def handle(work: ListedWork, store: MemoryStore, first: int, end: int) -> None:
    """Process some events in a process that knows nothing but the state."""
    places = pa.table({"place": pa.array(range(first, end), pa.int64())})
    ShardMachine(work, LiveShards(), "shard").handle(store, places, max(first - 3, 0) * SECOND)


def tamper(store: MemoryStore, random: Random) -> None:
    head = json.loads(store.head() or b"{}")
    if random.random() < 0.5:
        store.set_head(json.dumps(change_json(head, random)).encode())
        return
    place = random.choice(list(store.parts))
    data = store.parts[place]
    match random.randrange(4):
        case 0:
            del store.parts[place]
        case 1:
            store.parts[place] = data[: random.randrange(len(data))]
        case 2 if data[:8] == b"CEPHSNAP":
            store.parts[place] = mutated(data, random)
        case _:
            at = random.randrange(len(data))
            store.parts[place] = data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


@pytest.mark.parametrize("bounded", [True, False], ids=["pieces", "base"])
def test_changed_state_is_refused_or_the_query_goes_on(bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_machine, "_LEAST_BASE", 1)
    monkeypatch.setattr(state_machine, "_RECENT", 2)
    monkeypatch.setattr(state_machine, "_FAN_IN", 2)
    work, store = started(bounded=bounded)
    outcomes: Counter[str] = Counter()
    for seed in range(150):
        changed = copy.deepcopy(store)
        tamper(changed, Random(seed))
        try:
            handle(work, changed, COUNT - 10, COUNT - 5)
            handle(work, changed, COUNT - 5, COUNT)
            outcomes["went on"] += 1
        except SnapshotError:
            outcomes["refused"] += 1
        except CepheusError:
            outcomes["went on to an error"] += 1
    assert outcomes["refused"] > 40
    assert outcomes["went on"]


def test_state_of_another_version_is_refused_by_name() -> None:
    head = json.loads(Head("r1").to_bytes()) | {"format": FORMAT + 1}
    with pytest.raises(SnapshotError, match=f"has version {FORMAT + 1}, this Cepheus reads version {FORMAT}"):
        Head.from_bytes(json.dumps(head).encode())
