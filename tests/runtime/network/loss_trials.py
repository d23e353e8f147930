"""The random trials again, with a processor that dies: its neighbours give it up, and trees are built anew without it.

Sources and sinks are elsewhere. Sometimes the processor comes back after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from fault_trials import come_up, publish
from trials import Seen, Trial, check, make_trial, options_of, received

from cepheus.runtime.network.protocol.messages import Delivered
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.faults import Faults, FaultyNetwork

_RETAIN = (400, 3000)


def check_loss_trial(seed: int, strategy: Strategy | None = None) -> None:
    """Run a trial in which a processor is lost; nothing may be lost or doubled."""
    check(with_victim(make_trial(seed, strategy, events=16)), run_with_loss)


def with_victim(trial: Trial) -> Trial:
    """Add a processor that others like to go by; by its name it is the leader, or not."""
    random = Random(f"victim of {trial.seed}")
    name = random.choice(("a", "v"))
    near = random.sample(trial.processors, min(len(trial.processors), random.choice((1, 2, 2, 3))))
    links = trial.links | {(name, other): 1 for other in near}
    return replace(trial, processors=(*trial.processors, name), links=links)


def run_with_loss(trial: Trial, deliver: Callable[[Delivered], None] | None = None) -> tuple[Seen, int]:
    """Run a trial with the loss of its seed; give what sinks received and the shift of its times.

    Where somebody wants to see each delivery, the sinks ask for promises, too.
    """
    random = Random(f"loss of {trial.seed}")
    quiet = Faults(checkpoint_every=random.choice((0, 7, 50)))
    options = replace(options_of(trial), retain=random.choice(_RETAIN))
    network = FaultyNetwork(trial.links, options, trial.processors, quiet, trial.seed)
    *survivors, victim = trial.processors
    network.on_delivered = deliver
    begin, last, shift = come_up(trial, network, random.choice(survivors), promises=deliver is not None)
    pace = random.choice((1, 1, 10, 50))
    death = random.randint(begin - 50, begin + (last - begin) // pace + 50)
    noticed = death + random.choice((1, 30, 200))
    back = random.choice((None, None, noticed + 100, noticed + 1000))
    network.inject(replace(quiet, losses=((victim, death, noticed, back),)))
    publish(trial, network, random, shift, survivors, pace)
    return received(network), shift
