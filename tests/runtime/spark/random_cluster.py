"""Random kills on a real cluster, for the record: jobs of all kinds lose executors, workers and drivers.

``python tests/runtime/spark/random_cluster.py --kills 50 --seed 0`` starts a master and two workers once, runs one job
after the other on them, each with rules that consume, wait and count, kills at random moments, and compares what the
sinks hold in the end, row by row with ids, with what one run of the embedded engine finds. A line for each job.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from cluster_kills import VICTIMS, WAYS, run_with_kills

from servers.spark_cluster import spark_cluster

PATIENCE = 7200
"""Seconds that a job may take: records are made beside other work."""


def main() -> int:
    """Run jobs until there were so many kills, or the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=6, help="kills in one job")
    parser.add_argument("--minutes", type=float, default=600, help="after which no further job begins")
    options = parser.parse_args()
    kills: Counter[str] = Counter()
    jobs: Counter[str] = Counter()
    composites = wrong = number = 0
    end = time.monotonic() + 60 * options.minutes
    with spark_cluster() as cluster:
        while kills.total() < options.kills and time.monotonic() < end:
            seed, way = options.seed + number, WAYS[(options.seed + number) % len(WAYS)]
            wanted = Random(seed).choices(VICTIMS, k=min(options.each, options.kills - kills.total()))
            with TemporaryDirectory() as folder:
                survived = run_with_kills(cluster, Path(folder), way, seed, wanted, PATIENCE)
            kills += survived.kills
            jobs[way] += 1
            composites += survived.composites
            wrong += bool(survived.wrong)
            told = "; ".join(survived.wrong) or f"{survived.composites} composite events, all right"
            print(f"seed {seed}: {way}, killed {_words(survived.kills)}: {told}", flush=True)
            number += 1
    print(
        f"{kills.total()} kills ({_words(kills)}) in {number} jobs ({_words(jobs)}), {composites} composite events, "
        f"{wrong} jobs with wrong answers, seeds from {options.seed} on"
    )
    return 1 if wrong else 0


def _words(counted: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counted.items())) or "nothing"


if __name__ == "__main__":
    sys.exit(main())
