"""Programs: versions that are installed and activated over a whole tree, and the choice of the masters in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from cepheus.core.schema import EventType
from cepheus.core.time import MIN_TIME
from cepheus.plan.partial import input_types
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.flow import Flow
from cepheus.runtime.network.processor.masters import choose_masters, rarest_masters, smoothed, top_masters
from cepheus.runtime.network.processor.rulebook import Rulebook, reach_of_all
from cepheus.runtime.network.processor.sharing import RELAY, Origin, order_of, share_out
from cepheus.runtime.network.processor.sinks import Sinks
from cepheus.runtime.network.processor.sources import Retained, Sources
from cepheus.runtime.network.processor.tree import Tree, Wave
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.messages import (
    Activate,
    Install,
    Installed,
    Ordered,
    Program,
    Rates,
    Settled,
)
from cepheus.runtime.network.protocol.strategy import Masters


@dataclass(slots=True)
class Programs:
    """What a processor does for its father and leaves to its children, version by version.

    ``rates`` are the events of local sources per second, by type. If the processor ``adapts``, masters are chosen by
    rates when ``next_choice`` has come, a time of the host in microseconds.
    """

    common: Common
    rulebook: Rulebook
    sources: Sources
    retained: Retained
    trees: Trees
    sinks: Sinks
    flow: Flow
    rates: dict[str, float] = field(default_factory=dict)
    next_choice: int | None = None
    adapts: bool = field(init=False)

    def __post_init__(self) -> None:
        self.adapts = self.common.pulls and self.common.options.masters is not Masters.TOP

    def wanted_rules(self) -> list[Ordered]:
        """The rules that this processor's tree must evaluate; with many trees only those that a sink needs."""
        rules = self.rulebook.rules
        if not self.common.many_trees:
            return list(rules.values())
        wanted = self.sinks.wanted_types()
        found: dict[str, Ordered] = {}
        while True:
            more = [o for n, o in rules.items() if n not in found and o.rule.composite.name in wanted]
            if not more:
                return sorted(found.values(), key=order_of)
            for ordered in more:
                found[str(ordered.rule.name)] = ordered
                wanted |= input_types(ordered.rule)

    def _wanted(self, tree: Tree) -> list[Ordered]:
        """The rules for this processor's tree, with stand-ins for primitive events that sinks ask for."""
        produced = tree.types(self.sources.types())
        relays = [
            Ordered(
                Rule(EventType(RELAY + kind), Pattern(EventPattern(kind)), name=RELAY + kind),
                MIN_TIME,
                "",
                0,
            )
            for kind in sorted(self.sinks.wanted_types() & produced)
        ]
        return [*relays, *self.wanted_rules()]

    def reconfigure(self, tree: Tree) -> None:
        """At the root: install the present rules everywhere; one version after the other."""
        if not tree.complete or tree.advertised is None:  # what is produced must be known; then this is called again
            return
        if tree.wave is not None:
            tree.again = True
            return
        tree.again = False
        tree.announcing, tree.settling = tree.settling, []
        rules = [
            replace(ordered, since=ordered.since if tree.renewed else tree.since_of(ordered.rule))
            for ordered in self._wanted(tree)
        ]
        self.install(tree, tree.version + 1, tree.serial, Program(tuple(rules)))

    def install(self, tree: Tree, version: int, seen: int, program: Program) -> None:
        """Share a program out among this processor and its children."""
        tree.version = version
        strategy = self.common.options.strategy
        choose = partial(self._choose, tree) if strategy.pulls else None
        shared = share_out(program, tree.producers(self.sources.types()), central=strategy.central, choose=choose)
        tree.evaluation.expect(shared.rules, shared.parts)
        tree.wave = Wave(version, seen, program, shared, set(tree.children))
        basis = tree.bases[seen]
        for name, child in tree.children.items():
            program_before, child.program = child.program, shared.children.get(name, Program())
            if program_before.parts and not child.program.parts:
                child.lingers, child.lingers_until = True, None
            self.common.send(name, Install(tree.name, version, basis.children.get(name, child.serial), child.program))
        self._check_installed(tree)

    def _choose(self, tree: Tree, origins: Sequence[Origin]) -> Sequence[Origin]:
        """Decide which partial rules wait to be asked."""
        match self.common.options.masters:
            case Masters.TOP:
                return top_masters(origins)
            case Masters.LOWEST_RATE:
                return rarest_masters(origins, tree.rates(self.rates))
            case Masters.ADAPTIVE:
                return choose_masters(origins, tree.rates(self.rates), self._pushed_elsewhere(tree))
            case masters:
                assert_never(masters)

    def _pushed_elsewhere(self, tree: Tree) -> frozenset[tuple[str, str]]:
        """The children and types whose events come in push mode for another tree."""
        return frozenset(
            (child, assigned.part.pattern.terminator.type)
            for other in self.trees.by_name.values()
            if other is not tree
            for child, known in other.children.items()
            for assigned in known.program.parts
            if not assigned.pull
        )

    def on_rates(self, message: Rates, sender: str) -> None:
        """Learn how often partial rules of a child matched."""
        tree = self.trees.by_name[message.tree]
        before = tree.children[sender].rates
        tree.children[sender].rates = {
            name: smoothed(before.get(name), count / message.seconds) for name, count in message.counts
        }

    def adapt(self) -> None:
        """Once in a while tell the fathers how often partial rules matched, and at the root choose masters anew."""
        every = self.common.options.adapt_every
        if self.next_choice is None:
            self.next_choice = self.common.now + every
        if self.common.now < self.next_choice:
            return
        seconds = (self.common.now - self.next_choice + every) / 1_000_000
        self.next_choice = self.common.now + every
        kinds = {*self.rates, *self.sources.counts}
        self.rates = {
            kind: smoothed(self.rates.get(kind), self.sources.counts.get(kind, 0) / seconds) for kind in sorted(kinds)
        }
        self.sources.counts.clear()
        for tree in self.trees.by_name.values():
            counts = tree.evaluation.take_counts()
            if tree.father is not None:
                if counts:
                    self.common.send(tree.father, Rates(tree.name, seconds, counts))
            else:
                self.reconfigure(tree)

    def on_installed(self, message: Installed, sender: str) -> None:
        """Learn that a child, and everybody below it, has the program."""
        tree = self.trees.by_name[message.tree]
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
        self.flow.due.add(tree.name)
        wave.switched = True
        tree.was_active = tree.was_active or bool(wave.shared.parts)
        evaluation = tree.evaluation
        tree.shared = wave.shared
        tree.pulling.adopt(wave.shared)
        evaluation.adopt(wave.shared.rules, wave.shared.parts)
        self._wake_again(tree)
        self.sources.slowest.pop(tree.name, None)
        ready = max(wave.ready, evaluation.done)
        for name in tree.bases[wave.seen].sources:
            source = self.sources.by_name[name]
            if tree.name not in source.since:
                source.since[tree.name] = evaluation.done
                source.holding.add(tree.name)
        if tree.renewed:
            ready = max(wave.ready, self.retained.complete_from)
            self.flow.feed_retained(tree)
        else:
            for source in self.sources.by_name.values():
                ready = max(ready, source.latest)
        if tree.father is None:
            self.activate(tree, self._activation(tree, wave.program, ready + 1))
            return
        self.flow.take_sent(tree)
        tree.promised = evaluation.done if self.flow.has_more(tree) else None
        self.flow.flush()
        self.common.send(tree.father, Installed(tree.name, wave.version, ready, tree.promised))

    def _wake_again(self, tree: Tree) -> None:
        """Ask new slaves for what the master's events so far call for."""
        since = tree.evaluation.done - tree.evaluation.horizon
        for kind in tree.pulling.masters:
            for record in tree.evaluation.remembered(kind, since):
                for to, awaken in tree.pulling.wake(tree.name, record):
                    self.common.send(to, awaken)

    def _settled(self, tree: Tree, since: int) -> tuple[Settled, ...]:
        done, tree.announcing = tree.announcing, []
        return tuple(replace(each, since=since) if each.since is not None else each for each in done)

    def _activation(self, tree: Tree, program: Program, since: int) -> Activate:
        """Make the message that lets everybody begin at the same moment."""
        message = Activate(tree.name, tree.version, since, self._settled(tree, since))
        if tree.renewed:
            # younger rules see nothing of what was forgotten, and need not wait
            older = [ordered.rule for ordered in program.rules if ordered.since is None or ordered.since < since]
            message = replace(message, first=since + reach_of_all(older) if since > MIN_TIME + 1 else since)
        if self.common.options.retain and not self.common.many_trees:
            known = {str(o.rule.name): since if o.since is None else o.since for o in program.rules}
            rules = tuple(replace(o, since=known.get(name)) for name, o in self.rulebook.rules.items())
            message = replace(
                message, edition=self.rulebook.edition, rules=rules, declarations=tuple(self.rulebook.declared.values())
            )
        return message

    def activate(self, tree: Tree, message: Activate) -> None:
        """Begin with a program at the moment that holds for the whole tree."""
        wave = tree.wave
        assert wave is not None
        tree.wave = None
        tree.renewed = False
        self.sources.slowest.pop(tree.name, None)
        self.rulebook.adopt(message)
        tree.evaluation.activate(message.since, message.first)
        tree.activated(wave.program, message.since)
        for child_state in tree.children.values():
            if child_state.lingers and child_state.lingers_until is None:
                child_state.lingers_until = message.since
        for name in tree.bases[wave.seen].sources:
            source = self.sources.by_name[name]
            if tree.name in source.holding:
                source.holding.discard(tree.name)
                source.since[tree.name] = message.since
                self.sources.admit(name, source, message.since)
        tree.bases = {serial: basis for serial, basis in tree.bases.items() if serial >= wave.seen}
        for child in tree.children:
            self.common.send(child, message)
        for settled in message.settled:
            self.trees.reactions.settle(settled)
        self.flow.due.add(tree.name)
        if tree.again:
            self.reconfigure(tree)
