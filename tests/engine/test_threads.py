"""Several threads give what one gives, in the same order."""

from __future__ import annotations

from math import inf
from random import Random

import numpy as np
import pytest
from agreement import COPIED, MODES, compare, find, normal
from random_cases import make_case

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly import registry
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.parallel import engine as parallel
from cepheus.engine.parallel import merge, slices
from cepheus.engine.parallel.engine import ParallelEngine
from cepheus.engine.parallel.groups import Dealer, bucket_of
from cepheus.language.tesla import parse
from cepheus.rules.check import check

CASES = 40
DECLARED = "event A(x: int, y: double, s: string) event B(x: int, y: double, s: string) event C(x: int)\n"
KEYED = "define P(x: int) from A(x=$k) and each B(x=$k) within 40 us from A where x=A.x\n"
BY_TEXT = "define T(s: string) from A(s=$k) and last B(s=$k) within 90 us from A where s=upper(B.s)\n"
UNKEYED = "define Q(x: int) from A() and last B(y > 10) within 50 us from A where x=B.x\n"
FED_BY_P = "define R(x: int) from P(x=$k) and each P(x=$k) as Before within 300 us from P where x=P.x\n"


@pytest.fixture
def dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deal events out by key, and rules one by one, even where slices of time would do."""
    monkeypatch.setattr(registry, "memory", lambda _: None)


@pytest.fixture
def cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even the smallest batches into slices."""
    monkeypatch.setattr(slices, "LEAST_SLICE", 1)
    monkeypatch.setattr(slices, "_MOST_TWICE", inf)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have slices begin with copies of what is stored, where that may be, however little it saves."""
    for name, value in COPIED.items():
        monkeypatch.setattr(slices, name, value)


def engine(text: str, threads: int = 1, limit: int = 10_000) -> Engine:
    checked = check(parse(DECLARED + text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(RunOptions(engine="columns", limit=limit, threads=threads), checked.rules.rules, schema)


def deploy(running: Engine, text: str, known: str) -> None:
    """Deploy the rules of a text that come after those already known."""
    checked = check(parse(DECLARED + known + text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    running.deploy(checked.rules.rules[len(check(parse(DECLARED + known)).rules.rules) :], schema)


def stream(count: int, seed: int = 1) -> EventBatch:
    random = Random(seed)
    return EventBatch.from_events(
        Event(
            random.choice("AABBC"),
            10 * n // 3,
            {"x": random.randint(0, 9), "y": round(random.uniform(0, 50), 1), "s": random.choice("abcdef")},
            id=random.choice((n, f"event {n}")),
        )
        for n in range(count)
    )


def same(one: EventBatch, other: EventBatch) -> bool:
    """Tell whether two batches are the same, columns, types and all."""
    return (
        one.types == other.types
        and np.array_equal(one.codes, other.codes)
        and list(one.columns) == list(other.columns)
        and one.to_events() == other.to_events()
    )


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("while_running", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["dealt", "cut_anywhere"])
def test_threads_agree_with_the_reference(
    way: str, mode: str, while_running: bool, threads: int, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(way)
    first = 40_000_000 + 1_000_000 * MODES.index(mode) + 100_000 * while_running + 10_000 * threads
    found = [
        compare(seed, "columns", mode, while_running=while_running, undeclared=seed % 8 == 0, threads=threads)
        for seed in range(first, first + CASES)
    ]
    assert sum(outcome >= 0 for outcome in found) > CASES // 3, "most cases must have run"


@pytest.mark.usefixtures("cut_anywhere", "copied")
@pytest.mark.parametrize("mode", ["whole", "cut", "mixed"])
def test_threads_that_begin_with_copies_agree_with_the_reference(mode: str) -> None:
    first = 47_000_000 + 1_000_000 * MODES.index(mode)
    found = [compare(seed, "columns", mode, threads=3) for seed in range(first, first + CASES)]
    assert sum(outcome >= 0 for outcome in found) > CASES // 3, "most cases must have run"


@pytest.mark.parametrize("rules", [KEYED, UNKEYED, KEYED + UNKEYED + BY_TEXT, UNKEYED + KEYED + FED_BY_P])
@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("way", ["dealt", "cut_anywhere"])
def test_large_batches_in_threads_are_the_same_in_every_column(
    way: str, rules: str, threads: int, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(way)
    batch = stream(6000)
    expected = engine(rules).feed(batch)
    running = engine(rules, threads)
    assert len(expected) > 100
    assert same(running.feed(batch), expected)


@pytest.mark.usefixtures("dealt")
@pytest.mark.parametrize("while_running", [False, True])
def test_long_streams_in_small_blocks_and_parts(monkeypatch: pytest.MonkeyPatch, while_running: bool) -> None:
    """Blocks end and parts begin in the middle of everything; threads are really used."""
    monkeypatch.setattr(parallel, "_FIRST_BLOCK", 256)
    monkeypatch.setattr(parallel, "_LEAST_BLOCK", 100)
    monkeypatch.setattr(parallel, "_BLOCK_COMPOSITES", 512)
    monkeypatch.setattr(merge, "_WORTH_A_PART", 16)
    for seed in range(45_000_000, 45_000_010):
        try:
            case = make_case(seed, while_running=while_running, events=2000)
            found = normal(find(case, "columns", "whole", threads=3))
        except (OptionError, RuleError):  # a rule links, late, what runs in different threads; or it makes no sense
            continue
        assert found == normal(find(case, "columns", "whole")), f"seed {seed}"


def test_a_keyed_rule_is_spread_by_key_and_others_rule_by_rule() -> None:
    running = ParallelEngine(threads=3)
    checked = check(parse(DECLARED + KEYED + UNKEYED + UNKEYED.replace("Q(", "Q2(")))
    running.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    assert sorted(len(group.engines) for group in running._groups) == [1, 1, 3]


def test_what_comes_from_several_threads_is_counted_against_the_limit() -> None:
    """Each rule alone stays below the limit, both together do not: as on one thread."""
    text = "".join(f"rule L{n} define P{n}() from A() and each B() within 1 s from A\n" for n in range(2))
    events = EventBatch.from_events([*(Event("B", n, {}) for n in range(60)), Event("A", 70, {})])
    for threads in (1, 2):
        with pytest.raises(LimitError, match="rule 'L1' would make more than 100 composite events"):
            engine(text, threads, limit=100).feed(events)


@pytest.mark.usefixtures("dealt")
def test_a_rule_that_comes_later_joins_the_threads_of_those_it_is_linked_with() -> None:
    batch = stream(600)
    first, second = batch.slice(0, 300), batch.slice(300, 600)
    one, several = engine(KEYED), engine(KEYED, 2)
    for running in (one, several):
        running.feed(first)
        deploy(running, FED_BY_P, KEYED)
    expected = one.feed(second)
    assert "R" in {event.type for event in expected.to_events()}
    assert same(several.feed(second), expected)
    for running in (one, several):
        running.withdraw("P")
    assert same(several.feed(stream(10, seed=3)), one.feed(stream(10, seed=3)))


@pytest.mark.usefixtures("dealt")
def test_a_rule_that_links_threads_is_refused_with_advice() -> None:
    running = engine(KEYED + UNKEYED, 2)
    running.feed(stream(10))
    with pytest.raises(OptionError, match=r"(?s)rule 'Z' cannot join .*hint: deploy these rules together"):
        deploy(running, "define Z() from P() and last Q() within 1 s from P", KEYED + UNKEYED)
    with pytest.raises(OptionError, match="spread over threads by key"):
        deploy(running, "define Z() from P() and last C() within 1 s from P", KEYED + UNKEYED)
    assert same(running.feed(stream(50, 2)), _after(engine(KEYED + UNKEYED), stream(10), stream(50, 2)))


def _after(running: Engine, before: EventBatch, batch: EventBatch) -> EventBatch:
    running.feed(before)
    return running.feed(batch)


@pytest.mark.parametrize(("saved_by", "restored_by"), [(1, 2), (2, 1), (2, 4)])
@pytest.mark.parametrize("way", ["dealt", "cut_anywhere"])
def test_a_snapshot_goes_on_with_any_number_of_threads(
    way: str, saved_by: int, restored_by: int, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(way)
    rules = KEYED + UNKEYED + BY_TEXT
    batch = stream(900)
    running = engine(rules, saved_by)
    running.feed(batch.slice(0, 500))
    restored = create(RunOptions(engine="columns", limit=10_000, threads=restored_by))
    restored.restore(running.snapshot())
    expected = _after(engine(rules), batch.slice(0, 500), batch.slice(500, 900))
    assert same(restored.feed(batch.slice(500, 900)), expected)


def test_numbers_that_are_equal_share_a_bucket() -> None:
    assert bucket_of(3) == bucket_of(3.0)
    assert bucket_of(0.0) == bucket_of(-0.0) == bucket_of(0) == bucket_of(False)
    assert len({bucket_of(n) for n in range(100)}) > 90
    assert len({bucket_of(f"sensor {n}") for n in range(100)}) > 90


def test_buckets_are_dealt_out_evenly_and_stay_where_they_are() -> None:
    dealer = Dealer(2)
    counts = np.zeros(4096, np.int64)
    counts[[5, 6, 7, 8]] = 50, 30, 30, 50
    dealer.settle(counts)
    owners = dealer.owners
    assert owners[5] != owners[8]
    assert owners[6] != owners[7]
    dealer.settle(counts)
    assert dealer.owners == owners == Dealer(2, owners).owners


@pytest.mark.usefixtures("dealt")
def test_one_event_and_a_batch_go_to_the_same_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_WORTH_THREADS", 1)
    rules = "define P(y: double) from A(y=$k) and each B(y=$k) within 1 s from A where y=A.y\n" + BY_TEXT
    batch = stream(400)
    mixed, expected = engine(rules, 3), engine(rules).feed(batch).to_events()
    found = mixed.feed(batch.slice(0, 200)).to_events()
    for event in batch.slice(200, 400).to_events():
        found += mixed.feed_event(event)
    assert found == expected


def test_threads_are_refused_where_there_is_but_one() -> None:
    with pytest.raises(OptionError, match="the engine reference runs on one thread"):
        create(RunOptions(engine="reference", threads=2))
    with pytest.raises(OptionError, match="0 is not a number of threads"):
        create(RunOptions(engine="columns", threads=0))


@pytest.mark.usefixtures("dealt")
def test_what_threads_remember_does_not_move_to_an_engine_for_uncertain_events() -> None:
    running = engine(KEYED, 2)
    running.feed(stream(10))
    with pytest.raises(UnsupportedError, match="run with threads=1"):
        running.feed_event(Event("A", 10_000, {"x": 1, "y": 1.0, "s": ""}, probability=0.5))
