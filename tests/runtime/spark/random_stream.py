"""Random rules with timers on a real stream: a shard for each case, cut at random times, killed at random moments.

``python tests/runtime/spark/random_stream.py --cases 250 --seed 0 --kills 3`` writes the stream to a folder, runs it in
a process that it kills and starts again, and compares what was found with the reference engine, case by case.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "engine"), str(Path(__file__).parents[2])]

from agreement import normal, run
from event_rows import rows_of, whole_job, write_arrival
from pyspark import cloudpickle
from pyspark.sql import functions as f
from random_cases import Case, make_case
from random_rules import LIVELY

import cepheus.spark
from cepheus.core.errors import LimitError, RuleError
from cepheus.core.time import MILLISECOND, SECOND
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.shard_work import JobWork
from cepheus.runtime.spark.state_machine import Outcome
from cepheus.runtime.spark.streaming import stream_settings
from cepheus.runtime.spark.streaming_pack import to_bytes
from cepheus.runtime.spark.streaming_processor import ShardProcessor

START = 1_700_000_000 * SECOND
AFTER = 60 * MILLISECOND
"""How long time goes on after the last event of all."""


def cases_of(seed: int, count: int) -> dict[int, Case]:
    """Give cases with timers in milliseconds, which is what watermarks are in, all at about the same time."""
    found: dict[int, Case] = {}
    while len(found) < count:
        seed += 1
        try:
            case = make_case(seed, share=0, coarse=1 + seed % 2, timed=True, ordered=seed % 4 == 1, habits=LIVELY)
            if not case.events:
                continue
            first = case.events[0].time
            events = tuple(
                replace(event, time=START + (event.time - first) * MILLISECOND, id=n, sequence=n)
                for n, event in enumerate(case.events)
                if event.type in case.checked.inputs
            )
            checked = check(parse(case.text.replace(" us", " ms").replace("5 days", "5 s"), f"seed {seed}"))
            found[seed] = replace(case, checked=checked, events=events, until=None)
            run(replace(found[seed], until=START), "reference", "single")
        except (RuleError, LimitError):
            found.pop(seed, None)
    return found


def end_of(cases: dict[int, Case]) -> int:
    """Give the time up to which the watermark goes."""
    return max(event.time for case in cases.values() for event in case.events) + AFTER


def jobs_of(cases: dict[int, Case]) -> dict[int, Job]:
    return {
        number: whole_job(case.checked, sequenced=True, engine="auto" if number % 3 else "reference")
        for number, case in cases.items()
    }


class CasesProcessor(ShardProcessor):
    """A shard for every case, each with rules of its own."""

    def __init__(self, jobs: dict[int, Job]) -> None:
        super().__init__(next(iter(jobs.values())), (), late=False)
        self._jobs = jobs

    def work(self, key: Any) -> JobWork:
        return JobWork(self._jobs[key[0]], 0)

    def answer(self, work: JobWork, outcome: Outcome, events: int) -> pd.DataFrame:
        del events
        number = next(number for number, job in self._jobs.items() if job is work.job)
        texts = [repr(line) for line in normal(outcome.composites.to_events())]
        return pd.DataFrame({"number": [number] * len(texts), "found": texts}, dtype=object)


def write_input(folder: Path, cases: dict[int, Case], cuts: int, seed: int) -> None:
    """Write a file for each micro-batch: of every case the events of a stretch of time, shuffled; the end at last."""
    jobs, random = jobs_of(cases), Random(seed)
    end = end_of(cases)
    edges = sorted(random.sample(range(1, (end - AFTER - START) // MILLISECOND), cuts))
    edges = [START, *(START + edge * MILLISECOND for edge in edges), end]
    folder.mkdir()
    for place, (since, until) in enumerate(zip(edges, [*edges[1:], end + 1], strict=True)):
        rows: list[tuple[int, int, bytes | None]] = [(0, since, None)]
        for number, case in cases.items():
            some = [event for event in case.events if since <= event.time < until]
            random.shuffle(some)
            if some:
                payload = to_bytes(rows_of(jobs[number].events, jobs[number].groups[0].schema, some))
                rows.append((number, max(event.time for event in some), payload))
        slots, moments, payloads = zip(*rows, strict=True)
        times = pa.array(moments, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
        columns = {"slot": pa.array(slots, pa.int64()), "time": times, "payload": pa.array(payloads, pa.binary())}
        write_arrival(pa.table(columns), folder, place)


def stream(folder: Path, cases: dict[int, Case]) -> None:
    """Run the stream in the folder to its end."""
    spark = cepheus.spark.spark_session("local[2]", name="random stream")
    for key, value in stream_settings(2).items():
        spark.conf.set(key, value)
    events = (
        spark.readStream.schema("slot long, time timestamp, payload binary")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "in"))
        .withWatermark("time", "0 seconds")
        .observe("all", f.count(f.lit(1)))  # some rows only tell the time; a filter must not come before that
        .where("payload is not null")
    )
    found = (
        events.select("slot", "payload")
        .groupBy("slot")
        .transformWithStateInPandas(
            CasesProcessor(jobs_of(cases)), "number bigint, found string", "append", "eventTime"
        )
    )
    query = (
        found.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def found_in(folder: Path) -> dict[int, list[str]]:
    """Read what the committed micro-batches have written."""
    found: dict[int, list[str]] = {}
    logs = [log for log in (folder / "out" / "_spark_metadata").iterdir() if log.name.split(".")[0].isdigit()]
    # every tenth log repeats what those before it say, so each file is named once or twice
    paths = {json.loads(line)["path"] for log in logs for line in log.read_text().splitlines()[1:]}
    for path in sorted(paths):
        for row in pq.read_table(path.removeprefix("file://")).to_pylist():
            found.setdefault(row["number"], []).append(row["found"])
    return found


def differences(cases: dict[int, Case], found: dict[int, list[str]]) -> list[str]:
    """Compare with the reference engine, case by case."""
    end = end_of(cases)
    wrong = []
    for number, case in cases.items():
        wanted = [repr(line) for line in normal(run(replace(case, until=end), "reference", "single")[0])]
        if sorted(wanted) != sorted(found.get(number, [])):
            missing = sorted({*wanted} - {*found.get(number, [])})[:3]
            more = sorted({*found.get(number, [])} - {*wanted})[:3]
            wrong.append(f"seed {number}: {len(wanted)} expected, missing {missing}, more {more}\n{case.text}")
    return wrong


def run_killed(folder: Path, arguments: list[str], kills: int, seed: int) -> int:
    """Run the stream in a process that is killed so many times, and started again; give how often it was."""
    from test_streaming_kills import PATIENCE, Job

    random, done = Random(seed), 0
    script = [str(Path(__file__)), "--folder", str(folder), *arguments]
    while done < kills:
        job = Job(folder, script)
        if not job.wait(PATIENCE, job.commits() + random.randint(1, 2)) or not job.wait(random.uniform(0, 2), 10**9):
            break
        job.kill()
        done += 1
    assert Job(folder, script).finish() == 0, (folder / "job.log").read_text(errors="replace")[-3000:]
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cuts", type=int, default=12)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="run the stream that is there, and nothing else")
    options = parser.parse_args()
    cases = cases_of(options.seed, options.cases)
    if options.folder is not None:
        stream(options.folder, cases)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(folder / "in", cases, options.cuts, options.seed)
        arguments = ["--cases", str(options.cases), "--seed", str(options.seed)]
        done = run_killed(folder, arguments, options.kills, options.seed)
        found = found_in(folder)
    wrong = differences(cases, found)
    print(*wrong, sep="\n")
    made = sum(map(len, found.values()))
    print(
        f"{len(cases) - len(wrong)} cases agree, {len(wrong)} differ, {made} composite events in {len(found)} of them, "
        f"{options.cuts} cuts, {done} kills, seeds from {options.seed} on"
    )
    return 1 if wrong else 0


for name in (__name__, "agreement"):  # which workers cannot import
    cloudpickle.register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]

if __name__ == "__main__":
    sys.exit(main())
