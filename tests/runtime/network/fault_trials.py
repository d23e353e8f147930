"""The random trials again, on links that lose, double, delay and are cut, with nodes that crash and come back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from trials import Seen, Trial, expected, make_trial, options_of, show

from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.faults import Faults, FaultyNetwork
from cepheus.runtime.network.messages import Admitted, AttachSink, AttachSource, Deployed, DeployRules, Publish, Tick
from cepheus.runtime.network.strategy import Strategy

_STEP = 500
_PATIENCE = 400


def check_fault_trial(seed: int, strategy: Strategy | None = None) -> None:
    """Run a trial with faults; after healing nothing may be lost or doubled."""
    trial = make_trial(seed, strategy, events=16)
    got, shift = run_with_faults(trial)
    want = expected(trial, shift)
    if got != want:
        trial = _shrink(trial)
        got, shift = run_with_faults(trial)
        want = expected(trial, shift)
        raise AssertionError(f"{trial.describe()}\nmissing: {dict(want - got)}\ntoo many: {dict(got - want)}")


def run_with_faults(trial: Trial) -> tuple[Seen, int]:
    """Run a trial with the faults of its seed; give what sinks received and the shift of its times."""
    random = Random(f"faults of {trial.seed}")
    rates = Faults(
        loss=random.choice((0.0, 0.05, 0.3)),
        duplication=random.choice((0.0, 0.2)),
        extra_delay=random.choice((0, 10, 60)),
        checkpoint_every=random.choice((0, 0, 9, 50)),
        until=10**12,
    )
    network = FaultyNetwork(trial.links, options_of(trial), trial.processors, rates, trial.seed)
    network.start()
    for name, (at, types) in trial.sources.items():
        network.post(1, at, AttachSource(name, types), name)
    rules = trial.case.checked.rules
    network.post(1, random.choice(trial.processors), DeployRules("r", rules.rules, rules.declarations), "deployer")
    for name, (at, types) in trial.sinks.items():
        for kind in types:
            network.post(1, at, AttachSink(name, parse_event_pattern(f"{kind}()")), name)
    settle(network, len(trial.sources))
    begin = network.now + 1000
    shift = begin - min((event.time for _, event in trial.events), default=0)
    last = max((event.time for _, event in trial.events), default=0) + shift
    network.inject(_schedule(random, trial, rates, begin, last))
    for name, (at, _) in trial.sources.items():
        own = [replace(event, time=event.time + shift) for source, event in trial.events if source == name]
        for event in own:
            network.post(event.time + random.choice((0, 1, 9)), at, Publish(name, (event,), event.time - 1), name)
    for name in trial.processors:
        network.tell(last + 300, name, Tick(last))
    network.run(last + 2000)
    for _ in range(_PATIENCE):
        if network.settled():
            break
        network.run(network.now + _STEP)
    assert network.settled(), f"seed {trial.seed}: messages are still under way"
    return Counter((receipt.sink, show(receipt.event)) for receipt in network.receipts), shift


def settle(network: FaultyNetwork, sources: int) -> None:
    """Let the network come up, faults or not."""
    for _ in range(_PATIENCE):
        network.run(network.now + _STEP)
        told = [message for _, _, message in network.told]
        admitted = sum(isinstance(message, Admitted) for message in told)
        if network.settled() and admitted == sources and any(isinstance(message, Deployed) for message in told):
            return
    raise AssertionError("the network did not come up")


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


def _shrink(trial: Trial) -> Trial:
    """Leave out events as long as the outcome still differs."""
    for place in range(len(trial.events) - 1, -1, -1):
        smaller = replace(trial, events=trial.events[:place] + trial.events[place + 1 :])
        got, shift = run_with_faults(smaller)
        if got != expected(smaller, shift):
            trial = smaller
    return trial
