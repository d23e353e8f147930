"""A processor: messages in, messages out. No input, no output, no clock, no chance.

The host that drives it (the simulator, a server) hands it one message at a time with the name of the sender and the
time, and delivers what comes back: to neighbours in order, to clients by name. Two processors that are handed the same
messages give the same answers, which is what recovery after a crash rests on.

It is made of parts, each of which owns some of the state and knows the parts before it:

- ``rulebook``: the rules of the network
- ``sources``, ``retained``: who publishes here, and what is kept of that for trees that are built anew
- ``trees``: fathers, children, what is produced below
- ``sinks``: who wants which composite events
- ``flow``: events on their way to the roots
- ``completion``: how far everything has been delivered, where a sink asks
- ``programs``: who evaluates what, version by version
- ``changes``: rules that are deployed and withdrawn
- ``renewal``: epochs and elections
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never, cast, get_args

from cepheus.core.schema import EventType
from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.processor.changes import Changes
from cepheus.runtime.network.processor.common import Common, Outgoing
from cepheus.runtime.network.processor.completion import Completion
from cepheus.runtime.network.processor.election import Election
from cepheus.runtime.network.processor.flow import Flow
from cepheus.runtime.network.processor.programs import Programs
from cepheus.runtime.network.processor.renewal import Renewal
from cepheus.runtime.network.processor.rulebook import Rulebook
from cepheus.runtime.network.processor.sinks import Sinks
from cepheus.runtime.network.processor.sources import Retained, Sources
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.processor.trees import AboutTree, Trees
from cepheus.runtime.network.protocol.messages import (
    Activate,
    Admitted,
    Advertise,
    AttachSink,
    AttachSource,
    Awaken,
    Completed,
    CreateTree,
    Deliver,
    Delivered,
    Deployed,
    DeployRules,
    DetachSink,
    DetachSource,
    Elect,
    Elected,
    Events,
    Found,
    Install,
    Installed,
    Interests,
    LateEvents,
    Lost,
    Message,
    Ordered,
    Publish,
    Pulled,
    Rates,
    Refused,
    Release,
    Renew,
    RuleChange,
    Settled,
    Start,
    Tick,
    TreeAnswer,
    WithdrawRules,
)
from cepheus.runtime.network.protocol.strategy import Options

_ABOUT_TREES = frozenset(get_args(AboutTree))


class Processor:
    """One node of the network, as a state machine.

    >>> alone = Processor("p1", ())
    >>> [message for _, message in alone.handle(Start(), now=0)]
    []
    >>> alone.leader
    'p1'
    """

    def __init__(self, name: str, neighbours: tuple[str, ...], options: Options | None = None) -> None:
        common = Common(name, tuple(sorted(neighbours)), Options() if options is None else options)
        rulebook, sources, retained = Rulebook(common), Sources(common), Retained(common)
        trees = Trees(common, sources, retained, self)
        sinks = Sinks(common, trees, rulebook)
        flow = Flow(common, rulebook, sources, retained, trees, sinks)
        self.completion = Completion(common, sources, trees, sinks)
        programs = Programs(common, rulebook, sources, retained, trees, sinks, flow)
        changes = Changes(common, rulebook, trees, programs)
        election = Election(name, common.neighbours)
        renewal = Renewal(common, rulebook, sources, retained, trees, sinks, flow, changes, election)
        self.common, self.rulebook, self.sources, self.retained = common, rulebook, sources, retained
        self.trees, self.sinks, self.flow, self.programs = trees, sinks, flow, programs
        self.changes, self.renewal = changes, renewal

    def handle(self, message: Message, now: int, sender: str = "") -> list[Outgoing]:
        """Take one message and return the messages it leads to; ``now`` is the host's time, in microseconds."""
        common, flow = self.common, self.flow
        common.now = max(common.now, now)
        if self.renewal.behind and self.renewal.is_of_the_past(message, sender):
            return []
        self._dispatch(message, sender)
        if flow.due:
            flow.progress()
        if self.programs.adapts and isinstance(message, Events | Publish | Tick):
            self.programs.adapt()
        if flow.due:
            flow.flush()
            flow.due.clear()
        if self.sinks.asked:
            self.completion.look()
        if not common.outgoing:
            return []
        outgoing, common.outgoing = common.outgoing, []
        return outgoing

    def _dispatch(self, message: Message, sender: str) -> None:
        if type(message) in _ABOUT_TREES and not self.trees.is_meant(cast(AboutTree, message), sender):
            return
        match message:
            case Events():
                self.flow.on_events(message, sender)
            case Tick():
                self.flow.on_tick(message)
            case Publish():
                self.flow.on_publish(message)
            case Deliver():
                self.sinks.on_deliver(message, sender)
            case Awaken() | Pulled() | Release():
                self.flow.on_pull(message)
            case Start() | Elect() | Elected():
                self.renewal.on_election(message, sender)
            case CreateTree():
                self.trees.on_create_tree(message, sender)
            case TreeAnswer():
                self.trees.on_tree_answer(message, sender)
            case Advertise():
                self.trees.on_advertise(message, sender)
            case Interests():
                self.sinks.on_interests(message, sender)
            case Completed():
                self.completion.on_completed(message, sender)
            case RuleChange():
                self.changes.on_rule_change(message, sender)
            case Install():
                self.programs.install(self.trees.by_name[message.tree], message.version, message.seen, message.program)
            case Installed():
                self.programs.on_installed(message, sender)
            case Activate():
                self.programs.activate(self.trees.by_name[message.tree], message)
            case Renew() | Lost() | Found():
                self.renewal.on_change_of_network(message, sender)
            case AttachSource():
                self._on_attach_source(message, sender)
            case DetachSource():
                if self.sources.detach(message.source):
                    self.flow.due.update(self.trees.by_name)
            case AttachSink() | DetachSink():
                self.sinks.on_client(message, sender)
            case DeployRules() | WithdrawRules():
                self.changes.on_request(message, sender)
            case Rates():
                self.programs.on_rates(message, sender)
            case Admitted() | LateEvents() | Deployed() | Refused() | Delivered():
                pass  # for clients; a processor that gets one has nothing to do
            case _:
                assert_never(message)

    def _on_attach_source(self, message: AttachSource, sender: str) -> None:
        source = self.sources.attach(message, sender)
        if self.common.many_trees and not self.trees.by_name:
            self.sources.admit(message.source, source, MIN_TIME + 1)
        self.trees.sources_changed()

    # ---- What parts set off in parts that are built on them ----------------------------------------------------------

    def announce_interests(self, tree: Tree) -> None:
        """Tell the father what sinks at and below this processor want."""
        self.sinks.announce_interests(tree)

    def reconfigure(self, tree: Tree) -> None:
        """At the root: install the present rules everywhere."""
        self.programs.reconfigure(tree)

    def pass_changes_on(self) -> None:
        """Hand on what was asked for before there was a tree."""
        self.changes.pass_on()

    def settle(self, settled: Settled) -> None:
        """Answer whoever asked for a change of the rules."""
        self.changes.settle(settled)

    # ---- What hosts ask ----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the processor is called in the network."""
        return self.common.name

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The processors that it has links to, but for those that were given up."""
        return self.common.neighbours

    @property
    def options(self) -> Options:
        """What all processors of the network agree on."""
        return self.common.options

    @property
    def leader(self) -> str | None:
        """Who won the election, as far as this processor knows."""
        return self.trees.leader

    @property
    def epoch(self) -> int:
        """How often trees were built anew."""
        return self.common.epoch

    @property
    def absent(self) -> set[str]:
        """The neighbours that were given up."""
        return self.renewal.absent

    @property
    def rules(self) -> Mapping[str, Ordered]:
        """The rules that this processor knows of, by name."""
        return self.rulebook.rules

    @property
    def declared(self) -> tuple[EventType, ...]:
        """The types that rule files have declared, as far as this processor knows."""
        return tuple(self.rulebook.declared.values())

    @property
    def produced(self) -> frozenset[str]:
        """The types that sources here and below publish."""
        local = self.sources.types()
        return local.union(*(tree.types(frozenset()) for tree in self.trees.by_name.values()))

    @property
    def knows_rules(self) -> bool:
        """Whether ``rules`` are all rules of the network, and not only what the root must know."""
        return self.leader == self.name or self.common.many_trees or self.common.options.retain > 0

    def client_of_source(self, source: str) -> str | None:
        """The client that a source belongs to, if it is attached here."""
        found = self.sources.by_name.get(source)
        return None if found is None or found.gone else found.client

    def client_of_sink(self, sink: str) -> str | None:
        """The client that a sink belongs to, if it is attached here."""
        found = self.sinks.by_name.get(sink)
        return None if found is None else found.client

    def attached(self, client: str) -> tuple[list[str], list[str]]:
        """The sources and sinks of a client."""
        sources = [name for name, source in self.sources.by_name.items() if source.client == client and not source.gone]
        return sources, [name for name, sink in self.sinks.by_name.items() if sink.client == client]
