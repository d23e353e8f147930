"""The trees that a processor is part of: fathers and children, what is produced below it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, assert_never

from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.evaluation import Evaluation
from cepheus.runtime.network.processor.sources import Retained, Sources
from cepheus.runtime.network.processor.tree import Basis, Child, Tree
from cepheus.runtime.network.protocol.messages import (
    Activate,
    Advertise,
    Awaken,
    Completed,
    CreateTree,
    Deliver,
    Install,
    Installed,
    Interests,
    Pulled,
    Rates,
    Release,
    Settled,
    TreeAnswer,
)
from cepheus.runtime.network.protocol.strategy import Filter

AboutTree = (
    TreeAnswer
    | Advertise
    | Interests
    | Install
    | Installed
    | Activate
    | Deliver
    | Completed
    | Awaken
    | Pulled
    | Rates
    | Release
)
"""Messages about one tree, which processors that are part of it send one another."""


class Reactions(Protocol):
    """What one part of a processor sets off in parts that are built on it; the processor knows them all."""

    def announce_interests(self, tree: Tree) -> None:
        """Tell the father what sinks at and below this processor want."""

    def reconfigure(self, tree: Tree) -> None:
        """At the root: install the present rules everywhere."""

    def pass_changes_on(self) -> None:
        """Hand on what was asked for before there was a tree."""

    def settle(self, settled: Settled) -> None:
        """Answer whoever asked for a change of the rules."""


@dataclass(slots=True)
class Trees:
    """Trees by the names of their roots.

    With one tree for all, its root is the ``leader``; with many, the leader is only the winner of the election.
    """

    common: Common
    sources: Sources
    retained: Retained
    reactions: Reactions
    by_name: dict[str, Tree] = field(default_factory=dict)
    leader: str | None = None

    def is_meant(self, message: AboutTree, sender: str) -> bool:
        """Whether a message is about a tree that this processor is part of, from whoever sends such messages there.

        A processor that goes on from a state which somebody has tampered with may have another idea of the trees. Its
        messages are passed over: one that made this processor fail would do so again after every restart.
        """
        tree = self.by_name.get(message.tree)
        if tree is None:
            return False
        match message:
            case TreeAnswer() | Deliver():
                return True
            case Advertise() | Interests() | Installed() | Rates() | Pulled():
                return sender in tree.children
            case Completed():
                return sender in tree.children or sender == tree.father
            case Install() | Activate() | Awaken() | Release():
                return tree.father is not None and sender == tree.father
            case _:
                assert_never(message)

    @property
    def own(self) -> Tree | None:
        """The tree of which this processor is the root."""
        return self.by_name.get(self.common.name)

    @property
    def of_leader(self) -> Tree | None:
        """The one tree of strategies that have but one."""
        return None if self.leader is None else self.by_name.get(self.leader)

    def plant(self) -> None:
        """Become the root of a tree."""
        name = self.common.name
        tree = self._add(name, None, renewed=self.retained.is_awaited(name))
        tree.unanswered = set(self.common.neighbours)
        self.common.send_to_neighbours(CreateTree(name, tree.renewed))
        self.reactions.pass_changes_on()
        self._check_complete(tree)

    def _add(self, name: str, father: str | None, *, renewed: bool) -> Tree:
        options = self.common.options
        evaluation = Evaluation(options.filter is Filter.EXACT, self.common.in_order)
        if options.retain and self.sources.by_name:
            evaluation.retained_from = MIN_TIME
        tree = Tree(name, father, evaluation, renewed=renewed)
        self.by_name[name] = tree
        return tree

    def on_create_tree(self, message: CreateTree, sender: str) -> None:
        """Join a tree below the neighbour that tells of it first."""
        if message.tree in self.by_name:
            self.common.send(sender, TreeAnswer(message.tree, accepted=False))
            return
        tree = self._add(message.tree, sender, renewed=message.renewed)
        if not self.common.many_trees:
            self.leader = message.tree
        self.common.send(sender, TreeAnswer(message.tree, accepted=True))
        tree.unanswered = set(self.common.neighbours) - {sender}
        self.common.send_to_neighbours(CreateTree(message.tree, message.renewed), but=sender)
        self.reactions.pass_changes_on()
        self._check_complete(tree)

    def on_tree_answer(self, message: TreeAnswer, sender: str) -> None:
        """Learn whether a neighbour is a child."""
        tree = self.by_name[message.tree]
        tree.unanswered.discard(sender)
        if message.accepted:
            tree.children[sender] = Child()
        self._check_complete(tree)

    def _check_complete(self, tree: Tree) -> None:
        if tree.complete:
            if tree.father is not None:
                self.reactions.announce_interests(tree)  # first: whoever knows all types knows all interests too
            self._advertise_anew(tree)

    def sources_changed(self) -> None:
        """Advertise what a new source publishes, and keep for it what is remembered for others."""
        if self.common.options.retain:
            for tree in self.by_name.values():
                tree.evaluation.retained_from = min(tree.evaluation.retained_from, tree.evaluation.forgotten)
        for tree in self.by_name.values():
            if tree.complete:
                self._advertise_anew(tree)

    def _advertise_anew(self, tree: Tree) -> None:
        """Tell the father, or start over at the root, if more is produced here than was said."""
        unadmitted = any(tree.name not in source.since for source in self.sources.by_name.values())
        if tree.advertised == tree.types(self.sources.types()) and not unadmitted and tree.is_root:
            return
        self._advertise(tree)

    def _advertise(self, tree: Tree) -> None:
        self._take_stock(tree)
        if tree.father is not None:
            assert tree.advertised is not None
            self.common.send(tree.father, Advertise(tree.name, tree.serial, tuple(sorted(tree.advertised))))
        else:
            self.reactions.reconfigure(tree)

    def _take_stock(self, tree: Tree) -> None:
        """Note what is produced at and below this processor, and on whose advertisements that is based."""
        tree.serial += 1
        tree.advertised = tree.types(self.sources.types())
        children = {name: child.serial for name, child in tree.children.items()}
        tree.bases[tree.serial] = Basis(children, frozenset(self.sources.by_name))

    def on_advertise(self, message: Advertise, sender: str) -> None:
        """Learn what is produced below a child."""
        tree = self.by_name[message.tree]
        child = tree.children[sender]
        child.serial = message.serial
        child.types = frozenset(message.types) | (child.types or frozenset())
        if tree.complete:
            if tree.father is not None:
                self.reactions.announce_interests(tree)
            self._advertise(tree)
