"""Texts that no rule can meet again are forgotten, and those that remain keep their meaning."""

from __future__ import annotations

import resource
import sys
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.values import ValueType
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.lowered import texts
from cepheus.kernel.strings import StringTable
from cepheus.language.tesla import parse
from cepheus.rules.check import check

RULES = (
    "event A(s: string, n: int) event B(s: string, n: int)\n"
    "define P(s: string, t: string) from A(s=$s) and each B(s=$s) within 60 us from A where s=A.s, t=upper(B.s)\n"
    "define Q(s: string) from P(s != 'text 3') and last P() as Before within 40 us from P where s=Before.s\n"
    "define R() from A(starts_with(s, 'text 1') and s != 'text 10') and last B(s='text 2') within 90 us from A\n"
)


def engine(name: str = "columns", threads: int = 1) -> Engine:
    checked = check(parse(RULES))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(RunOptions(engine=name, threads=threads), checked.rules.rules, schema)


def stream(count: int) -> list[Event]:
    """Give events with ids of their own and texts that drift: each is met for a while only."""
    random = Random(5)
    return [
        Event(random.choice("AB"), 3 * n, {"s": f"text {random.randint(0, 4) + n // 40}", "n": n}, id=f"event {n}")
        for n in range(count)
    ]


@pytest.mark.parametrize(("name", "threads"), [("columns", 1), ("columns", 2), ("automata", 1)])
@pytest.mark.parametrize("single", [False, True])
def test_forgetting_changes_no_answer(monkeypatch: pytest.MonkeyPatch, name: str, threads: int, single: bool) -> None:
    events = stream(900)
    expected = engine("reference").feed(EventBatch.from_events(events)).to_events()
    monkeypatch.setattr(texts, "_LEAST", 20)
    running = engine(name, threads)
    batches = []
    found = []
    for begin in range(0, len(events), 30):
        piece = events[begin : begin + 30]
        if single:
            found += [composite for event in piece for composite in running.feed_event(event)]
        else:
            batches.append(running.feed(EventBatch.from_events(piece)))
        if begin == 450:
            saved = running.snapshot()
            running = create(RunOptions(engine=name, threads=threads))
            running.restore(saved)
    for batch in batches:  # read only now: what was given away does not change when texts are forgotten
        found += batch.to_events()
    assert len(expected) > 300
    assert found == expected


def test_codes_are_used_again_but_never_those_of_constants() -> None:
    table = StringTable()
    kept, dropped, constant = table.code("kept"), table.code("dropped"), table.constant("constant")
    live = np.zeros(len(table), np.bool_)
    live[kept] = True
    after = table.keeping(live)
    assert (after.used, after.code("kept"), after.code("constant")) == (2, kept, constant)
    assert after.code("new") == dropped
    assert table.text(dropped) == "dropped"
    assert after.digests()[dropped] != table.digests()[dropped]
    assert StringTable(after.texts).code("new") == dropped


def _unique(first: int, count: int) -> EventBatch:
    """Give events of which each has an id and a text of its own."""
    numbers = np.arange(first, first + count)
    names = [f"event number {n}" for n in numbers.tolist()]
    return EventBatch(
        ("A", "B"),
        (numbers % 2).astype(np.int32),
        10 * numbers,
        {("s", ValueType.STRING): pa.array(names), ("n", ValueType.INT): pa.array(numbers)},
        ids=names,
    )


def _grows(running: Engine, blocks: int, size: int) -> tuple[int, int]:
    """Feed unique events; give the peak of memory in KiB after the first fifth and at the end."""
    early = 0
    for block in range(blocks):
        running.feed(_unique(block * size, size))
        if block == blocks // 5:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return early, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_stays_flat_with_unique_texts(threads: int) -> None:
    early, late = _grows(engine(threads=threads), blocks=20, size=40_000)
    assert late - early < 30_000, "KiB"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
def test_memory_stays_flat_with_ten_million_unique_texts() -> None:
    early, late = _grows(engine(), blocks=100, size=100_000)
    assert late - early < 60_000, "KiB"
