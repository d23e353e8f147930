"""Split as a stream is, dealt out by Spark, and run shard by shard in micro-batches: what one engine finds."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from shard_runs import Run
from test_batch_exact import frame

import cepheus
import cepheus.spark
from cepheus.core.errors import LimitError, RuleError
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.runtime.spark import detect, streaming
from cepheus.runtime.spark.layout import SHARD
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.shard_work import JobWork
from strategies.split_cases import split_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def told(events: list[Event]) -> list[str]:
    """Give composite events in a form in which two answers compare as multisets."""
    return sorted(
        repr((e.type, e.time, e.id, e.made_of, *(e.attributes.get(name) for name in ("k", "n", "km", "v"))))
        for e in events
    )


@pytest.mark.parametrize(
    ("split", "shards", "seed"),
    [("auto", 1, 7), ("auto", 2, 11), ("auto", 8, 41), ("keys", 8, 53), ("bands", 2, 24), ("bands", 8, 24)],
)
def test_shards_in_micro_batches_find_what_one_engine_finds(
    spark: SparkSession, split: Any, shards: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_one(spark, split, shards, seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["auto", "keys", "bands"])
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_many_more(spark: SparkSession, split: Any, shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(200, 230):
        check_one(spark, split, shards, seed, monkeypatch)


def check_one(spark: SparkSession, split: Any, shards: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        case = split_case(seed)
        program = cepheus.compile(case.checked.rules)
        expected = program.detect(list(case.events), limit=3000, sequence="sequence", engine="reference")
    except (RuleError, LimitError):
        return
    jobs: list[tuple[DataFrame, Job]] = []

    def stand_in(rows: DataFrame, job: Job, metrics: str, *, late: bool) -> DataFrame:
        del metrics, late
        jobs.append((rows, job))
        return rows

    monkeypatch.setattr(detect, "is_stream", lambda _: True)
    monkeypatch.setattr(detect, "watermarked", lambda sources, *_: sources)
    monkeypatch.setattr(streaming, "run_stream", stand_in)
    events = frame(spark, case)
    cepheus.spark.detect(program, events, sequence="sequence", id="id", shards=shards, split=split)
    ((rows, job),) = jobs
    table = rows.toArrow()
    found: list[Event] = []
    for shard in set(table.column(SHARD).to_pylist()):
        own = table.filter(table.column(SHARD).to_numpy() == shard).drop_columns([SHARD])
        found += Run(JobWork(job, shard), own, Random(seed)).run(disorder=SECOND)
    assert told(found) == told(expected.to_events()), f"seed {seed}\n{case.text}"
