"""A task without Spark: rows in, rows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

import cepheus
from cepheus.core.errors import EventError
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.values import ValueType
from cepheus.runtime.spark import shard as module
from cepheus.runtime.spark.layout import CompositeLayout, EventLayout, IdKind
from cepheus.runtime.spark.shard import GroupJob, Job

RULE = "event A(x: int); event B(x: int); define P(x: int) from A() and last B() within 1 day from A where x = B.x"


def job(text: str = RULE) -> Job:
    checked = cepheus.compile(text).checked
    schema = Schema([*checked.composites.values(), *checked.inputs.values()])
    events = EventLayout.of(tuple(checked.inputs.values()), ids=IdKind.NONE, sequenced=False, marks_owned=False)
    group = GroupJob(checked.rules.rules, schema, RunOptions(engine="reference", limit=1000), range(2))
    return Job(events, CompositeLayout.of(checked.composites, provenance=False), (group,))


def rows(
    types: list[int], times: Sequence[int | None], values: Sequence[int | None], shards: list[int] | None = None
) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "shard": pa.array(shards or [0] * len(types), pa.int32()),
            "type": pa.array(types, pa.int32()),
            "time": pa.array(times, pa.int64()),
            "a0": pa.array(values, pa.int64()),
        }
    )


def found(batches: Sequence[pa.RecordBatch]) -> list[int]:
    return [value for out in job().run(batches) for value in out.column("x").to_pylist()]


def test_ties_are_settled_by_content_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEED", 2)
    parts = [rows([1, 1], [5, 5], [9, 3]), rows([1], [5], [4]), rows([0], [6], [0])]
    assert found(parts) == [9]  # the last in order of content, though it came first
    assert found([*reversed(parts[:2]), parts[2]]) == [9]


def test_shards_in_one_task_do_not_see_one_another() -> None:
    assert found([rows([1, 1, 0, 0], [1, 2, 3, 4], [7, 8, 0, 0], [0, 1, 0, 1])]) == [7, 8]


def test_bad_rows_are_refused() -> None:
    with pytest.raises(EventError, match="an event has no time"):
        found([rows([1], [None], [1])])
    with pytest.raises(EventError, match="type 'B' lacks the attribute 'x'"):
        found([rows([1], [1], [None])])


def test_a_task_holds_little_of_what_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEED", 100)
    alive = 0

    def endless() -> Iterator[pa.RecordBatch]:
        for start in range(0, 5000, 50):
            yield rows([1] * 50, list(range(start, start + 50)), [1] * 50)
            nonlocal alive
            alive = max(alive, pa.total_allocated_bytes() - before)

    before = pa.total_allocated_bytes()
    assert list(job().run(endless())) == []
    assert alive < 100_000


def test_slices_keep_what_is_theirs() -> None:
    checked = cepheus.compile(RULE).checked
    group = GroupJob(checked.rules.rules, Schema(), RunOptions(engine="reference", limit=1000), range(4, 7), (10, 20))
    times = np.array([5, 10, 19, 20, 99], np.int64)
    batch = cepheus.EventBatch(("P",), np.zeros(5, np.int32), times)
    assert [group.kept(shard, batch).times.tolist() for shard in (4, 5, 6)] == [[5], [10, 19], [20, 99]]


def test_columns_of_one_name_and_two_types() -> None:
    checked = cepheus.compile("event A(x: int); event B(x: string); define P() from A()").checked
    layout = EventLayout.of(tuple(checked.inputs.values()), ids=IdKind.NONE, sequenced=False, marks_owned=False)
    assert layout.columns == (("x", ValueType.INT), ("x", ValueType.STRING))
