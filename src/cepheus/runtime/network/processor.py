"""A processor: messages in, messages out. No input, no output, no clock, no chance.

The host that drives it (the simulator, a server) hands it one message at a time with the name of the sender and the
time, and delivers what comes back: to neighbours in order, to clients by name. Two processors that are handed the same
messages give the same answers, which is what recovery after a crash rests on.
"""

from __future__ import annotations

from typing import assert_never

from cepheus.runtime.network.member import Outgoing
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
    Events,
    Found,
    Install,
    Installed,
    Interests,
    LateEvents,
    Lost,
    Message,
    Publish,
    Pulled,
    Rates,
    Refused,
    Release,
    Renew,
    RuleChange,
    Start,
    Tick,
    TreeAnswer,
    WithdrawRules,
)
from cepheus.runtime.network.renewal import Renewal


class Processor(Renewal):
    """One node of the network, as a state machine.

    >>> alone = Processor("p1", ())
    >>> [message for _, message in alone.handle(Start(), now=0)]
    []
    >>> alone.leader
    'p1'
    """

    def handle(self, message: Message, now: int, sender: str = "") -> list[Outgoing]:
        """Take one message and give the messages it leads to; ``now`` is the host's time, in microseconds."""
        self._now = max(self._now, now)
        if self._behind and self._is_of_the_past(message, sender):
            return []
        self._dispatch(message, sender)
        if self._dirty:
            for name in sorted(self._dirty) if len(self._dirty) > 1 else self._dirty:
                self._progress(self.trees[name])
        if self._adapts and isinstance(message, Events | Publish | Tick):
            self._adapt()
        if self._dirty:
            self._flush_events()
            self._dirty.clear()
        if not self._out:
            return []
        out, self._out = self._out, []
        return out

    def _dispatch(self, message: Message, sender: str) -> None:
        match message:
            case Events():
                self._on_events(message, sender)
            case Tick():
                self._on_tick(message)
            case Publish():
                self._on_publish(message)
            case Deliver():
                self._on_deliver(message, sender)
            case Awaken() | Pulled() | Release():
                self._on_pull(message)
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
            case Renew() | Lost() | Found():
                self._on_change_of_network(message, sender)
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
            case Rates():
                self._on_rates(message, sender)
            case Admitted() | LateEvents() | Deployed() | Refused() | Delivered():
                pass  # for clients; a processor that gets one has nothing to do
            case _:
                assert_never(message)
