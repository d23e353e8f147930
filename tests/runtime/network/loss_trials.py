"""The random trials again, with a processor that dies: its neighbours give it up, and trees are built anew without it.

Sources and sinks are elsewhere. Sometimes the processor comes back after a while.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from fault_trials import settle
from trials import Seen, Trial, expected, make_trial, options_of, show

from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.faults import Faults, FaultyNetwork
from cepheus.runtime.network.messages import AttachSink, AttachSource, DeployRules, Publish, Tick
from cepheus.runtime.network.strategy import Strategy

_RETAIN = (400, 3000)
_STEP = 500
_PATIENCE = 400


def check_loss_trial(seed: int, strategy: Strategy | None = None) -> None:
    """Run a trial in which a processor is lost; nothing may be lost or doubled."""
    trial = with_victim(make_trial(seed, strategy, events=16))
    got, shift = run_with_loss(trial)
    want = expected(trial, shift)
    if got != want:
        trial = _shrink(trial)
        got, shift = run_with_loss(trial)
        want = expected(trial, shift)
        raise AssertionError(f"{trial.describe()}\nmissing: {dict(want - got)}\ntoo many: {dict(got - want)}")


def with_victim(trial: Trial) -> Trial:
    """Add a processor that others like to go by; by its name it is the leader, or not."""
    random = Random(f"victim of {trial.seed}")
    name = random.choice(("a", "v"))
    near = random.sample(trial.processors, min(len(trial.processors), random.choice((1, 2, 2, 3))))
    links = trial.links | {(name, other): 1 for other in near}
    return replace(trial, processors=(*trial.processors, name), links=links)


def run_with_loss(trial: Trial) -> tuple[Seen, int]:
    """Run a trial with the loss of its seed; give what sinks received and the shift of its times."""
    random = Random(f"loss of {trial.seed}")
    quiet = Faults(checkpoint_every=random.choice((0, 7, 50)))
    options = replace(options_of(trial), retain=random.choice(_RETAIN))
    network = FaultyNetwork(trial.links, options, trial.processors, quiet, trial.seed)
    network.start()
    for name, (at, types) in trial.sources.items():
        network.post(1, at, AttachSource(name, types), name)
    rules = trial.case.checked.rules
    survivors = trial.processors[:-1]
    network.post(1, random.choice(survivors), DeployRules("r", rules.rules, rules.declarations), "deployer")
    for name, (at, types) in trial.sinks.items():
        for kind in types:
            network.post(1, at, AttachSink(name, parse_event_pattern(f"{kind}()")), name)
    settle(network, len(trial.sources))
    begin = network.now + 1000
    shift = begin - min((event.time for _, event in trial.events), default=0)
    last = max((event.time for _, event in trial.events), default=0) + shift
    death = random.randint(begin - 50, last + 50)
    noticed = death + random.choice((1, 30, 200))
    back = random.choice((None, None, noticed + 100, noticed + 1000))
    network.inject(replace(quiet, losses=((trial.processors[-1], death, noticed, back),)))
    for name, (at, _) in trial.sources.items():
        own = [replace(event, time=event.time + shift) for source, event in trial.events if source == name]
        for event in own:
            network.post(event.time + random.choice((0, 1, 9)), at, Publish(name, (event,), event.time - 1), name)
    for name in survivors:
        network.tell(last + 300, name, Tick(last))
    network.run(last + 3000)
    for _ in range(_PATIENCE):
        if network.settled():
            break
        network.run(network.now + _STEP)
    assert network.settled(), f"seed {trial.seed}: messages are still under way"
    return Counter((receipt.sink, show(receipt.event)) for receipt in network.receipts), shift


def _shrink(trial: Trial) -> Trial:
    """Leave out events as long as the outcome still differs."""
    for place in range(len(trial.events) - 1, -1, -1):
        smaller = replace(trial, events=trial.events[:place] + trial.events[place + 1 :])
        got, shift = run_with_loss(smaller)
        if got != expected(smaller, shift):
            trial = smaller
    return trial
