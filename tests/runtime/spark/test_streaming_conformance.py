"""The conformance suites of both families as one streaming query: each case a shard, each micro-batch a stretch."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as f

from cepheus.core.event import Event
from cepheus.core.schema import EventType
from cepheus.core.time import SECOND
from cepheus.engine.assembly.ending import has_timers
from cepheus.rules.check import check
from cepheus.rules.run_settings import has_ties_ordered
from cepheus.runtime.spark.layout import IdKind
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.shard_work import JobWork
from cepheus.runtime.spark.state_machine import Outcome
from cepheus.runtime.spark.streaming import stream_settings
from cepheus.runtime.spark.streaming_pack import to_bytes
from cepheus.runtime.spark.streaming_processor import ShardProcessor

sys.path.append(str(Path(__file__).parents[2] / "conformance"))

from conformance_suite import Case, load_cases, outcome
from event_rows import described, rows_of, whole_job, write_arrival
from interval_cases import in_order, load_interval_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def id_kind(case: Case) -> IdKind | None:
    """Tell what an id column of the events would hold; None if that would be numbers and texts."""
    kinds = {type(event.get("id", 0)) for event in case.events}
    return None if len(kinds) > 1 else IdKind.TEXT if kinds == {str} else IdKind.NUMBER


CASES = [case for case in load_cases() if id_kind(case) is not None]
INTERVAL_CASES = load_interval_cases()
MICRO_BATCHES = 6


class CasesProcessor(ShardProcessor):
    """A shard for every case, each with rules of its own."""

    def __init__(self, jobs: dict[int, Job]) -> None:
        super().__init__(jobs[0], (), late=False)
        self._jobs = jobs

    def work(self, key: Any) -> JobWork:
        return JobWork(self._jobs[key[0]], 0)

    def answer(self, work: JobWork, outcome: Outcome, events: int) -> pd.DataFrame:
        del events
        number = next(number for number, job in self._jobs.items() if job is work.job)
        intervals = bool(work.job.composites.heads)
        texts = [
            json.dumps({**composite.to_dict(), **({"start": composite.start} if intervals else {})})
            for composite in outcome.composites.to_events()
        ]
        return pd.DataFrame({"number": [number] * len(texts), "found": texts}, dtype=object)


def is_sequenced(case: Case) -> bool:
    """Whether events come with their place in the stream: rules with ordered ties ask for it."""
    return case.sequence is not None or has_ties_ordered(case.model)


def stream_of(case: Case) -> list[Event]:
    """Give the events of a case, each with its id."""
    own = ("type", "time", "id", case.sequence)
    return [
        Event(
            e["type"],
            e["time"] * SECOND,
            {name: value for name, value in e.items() if name not in own},
            id=e.get("id", n),
            sequence=n if is_sequenced(case) and case.sequence is None else e.get(case.sequence or ""),
        )
        for n, e in enumerate(case.events)
    ]


@pytest.mark.parametrize("timed", [False, True], ids=["without timers", "with timers"])
def test_every_case(spark: SparkSession, tmp_path: Path, timed: bool) -> None:
    """Cases with timers have a stream of their own: others last for years, and moments would come all the while."""
    assert len(load_cases()) - len(CASES) <= 1
    cases = [case for case in CASES if has_timers(case.model) == timed]
    interval_cases = [] if timed else INTERVAL_CASES
    jobs: dict[int, Job] = {}
    streams: dict[int, list[Event]] = {}
    for number, case in enumerate(cases):
        given = stream_of(case)
        checked = check(case.model, schema=described(given))
        jobs[number] = whole_job(checked, sequenced=is_sequenced(case), ids=id_kind(case) or IdKind.NUMBER)
        streams[number] = [
            renamed(event, checked.inputs[event.type]) for event in given if event.type in checked.inputs
        ]
    for number, interval_case in enumerate(interval_cases, len(cases)):
        checked = check(interval_case.rules, schema=described(interval_case.events))
        jobs[number] = whole_job(checked, sequenced=False)
        streams[number] = [event for event in interval_case.events if event.type in checked.inputs]
    answers = answers_of(spark, tmp_path, jobs, streams)
    found_in = {case.name: outcome(in_its_time(case, answers[number])) for number, case in enumerate(cases)}
    assert found_in == {case.name: outcome(case.expected) for case in cases}
    over_intervals = {case.name: answers[number] for number, case in enumerate(interval_cases, len(cases))}
    for interval_case in interval_cases:
        assert in_order(map(found_event, over_intervals[interval_case.name])) == interval_case.expected


def answers_of(
    spark: SparkSession, folder: Path, jobs: dict[int, Job], streams: dict[int, list[Event]]
) -> dict[int, list[dict[str, Any]]]:
    """Run one streaming query, and give what each job has found."""
    write_stretches(folder / "in", jobs, streams)
    for key, value in stream_settings(2).items():
        spark.conf.set(key, value)
    events = (
        spark.readStream.schema("slot int, time timestamp, payload binary")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "in"))
        .withWatermark("time", "0 seconds")
        .observe("all", f.count(f.lit(1)))  # the last row only tells the time; a filter must not come before that
        .where("payload is not null")
    )
    found = (
        events.select("slot", "payload")
        .groupBy("slot")
        .transformWithStateInPandas(CasesProcessor(jobs), "number bigint, found string", "append", "eventTime")
    )
    query = (
        found.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    answers: dict[int, list[dict[str, Any]]] = {number: [] for number in jobs}
    for row in spark.read.parquet(str(folder / "out")).collect():
        answers[row.number].append(json.loads(row.found))
    return answers


def in_its_time(case: Case, composites: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was made up to the last event of a case with timers, where the finite input of the suite ends.

    All cases share one stream, whose time goes on after that, and so do timers: what they make then is no part of a
    case, and cannot change what was made before.
    """
    if not has_timers(case.model):
        return composites
    last = max((event["time"] for event in case.events), default=0) * SECOND
    return [composite for composite in composites if composite["time"] <= last]


def renamed(event: Event, event_type: EventType) -> Event:
    """An event with its attributes under the names that rules give them, as what reads a stream has it."""
    found = {name: event.attributes[column] for name, column in event_type.columns.items()}
    return replace(event, attributes={**event.attributes, **found})


def found_event(composite: dict[str, Any]) -> tuple[Any, ...]:
    """Give a complex event in the notation of the cases of interval rules."""
    values = tuple(value for name, value in composite.items() if name.startswith("arg"))
    return composite["type"], values, composite["start"] // SECOND, composite["time"] // SECOND


def write_stretches(folder: Path, jobs: dict[int, Job], streams: dict[int, list[Event]]) -> None:
    """Write a file for each micro-batch: for every case the events of a stretch of time, shuffled."""
    times = sorted({event.time for events in streams.values() for event in events})
    edges = [times[len(times) * k // MICRO_BATCHES] for k in range(MICRO_BATCHES)]
    folder.mkdir()
    rows: list[list[tuple[int, int, bytes | None]]] = [[] for _ in edges]
    for number, events in streams.items():
        for k, start in enumerate(edges):
            end = edges[k + 1] if k + 1 < len(edges) else times[-1] + 1
            some = [event for event in events if start <= event.time < end]
            if some:
                Random(number).shuffle(some)
                rows[k].append(
                    (
                        number,
                        max(e.time for e in some),
                        to_bytes(rows_of(jobs[number].events, jobs[number].groups[0].schema, some)),
                    )
                )
    rows.append([(0, times[-1] + 10 * SECOND, None)])
    for k, part in enumerate(rows):
        slots, moments, payloads = zip(*part, strict=True)
        table = pa.table(
            {
                "slot": pa.array(slots, pa.int32()),
                "time": pa.array(moments, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
                "payload": pa.array(payloads, pa.binary()),
            }
        )
        write_arrival(table, folder, k)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # workers cannot import tests
