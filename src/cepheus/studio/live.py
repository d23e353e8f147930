"""Rules at work on what is still coming: a file that grows, or a node of a network. Rates, matches, pause, deploy.

What the page is told is bounded, whatever comes: counts, a figure for each of the last seconds, and the latest matches,
each with a number, so that a page that was away knows how many it has missed.
"""

from __future__ import annotations

import difflib
import json
import os
import threading
import time as clock
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from fastapi import APIRouter
from pydantic import BaseModel

from cepheus.api import Program
from cepheus.core.errors import CepheusError, OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.time import TimeUnit
from cepheus.language.tesla import format_rule
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.runtime.embedded.session import Session
from cepheus.studio.editing import Text
from cepheus.studio.running import event_told
from cepheus.studio.workspace import Workspace, program_of

MOST_MATCHES = 20_000
"""How many of the latest matches are kept for the page."""

MOST_TOLD = 1_000
"""How many matches one answer holds, the oldest first: a page that is behind asks on."""

SECONDS = 300
"""For how many of the last seconds rates are kept."""

_MOST_LINES = 5000
_PAUSE = 0.1


class Coming(Protocol):
    """Where events come from: the interface by which other sources join."""

    name: str

    def take(self) -> list[Mapping[str, Any]]:
        """The events that have come since the last call, not too many at once; none if there are none."""

    def waiting(self) -> int:
        """How many bytes or events are there and not taken."""


class FollowedFile:
    """The lines that are appended to a file of JSON lines; half a line waits for its other half."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".jsonl":
            raise OptionError.of(
                "live", f"'{path.name}' cannot be followed", hint="follow a file of JSON lines, .jsonl"
            )
        self.name = path.name
        self.bad = 0
        self._path = path
        self._offset = 0

    def take(self) -> list[Mapping[str, Any]]:
        """The events of whole lines that were appended."""
        found: list[Mapping[str, Any]] = []
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._offset:  # it was cut, and is written anew
                self._offset = 0
            file.seek(self._offset)
            for line in islice(file, _MOST_LINES):
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError):
                    event = None
                if isinstance(event, dict):
                    found.append(event)
                elif line.strip():
                    self.bad += 1
        return found

    def waiting(self) -> int:
        """How many bytes are there and not taken."""
        try:
            size = self._path.stat().st_size
        except OSError:  # which the next take tells
            return 0
        return size - self._offset if size >= self._offset else size


class Figures:
    """What was counted while rules were at work."""

    def __init__(self) -> None:
        self.began = clock.time()
        self.matched = 0
        self.by_type: Counter[str] = Counter()
        self.matches: deque[tuple[int, Event]] = deque(maxlen=MOST_MATCHES)
        self._seconds: deque[list[int]] = deque(maxlen=SECONDS)
        self._lock = threading.Lock()

    def count(self, events: int, made: Iterable[Event]) -> None:
        """Count some events and the matches that they completed."""
        found = list(made)
        with self._lock:
            for event in found:
                self.matched += 1
                self.by_type[event.type] += 1
                self.matches.append((self.matched, event))
            now = int(clock.time())
            if not self._seconds or self._seconds[-1][0] != now:
                self._seconds.append([now, 0, 0])
            self._seconds[-1][1] += events
            self._seconds[-1][2] += len(found)

    def told(self, since: int) -> dict[str, Any]:
        """The figures, and the matches behind a number that the page has."""
        with self._lock:
            newer = list(islice((one for one in self.matches if one[0] > since), MOST_TOLD))
            told = {
                "began": self.began,
                "matched": self.matched,
                "by_type": dict(self.by_type),
                "rates": [list(each) for each in self._seconds],
            }
        return {**told, "matches": [{"number": number, **event_told(event)} for number, event in newer]}


class Target(Protocol):
    """Rules at work somewhere: what the page of live asks of it."""

    def state(self, since: int) -> dict[str, Any]:
        """How it is."""

    def pause(self, *, paused: bool) -> None:
        """Take no more events, or take them again; none is lost."""

    def rules(self) -> Mapping[str, str]:
        """The texts of the rules at work, by name."""

    def change(self, withdrawn: list[str], added: RuleSet) -> None:
        """Withdraw some rules and deploy others."""

    def stop(self) -> None:
        """End it."""


class FileRun:
    """Rules at work in this process on what comes from a source."""

    def __init__(self, program: Program, source: Coming, unit: TimeUnit) -> None:
        self._source = source
        self._session: Session = program.start(time_unit=unit.value, on_bad_event="skip")
        self._figures = Figures()
        self._lock = threading.Lock()
        self._paused = False
        self._error: str | None = None
        self._latest: int | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="cepheus-studio-live", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._ended.is_set():
            taken = 0
            if not self._paused:
                try:
                    with self._lock:
                        taken = self._step()
                except Exception as error:  # whatever it is, the page is told
                    self._error = _said(error, self._source.name)
                    return
            if not taken:
                self._ended.wait(_PAUSE)

    def _step(self) -> int:
        events = self._source.take()
        if events:
            made = self._session.feed(events)
            self._figures.count(len(events), made.to_events() if len(made) else ())
        return len(events)

    def state(self, since: int) -> dict[str, Any]:
        """How it is."""
        with self._lock:
            counts = self._session.counts
            return {
                "kind": "file",
                "name": self._source.name,
                "paused": self._paused,
                "error": self._error,
                "events": counts.events,
                "late": counts.late,
                "skipped": counts.skipped + getattr(self._source, "bad", 0),
                "waiting": self._source.waiting(),
                "rules": list(self.rules()),
                **self._figures.told(since),
            }

    def pause(self, *, paused: bool) -> None:
        """Leave events where they are, or take them again."""
        self._paused = paused

    def rules(self) -> Mapping[str, str]:
        """The texts of the rules at work."""
        return {str(rule.name): _written(rule) for rule in self._session.rules.all_rules}

    def change(self, withdrawn: list[str], added: RuleSet) -> None:
        """Withdraw some rules and deploy others, between two events."""
        with self._lock:
            for name in withdrawn:
                self._session.withdraw(name)
            if added.all_rules:
                self._session.deploy(added)

    def stop(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join(timeout=5)


class NodeRun:
    """Rules at work in a network, seen from one of its nodes: what it tells of itself, and the matches it delivers."""

    def __init__(self, address: str) -> None:
        from cepheus.runtime.network.transport.access import Access
        from cepheus.runtime.network.transport.blocking import Client

        self._address = address
        self._client = Client(Access(address, patience=5.0))
        self._figures = Figures()
        self._texts: dict[str, str] = {}
        self._streams: dict[str, Any] = {}
        self._paused = False
        self._error: str | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="cepheus-studio-node", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._ended.is_set():
            with self._lock:
                streams = [] if self._paused else list(self._streams.values())
            try:
                for stream in streams:
                    self._figures.count(0, stream.take(0.05))
            except Exception as error:  # whatever it is, the page is told
                self._error = _said(error, self._address)
                return
            if not streams:
                self._ended.wait(_PAUSE)

    def state(self, since: int) -> dict[str, Any]:
        """How the node is."""
        status = self._client.status()
        return {
            "kind": "node",
            "name": f"node {status['name']} at {self._address}",
            "paused": self._paused,
            "error": self._error,
            "events": status["events"],
            "late": 0,
            "skipped": 0,
            "waiting": sum(link["waiting"] for link in status["links"]),
            "rules": list(self.rules()),
            "node": status,
            **self._figures.told(since),
        }

    def pause(self, *, paused: bool) -> None:
        """Leave matches with the node, which keeps them for this client, or take them again."""
        with self._lock:
            self._paused = paused

    def rules(self) -> Mapping[str, str]:
        """The rules that the node has, with the texts of those that were deployed from here."""
        names = {name for tree in self._client.status()["trees"] for name in tree["rules"]}
        return {name: self._texts.get(name, f"{name} was not deployed from here") for name in sorted(names)}

    def change(self, withdrawn: list[str], added: RuleSet) -> None:
        """Withdraw some rules from the network and deploy others."""
        if withdrawn:
            self._client.withdraw(withdrawn)
        if added.all_rules:
            self._client.deploy(added)
        for rule in added.rules:
            self._texts[str(rule.name)] = _written(rule)
            with self._lock:
                if rule.composite.name not in self._streams:
                    self._streams[rule.composite.name] = self._client.subscribe(rule.composite.name)

    def stop(self) -> None:
        """Leave the node."""
        self._ended.set()
        self._thread.join(timeout=5)
        self._client.close()


def _said(error: Exception, source: str) -> str:
    """What ended the work on a source, in words."""
    if isinstance(error, CepheusError):
        return error.diagnostics[0].message
    if isinstance(error, OSError):
        return f"{source} cannot be read: {error.strerror or error}"
    return f"following {source} ended, this is a mistake in Cepheus: {error}"


@dataclass(frozen=True, slots=True)
class Change:
    """What would have to be done for the rules of a text to be at work."""

    added: RuleSet
    withdrawn: tuple[str, ...]
    told: tuple[dict[str, str], ...]

    @classmethod
    def between(cls, before: Mapping[str, str], program: Program) -> Change:
        """Compare the rules at work with those of a program; one that has changed is withdrawn and deployed anew."""
        after: dict[str, AnyRule] = {str(rule.name): rule for rule in program.rules.all_rules}
        told: list[dict[str, str]] = []
        withdrawn: list[str] = []
        wanted: list[AnyRule] = []
        for name, text in before.items():
            written = _written(after[name]) if name in after else ""
            if text == written:
                continue
            withdrawn.append(name)
            told.append({"name": name, "kind": "change" if name in after else "withdraw", "diff": _diff(text, written)})
        for name, rule in after.items():
            if name not in before:
                told.append({"name": name, "kind": "deploy", "diff": _diff("", _written(rule))})
            if name not in before or name in withdrawn:
                wanted.append(rule)
        added = RuleSet.of(wanted, tuple(b for b in program.rules.beliefs if b.rule in {str(r.name) for r in wanted}))
        return cls(added, tuple(withdrawn), tuple(told))


def _written(rule: AnyRule) -> str:
    return format_rule(rule) if isinstance(rule, Rule) else str(rule)


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "at work", "in the editor", lineterm="", n=99)
    return "\n".join(islice(lines, 2, None))


class Following(Text):
    """The rules to start with and the file to follow, or the node to watch."""

    file: str | None = None
    node: str | None = None


class Since(BaseModel):
    """The number of the latest match that the page has."""

    since: int = 0


class Paused(BaseModel):
    """Whether to pause."""

    paused: bool


class Live:
    """The one target that the studio watches, if any."""

    def __init__(self, workspace: Workspace, files: Iterable[Path] = (), nodes: Iterable[str] = ()) -> None:
        self.workspace = workspace
        self.files = {path.name: path for path in files}
        self.nodes = tuple(nodes)
        self.target: Target | None = None
        self._lock = threading.Lock()

    def start(self, given: Following) -> None:
        """Begin to follow a file or to watch a node. Only when that works, what was watched before is ended."""
        self._watch(self._target(given))

    def _target(self, given: Following) -> Target:
        if given.node is not None:
            if given.node not in self.nodes:
                raise OptionError.of("studio", f"'{given.node}' is not a node that the studio was given")
            return NodeRun(given.node)
        if given.file in self.files:
            program = program_of(given.text)
            source = FollowedFile(self.files[str(given.file)])
            return FileRun(program, source, self.workspace.unit)
        raise OptionError.of("studio", "there is nothing to follow", hint="start the studio with --follow FILE")

    def _watch(self, target: Target | None) -> None:
        with self._lock:
            before, self.target = self.target, target
        if before is not None:
            before.stop()

    def stop(self) -> None:
        """End what is watched."""
        self._watch(None)

    def required(self) -> Target:
        """What is watched; OptionError if nothing is."""
        if self.target is None:
            raise OptionError.of("studio", "nothing is running", hint="start it first")
        return self.target

    def change(self, text: str) -> Change:
        """What would have to be done for the rules of a text to be at work."""
        program = program_of(text)
        if program.rules.row_rules:
            raise UnsupportedError.of("studio", "queries over rows are not deployed from here")
        return Change.between(self.required().rules(), program)


def routes(live: Live) -> APIRouter:
    """The routes of live."""
    router = APIRouter(prefix="/api/live")

    def answering(action: Callable[[], None]) -> dict[str, Any]:
        action()
        return live.required().state(0)

    @router.get("")
    def offered() -> dict[str, Any]:
        return {"files": list(live.files), "nodes": list(live.nodes), "running": live.target is not None}

    @router.post("/start")
    def start(given: Following) -> dict[str, Any]:
        return answering(lambda: live.start(given))

    @router.post("/state")
    def state(given: Since) -> dict[str, Any]:
        return live.required().state(given.since)

    @router.post("/pause")
    def pause(given: Paused) -> dict[str, Any]:
        return answering(lambda: live.required().pause(paused=given.paused))

    @router.post("/stop")
    def stop() -> dict[str, bool]:
        live.stop()
        return {"stopped": True}

    @router.post("/plan")
    def plan(given: Text) -> list[dict[str, str]]:
        return list(live.change(given.text).told)

    @router.post("/apply")
    def apply(given: Text) -> dict[str, Any]:
        change = live.change(given.text)
        return answering(lambda: live.required().change(list(change.withdrawn), change.added))

    return router
