"""Rules at work in a network, seen from one of its nodes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cepheus.core.errors import CepheusError
from cepheus.runtime.embedded.figures import Figures
from cepheus.runtime.embedded.rule_changes import RuleChange
from cepheus.studio.watched import PAUSE, said
from cepheus.studio.workspace import program_of

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access


class NodeRun:
    """Rules at work in a network, seen from one of its nodes: what it tells of itself, and the matches it delivers."""

    def __init__(self, access: Access) -> None:
        from cepheus.runtime.network.transport.blocking import Client

        self._address = access.address
        self._client = Client(access)
        self._figures = Figures()
        self._streams: dict[str, Any] = {}
        self._paused = False
        self._error: str | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._subscribe(self._client.status())
        self._thread = threading.Thread(target=self._work, name="cepheus-studio-node", daemon=True)
        self._thread.start()

    def _subscribe(self, status: Mapping[str, Any]) -> None:
        """Ask for the composite events of all rules that the node knows."""
        for rule in status["deployed"].values():
            with self._lock:
                if rule["composite"] not in self._streams:
                    self._streams[rule["composite"]] = self._client.subscribe(rule["composite"])

    def _work(self) -> None:
        while not self._ended.is_set():
            with self._lock:
                streams = [] if self._paused else list(self._streams.values())
            try:
                for stream in streams:
                    self._figures.count(0, stream.take(0.05))
            except Exception as error:  # whatever it is, the page is told
                self._error = said(error, self._address)
                return
            if not streams:
                self._ended.wait(PAUSE)

    def state(self, since: int) -> dict[str, Any]:
        """How the node is."""
        status = self._client.status()
        self._subscribe(status)
        through = [tree["through"] for tree in status["trees"] if tree["through"] is not None]
        return {
            **self._figures.told(since),
            "kind": "node",
            "name": f"node {status['name']} at {self._address}",
            "paused": self._paused,
            "error": self._error,
            "events": status["events"],
            "late": None,
            "skipped": None,
            "waiting": sum(link["waiting"] for link in status["links"]),
            "watermark": min(through, default=None),
            "rules": list(status["deployed"]),
            "links": {
                link["name"]: {"kind": "link", "connected": link["connected"], "passed": link["sent"], "trouble": ""}
                for link in status["links"]
            },
            "can_deploy": True,
            "note": "Matches of all rules that the node knows, from when watching began.",
        }

    def pause(self, *, paused: bool) -> None:
        """Leave matches with the node, which keeps them for this client, or take them again."""
        with self._lock:
            self._paused = paused

    def rules(self) -> Mapping[str, str]:
        """The texts of the rules that the node has."""
        return {name: rule["text"] for name, rule in self._client.status()["deployed"].items()}

    def plan(self, text: str) -> list[dict[str, str]]:
        """What would be done for the rules of a text to be at work."""
        return list(self._change(text).told)

    def apply(self, text: str) -> None:
        """Withdraw some rules from the network and deploy others; if these are refused, the old ones go on."""
        change, before = self._change(text), self.rules()
        if change.withdrawn:
            self._client.withdraw(list(change.withdrawn))
        if change.added.all_rules:
            try:
                self._client.deploy(change.added)
            except CepheusError:
                if change.withdrawn:
                    self._client.deploy("\n\n".join(before[name] for name in change.withdrawn))
                raise
        self._subscribe(self._client.status())

    def _change(self, text: str) -> RuleChange:
        wanted = program_of(text).rules
        found = RuleChange.between(self.rules(), wanted)
        return replace(found, added=replace(found.added, declarations=wanted.declarations))

    def stop(self) -> None:
        """Leave the node."""
        self._ended.set()
        self._thread.join(timeout=5)
        self._client.close()
