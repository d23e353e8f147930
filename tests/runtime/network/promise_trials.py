"""Random networks whose sinks ask to be told how far everything has been delivered: what they are told must hold.

As a script, ``PYTHONPATH=. python tests/runtime/network/promise_trials.py --trials 5000``, it runs many of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

from fault_trials import run_with_faults
from loss_trials import run_with_loss, with_victim
from trials import Seen, Trial, attach, expected, make_trial, options_of, publish, received

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.protocol.messages import Delivered
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.simulator import Network

Told = dict[str, list[tuple[tuple[Event, ...], int | None]]]
"""What each sink was told, in order: events, and promises."""
Run = Callable[[Trial, Callable[[Delivered], None]], tuple[Seen, int]]


def check_promise_trial(seed: int, strategy: Strategy | None = None) -> int:
    """Run the trial of a seed on a network without faults; give how many promises were made.

    In a third of the trials the sources leave, instead of promising that this was all: all at the end, or each soon
    after its last event.
    """
    return _check(
        with_sources(make_trial(seed, strategy)), run_until_they_leave if seed % 3 == 0 else run_with_promises
    )


def check_promise_trial_with_faults(seed: int, strategy: Strategy | None = None) -> int:
    """Do the same with links that lose, double and delay, and nodes that crash and come back."""
    return _check(make_trial(seed, strategy, events=16), run_with_faults)


def check_promise_trial_with_loss(seed: int, strategy: Strategy | None = None) -> int:
    """Do the same with a processor that dies, so that trees are built anew without it."""
    return _check(with_victim(make_trial(seed, strategy, events=16)), run_with_loss)


def with_sources(trial: Trial) -> Trial:
    """Let sinks ask for some events of sources, besides composite ones."""
    random = Random(f"sources for sinks {trial.seed}")
    published = sorted({kind for _, types in trial.sources.values() for kind in types})
    more = {
        name: (at, (*types, *(kind for kind in published if random.random() < 0.3)))
        for name, (at, types) in trial.sinks.items()
    }
    return replace(trial, sinks=more)


def _check(trial: Trial, run: Run) -> int:
    told: Told = {name: [] for name in trial.sinks}
    got, shift = run(trial, partial(_note, told))
    assert got == expected(trial, shift), trial.describe()
    last = max((event.time for _, event in trial.events), default=0) + shift
    for sink, deliveries in told.items():
        if run is run_until_they_leave:  # nobody knows of later times
            last = max((event.time for events, _ in deliveries for event in events), default=MIN_TIME)
        through = MIN_TIME
        for events, promised in deliveries:
            assert all(event.time > through for event in events), f"{sink} was promised {through}\n{trial.describe()}"
            assert promised is None or promised > through, "promises grow"
            through = through if promised is None else promised
        assert through >= last, f"{sink} is complete to {through}, not {last}\n{trial.describe()}"
    return sum(promised is not None for deliveries in told.values() for _, promised in deliveries)


def _note(told: Told, message: Delivered) -> None:
    told[message.sink].append((message.events, message.through))


def run_until_they_leave(trial: Trial, deliver: Callable[[Delivered], None]) -> tuple[Seen, int]:
    """Run a trial whose sources leave: all at its end, or, for even seeds, each when it has nothing more."""
    return run_with_promises(trial, deliver, leave=True)


def run_with_promises(trial: Trial, deliver: Callable[[Delivered], None], *, leave: bool = False) -> tuple[Seen, int]:
    """Run a trial whose sinks are told how far they are; give what they received and the shift of its times."""
    network = Network(trial.links, options_of(trial), trial.processors)
    random = Random(f"timing {trial.seed}")
    network.on_delivered = deliver
    network.start()
    network.run()
    attach(trial, network, network.now, random.choice(trial.processors), promises=True)
    network.run()
    shift = network.now + 1000 - min((event.time for _, event in trial.events), default=0)
    publish(trial, network, random, shift, leave=leave, early=leave and trial.seed % 2 == 0)
    network.run()
    return received(network), shift


def main() -> None:
    """Run as many trials as are asked for, each strategy in turn, and print how many promises held."""
    kinds = {
        "none": check_promise_trial,
        "links": check_promise_trial_with_faults,
        "loss": check_promise_trial_with_loss,
    }
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--faults", choices=list(kinds), default="none")
    given = parser.parse_args()
    strategies = list(Strategy)
    seeds = range(given.seed, given.seed + given.trials)
    made = sum(kinds[given.faults](seed, strategies[seed % len(strategies)]) for seed in seeds)
    print(f"{given.trials:,} networks, {made:,} promises, all hold")


if __name__ == "__main__":
    main()
