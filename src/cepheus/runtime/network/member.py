"""A processor as a member of trees: election, fathers and children, what is produced below it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from cepheus.core.schema import EventType
from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.clients import Sink, Source
from cepheus.runtime.network.election import Election
from cepheus.runtime.network.evaluation import Evaluation
from cepheus.runtime.network.looking_back import Past
from cepheus.runtime.network.messages import (
    Advertise,
    CreateTree,
    Elect,
    Elected,
    Message,
    Ordered,
    RuleChange,
    Start,
    TreeAnswer,
)
from cepheus.runtime.network.store import Record
from cepheus.runtime.network.strategy import Filter, Masters, Options, Order
from cepheus.runtime.network.tree import Basis, Child, Tree

Outgoing = tuple[str, Message]
"""A message and whom it is for: a neighbour, or a client by the name it gave."""


class Member(ABC):
    """The state of a processor, and its place in the trees."""

    def __init__(self, name: str, neighbours: tuple[str, ...], options: Options | None = None) -> None:
        self.name = name
        self.neighbours = tuple(sorted(neighbours))
        self.options = Options() if options is None else options
        self.trees: dict[str, Tree] = {}
        self.rules: dict[str, Ordered] = {}
        self.leader: str | None = None
        self._election = Election(name, self.neighbours)
        self._sources: dict[str, Source] = {}
        self._ticked = MIN_TIME
        self._slowest: dict[str, int] = {}  # by tree, how far the sources are but for ticks, where that is known
        self._sinks: dict[str, Sink] = {}
        self._requests: dict[str, str] = {}
        self._changes: list[RuleChange] = []
        self._known_changes: set[tuple[str, str]] = set()
        self._declared: dict[str, EventType] = {}
        self._out: list[Outgoing] = []
        self._dirty: set[str] = set()
        self._now = 0
        self._many = self.options.strategy.many_trees
        self._pulls = self.options.strategy.pulls
        self._in_order = self.options.order is Order.PROGRESS
        self._adapts = self._pulls and self.options.masters is Masters.ADAPTIVE
        self._next_adaption: int | None = None
        self._local_counts: dict[str, int] = {}
        self._local_rates: dict[str, float] = {}
        self.epoch = 0
        self.absent: set[str] = set()
        self._rank = 0
        self._behind: set[str] = set()
        self._edition: tuple[int, int] = (0, 0)
        self._open_changes: dict[str, RuleChange] = {}
        self._awaited: set[str] = set()
        self._renewed_at = 0
        self._remembers_from = MIN_TIME
        self._retained: list[Record] = []
        self._delivered: dict[str, dict[str, int]] = {}
        self._kept_told: dict[str, int] = {}
        self._told_past: dict[str, Past] = {}

    def _send(self, to: str, message: Message) -> None:
        self._out.append((to, message))

    @property
    def declared(self) -> tuple[EventType, ...]:
        """Give the types that rule files have declared, as far as this processor knows."""
        return tuple(self._declared.values())

    @property
    def produced(self) -> frozenset[str]:
        """Give the types that sources here and below publish."""
        return self._local_types().union(*(tree.types(frozenset()) for tree in self.trees.values()))

    @property
    def knows_rules(self) -> bool:
        """Whether ``rules`` are all rules of the network, and not only what the root must know."""
        return self.leader == self.name or self._many or self.options.retain > 0

    def client_of_source(self, source: str) -> str | None:
        """Give the client that a source belongs to, if it is attached here."""
        found = self._sources.get(source)
        return None if found is None or found.gone else found.client

    def client_of_sink(self, sink: str) -> str | None:
        """Give the client that a sink belongs to, if it is attached here."""
        found = self._sinks.get(sink)
        return None if found is None else found.client

    def attached(self, client: str) -> tuple[list[str], list[str]]:
        """Give the sources and sinks of a client."""
        sources = [name for name, source in self._sources.items() if source.client == client and not source.gone]
        return sources, [name for name, sink in self._sinks.items() if sink.client == client]

    def _on_election(self, message: Start | Elect | Elected, sender: str) -> None:
        if isinstance(message, Start):
            self._rank = message.rank
        for to, answer in self._election.handle(message, sender):
            self._send(to, answer)
        if self._election.won and self.leader is None:
            self.leader = self.name
            if not self._many:
                self._plant()

    def _plant(self) -> None:
        """Become the root of a tree."""
        tree = self._new_tree(self.name, None, renewed=not self._awaited.isdisjoint(("", self.name)))
        tree.unanswered = set(self.neighbours)
        for neighbour in self.neighbours:
            self._send(neighbour, CreateTree(self.name, tree.renewed))
        self._pass_changes_on()
        self._check_complete(tree)

    def _new_tree(self, name: str, father: str | None, *, renewed: bool) -> Tree:
        exact, timely = self.options.filter is Filter.EXACT, self.options.order is Order.PROGRESS
        evaluation = Evaluation(exact, timely)
        if self.options.retain and self._sources:
            evaluation.retained_from = MIN_TIME
        tree = Tree(name, father, evaluation, renewed=renewed)
        self.trees[name] = tree
        return tree

    def _on_create_tree(self, message: CreateTree, sender: str) -> None:
        if message.tree in self.trees:
            self._send(sender, TreeAnswer(message.tree, accepted=False))
            return
        tree = self._new_tree(message.tree, sender, renewed=message.renewed)
        if not self._many:
            self.leader = message.tree
        self._send(sender, TreeAnswer(message.tree, accepted=True))
        tree.unanswered = set(self.neighbours) - {sender}
        for neighbour in self.neighbours:
            if neighbour != sender:
                self._send(neighbour, CreateTree(message.tree, message.renewed))
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
            if tree.father is not None:
                self._announce_interests(tree)  # first, so that whoever knows all types knows all interests too
            self._advertise(tree)

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
                self._announce_interests(tree)
                self._send(tree.father, Advertise(tree.name, tree.serial, tuple(sorted(tree.advertised))))
            else:
                self._reconfigure(tree)

    @abstractmethod
    def _reconfigure(self, tree: Tree) -> None:
        """At the root: install the present rules everywhere."""

    @abstractmethod
    def _announce_interests(self, tree: Tree) -> None:
        """Tell the father what sinks want."""

    @abstractmethod
    def _pass_changes_on(self) -> None:
        """Hand on what was asked for before there was a tree."""
