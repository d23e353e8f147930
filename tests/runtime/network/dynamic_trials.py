"""Rules, sources and sinks that come and go while events flow, against one processor that sees the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from trials import Trial, make_trial, options_of, show

from cepheus.core.event import Event
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.protocol.messages import (
    Admitted,
    AttachSink,
    AttachSource,
    Deployed,
    DeployRules,
    DetachSource,
    Message,
    Publish,
    Tick,
    WithdrawRules,
)
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.simulator import Network

_LATE = 12


def check_dynamic_trial(seed: int, strategy: Strategy) -> None:
    """Deploy one rule at first and the others later, withdraw one, let a source come late and another leave early."""
    trial = make_trial(seed, strategy, events=60)
    trial = replace(trial, links=dict.fromkeys(trial.links, 1))  # quick links, so that changes come in mid-stream
    if any(rule.consuming for rule in trial.case.checked.rules.rules):
        return  # what a rule has consumed stays behind when the rule moves to another processor
    network = Network(trial.links, options_of(trial), trial.processors)
    random = Random(f"dynamic {seed}")
    settled: dict[str, int] = {}
    admitted: dict[str, int] = {}

    def told(_: str, message: Message) -> None:
        if isinstance(message, Deployed) and message.since is not None:
            settled[message.request] = message.since
        elif isinstance(message, Admitted):
            admitted[message.source] = message.since

    network.on_told = told
    network.start()
    network.run()
    sources = list(trial.sources)
    late = sources[-1] if len(sources) > 1 and random.random() < 0.7 else None
    for name in sources:
        if name != late:
            network.post(network.now, trial.sources[name][0], AttachSource(name, trial.sources[name][1]), name)
    for name, (at, types) in trial.sinks.items():
        for kind in types:
            network.post(network.now, at, AttachSink(name, parse_event_pattern(f"{kind}()")), name)
    first, *others = trial.case.checked.rules.rules
    declarations = trial.case.checked.rules.declarations
    host = random.choice(trial.processors)
    network.post(network.now, host, DeployRules("first", (first,), declarations), "deployer")
    network.run()
    shift = network.now + 1000 - min((event.time for _, event in trial.events), default=0)
    times = [event.time + shift for _, event in trial.events] or [shift]
    middle = times[len(times) // 2]
    if others:
        network.post(times[len(times) // 4], host, DeployRules("others", tuple(others)), "deployer")
    withdrawn = random.random() < 0.5
    if withdrawn:
        network.post(middle + 4, host, WithdrawRules("away", (str(first.name),)), "deployer")
    if late is not None:
        network.post(middle, trial.sources[late][0], AttachSource(late, trial.sources[late][1]), late)
    published = _publish(trial, network, shift, late, middle + 60, gap=_LATE)
    network.run()
    for name in trial.processors:
        network.post(network.now + 10, name, Tick(network.now + 10_000))
    network.run()
    got = Counter((receipt.sink, show(receipt.event)) for receipt in network.receipts)
    stream = [entry for entry in published if entry[1][1] != late or entry[0].time >= admitted.get(str(late), 2**62)]
    want = _expected(trial, stream, settled, others, withdrawn=withdrawn)
    assert got == want, (
        f"{trial.describe()}\n{settled} {admitted}\nmissing: {dict(want - got)}\ntoo many: {dict(got - want)}"
    )


Published = tuple[Event, tuple[int, str, int]]


def _publish(
    trial: Trial, network: Network, shift: int, late: str | None, from_when: int, *, gap: int
) -> list[Published]:
    """Publish the streams; the late source's, later, and the first source leaves when it is done."""
    found: list[Published] = []
    for place, (name, (at, _)) in enumerate(trial.sources.items()):
        own = [event for source, event in trial.events if source == name]
        moved = shift if name != late else from_when + gap - (own[0].time if own else 0)
        for count, event in enumerate(own, 1):
            named = event.id if event.id is not None else f"{name}:{count}"
            sent = replace(event, time=event.time + moved, id=named)
            network.post(sent.time, at, Publish(name, (sent,), sent.time - 1), name)
            found.append((sent, (sent.time, name, count)))
        if place == 0 and own:
            network.post(own[-1].time + moved + 1, at, DetachSource(name), name)
    return found


def _expected(
    trial: Trial, stream: list[Published], settled: dict[str, int], others: Sequence[object], *, withdrawn: bool
) -> Counter[tuple[str, str]]:
    first, *later = trial.case.checked.rules.rules
    engine = ReferenceEngine()
    engine.deploy([first], trial.case.checked.inputs)
    told: list[Event] = []
    pending, leaving = bool(others), withdrawn
    for event, _ in sorted(stream, key=lambda entry: entry[1]):
        if leaving and event.time >= settled["away"]:
            engine.withdraw(str(first.name))
            leaving = False
        if pending and event.time >= settled["others"]:
            engine.deploy(later, trial.case.checked.inputs)
            pending = False
        told += [event, *engine.feed_event(event)]
    return Counter(
        (sink, show(event)) for event in told for sink, (_, types) in trial.sinks.items() if event.type in types
    )
