"""A real streaming job is killed at random moments and started again: nothing is lost, nothing doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from fire_files import arrivals, expected, make_events, write_file
from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = Path(__file__).with_name("killable_job.py")
PATIENCE = 600
"""Seconds that one run of the job may take before the test gives up."""
IN_THE_MIDDLE = 0.7
"""How many kills come while micro-batches are at work, not just at any time."""


class Job:
    """The job in a process group of its own, so that a kill takes Java and all the rest with it."""

    def __init__(self, folder: Path, script: Sequence[str] = ()) -> None:
        self._log = (folder / "job.log").open("ab")
        self._commits = folder / "checkpoint" / "commits"
        command = [sys.executable, *(script or (str(JOB), str(folder)))]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, start_new_session=True)

    def commits(self) -> int:
        """Count the micro-batches that are done for good."""
        return len([path for path in self._commits.glob("*") if path.name.isdigit()])

    def wait(self, seconds: float, commits: int) -> bool:
        """Wait until so many micro-batches are done, at most so long; False if the job has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.commits() < commits:
            if self._process.poll() is not None:
                return False
            time.sleep(0.05)
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it as hard as can be."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def finish(self) -> int:
        """Let it run to its end."""
        try:
            return self._process.wait(PATIENCE)
        finally:
            if self._process.poll() is None:
                self.kill()
            self._log.close()


def run_with_kills(request: pytest.FixtureRequest, folder: Path, seed: int, kills: int, way: str = "operator") -> None:
    random = Random(seed)
    events = make_events(40 * kills + 200, seed)
    right = expected(events)  # first, so that the engine is compiled and no kill can prevent that
    for number, some in enumerate(arrivals(events, 4 * kills + 4, seed)):
        write_file(some, folder / "in", number)
    done = 0
    script = (str(JOB), str(folder), way)
    while done < kills:
        job = Job(folder, script)
        if random.random() < IN_THE_MIDDLE:  # in the middle of the work
            running = job.wait(PATIENCE, job.commits() + random.randint(1, 2))
            running = running and job.wait(random.uniform(0, 2), 10**9)
        else:  # at any time after the start
            running = job.wait(random.uniform(0, 20), 10**9)
        if not running:
            break
        job.kill()
        done += 1
    log = folder / "job.log"
    assert done == kills, f"seed {seed}: the job ended after {done} kills\n{log.read_text(errors='replace')[-5000:]}"
    assert Job(folder, script).finish() == 0, log.read_text(errors="replace")[-5000:]
    said = log.read_text(errors="replace")
    assert "Setting Spark log level" in said
    assert "TransformWithState" not in said  # what Spark prints of itself whenever a stream starts
    spark: SparkSession = request.getfixturevalue("spark")  # not before, so that it does not take from the job
    rows = spark.read.parquet(str(folder / "out")).select("type", f.unix_micros("time"), "id").collect()
    assert sorted(map(tuple, rows)) == right, f"seed {seed}"


def test_a_kill(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """With this seed in the middle of the work; each start of Spark takes half a minute, so one kill must do here."""
    assert Random(1).random() < IN_THE_MIDDLE
    run_with_kills(request, tmp_path, seed=1, kills=1)


def test_a_kill_of_a_written_stream(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """With this seed in the middle of the work."""
    run_with_kills(request, tmp_path, seed=1, kills=1, way="micro-batches")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_twenty_kills_of_a_written_stream(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> None:
    run_with_kills(request, tmp_path, seed, kills=5, way="micro-batches")


@pytest.mark.slow
def test_three_kills(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    run_with_kills(request, tmp_path, seed=1, kills=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_thirty_kills(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> None:
    run_with_kills(request, tmp_path, seed, kills=5)
