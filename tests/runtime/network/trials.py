"""Random networks, rules and streams, made from a seed: what sinks receive must be what one processor would produce.

Link delays are of the size of the gaps between events, so that processors lag behind one another all the time.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[2] / "engine"))

from random_cases import Case, make_case
from sequence_cases import make_sequence_case

from cepheus.core.errors import RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    Deployed,
    DeployRules,
    DetachSource,
    Publish,
    Tick,
)
from cepheus.runtime.network.protocol.strategy import Delivery, Masters, Options, Strategy, check_supported
from cepheus.runtime.network.simulation.faults import FaultyNetwork
from cepheus.runtime.network.simulation.simulator import Network

Seen = Counter[tuple[str, str]]
"""How often each sink received each event."""


@dataclass(frozen=True)
class Trial:
    """A network with sources and sinks, and who publishes what when."""

    seed: int
    strategy: Strategy
    case: Case
    links: dict[tuple[str, str], int]
    processors: tuple[str, ...]
    sources: dict[str, tuple[str, tuple[str, ...]]]
    sinks: dict[str, tuple[str, tuple[str, ...]]]
    events: tuple[tuple[str, Event], ...]

    def describe(self) -> str:
        """Give all that is needed to understand a failure."""
        lines = [f"seed {self.seed}, strategy {self.strategy.value}", self.case.text]
        lines += [f"link {one} - {other}: {delay}" for (one, other), delay in self.links.items()]
        lines += [f"source {name} at {at}: {' '.join(types)}" for name, (at, types) in self.sources.items()]
        lines += [f"sink {name} at {at}: {' '.join(types)}" for name, (at, types) in self.sinks.items()]
        lines += [f"{source}: {event.type}@{event.time} {dict(event.attributes)}" for source, event in self.events]
        return "\n".join(lines)


Runner = Callable[[Trial], tuple[Seen, int]]
"""Runs a trial; gives what sinks received and by how much its times were shifted."""


def make_trial(seed: int, strategy: Strategy | None = None, *, events: int = 30) -> Trial:
    """Make the trial of a seed."""
    random = Random(f"network {seed}")
    case = _case(seed, events)
    count = random.choice((1, 2, 3, 3, 4, 4, 5, 6, 8))
    processors = tuple(f"p{n}" for n in range(count))
    links: dict[tuple[str, str], int] = {}
    for n in range(1, count):
        links[processors[random.randrange(n)], processors[n]] = random.choice((1, 2, 3, 5, 8, 20))
    for _ in range(random.randint(0, count)):
        one, other = random.choice(processors), random.choice(processors)
        if one < other and (one, other) not in links:
            links[one, other] = random.choice((1, 2, 3, 5, 8, 20))
    sources: dict[str, tuple[str, tuple[str, ...]]] = {}
    for n in range(random.choice((1, 2, 2, 3, 3, 4))):
        sources[f"s{n}"] = (random.choice(processors), ())
    several = random.choice((0.0, 0.0, 0.1, 0.5))
    for kind in ("A", "B", "C", "D", "E", "P1"):
        owner = random.choice(list(sources))
        for name, (at, types) in sources.items():
            if name == owner or random.random() < several:
                sources[name] = (at, (*types, kind))
    events_of: list[tuple[str, Event]] = []
    for event in case.events:
        able = [name for name, (_, types) in sources.items() if event.type in types]
        events_of.append((random.choice(able), event))
    sinks = {}
    composites = [rule.composite.name for rule in case.checked.rules.rules]
    for n in range(random.choice((1, 1, 2, 3))):
        wanted = tuple(kind for kind in composites if random.random() < 0.7) or (composites[0],)
        sinks[f"k{n}"] = (random.choice(processors), wanted)
    chosen = random.choice(list(Strategy)) if strategy is None else strategy
    return Trial(seed, chosen, case, links, processors, sources, sinks, tuple(events_of))


def _case(seed: int, events: int) -> Case:
    """Make the rules and the stream of a seed; others where rules contradict themselves, or networks refuse them."""
    while True:
        try:
            # times beyond all calendars, which cases at corners have, are refused by processors
            case = (
                make_case(seed, events=events, share=0.0)
                if seed % 4 == 0
                else make_sequence_case(seed, events=2 * events)
            )
            check_supported(case.checked.rules)
        except (RuleError, UnsupportedError):
            seed += 1_000_000
        else:
            return case


def expected(trial: Trial, shift: int = 0) -> Seen:
    """Give what one processor that sees everything would deliver."""
    counters: Counter[str] = Counter()
    stream = []
    for source, event in trial.events:
        counters[source] += 1
        name = event.id if event.id is not None else f"{source}:{counters[source]}"
        moved = replace(event, id=name, time=event.time + shift)
        stream.append(((moved.time, source, counters[source]), moved))
    engine = ReferenceEngine()
    engine.deploy(trial.case.checked.rules.rules, trial.case.checked.inputs)
    told: list[Event] = []
    for _, event in sorted(stream, key=lambda pair: pair[0]):
        told += [event, *engine.feed_event(event)]
    return Counter(
        (sink, show(event)) for event in told for sink, (_, types) in trial.sinks.items() if event.type in types
    )


def show(event: Event) -> str:
    """Give all that an event says."""
    return f"{event.type}@{event.time} {sorted(event.attributes.items())} {event.id} {event.rule} {event.made_of}"


def options_of(trial: Trial) -> Options:
    """Give the options of a trial: masters are chosen from the start, or over and over while events flow."""
    masters = tuple(Masters)[trial.seed % len(Masters)]
    delivery = tuple(Delivery)[trial.seed // 4 % len(Delivery)]
    return Options(trial.strategy, masters=masters, adapt_every=25, delivery=delivery)


def run(trial: Trial) -> tuple[Seen, int]:
    """Run a trial; give what sinks received and by how much its times were shifted."""
    network = Network(trial.links, options_of(trial), trial.processors)
    random = Random(f"timing {trial.seed}")
    network.start()
    network.run()
    attach(trial, network, network.now, random.choice(trial.processors))
    network.run()
    assert any(isinstance(message, Deployed) for _, _, message in network.told), network.told
    shift = network.now + 1000 - min((event.time for _, event in trial.events), default=0)
    publish(trial, network, random, shift)
    network.run()
    return received(network), shift


def attach(trial: Trial, network: Network | FaultyNetwork, time: int, host: str, *, promises: bool = False) -> None:
    """Attach the sources, deploy the rules at a host and attach the sinks; these may ask for promises."""
    for name, (at, types) in trial.sources.items():
        network.post(time, at, AttachSource(name, types), name)
    rules = trial.case.checked.rules
    network.post(time, host, DeployRules("r", rules.rules, rules.declarations), "deployer")
    for name, (at, types) in trial.sinks.items():
        for kind in types:
            network.post(time, at, AttachSink(name, parse_event_pattern(f"{kind}()"), promises), name)


def received(network: Network | FaultyNetwork) -> Seen:
    """Give what the sinks of a network received."""
    return Counter((receipt.sink, show(receipt.event)) for receipt in network.receipts)


def publish(
    trial: Trial, network: Network, random: Random, shift: int, *, leave: bool = False, early: bool = False
) -> None:
    """Let the sources publish their events, late and with gaps, then promise that this was all, or leave.

    Who leaves ``early`` does so soon after its own last event, while others may still have much to publish.
    """
    end = 0
    own_end: dict[str, int] = {}
    for name, (at, _) in trial.sources.items():
        own = [replace(event, time=event.time + shift) for source, event in trial.events if source == name]
        when = 0
        for place, event in enumerate(own):
            when = max(when, event.time + random.choice((0, 0, 1, 4, 15)))
            later = place + 1 == len(own) or own[place + 1].time > event.time
            through = event.time if later and random.random() < 0.5 else event.time - 1
            network.post(when, at, Publish(name, (event,), through if random.random() < 0.8 else None), name)
        own_end[name] = max(when, network.now)
        end = max(end, when)
    last = max((event.time for _, event in trial.events), default=0) + shift
    for name in trial.processors:
        for tick in range(random.randint(0, 4)):
            network.post(end + 1 + tick, name, Tick(None))
        if not leave:
            network.post(end + 50, name, Tick(last))
    for name, (at, _) in trial.sources.items() if leave else ():
        when = own_end[name] + random.choice((0, 1, 5, 20, 60)) if early else end + 50
        network.post(when, at, DetachSource(name), name)


def check_trial(seed: int, strategy: Strategy | None = None, *, events: int = 30) -> None:
    """Run the trial of a seed on a network without faults."""
    check(make_trial(seed, strategy, events=events), run)


def check(trial: Trial, run: Runner) -> None:
    """Run a trial; a failure tells what differs, for the smallest stream that still differs."""
    if _differs(trial, run):
        small = _shrink(trial, run)
        raise AssertionError(f"{small.describe()}\n{_difference(small, run)}")


def _differs(trial: Trial, run: Runner) -> bool:
    got, shift = run(trial)
    return got != expected(trial, shift)


def _difference(trial: Trial, run: Runner) -> str:
    got, shift = run(trial)
    want = expected(trial, shift)
    return f"missing: {dict(want - got)}\ntoo many: {dict(got - want)}"


def _shrink(trial: Trial, run: Runner) -> Trial:
    """Leave out events and sinks as long as the outcome still differs."""
    changed = True
    while changed:
        changed = False
        for place in range(len(trial.events) - 1, -1, -1):
            smaller = replace(trial, events=trial.events[:place] + trial.events[place + 1 :])
            if _differs(smaller, run):
                trial, changed = smaller, True
        for name in list(trial.sinks):
            smaller = replace(trial, sinks={key: sink for key, sink in trial.sinks.items() if key != name})
            if len(trial.sinks) > 1 and _differs(smaller, run):
                trial, changed = smaller, True
    return trial
