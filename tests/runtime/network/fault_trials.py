"""The random trials again, on links that lose, double, delay and are cut, with nodes that crash and come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from trials import Seen, Trial, attach, check, make_trial, options_of, received

from cepheus.runtime.network.protocol.messages import Admitted, Delivered, Deployed, Publish, Tick
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.faults import Faults, FaultyNetwork

_STEP = 500
_PATIENCE = 400


def check_fault_trial(seed: int, strategy: Strategy | None = None) -> None:
    """Run a trial with faults; after healing nothing may be lost or doubled."""
    check(make_trial(seed, strategy, events=16), run_with_faults)


def run_with_faults(trial: Trial, deliver: Callable[[Delivered], None] | None = None) -> tuple[Seen, int]:
    """Run a trial with the faults of its seed; give what sinks received and the shift of its times.

    Where somebody wants to see each delivery, the sinks ask for promises, too.
    """
    random = Random(f"faults of {trial.seed}")
    rates = Faults(
        loss=random.choice((0.0, 0.05, 0.3)),
        duplication=random.choice((0.0, 0.2)),
        extra_delay=random.choice((0, 10, 60)),
        checkpoint_every=random.choice((0, 0, 9, 50)),
        until=10**12,
    )
    network = FaultyNetwork(trial.links, options_of(trial), trial.processors, rates, trial.seed)
    network.on_delivered = deliver
    host = random.choice(trial.processors)
    begin, last, shift = come_up(trial, network, host, promises=deliver is not None)
    network.inject(_schedule(random, trial, rates, begin, last))
    publish(trial, network, random, shift, trial.processors)
    return received(network), shift


def come_up(trial: Trial, network: FaultyNetwork, host: str, *, promises: bool = False) -> tuple[int, int, int]:
    """Let the network come up, faults or not; give the times of the first and the last event, and their shift."""
    network.start()
    attach(trial, network, 1, host, promises=promises)
    _wait(trial, network)
    begin = network.now + 1000
    shift = begin - min((event.time for _, event in trial.events), default=0)
    return begin, max((event.time for _, event in trial.events), default=0) + shift, shift


def _wait(trial: Trial, network: FaultyNetwork) -> None:
    for _ in range(_PATIENCE):
        network.run(network.now + _STEP)
        told = [message for _, _, message in network.told]
        admitted = sum(isinstance(message, Admitted) for message in told)
        deployed = any(isinstance(message, Deployed) for message in told)
        if network.settled() and admitted == len(trial.sources) and deployed:
            return
    raise AssertionError("the network did not come up")


def publish(
    trial: Trial, network: FaultyNetwork, random: Random, shift: int, alive: Sequence[str], pace: int = 1
) -> None:
    """Publish the events and wait until nothing is under way; those alive are told when the last one has come.

    The times of events pass ``pace`` times as fast as time does.
    """
    times = [event.time + shift for _, event in trial.events]
    first, last = min(times, default=shift), max(times, default=shift)
    for name, (at, _) in trial.sources.items():
        own = [replace(event, time=event.time + shift) for source, event in trial.events if source == name]
        for event in own:
            now = first + (event.time - first) // pace + random.choice((0, 1, 9))
            network.post(now, at, Publish(name, (event,), event.time - 1), name)
    for name in alive:
        network.tell(last + 300, name, Tick(last))
    network.run(last + 3000)
    for _ in range(_PATIENCE):
        if network.settled():
            return
        network.run(network.now + _STEP)
    raise AssertionError(f"seed {trial.seed}: messages are still under way")


def _schedule(random: Random, trial: Trial, rates: Faults, begin: int, last: int) -> Faults:
    crashes = []
    for name in trial.processors:
        if random.random() < 0.4:
            start = random.randint(begin, last + 50)
            crashes.append((name, start, start + random.choice((1, 40, 300))))
    cuts = []
    for link in trial.links:
        if random.random() < 0.3:
            start = random.randint(begin, last)
            cuts.append((link, start, start + random.choice((20, 200))))
    return replace(rates, crashes=tuple(crashes), cuts=tuple(cuts), until=last + 400)
