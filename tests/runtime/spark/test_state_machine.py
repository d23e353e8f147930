"""The shard of a streaming query, without Spark: exact however it is cut, killed and moved; bounded; refuses."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from event_rows import whole_job
from memory_store import MemoryStore
from pyspark import cloudpickle

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, RuleError, SnapshotError
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.core.values import INT_MAX
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.spark import state_machine
from cepheus.runtime.spark.shard import memory
from cepheus.runtime.spark.shard_state import Head, LiveShards
from cepheus.runtime.spark.state_machine import ShardMachine
from cepheus.runtime.spark.streaming_processor import ShardProcessor

sys.path.append(str(Path(__file__).parents[2] / "engine"))

from agreement import normal, to_batch
from agreement import run as run_case
from random_cases import make_case
from random_rules import LIVELY
from shard_runs import ListedWork, Run

FIRE = (
    "define Fire(area: string) from Smoke(area=$a) and last Temp(area=$a) within 5 s from Smoke where area=Smoke.area"
)


def listed(events: list[Event]) -> EventBatch:
    return to_batch([Event(e.type, e.time, e.attributes, id=n if e.id is None else e.id) for n, e in enumerate(events)])


@pytest.mark.parametrize("seed", range(300))
@pytest.mark.parametrize("bounded", [True, False], ids=["pieces", "base"])
def test_random_rules_give_what_one_run_gives(seed: int, bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_machine, "_LEAST_BASE", 1)
    monkeypatch.setattr(state_machine, "_RECENT", 2)
    monkeypatch.setattr(state_machine, "_FAN_IN", 2)
    try:
        case = make_case(seed, events=40, coarse=1 + seed % 3, ordered=seed % 4 == 2)
        wanted, ties = run_case(case, "reference", "single")
    except (RuleError, LimitError):
        return
    if any(event.time == INT_MAX for event in case.events):
        return  # no watermark lies beyond the last microsecond
    engine = "auto" if seed % 5 == 0 else "reference"  # what auto gives takes a while to start
    work = ListedWork(case.checked, listed(list(case.events)), engine_name=engine, bounded=bounded)
    run = Run.of(work, Random(seed))
    found = normal(run.run(disorder=seed % 5))
    assert sorted(map(repr, found)) == sorted(map(repr, normal(wanted)))
    assert run.late == 0
    assert run.ties == ties


@pytest.mark.parametrize("seed", range(7000, 7060))
@pytest.mark.parametrize("bounded", [True, False], ids=["pieces", "base"])
def test_timers_cross_the_borders_of_batches(seed: int, bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_machine, "_LEAST_BASE", 1)
    try:
        case = make_case(seed, coarse=1 + seed % 3, ordered=seed % 4 == 2, share=0, timed=True, habits=LIVELY)
        end = max((event.time for event in case.events), default=0) + Random(seed).randint(1, 40)
        wanted, ties = run_case(replace(case, until=end), "reference", "single")
    except (RuleError, LimitError):
        return
    engine = "auto" if seed % 5 == 0 else "reference"
    work = ListedWork(case.checked, listed(list(case.events)), engine_name=engine, bounded=bounded)
    run = Run.of(work, Random(seed))
    found = normal(run.run(disorder=seed % 5, end=end))
    assert sorted(map(repr, found)) == sorted(map(repr, normal(wanted))), case.text
    assert run.ties == ties


def smoke_and_temp(count: int, apart: int = SECOND) -> list[Event]:
    return [Event("Smoke" if n % 3 == 0 else "Temp", n * apart, {"area": f"A{n % 2}"}) for n in range(count)]


def test_state_is_bounded_by_the_window_and_short_whatever_the_number_of_batches() -> None:
    events = smoke_and_temp(1500, apart=SECOND // 50)
    work, store, shards = ListedWork(check(parse(FIRE)), listed(events)), MemoryStore(), LiveShards()
    sizes, heads = [], []
    for n, event in enumerate(events):
        ShardMachine(work, shards, "shard").handle(store, pa.table({"place": [n]}), event.time)
        sizes.append(sum(map(len, store.parts.values())))
        heads.append(len(store.head() or b""))
    assert max(sizes[800:]) <= 1.2 * max(sizes[400:800])
    assert max(heads) < 10_000  # 250 micro-batches lie within the window


def test_a_shard_that_hears_nothing_more_ends_up_empty() -> None:
    run = Run.of(ListedWork(check(parse(FIRE)), listed(smoke_and_temp(10))), Random(1))
    wake = run.call(range(10), 0)
    assert wake == 1  # the first event waits
    wake = run.call([], 10 * SECOND)
    assert run.store.parts
    assert wake == 14_001  # the last event, at 9 s, can matter to what happens within 5 s
    run.call([], wake * 1000)
    assert not run.store.parts


def test_late_events_are_set_apart_and_counted() -> None:
    run = Run.of(ListedWork(check(parse(FIRE)), listed(smoke_and_temp(10))), Random(1))
    run.call([5, 6, 7], 0)
    run.call([2, 3, 8], 6 * SECOND)
    assert run.late == 2


def test_state_of_other_rules_is_refused() -> None:
    run = Run.of(ListedWork(check(parse(FIRE)), listed(smoke_and_temp(10))), Random(1))
    run.call([0, 1], 0)
    other = ListedWork(check(parse(FIRE)), listed([]), fingerprint="other rules")
    with pytest.raises(SnapshotError, match="other rules"):
        ShardMachine(other, LiveShards(), "shard").handle(run.store, None, 0)


def test_memory_adds_up_and_has_no_bound_where_rules_consume_or_feed_themselves() -> None:
    def memory_of(text: str) -> int | None:
        return memory(check(parse(text)).rules.rules)

    assert (
        memory_of(
            "define B() from A() and last A() as Before within 5 s from A;"
            "define C() from B() and not D() within 3 s from B"
        )
        == 8 * SECOND
    )
    assert memory_of("define B() from A() and last C() within 5 s from A consuming C") is None
    assert memory_of("define B() from A() and last B() within 5 s from A") is None


def test_operators_with_equal_rules_keep_out_of_each_others_way() -> None:
    """Two stores, one process: each operator finds its own engine again, and neither starts anew in every batch."""
    events = listed(smoke_and_temp(40))
    built: list[ListedWork] = []

    class Counted(ListedWork):
        def engine(self) -> Engine:
            built.append(self)
            return super().engine()

    work, shards = Counted(check(parse(FIRE)), events), LiveShards()
    stores = [MemoryStore(), MemoryStore()]
    found: list[list[Event]] = [[], []]
    for n in range(0, 40, 4):
        for store, mine in zip(stores, found, strict=True):
            table = pa.table({"place": list(range(n, n + 4))})
            outcome = ShardMachine(work, shards, "query").handle(store, table, n * SECOND)
            mine.extend(outcome.composites.to_events())
    assert found[0] == found[1] != []
    assert len(built) == len(shards) == 2
    names = {Head.from_bytes(store.head() or b"").shard for store in stores}
    assert len(names) == 2


def test_a_processor_never_takes_over_what_another_has_at_work() -> None:
    store, shards, events = MemoryStore(), LiveShards(), listed(smoke_and_temp(8))
    first = ListedWork(check(parse(FIRE)), events)
    ShardMachine(first, shards, ("query", "first")).handle(store, pa.table({"place": [0, 1, 2]}), 0)
    second = ListedWork(check(parse(FIRE)), events, limit=1)
    ShardMachine(second, shards, ("query", "second")).handle(store, None, SECOND)
    assert [live.work for live in shards] == [first, second]


def test_state_without_a_name_gets_one() -> None:
    work, store = ListedWork(check(parse(FIRE)), listed(smoke_and_temp(8))), MemoryStore()
    ShardMachine(work, LiveShards(), "query").handle(store, pa.table({"place": [0]}), 0)
    old = json.loads(store.head() or b"")
    del old["shard"]
    store.set_head(json.dumps({**old, "format": 1}).encode())
    ShardMachine(work, LiveShards(), "query", lambda: "a name").handle(store, pa.table({"place": [1]}), 0)
    head = Head.from_bytes(store.head() or b"")
    assert (head.shard, len(head.pieces)) == ("a name", 2)


def test_a_thousand_rules_are_sent_in_less_than_spark_can_send() -> None:
    """Beyond a megabyte Spark's stateful operators fail, in the first micro-batch and with words of their own."""
    text = "".join(
        f"define Fire{n}(area: string) from Smoke(area=$a) and last Temp(area=$a and value > {n}) "
        "within 5 s from Smoke where area=$a;\n"
        for n in range(1000)
    )
    job = whole_job(
        check(parse(f"event Smoke(area: string); event Temp(area: string, value: double);{text}")), sequenced=False
    )
    sent = cloudpickle.dumps(ShardProcessor(job, (7,), late=True))  # type: ignore[no-untyped-call]
    assert len(sent) < 1 << 18
    assert len(pickle.dumps(job)) > 1 << 19
    got = cloudpickle.loads(sent)
    assert got.work((7,)).job == job
