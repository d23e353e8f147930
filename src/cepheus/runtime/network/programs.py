"""A processor and its programs: versions that are installed and activated over a whole tree, the choice of masters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.flow import Flow
from cepheus.runtime.network.looking_back import reach_of_all
from cepheus.runtime.network.masters import choose_masters, smoothed, top_masters
from cepheus.runtime.network.messages import (
    Activate,
    Install,
    Installed,
    Program,
    Rates,
    Settled,
)
from cepheus.runtime.network.sharing import Origin, share_out
from cepheus.runtime.network.strategy import Masters
from cepheus.runtime.network.tree import Tree, Wave


class Programs(Flow):
    """What a processor does for its father and leaves to its children, version by version."""

    def _reconfigure(self, tree: Tree) -> None:
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
            for ordered in self._wanted()
        ]
        self._install(tree, tree.version + 1, tree.serial, Program(tuple(rules)))

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
        before = tree.children[sender].rates
        tree.children[sender].rates = {
            name: smoothed(before.get(name), count / message.seconds) for name, count in message.counts
        }

    def _adapt(self) -> None:
        """Once in a while tell the fathers how often partial rules matched, and at the root choose masters anew."""
        every = self.options.adapt_every
        if self._next_adaption is None:
            self._next_adaption = self._now + every
        if self._now < self._next_adaption:
            return
        seconds = (self._now - self._next_adaption + every) / 1_000_000
        self._next_adaption = self._now + every
        kinds = {*self._local_rates, *self._local_counts}
        self._local_rates = {
            kind: smoothed(self._local_rates.get(kind), self._local_counts.get(kind, 0) / seconds)
            for kind in sorted(kinds)
        }
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
        self._slowest.pop(tree.name, None)
        ready = max(wave.ready, evaluation.done)
        for name in tree.bases[wave.seen].sources:
            source = self._sources[name]
            if tree.name not in source.since:
                source.since[tree.name] = evaluation.done
                source.holding.add(tree.name)
        if tree.renewed:
            ready = max(wave.ready, self._remembers_from)
            self._feed_retained(tree)
        else:
            for source in self._sources.values():
                ready = max(ready, source.latest)
        if tree.father is None:
            self._activate(tree, self._activation(tree, wave.program, ready + 1))
            return
        self._take_sent(tree)
        waits = self._has_inputs(tree) or evaluation.waits_for is not None
        tree.promised = evaluation.done if waits else None
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

    def _activation(self, tree: Tree, program: Program, since: int) -> Activate:
        """Make the message that lets everybody begin at the same moment."""
        message = Activate(tree.name, tree.version, since, self._settled(tree, since))
        if tree.renewed:
            # younger rules see nothing of what was forgotten, and need not wait
            older = [ordered.rule for ordered in program.rules if ordered.since is None or ordered.since < since]
            message = replace(message, first=since + reach_of_all(older) if since > MIN_TIME + 1 else since)
        if self.options.retain and not self._many:
            known = {str(o.rule.name): since if o.since is None else o.since for o in program.rules}
            rules = tuple(replace(o, since=known.get(name)) for name, o in self.rules.items())
            message = replace(message, edition=self._edition, rules=rules, declarations=tuple(self._declared.values()))
        return message

    def _activate(self, tree: Tree, message: Activate) -> None:
        wave = tree.wave
        assert wave is not None
        tree.wave = None
        tree.renewed = False
        self._slowest.pop(tree.name, None)
        if message.rules or message.edition > self._edition:
            self._edition = message.edition
            self._declared = {kind.name: kind for kind in message.declarations}
            self.rules = {str(ordered.rule.name): ordered for ordered in message.rules}
        tree.evaluation.activate(message.since, message.first)
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
