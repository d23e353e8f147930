"""A real cluster: executors, workers and drivers are killed at random moments, and nothing is lost or doubled.

``random_cluster.py`` does the same for the record, as often as wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from cluster_kills import VICTIMS, WAYS, run_with_kills

from servers.spark_cluster import SparkCluster, spark_cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with spark_cluster() as started:
        yield started


def lives_through(cluster: SparkCluster, folder: Path, way: str, seed: int, wanted: list[str]) -> None:
    survived = run_with_kills(cluster, folder, way, seed, wanted)
    assert survived.kills.total() == len(wanted), f"seed {seed}: the job ended before all kills: {survived.kills}"
    assert not survived.wrong, f"seed {seed}, kills {survived.kills}"


@pytest.mark.slow
@pytest.mark.parametrize(("way", "what"), [("micro-batches", ["executor", "driver"])])
def test_two_kills(cluster: SparkCluster, tmp_path: Path, way: str, what: list[str]) -> None:
    lives_through(cluster, tmp_path, way, seed=1, wanted=what)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(2, 6))
def test_fifty_kills(cluster: SparkCluster, tmp_path: Path, way: str, seed: int) -> None:
    """Sixty, by twelve jobs; every job loses an executor, a worker and its driver."""
    random = Random(seed)
    wanted = ["executor", "worker", "driver", *random.choices(VICTIMS, k=2)]
    random.shuffle(wanted)
    lives_through(cluster, tmp_path, way, seed, wanted)
