"""Jobs on a real cluster whose executors, workers and drivers are killed, and what they must have written at last."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
from cluster_job import ROUNDS
from fire_files import arrivals, expected, make_events, write_file

from servers.spark_cluster import Driver, SparkCluster

JOB = Path(__file__).with_name("cluster_job.py")
WAYS = ("batch", "micro-batches", "operator")
VICTIMS = ("executor", "worker", "driver")
PATIENCE = 900
"""Seconds that a job may take before the test gives up."""

_CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.task.maxFailures": "50",  # each lost executor counts as a failure of its task
    "spark.stage.maxConsecutiveAttempts": "50",
    "spark.deploy.maxExecutorRetries": "-1",
}


@dataclass(frozen=True, slots=True)
class Survived:
    """How often what was killed, how many composite events were written, and what of that was wrong."""

    kills: Counter[str]
    composites: int
    wrong: tuple[str, ...]


class KilledJob:
    """A job on a cluster, and the kills that it lives through."""

    def __init__(self, cluster: SparkCluster, folder: Path, way: str, random: Random, patience: float) -> None:
        self._cluster, self._folder, self._way, self._random = cluster, folder, way, random
        self._patience = patience
        self._log = folder / "job.log"
        self._end = time.monotonic() + patience
        self.kills: Counter[str] = Counter()
        self._driver = self._started()

    def _started(self) -> Driver:
        return self._cluster.submit(JOB, [str(self._folder), self._way], self._log, _CONF)

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]

    def _steps(self) -> int:
        """How much is done for good."""
        if self._way == "batch":
            return len(list((self._folder / "out").glob("*/_SUCCESS")))
        return len([path for path in (self._folder / "checkpoint" / "commits").glob("*") if path.name.isdigit()])

    def wait(self, seconds: float, steps: int) -> bool:
        """Wait until the job has done so much and has executors, at most so long; False if it has ended."""
        end = min(time.monotonic() + seconds, self._end)
        while time.monotonic() < end and not (self._steps() >= steps and self._cluster.executors()):
            if self._driver.ended:
                return False
            time.sleep(0.05)
        assert time.monotonic() < self._end, f"the job does not end\n{self._said()}"
        return not self._driver.ended

    def kill(self, what: str) -> bool:
        """Kill something in the middle of the work; False if the job has ended before."""
        if not self.wait(self._patience, self._steps() + self._random.randrange(2)):
            return False
        if not self.wait(self._random.uniform(0, 3), 10**9):
            return False
        match what:
            case "executor":
                running = self._cluster.executors()
                if not running:
                    return self.kill(what)
                _kill(self._random.choice(running))
            case "worker":
                worker = self._random.choice(self._cluster.workers)
                assert worker.process is not None
                worker.process.send_signal(self._random.choice((signal.SIGKILL, signal.SIGTERM)))
                worker.process.wait()
                time.sleep(self._random.uniform(0, 2))
                worker.start()
            case _:
                self._driver.kill()
                self._driver = self._started()
        self.kills[what] += 1
        return True

    def end(self) -> None:
        """See to it that nothing of it runs on, whatever became of the test."""
        self._driver.kill()

    def finish(self) -> None:
        """Let it run to its end."""
        while not self._driver.ended:
            assert time.monotonic() < self._end, f"the job does not end\n{self._said()}"
            time.sleep(0.1)
        assert self._driver.process.returncode == 0, self._said()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def run_with_kills(
    cluster: SparkCluster, folder: Path, way: str, seed: int, wanted: list[str], patience: float = PATIENCE
) -> Survived:
    """Run a job while what is wanted is killed, as long as it runs, and compare what it has written in the end."""
    random = Random(seed)
    events = make_events(60 * len(wanted) + 200, seed)
    right = expected(events)  # first, so that the engine is compiled and no kill can prevent that
    for number, some in enumerate(arrivals(events, 4 * len(wanted) + 4, seed)):
        write_file(some, folder / "in", number)
    job = KilledJob(cluster, folder, way, random, patience)
    try:
        for what in wanted:
            job.kill(what)
        job.finish()
    finally:
        job.end()
    rounds = [folder / "out" / f"round-{number}" for number in range(ROUNDS)] if way == "batch" else [folder / "out"]
    wrong = tuple(differences(out, right) for out in rounds if found_in(out) != right)
    return Survived(job.kills, len(right) * len(rounds), wrong)


def differences(out: Path, right: list[tuple[str, int, str]]) -> str:
    """What was lost and what was doubled, or made up."""
    found, wanted = Counter(found_in(out)), Counter(right)
    return f"{out.name}: missing {sorted((wanted - found).items())[:3]}, more {sorted((found - wanted).items())[:3]}"


def found_in(folder: Path) -> list[tuple[str, int, str]]:
    """What was written, by the log of finished micro-batches if there is one: what a reader with Spark sees."""
    log = folder / "_spark_metadata"
    files = _logged(log) if log.exists() else sorted(folder.glob("*.parquet"))
    rows: list[tuple[str, int, str]] = []
    for path in files:
        table = pq.read_table(path, columns=["type", "time", "id"])
        times = table.column("time").cast("timestamp[us]").cast("int64").to_pylist()
        rows += zip(table.column("type").to_pylist(), times, map(str, table.column("id").to_pylist()), strict=True)
    return sorted(rows)


def _logged(log: Path) -> list[Path]:
    """The files that Spark's log names; a number with the end ``compact`` has all before it."""
    numbers = {int(path.name.removesuffix(".compact")): path for path in log.glob("[0-9]*")}
    compact = max((number for number, path in numbers.items() if path.suffix), default=-1)
    found = []
    for number, path in sorted(numbers.items()):
        if number >= compact:
            lines = path.read_text().splitlines()[1:]
            found += [Path(json.loads(line)["path"].removeprefix("file:").replace("//", "")) for line in lines]
    return found
