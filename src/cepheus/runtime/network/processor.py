"""A processor: messages in, messages out. No input, no output, no clock, no chance.

The host that drives it (the simulator, a server) hands it one message at a time with the name of the sender and the
time, and delivers what comes back: to neighbours in order, to clients by name. Two processors that are handed the same
messages give the same answers, which is what recovery after a crash rests on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from cepheus.core.errors import CepheusError
from cepheus.core.event import Event
from cepheus.core.schema import EventType
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.plan.partial import input_types
from cepheus.rules.check import check
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule, RuleSet
from cepheus.runtime.network.election import Election
from cepheus.runtime.network.evaluation import Evaluation
from cepheus.runtime.network.filtering import Opening
from cepheus.runtime.network.interests import matches, without_covered
from cepheus.runtime.network.masters import choose_masters, top_masters
from cepheus.runtime.network.messages import (
    Activate,
    Admitted,
    Advertise,
    AttachSink,
    AttachSource,
    Awaken,
    CreateTree,
    Deliver,
    Delivered,
    Deployed,
    DeployRules,
    DetachSink,
    DetachSource,
    Elect,
    Elected,
    Entry,
    Events,
    Install,
    Installed,
    Interests,
    LateEvents,
    Message,
    Ordered,
    Program,
    Publish,
    Pulled,
    Rates,
    Refused,
    Release,
    RuleChange,
    Settled,
    Start,
    Tick,
    TreeAnswer,
    WithdrawRules,
)
from cepheus.runtime.network.sharing import RELAY, Origin, order_of, share_out
from cepheus.runtime.network.store import Record
from cepheus.runtime.network.strategy import Filter, Masters, Options, Order
from cepheus.runtime.network.tree import Basis, Child, Tree, Wave

Outgoing = tuple[str, Message]
"""A message and whom it is for: a neighbour, or a client by the name it gave."""


@dataclass(slots=True)
class Source:
    """A source at this processor: how far it has published, and since when its events count in each tree.

    While a tree is being settled, it is ``holding``: the source must not be overtaken.
    """

    client: str
    types: frozenset[str]
    through: int = MIN_TIME
    latest: int = MIN_TIME
    since: dict[str, int] = field(default_factory=dict)
    holding: set[str] = field(default_factory=set)
    counter: int = 0
    admitted: bool = False
    gone: bool = False

    def bound(self, tree: str) -> int:
        """Give the time up to which everything that the source has for a tree is known."""
        since = self.since[tree]
        return since if tree in self.holding else max(self.through, since - 1)


@dataclass(slots=True)
class Sink:
    """A sink at this processor and what it has subscribed to."""

    client: str
    patterns: list[EventPattern] = field(default_factory=list)
    types: set[str] = field(default_factory=set)

    def wants(self, event: Event) -> bool:
        """Tell whether the sink has subscribed to an event."""
        return event.type in self.types and any(matches(pattern, event) for pattern in self.patterns)


class Processor:
    """One node of the network, as a state machine.

    >>> alone = Processor("p1", ())
    >>> [message for _, message in alone.handle(Start(), now=0)]
    []
    >>> alone.leader
    'p1'
    """

    def __init__(self, name: str, neighbours: tuple[str, ...], options: Options | None = None) -> None:
        self.name = name
        self.neighbours = tuple(sorted(neighbours))
        self.options = Options() if options is None else options
        self.trees: dict[str, Tree] = {}
        self.rules: dict[str, Ordered] = {}
        self.leader: str | None = None
        self._election = Election(name, self.neighbours)
        self._sources: dict[str, Source] = {}
        self._sinks: dict[str, Sink] = {}
        self._requests: dict[str, str] = {}
        self._changes: list[RuleChange] = []
        self._known_changes: set[tuple[str, str]] = set()
        self._declared: dict[str, EventType] = {}
        self._out: list[Outgoing] = []
        self._dirty: set[str] = set()
        self._now = 0
        self._adapts = self.options.strategy.pulls and self.options.masters is Masters.ADAPTIVE
        self._next_adaption: int | None = None
        self._local_counts: dict[str, int] = {}
        self._local_rates: dict[str, float] = {}

    # ---- The way in ----------------------------------------------------------------------------------------------

    def handle(self, message: Message, now: int, sender: str = "") -> list[Outgoing]:
        """Take one message and give the messages it leads to; ``now`` is the host's time, in microseconds."""
        self._now = max(self._now, now)
        self._dispatch(message, sender)
        for name in sorted(self._dirty):
            self._progress(self.trees[name])
        if self._adapts and isinstance(message, Events | Publish | Tick):
            self._adapt()
        self._flush_events()
        self._dirty.clear()
        out, self._out = self._out, []
        return out

    def _dispatch(self, message: Message, sender: str) -> None:
        match message:
            case Events():
                self._on_events(message, sender)
            case Publish():
                self._on_publish(message)
            case Tick():
                self._on_tick(message)
            case Deliver():
                self._on_deliver(message, sender)
            case Awaken():
                self._on_awaken(message)
            case Pulled():
                self._on_pulled(message)
            case Start() | Elect() | Elected():
                self._on_election(message, sender)
            case CreateTree():
                self._on_create_tree(message, sender)
            case TreeAnswer():
                self._on_tree_answer(message, sender)
            case Advertise():
                self._on_advertise(message, sender)
            case Interests():
                self._on_interests(message, sender)
            case RuleChange():
                self._on_rule_change(message, sender)
            case Install():
                self._install(self.trees[message.tree], message.version, message.seen, message.program)
            case Installed():
                self._on_installed(message, sender)
            case Activate():
                self._activate(self.trees[message.tree], message)
            case AttachSource():
                self._on_attach_source(message, sender)
            case DetachSource():
                self._on_detach_source(message)
            case AttachSink():
                self._on_attach_sink(message, sender)
            case DetachSink():
                self._on_detach_sink(message)
            case DeployRules() | WithdrawRules():
                self._on_request(message, sender)
            case Release():
                self._on_release(message)
            case Rates():
                self._on_rates(message, sender)
            case Admitted() | LateEvents() | Deployed() | Refused() | Delivered():
                pass  # for clients; a processor that gets one has nothing to do
            case _:
                assert_never(message)

    def _send(self, to: str, message: Message) -> None:
        self._out.append((to, message))

    # ---- Trees ---------------------------------------------------------------------------------------------------

    def _on_election(self, message: Start | Elect | Elected, sender: str) -> None:
        for to, answer in self._election.handle(message, sender):
            self._send(to, answer)
        if self._election.won and self.leader is None:
            self.leader = self.name
            if not self.options.strategy.many_trees:
                self._plant()

    def _plant(self) -> None:
        """Become the root of a tree."""
        tree = self._new_tree(self.name, None)
        tree.unanswered = set(self.neighbours)
        for neighbour in self.neighbours:
            self._send(neighbour, CreateTree(self.name))
        self._pass_changes_on()
        self._check_complete(tree)

    def _pass_changes_on(self) -> None:
        """Hand on what was asked for before there was a tree."""
        changes, self._changes = self._changes, []
        for change in changes:
            self._on_rule_change(change, "")

    def _new_tree(self, name: str, father: str | None) -> Tree:
        exact, timely = self.options.filter is Filter.EXACT, self.options.order is Order.PROGRESS
        tree = Tree(name, father, Evaluation(exact, timely))
        self.trees[name] = tree
        return tree

    def _on_create_tree(self, message: CreateTree, sender: str) -> None:
        if message.tree in self.trees:
            self._send(sender, TreeAnswer(message.tree, accepted=False))
            return
        tree = self._new_tree(message.tree, sender)
        if not self.options.strategy.many_trees:
            self.leader = message.tree
        self._send(sender, TreeAnswer(message.tree, accepted=True))
        tree.unanswered = set(self.neighbours) - {sender}
        for neighbour in self.neighbours:
            if neighbour != sender:
                self._send(neighbour, CreateTree(message.tree))
        self._pass_changes_on()
        self._check_complete(tree)

    def _on_tree_answer(self, message: TreeAnswer, sender: str) -> None:
        tree = self.trees[message.tree]
        tree.unanswered.discard(sender)
        if message.accepted:
            tree.children[sender] = Child()
        self._check_complete(tree)

    def _check_complete(self, tree: Tree) -> None:
        if tree.complete:
            self._advertise(tree)
            self._announce_interests(tree)

    # ---- Advertisements ------------------------------------------------------------------------------------------

    def _local_types(self) -> frozenset[str]:
        return frozenset[str]().union(*(source.types for source in self._sources.values()))

    def _advertise(self, tree: Tree) -> None:
        """Tell the father, or start over at the root, if more is produced here than was said."""
        types = tree.types(self._local_types())
        unadmitted = any(tree.name not in source.since for source in self._sources.values())
        if tree.advertised == types and not unadmitted and tree.is_root:
            return
        tree.serial += 1
        tree.advertised = types
        tree.bases[tree.serial] = Basis(
            {name: child.serial for name, child in tree.children.items()}, frozenset(self._sources)
        )
        if tree.father is not None:
            self._send(tree.father, Advertise(tree.name, tree.serial, tuple(sorted(types))))
        else:
            self._reconfigure(tree)

    def _on_advertise(self, message: Advertise, sender: str) -> None:
        tree = self.trees[message.tree]
        child = tree.children[sender]
        child.serial = message.serial
        child.types = frozenset(message.types) | (child.types or frozenset())
        if tree.complete:
            tree.serial += 1
            tree.advertised = tree.types(self._local_types())
            tree.bases[tree.serial] = Basis(
                {name: each.serial for name, each in tree.children.items()}, frozenset(self._sources)
            )
            if tree.father is not None:
                self._send(tree.father, Advertise(tree.name, tree.serial, tuple(sorted(tree.advertised))))
            else:
                self._reconfigure(tree)
            self._announce_interests(tree)

    # ---- Sources -------------------------------------------------------------------------------------------------

    def _on_attach_source(self, message: AttachSource, sender: str) -> None:
        before = self._sources.get(message.source)
        source = Source(sender, frozenset(message.types))
        if before is not None:
            source.counter = before.counter
            source.types |= before.types
            source.latest = before.latest
        self._sources[message.source] = source
        if self.options.strategy.many_trees and not self.trees:
            self._admit(message.source, source, MIN_TIME + 1)
        for tree in self.trees.values():
            if tree.complete:
                self._advertise(tree)

    def _on_detach_source(self, message: DetachSource) -> None:
        source = self._sources.get(message.source)
        if source is not None:
            source.gone = True
            self._dirty.update(self.trees)

    def _on_publish(self, message: Publish) -> None:
        source = self._sources.get(message.source)
        if source is None or source.gone:
            return
        late = 0
        accepted: list[tuple[int, Event]] = []
        for event in message.events:
            if event.time <= source.through or not source.admitted or event.type not in source.types:
                late += 1
                continue
            source.counter += 1
            source.latest = max(source.latest, event.time)
            self._local_counts[event.type] = self._local_counts.get(event.type, 0) + 1
            accepted.append((source.counter, _named(event, message.source, source.counter)))
        for name, tree in self.trees.items():
            if name not in source.since:
                continue
            since = MIN_TIME if name in source.holding else source.since[name]
            for counter, event in accepted:
                if event.time >= since and tree.evaluation.wants(event.type):
                    self._arrive(tree, event.time, [Record(event, message.source, counter)])
                    self._dirty.add(name)
        if message.through is not None and message.through > source.through:
            source.through = message.through
            if self.options.order is Order.PROGRESS:
                self._dirty.update(self.trees)
        if late:
            self._send(source.client, LateEvents(message.source, late))

    def _on_tick(self, message: Tick) -> None:
        if message.through is not None:
            for source in self._sources.values():
                source.through = max(source.through, message.through)
        self._dirty.update(self.trees)

    def _sources_through(self, tree: Tree) -> int:
        bound = MAX_TIME
        for source in self._sources.values():
            if not source.gone and tree.name in source.since:
                bound = min(bound, source.bound(tree.name))
        return bound

    def _admit(self, name: str, source: Source, since: int) -> None:
        if not source.admitted and not source.gone:
            source.admitted = True
            source.through = max(source.through, since - 1)
            self._send(source.client, Admitted(name, since))

    # ---- Rules ---------------------------------------------------------------------------------------------------

    def _on_request(self, message: DeployRules | WithdrawRules, sender: str) -> None:
        self._requests[message.request] = sender
        change = RuleChange(message.request, self.name, self._now)
        if isinstance(message, DeployRules):
            change = replace(change, rules=message.rules, declarations=message.declarations)
        else:
            change = replace(change, withdrawn=message.names)
        if self.options.strategy.many_trees:
            settled = self._accept(change)
            self._settle(settled)
            if settled.since is not None:
                self._flood(change, "")
            return
        tree = self.trees.get(self.leader) if self.leader is not None else None
        if tree is None:
            self._changes.append(change)
        else:
            self._on_rule_change(change, "")

    def _on_rule_change(self, change: RuleChange, sender: str) -> None:
        if self.options.strategy.many_trees:
            if (change.origin, change.request) not in self._known_changes:
                self._accept(change)
                self._flood(change, sender)
            return
        tree = self.trees.get(self.leader) if self.leader is not None else None
        if tree is None:
            self._changes.append(change)
        elif tree.father is not None:
            self._send(tree.father, change)
        else:
            tree.settling.append(self._accept(change))
            self._reconfigure(tree)

    def _flood(self, change: RuleChange, sender: str) -> None:
        self._known_changes.add((change.origin, change.request))
        for neighbour in self.neighbours:
            if neighbour != sender:
                self._send(neighbour, change)
        own = self.trees.get(self.name)
        if own is not None and own.complete:
            self._reconfigure(own)
        elif own is None and self._wanted_rules():
            self._plant()

    def _accept(self, change: RuleChange) -> Settled:
        """Take rules up or drop them, if that makes sense."""
        self._known_changes.add((change.origin, change.request))
        for name in change.withdrawn:
            if name not in self.rules:
                return Settled(change.request, None, f"no rule named '{name}' is deployed")
        kept = {name: ordered for name, ordered in self.rules.items() if name not in change.withdrawn}
        for place, rule in enumerate(change.rules):
            name = str(rule.name)
            if name in kept:
                return Settled(change.request, None, f"a rule named '{name}' is already deployed")
            kept[name] = Ordered(rule, change.moment, change.origin, place)
        declared = {kind.name: kind for kind in change.declarations} | self._declared
        try:
            rules = tuple(ordered.rule for ordered in kept.values())
            check(RuleSet((*self._declared.values(), *change.declarations), rules), closed=False)
        except CepheusError as error:
            return Settled(change.request, None, str(error))
        self._declared = declared
        self.rules = dict(sorted(kept.items(), key=lambda item: order_of(item[1])))
        return Settled(change.request, self._now)

    def _settle(self, settled: Settled) -> None:
        client = self._requests.pop(settled.request, None)
        if client is None:
            return
        if settled.since is None:
            self._send(client, Refused(settled.request, settled.reason))
        else:
            self._send(client, Deployed(settled.request, settled.since))

    def _wanted_types(self) -> set[str]:
        if self.options.strategy.many_trees:
            return {pattern.type for sink in self._sinks.values() for pattern in sink.patterns}
        tree = self.trees[self.name]
        found = {pattern.type for child in tree.children.values() for pattern in child.interests}
        return found | {pattern.type for sink in self._sinks.values() for pattern in sink.patterns}

    def _wanted_rules(self) -> list[Ordered]:
        """Give the rules that this processor's tree must evaluate; with many trees only those that a sink needs."""
        if not self.options.strategy.many_trees:
            return list(self.rules.values())
        wanted = self._wanted_types()
        found: dict[str, Ordered] = {}
        while True:
            more = [o for n, o in self.rules.items() if n not in found and o.rule.composite.name in wanted]
            if not more:
                return sorted(found.values(), key=order_of)
            for ordered in more:
                found[str(ordered.rule.name)] = ordered
                wanted |= input_types(ordered.rule)

    # ---- Programs ------------------------------------------------------------------------------------------------

    def _reconfigure(self, tree: Tree) -> None:
        """At the root: install the present rules everywhere; one version after the other."""
        if not tree.complete:
            return
        if tree.wave is not None:
            tree.again = True
            return
        tree.again = False
        tree.announcing, tree.settling = tree.settling, []
        rules = [replace(ordered, since=tree.since_of(ordered.rule)) for ordered in self._wanted()]
        self._install(tree, tree.version + 1, tree.serial, Program(tuple(rules)))

    def _wanted(self) -> list[Ordered]:
        """Give the rules for this processor's tree, with stand-ins for primitive events that sinks ask for."""
        tree = self.trees[self.name]
        produced = tree.types(self._local_types())
        relays = [
            Ordered(
                Rule(EventType(RELAY + kind), Pattern(EventPattern(kind)), name=RELAY + kind),
                MIN_TIME,
                "",
                0,
            )
            for kind in sorted(self._wanted_types() & produced)
        ]
        return [*relays, *self._wanted_rules()]

    def _install(self, tree: Tree, version: int, seen: int, program: Program) -> None:
        tree.version = version
        strategy = self.options.strategy
        choose = partial(self._choose, tree) if strategy.pulls else None
        shared = share_out(program, tree.producers(self._local_types()), central=strategy.central, choose=choose)
        tree.evaluation.expect(shared.rules, shared.parts)
        tree.wave = Wave(version, seen, program, shared, set(tree.children))
        basis = tree.bases[seen]
        for name, child in tree.children.items():
            program_before, child.program = child.program, shared.children.get(name, Program())
            if program_before.parts and not child.program.parts:
                child.lingers, child.lingers_until = True, None
            self._send(name, Install(tree.name, version, basis.children.get(name, child.serial), child.program))
        self._check_installed(tree)

    def _choose(self, tree: Tree, origins: Sequence[Origin]) -> Sequence[Origin]:
        """Decide which partial rules wait to be asked."""
        if self.options.masters is Masters.TOP:
            return top_masters(origins)
        pushed = frozenset(
            (child, assigned.part.pattern.terminator.type)
            for other in self.trees.values()
            if other is not tree
            for child, known in other.children.items()
            for assigned in known.program.parts
            if not assigned.pull
        )
        return choose_masters(origins, tree.rates(self._local_rates), pushed)

    def _on_rates(self, message: Rates, sender: str) -> None:
        tree = self.trees[message.tree]
        tree.children[sender].rates = {name: count / message.seconds for name, count in message.counts}

    def _adapt(self) -> None:
        """Once in a while tell the fathers how often partial rules matched, and at the root choose masters anew."""
        every = self.options.adapt_every
        if self._next_adaption is None:
            self._next_adaption = self._now + every
        if self._now < self._next_adaption:
            return
        seconds = (self._now - self._next_adaption + every) / 1_000_000
        self._next_adaption = self._now + every
        self._local_rates = {kind: count / seconds for kind, count in self._local_counts.items()}
        self._local_counts.clear()
        for tree in self.trees.values():
            counts = tree.evaluation.take_counts()
            if tree.father is not None:
                if counts:
                    self._send(tree.father, Rates(tree.name, seconds, counts))
            else:
                self._reconfigure(tree)

    def _on_installed(self, message: Installed, sender: str) -> None:
        tree = self.trees[message.tree]
        if tree.wave is None or tree.wave.version != message.version:
            return
        tree.wave.ready = max(tree.wave.ready, message.ready)
        tree.wave.waiting.discard(sender)
        tree.children[sender].through = message.through
        self._check_installed(tree)

    def _check_installed(self, tree: Tree) -> None:
        """Once everybody below has the program, take up one's own part of it."""
        wave = tree.wave
        if wave is None or wave.waiting:
            return
        self._dirty.add(tree.name)
        wave.switched = True
        tree.was_active = tree.was_active or bool(wave.shared.parts)
        evaluation = tree.evaluation
        tree.shared = wave.shared
        tree.pulling.adopt(wave.shared)
        evaluation.adopt(wave.shared.rules, wave.shared.parts)
        self._wake_again(tree)
        ready = max(wave.ready, evaluation.done)
        for name in tree.bases[wave.seen].sources:
            source = self._sources[name]
            if tree.name not in source.since:
                source.since[tree.name] = evaluation.done
                source.holding.add(tree.name)
        for source in self._sources.values():
            ready = max(ready, source.latest)
        if tree.father is None:
            self._activate(tree, Activate(tree.name, wave.version, ready + 1, self._settled(tree, ready + 1)))
            return
        self._take_sent(tree)
        tree.promised = evaluation.done if self._has_inputs(tree) else None
        self._flush_events()
        self._send(tree.father, Installed(tree.name, wave.version, ready, tree.promised))

    def _wake_again(self, tree: Tree) -> None:
        """Ask new slaves for what the master's events so far call for."""
        since = tree.evaluation.done - tree.evaluation.horizon
        for kind in tree.pulling.masters:
            for record in tree.evaluation.remembered(kind, since):
                for to, awaken in tree.pulling.wake(tree.name, record):
                    self._send(to, awaken)

    def _settled(self, tree: Tree, since: int) -> tuple[Settled, ...]:
        done, tree.announcing = tree.announcing, []
        return tuple(replace(each, since=since) if each.since is not None else each for each in done)

    def _activate(self, tree: Tree, message: Activate) -> None:
        wave = tree.wave
        assert wave is not None
        tree.wave = None
        tree.evaluation.activate(message.since)
        tree.activated(wave.program, message.since)
        for child_state in tree.children.values():
            if child_state.lingers and child_state.lingers_until is None:
                child_state.lingers_until = message.since
        for name in tree.bases[wave.seen].sources:
            source = self._sources[name]
            if tree.name in source.holding:
                source.holding.discard(tree.name)
                source.since[tree.name] = message.since
                self._admit(name, source, message.since)
        tree.bases = {serial: basis for serial, basis in tree.bases.items() if serial >= wave.seen}
        for child in tree.children:
            self._send(child, message)
        for settled in message.settled:
            self._settle(settled)
        self._dirty.add(tree.name)
        if tree.again:
            self._reconfigure(tree)

    # ---- Events --------------------------------------------------------------------------------------------------

    def _arrive(self, tree: Tree, at: int, records: list[Record]) -> None:
        """Take in events that come to be known at one moment."""
        if tree.pulling.masters:
            for record in records:
                if record.time == at:
                    for to, awaken in tree.pulling.wake(tree.name, record):
                        self._send(to, awaken)
        if self.options.order is Order.ARRIVAL and at < tree.pulling.holds:
            tree.evaluation.instant(at, records)
        else:
            tree.evaluation.arrive(at, records)

    def _on_events(self, message: Events, sender: str) -> None:
        together: dict[tuple[str, int], list[Record]] = {}
        for entry in message.entries:
            for name in entry.trees:
                if self.trees[name].evaluation.wants(entry.event.type):
                    record = Record(entry.event, entry.source, entry.counter)
                    together.setdefault((name, entry.at), []).append(record)
                self._dirty.add(name)
        for (name, at), records in together.items():
            self._arrive(self.trees[name], at, records)
        for name, through in message.through:
            tree = self.trees[name]
            tree.children[sender].through = through
            self._dirty.add(name)

    def _progress(self, tree: Tree) -> None:
        """Evaluate as far as it is safe, and tell the father."""
        evaluation = tree.evaluation
        if self.options.order is Order.ARRIVAL:
            evaluation.advance(min(self._now, tree.pulling.holds - 1))
        elif tree.wave is None or not tree.wave.switched:
            limit = min(tree.children_through(), self._sources_through(tree))
            if limit < MAX_TIME:
                evaluation.advance(min(limit, tree.pulling.holds - 1))
            elif evaluation.waits_for is not None:
                self._drain(tree)
        self._take_sent(tree)
        if self.options.strategy.pulls:
            self._release(tree)

    def _drain(self, tree: Tree) -> None:
        """Nobody has anything more to send: evaluate what waits."""
        tree.evaluation.advance(min(tree.evaluation.last_pending, tree.pulling.holds - 1))

    def _has_inputs(self, tree: Tree) -> bool:
        return min(tree.children_through(), self._sources_through(tree)) < MAX_TIME

    def _take_sent(self, tree: Tree) -> None:
        """Put composite events on their way."""
        evaluation = tree.evaluation
        if evaluation.made:
            made, evaluation.made = tuple(evaluation.made), []
            self._route(tree, made, self.name)
        if tree.father is None:
            evaluation.sent.clear()

    def _flush_events(self) -> None:
        """Send to each father what was let through and promised since the last time, each event once."""
        entries: dict[str, dict[tuple[str, int, int], Entry]] = {}
        promises: dict[str, list[tuple[str, int | None]]] = {}
        for name in sorted(self._dirty):
            tree = self.trees[name]
            father = tree.father
            if father is None:
                continue
            evaluation = tree.evaluation
            for at, record in evaluation.sent:
                key = (record.source, record.counter, at)
                found = entries.setdefault(father, {}).get(key)
                trees = (tree.name,) if found is None else (*found.trees, tree.name)
                entries[father][key] = Entry(at, record.source, record.counter, record.event, trees)
            evaluation.sent.clear()
            if tree.was_active and tree.wave is None and self.options.order is Order.PROGRESS:
                promise = evaluation.done if self._has_inputs(tree) else None
                if promise != tree.promised:
                    tree.promised = promise
                    promises.setdefault(father, []).append((tree.name, promise))
        for father in dict.fromkeys([*entries, *promises]):
            found_entries = tuple(entries.get(father, {}).values())
            self._send(father, Events(found_entries, tuple(promises.get(father, ()))))

    # ---- Awakenings ----------------------------------------------------------------------------------------------

    def _on_awaken(self, message: Awaken) -> None:
        tree = self.trees[message.tree]
        each = tree.evaluation.filters.get(message.part)
        if each is not None:
            each.openings.append(Opening(message.first, message.last, message.values))
        for to, awaken in tree.pulling.forward(tree.name, message):
            self._send(to, awaken)
        if not any(
            request.answers and request.answers[0] == message.number for request in tree.pulling.requests.values()
        ):
            self._answer(tree, message.number, message.part, message.first, message.last)

    def _on_pulled(self, message: Pulled) -> None:
        tree = self.trees[message.tree]
        for request in tree.pulling.answered(message.number):
            if request.answers is not None:
                self._answer(tree, *request.answers)
        self._dirty.add(tree.name)

    def _on_release(self, message: Release) -> None:
        tree = self.trees[message.tree]
        tree.evaluation.keep_from = max(tree.evaluation.keep_from, message.before)
        self._release(tree)

    def _release(self, tree: Tree) -> None:
        """Tell the children, now and then, from when on they may still be asked for events."""
        evaluation = tree.evaluation
        before = min(evaluation.done, evaluation.keep_from if evaluation.waits_to_be_asked else MAX_TIME)
        if before - tree.released > evaluation.horizon:
            tree.released = before
            tree.pulling.forget(before - 2 * evaluation.horizon)
            for name, child in tree.children.items():
                if any(assigned.pull for assigned in child.program.parts):
                    self._send(name, Release(tree.name, before))

    def _answer(self, tree: Tree, number: int, part: str, first: int, last: int) -> None:
        """Send what an awakening asks for, then say so."""
        self._dirty.add(tree.name)
        each = tree.evaluation.filters.get(part)
        if each is not None:
            tree.evaluation.advance(tree.evaluation.done)
            tree.evaluation.pull(each, first, last)
        self._flush_events()
        assert tree.father is not None
        self._send(tree.father, Pulled(tree.name, number))

    # ---- Sinks ---------------------------------------------------------------------------------------------------

    def _on_attach_sink(self, message: AttachSink, sender: str) -> None:
        sink = self._sinks.setdefault(message.sink, Sink(sender))
        if message.pattern not in sink.patterns:
            sink.patterns.append(message.pattern)
            sink.types.add(message.pattern.type)
        self._interests_changed()

    def _on_detach_sink(self, message: DetachSink) -> None:
        sink = self._sinks.get(message.sink)
        if sink is None:
            return
        sink.patterns = [p for p in sink.patterns if message.pattern is not None and p != message.pattern]
        sink.types = {pattern.type for pattern in sink.patterns}
        if not sink.patterns:
            del self._sinks[message.sink]
        self._interests_changed()

    def _interests_changed(self) -> None:
        if not self.options.strategy.many_trees:
            for tree in self.trees.values():
                self._announce_interests(tree)
            return
        own = self.trees.get(self.name)
        if own is not None:
            self._reconfigure(own)
        elif self._sinks:
            self._plant()

    def _announce_interests(self, tree: Tree) -> None:
        if self.options.strategy.many_trees or not tree.complete:
            return
        own = [pattern for sink in self._sinks.values() for pattern in sink.patterns]
        below = [pattern for child in tree.children.values() for pattern in child.interests]
        patterns = without_covered([*own, *below])
        if patterns == tree.announced:
            return
        tree.announced = patterns
        if tree.father is not None:
            self._send(tree.father, Interests(tree.name, patterns))
        else:
            self._reconfigure(tree)

    def _on_interests(self, message: Interests, sender: str) -> None:
        tree = self.trees[message.tree]
        tree.children[sender].subscribe(message.patterns)
        self._announce_interests(tree)

    def _route(self, tree: Tree, events: tuple[Event, ...], came_from: str) -> None:
        """Bring composite events to sinks here, to children that want them, and on to the father."""
        if tree.father is not None and came_from != tree.father:
            self._send(tree.father, Deliver(tree.name, events))
        many = self.options.strategy.many_trees
        if not many or tree.father is None:
            self._tell_sinks(events)
        if many:
            return
        for name, child in tree.children.items():
            if name != came_from and child.interests:
                wanted = tuple(event for event in events if child.wants(event))
                if wanted:
                    self._send(name, Deliver(tree.name, wanted))

    def _tell_sinks(self, events: tuple[Event, ...]) -> None:
        for name, sink in self._sinks.items():
            wanted = tuple(event for event in events if sink.wants(event))
            if wanted:
                self._send(sink.client, Delivered(name, wanted))

    def _on_deliver(self, message: Deliver, sender: str) -> None:
        self._route(self.trees[message.tree], message.events, sender)


def _named(event: Event, source: str, counter: int) -> Event:
    """Give an event an id that is its own in the whole network, if it has none."""
    if event.id is not None:
        return event
    return Event(
        event.type,
        event.time,
        event.attributes,
        f"{source}:{counter}",
        event.sequence,
        event.probability,
        event.errors,
        event.start,
        event.rule,
        event.made_of,
    )
