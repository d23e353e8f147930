"""Tells how much faster than real time the simulator runs the default scenario on one core.

    python -m benchmarks.network.simulator_speed --seeds 10 --repeat 3

Exact filters and order, one tree, CPU time. Of each seed the fastest of several runs counts: other programs on the
machine can only make a run slower.
"""

from __future__ import annotations

import argparse
from statistics import mean

from cepheus.core.time import SECOND
from cepheus.runtime.network.simulation.experiment import run_plan
from cepheus.runtime.network.simulation.scenario import Scenario, draw


def main() -> None:
    """Time the simulator, seed by seed."""
    parser = argparse.ArgumentParser(description="the speed of the simulator")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=30, help="seconds before the measurement")
    parser.add_argument("--duration", type=int, default=300, help="seconds that are measured")
    options = parser.parse_args()
    scenario = Scenario(warm_up=options.warm_up * SECOND, duration=options.duration * SECOND)
    fastest = []
    for seed in range(options.first, options.first + options.seeds):
        plan = draw(scenario, seed)
        outcomes = [run_plan(plan).outcome for _ in range(options.repeat)]
        fastest.append(max(outcome.speed for outcome in outcomes))
        runs = ", ".join(f"{outcome.speed:.1f}" for outcome in outcomes)
        print(f"seed {seed}: {fastest[-1]:.1f}x ({runs}); {outcomes[0].traffic:.0f} messages/s", flush=True)
    print(f"mean {mean(fastest):.1f}x, slowest {min(fastest):.1f}x")


if __name__ == "__main__":
    main()
