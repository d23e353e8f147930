"""Runs the random trials of the network by the thousand and writes down the outcome.

    python -m benchmarks.network.trials --trials 20000 --faults 2000 --changes 2000 --losses 1000

Adds the run to those in benchmarks/network/trials.json. A failure prints its seed and the smallest stream that shows
it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "runtime" / "network"))

from dynamic_trials import check_dynamic_trial
from fault_trials import check_fault_trial
from loss_trials import check_loss_trial
from trials import check_trial

from cepheus.runtime.network.protocol.strategy import Strategy

RECORD = Path(__file__).with_suffix(".json")
_CHUNK = 50
_CHANGING = (Strategy.CENTR, Strategy.ST, Strategy.ST_PP)


def _run(job: tuple[str, int]) -> list[str]:
    """Run some trials of a kind; give what failed."""
    kind, start = job
    failures = []
    for seed in range(start, start + _CHUNK):
        try:
            if kind == "trials":
                check_trial(seed, list(Strategy)[seed % 5])
            elif kind == "faults":
                check_fault_trial(seed)
            elif kind == "losses":
                check_loss_trial(seed, list(Strategy)[seed % 5])
            else:
                check_dynamic_trial(seed, _CHANGING[seed % 3])
        except Exception as error:
            failures.append(f"{kind}, seed {seed}: {error}")
    return failures


def main() -> None:
    """Run the trials in processes and keep count of them as they are done."""
    parser = argparse.ArgumentParser(description="random trials of the network")
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--faults", type=int, default=2_000)
    parser.add_argument("--changes", type=int, default=2_000)
    parser.add_argument("--losses", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="how many processes")
    options = parser.parse_args()
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    record = dict(before)
    with ProcessPoolExecutor(options.workers) as pool:
        for kind in ("trials", "faults", "changes", "losses"):
            count = getattr(options, kind)
            if not count:
                continue
            jobs = [(kind, options.first + start) for start in range(0, count, _CHUNK)]
            failures: list[str] = []
            for done, found in enumerate(pool.map(_run, jobs), 1):
                failures += found
                run = {"first seed": options.first, "run": done * _CHUNK, "failed": len(failures)}
                record[kind] = [*before.get(kind, ()), run]
                RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            print(kind, record[kind][-1])
            print("\n".join(failures))


if __name__ == "__main__":
    main()
