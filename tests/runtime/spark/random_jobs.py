"""Random rules with timers in jobs of ``detect``: many cases at once, finite and as streams that stop and go on.

``python tests/runtime/spark/random_jobs.py --cases 500`` joins cases into jobs, whose event types and rules have the
case's number in front, runs each job on Spark as one finite input and as one stream, and compares with the reference
engine on the same input. So time is one for all cases of a job, here and there. A stream is cut at random times, comes
out of order, and stops at some cuts: it then goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

sys.path += [str(Path(__file__).parent), *(str(Path(__file__).parents[2] / name) for name in ("engine", "conformance"))]
sys.path.append(str(Path(__file__).parents[2]))

from conformance_together import renamed_rule
from event_rows import run_what_is_there, write_arrival
from random_cases import Case
from random_stream import AFTER, START, cases_of

import cepheus
import cepheus.spark
from cepheus.core.event import Event
from cepheus.core.time import MILLISECOND
from cepheus.core.values import ValueType
from cepheus.rules.model import RuleSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS = {
    "x": ValueType.INT,
    "y": ValueType.FLOAT,
    "s": ValueType.STRING,
    "b": ValueType.BOOL,
    "at": ValueType.TIMESTAMP,
    "o": ValueType.INT,
}
_SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("time", ValueType.TIMESTAMP.arrow),
        ("n", pa.int64()),
        *((name, kind.arrow) for name, kind in _KINDS.items()),
    ]
)
_LATENESS = 20 * MILLISECOND
_SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.python.authenticate.socketTimeout": "5min"}
"""On a machine that has much else to do, workers take their time to answer."""


@dataclass(frozen=True)
class Joined:
    """Cases as one rule set over one stream, in order."""

    seeds: tuple[int, ...]
    rules: RuleSet
    events: tuple[Event, ...]

    @property
    def end(self) -> int:
        """The time up to which a stream goes on."""
        return self.events[-1].time + AFTER

    def wanted(self, *, endless: bool) -> list[str]:
        """What the reference finds; of an ``endless`` stream up to where its watermark comes in the end."""
        program = cepheus.compile(self.rules)
        if not endless:
            return shown(
                program.detect(list(self.events), engine="reference", sequence="n", time_unit="us").to_events()
            )
        session = program.start(engine="reference", time_unit="us", sequence="n")
        found = [*session.feed(list(self.events)).to_events(), *session.advance(self.end).to_events()]
        return shown(found)

    def table(self) -> pa.Table:
        rows = [{"type": event.type, "time": event.time, "n": event.id, **event.attributes} for event in self.events]
        columns = [pa.array([row.get(field.name) for row in rows], _stored(field.type)) for field in _SCHEMA]
        return pa.table([column.cast(field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA)


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def shown(events: Sequence[Event]) -> list[str]:
    """Composite events in a form in which two answers compare as multisets."""
    return sorted(line(event.type, event.time, event.made_of, event.attributes) for event in events)


def line(kind: str, moment: int, made_of: Sequence[Any], attributes: Any) -> str:
    known = sorted((name, repr(_plain(value))) for name, value in attributes.items() if value is not None)
    return f"{kind} {moment - START} {[str(part) for part in made_of]} {known}"


def _plain(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value


def joined(cases: Sequence[Case]) -> Joined:
    """Put cases together: rules and types get the number of their case in front."""
    rules, events = RuleSet(), []
    for case in cases:
        prefix, own = f"c{case.seed}_", case.checked.rules
        declared = tuple(replace(each, name=prefix + each.name) for each in own.declarations)
        rules += RuleSet(declared, tuple(renamed_rule(rule, prefix) for rule in own.rules))
        events += [replace(event, type=prefix + event.type) for event in case.events]
    events.sort(key=lambda event: event.time)
    numbered = tuple(replace(event, id=n, sequence=n) for n, event in enumerate(events))
    return Joined(tuple(case.seed for case in cases), rules, numbered)


def found_in(rows: DataFrame) -> list[str]:
    found = []
    own = {"type", "time", "start", "id", "from"}
    for row in rows.toArrow().to_pylist():
        values = {
            name.partition(" (")[0]: value for name, value in row.items() if name not in own and value is not None
        }
        moments = {name: _micros(value) if hasattr(value, "timestamp") else value for name, value in values.items()}
        found.append(line(row["type"], _micros(row["time"]), row["from"], moments))
    return sorted(found)


def _micros(moment: Any) -> int:
    return int(pa.scalar(moment, ValueType.TIMESTAMP.arrow).cast(pa.int64()).as_py())


def run_batch(spark: SparkSession, job: Joined, random: Random) -> list[str]:
    frame = spark.createDataFrame(job.table()).repartition(2)
    shards = random.choice((1, 2, 3))
    return found_in(_detection(job, frame, shards))


def _detection(job: Joined, frame: DataFrame, shards: int, **options: Any) -> DataFrame:
    return cepheus.spark.detect(
        job.rules, frame, sequence="n", id="n", provenance=True, shards=shards, **options
    ).dataframe


def run_stream(spark: SparkSession, job: Joined, random: Random, folder: Path, cuts: int) -> list[str]:
    """Run a stream that comes in files, and stops in between."""
    table, shards = job.table(), random.choice((1, 2))
    times = [event.time for event in job.events]
    arrives = sorted(range(len(times)), key=lambda row: (times[row] + random.randint(0, _LATENESS - 1), row))
    edges = [0, *sorted(random.sample(range(1, len(times)), cuts)), len(times)]
    spark_schema = spark.createDataFrame(table.slice(0, 1)).schema
    (folder / "in").mkdir()
    for place, (begin, end) in enumerate(pairwise(edges)):
        write_arrival(table.take(pa.array(arrives[begin:end], pa.int64())), folder / "in", place)
        if random.random() < 0.25:
            _go_on(spark, job, folder, spark_schema, shards)
    last = pa.Table.from_pylist([{"type": "Tick", "time": job.end + _LATENESS, "n": len(times)}], _SCHEMA)
    write_arrival(last, folder / "in", len(edges))
    _go_on(spark, job, folder, spark_schema, shards)
    return found_in(spark.read.parquet(str(folder / "out")))


def _go_on(spark: SparkSession, job: Joined, folder: Path, schema: Any, shards: int) -> None:
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(folder / "in"))
    found = _detection(job, frame, shards, lateness="20 ms")
    query = found.writeStream.format("parquet").option("path", str(folder / "out"))
    query = query.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    run_what_is_there(query)


def differences(job: Joined, wanted: list[str], found: list[str], where: str) -> list[str]:
    """The cases of a job whose answers differ, in words."""
    if wanted == found:
        return []
    told = []
    for seed in job.seeds:
        mine = Counter(each for each in wanted if each.startswith(f"c{seed}_"))
        theirs = Counter(each for each in found if each.startswith(f"c{seed}_"))
        if mine != theirs:
            missing, more = list((mine - theirs).elements())[:3], list((theirs - mine).elements())[:3]
            told.append(f"{where}, seed {seed}: missing {missing}, more {more}")
    return told


def run_jobs(
    spark: SparkSession, cases: Sequence[Case], together: int, cuts: int, hosts: Collection[str] = ("batch", "stream")
) -> tuple[list[str], Counter[str]]:
    """Run cases, so many together, and tell what differs and how many composite events each host has made."""
    wrong: list[str] = []
    made, begun = Counter[str](), time.monotonic()
    for ordered in (False, True):
        own = [case for case in cases if all(rule.ordered == ordered for rule in case.checked.rules.rules)]
        for first in range(0, len(own), together):
            job = joined(own[first : first + together])
            random = Random(job.seeds[0])
            if "batch" in hosts:
                found = run_batch(spark, job, random)
                made["batch"] += len(found)
                wrong += differences(job, job.wanted(endless=False), found, "batch")
            if "stream" in hosts:
                with tempfile.TemporaryDirectory() as name:
                    found = run_stream(spark, job, random, Path(name), cuts)
                made["stream"] += len(found)
                wrong += differences(job, job.wanted(endless=True), found, "stream")
            done = first + len(job.seeds)
            print(f"{time.monotonic() - begun:.0f} s: {done} of {len(own)}, {len(wrong)} differ", *wrong, flush=True)
    return wrong, made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--together", type=int, default=10, help="how many cases are one job")
    parser.add_argument("--cuts", type=int, default=6)
    parser.add_argument("--only", choices=("batch", "stream"), help="leave the other out")
    options = parser.parse_args()
    spark = cepheus.spark.spark_session("local[2]", name="random jobs", options=_SETTINGS)
    cases = list(cases_of(options.seed, options.cases).values())
    hosts = ("batch", "stream") if options.only is None else (options.only,)
    wrong, made = run_jobs(spark, cases, options.together, options.cuts, hosts)
    print(f"{len(cases)} cases, {len(wrong)} differ, composite events: {dict(made)}, seeds from {options.seed} on")
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
