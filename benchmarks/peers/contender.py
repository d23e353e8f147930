"""Everyone who answers a workload, ours and the baselines, behind one function each.

A contender is built from a job (workload, size, coding) and then run as often as wanted. What it finds is reduced to
a count and the sums of its columns, so that answers can be compared across processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.measuring.timing import Timing, timed
from benchmarks.peers import by_hand
from benchmarks.workloads.questions import WORKLOADS, Workload
from benchmarks.workloads.sequences import chapter_rules
from benchmarks.workloads.streams import Coding
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError

OURS = "columns"
LIMIT = "by hand"
BEST, NATURAL, OTHER = "best", "natural", "other"


@dataclass(frozen=True, slots=True)
class Job:
    """Who is to answer what: a contender is ``columns`` or another engine of ours, a baseline, or a loop by hand."""

    contender: str
    workload: str
    size: int
    coding: Coding = Coding.DICTIONARY
    formulation: str = BEST
    rule_count: int = 1000

    def to_json(self) -> dict[str, str | int]:
        """The job as a JSON object."""
        return {
            "contender": self.contender,
            "workload": self.workload,
            "size": self.size,
            "coding": self.coding.value,
            "formulation": self.formulation,
            "rule_count": self.rule_count,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, str | int]) -> Job:
        """Read what ``to_json`` gives.

        >>> Job.from_json(Job("duckdb", "F-last", 100).to_json()) == Job("duckdb", "F-last", 100)
        True
        """
        return cls(
            contender=str(data["contender"]),
            workload=str(data["workload"]),
            size=int(data["size"]),
            coding=Coding(data["coding"]),
            formulation=str(data["formulation"]),
            rule_count=int(data["rule_count"]),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """One run: its time from Arrow table to result columns, that of the engine alone, and what was found."""

    whole: Timing
    feed: Timing
    count: int
    sums: Mapping[str, float]

    def agrees(self, other: Answer) -> bool:
        """Whether both found the same, up to the rounding of floats added in another order."""
        return (
            self.count == other.count
            and self.sums.keys() == other.sums.keys()
            and all(np.isclose(self.sums[name], other.sums[name], rtol=1e-9) for name in self.sums)
        )


def build(job: Job) -> Callable[[], Answer]:
    """Make everything ready that is not to be timed, and give the function that runs the job once."""
    workload = WORKLOADS[job.workload]
    events = workload.events(job.size, job.coding)
    if job.contender == LIMIT:
        return partial(_run_baseline, by_hand.query(job.workload, events))
    if job.contender in ("duckdb", "polars"):
        tables = {"events": events, "rules": rule_table(job.rule_count)} if workload.selection else {"events": events}
        return partial(_run_baseline, _baseline(job, tables))
    subject = Subject.of(workload.rules(job.rule_count))
    subject.engine(job.contender)  # tells now if there is no such engine, or if it cannot run the rules
    return partial(_run_ours, subject, job.contender, events, workload)


def describe(job: Job) -> str:
    """Say in words what a baseline does."""
    if job.contender == LIMIT:
        return "a compiled loop for this question alone"
    return _formulations(job.contender, job.formulation)[job.workload]


def formulations(contender: str, workload: str) -> list[str]:
    """The formulations that a baseline has of a workload, the best first.

    >>> formulations("duckdb", "F-each")
    ['best', 'natural']
    """
    return [each for each in (BEST, NATURAL, OTHER) if workload in _formulations(contender, each)]


def rule_table(count: int) -> pa.Table:
    """The rules of the chapter workload as a table, for those who join events with rules.

    >>> rule_table(1).to_pylist()
    [{'rule': 0, 'first': 'T74', 'second': 'T182', 'third': 'T291', 'width': 8786}]
    """
    rules = chapter_rules(count)
    steps = {name: [rule.events[at] for rule in rules] for at, name in enumerate(("first", "second", "third"))}
    return pa.table({"rule": pa.array(range(count)), **steps, "width": [rule.windows[0] for rule in rules]})


def _formulations(contender: str, formulation: str) -> dict[str, str]:
    if contender == "duckdb":
        from benchmarks.peers import duckdb_queries

        sql = {BEST: duckdb_queries.BEST, NATURAL: duckdb_queries.NATURAL}.get(formulation, {})
        return {name: words for name, (words, _) in sql.items()}
    from benchmarks.peers import polars_queries

    functions = {BEST: polars_queries.BEST, OTHER: polars_queries.OTHER}.get(formulation, {})
    return {name: words for name, (words, _) in functions.items()}


def _baseline(job: Job, tables: Mapping[str, pa.Table]) -> Callable[[], pa.Table]:
    try:
        if job.contender == "duckdb":
            from benchmarks.peers import duckdb_queries

            queries = duckdb_queries.BEST if job.formulation == BEST else duckdb_queries.NATURAL
            return duckdb_queries.query(queries[job.workload][1], tables)
        from benchmarks.peers import polars_queries

        functions = polars_queries.BEST if job.formulation == BEST else polars_queries.OTHER
        return polars_queries.query(functions[job.workload][1], tables)
    except ModuleNotFoundError:
        raise OptionError.of(
            "measurement", f"{job.contender} is not installed", hint=f"pip install {job.contender}"
        ) from None


def _run_baseline(query: Callable[[], pa.Table]) -> Answer:
    timing, table = timed(query)
    sums = {name: float(pc.sum(table.column(name)).as_py() or 0) for name in table.schema.names}
    return Answer(timing, timing, table.num_rows, sums)


def _run_ours(subject: Subject, name: str, events: pa.Table, workload: Workload) -> Answer:
    engine = subject.engine(name)
    reading, batch = timed(partial(subject.batch, events))
    feeding, found = timed(partial(engine.feed, batch))
    return Answer(reading + feeding, feeding, len(found), _sums(found, workload))


def _sums(found: EventBatch, workload: Workload) -> dict[str, float]:
    """What the columns of the baselines' results add up to."""
    sums = {"time": float(found.times.sum() // 1000)}
    if workload.selection:
        assert found.provenance is not None or len(found) == 0
        if found.provenance is None:
            return {"rule": 0.0, **sums}
        numbers = np.array([int(name[1:]) for name in found.provenance.rules], np.int64)
        return {"rule": float(numbers[found.provenance.rule_codes].sum()), **sums}
    columns = {name: float(pc.sum(column).as_py() or 0) for (name, _), column in found.columns.items()}
    return {**sums, "area": columns.get("area", 0.0), "temp": columns.get("temp", 0.0)}
