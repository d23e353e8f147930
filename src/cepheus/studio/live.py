"""Rules at work on what is still coming: a file that grows, a live run, a stream of Spark, a node of a network."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from cepheus.core.errors import OptionError
from cepheus.core.time import format_time
from cepheus.studio.editing import Text
from cepheus.studio.watched import FileRun, FollowedFile, Target
from cepheus.studio.watched_node import NodeRun
from cepheus.studio.watched_run import LiveFileRun
from cepheus.studio.watched_stream import StreamRun
from cepheus.studio.workspace import Workspace, program_of

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access


class Following(Text):
    """What to watch, as the studio was given it; the text has the rules to start with where the studio runs them."""

    kind: Literal["follow", "live", "node", "checkpoint"]
    source: str


class Since(BaseModel):
    """The number of the latest match that the page has."""

    since: int = 0


class Paused(BaseModel):
    """Whether to pause."""

    paused: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """What the studio was given to watch."""

    follow: tuple[Path, ...] = ()
    live: tuple[Path, ...] = ()
    checkpoint: tuple[Path, ...] = ()
    node: tuple[Access, ...] = ()

    def path(self, kind: str, name: str) -> Path:
        """A file or folder by the name under which it was offered."""
        paths: dict[str, Path] = self.named(kind)
        if name not in paths:
            raise OptionError.of("studio", f"'{name}' is not what the studio was given to watch")
        return paths[name]

    def named(self, kind: str) -> dict[str, Path]:
        """Files or folders of a kind, by bare names where these differ."""
        paths: tuple[Path, ...] = getattr(self, kind)
        bare = [path.name for path in paths]
        return {path.name if bare.count(path.name) == 1 else str(path.absolute()): path for path in paths}

    def access(self, address: str) -> Access:
        """How to reach a node."""
        for each in self.node:
            if each.address == address:
                return each
        raise OptionError.of("studio", f"'{address}' is not a node that the studio was given")

    def told(self) -> list[dict[str, str]]:
        """What the page offers."""
        files = [(kind, name) for kind in ("live", "follow", "checkpoint") for name in self.named(kind)]
        nodes = [("node", each.address) for each in self.node]
        return [{"kind": kind, "source": name} for kind, name in (*files, *nodes)]


class Live:
    """The one target that the studio watches, if any."""

    def __init__(self, workspace: Workspace, sources: Sources | None = None) -> None:
        self.workspace = workspace
        self.sources = Sources() if sources is None else sources
        self.target: Target | None = None
        self._lock = threading.Lock()
        self._starting = threading.Lock()

    def start(self, given: Following) -> None:
        """Begin to watch. Only when that works, what was watched before is ended."""
        with self._starting:
            if given.kind == "live":
                self.stop()  # a run of ours must let go of its state before it can begin again
            self._watch(self._target(given))

    def _target(self, given: Following) -> Target:
        match given.kind:
            case "node":
                return NodeRun(self.sources.access(given.source))
            case "checkpoint":
                return StreamRun(self.sources.path("checkpoint", given.source))
            case "live":
                return LiveFileRun(self.sources.path("live", given.source))
            case _:
                source = FollowedFile(self.sources.path("follow", given.source))
                return FileRun(program_of(given.text), source, self.workspace.unit)

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


def routes(live: Live) -> APIRouter:
    """The routes of live."""
    router = APIRouter(prefix="/api/live")

    def told(since: int) -> dict[str, Any]:
        state = live.required().state(since)
        reached = state.get("watermark")
        return {**state, "reached": None if reached is None else format_time(reached)}

    def answering(action: Callable[[], None]) -> dict[str, Any]:
        action()
        return told(0)

    @router.get("")
    def offered() -> dict[str, Any]:
        return {"sources": live.sources.told(), "running": live.target is not None}

    @router.post("/start")
    def start(given: Following) -> dict[str, Any]:
        return answering(lambda: live.start(given))

    @router.post("/state")
    def state(given: Since) -> dict[str, Any]:
        return told(given.since)

    @router.post("/pause")
    def pause(given: Paused) -> dict[str, Any]:
        return answering(lambda: live.required().pause(paused=given.paused))

    @router.post("/stop")
    def stop() -> dict[str, bool]:
        live.stop()
        return {"stopped": True}

    @router.post("/rules")
    def rules() -> dict[str, str]:
        return dict(live.required().rules())

    @router.post("/plan")
    def plan(given: Text) -> list[dict[str, str]]:
        return live.required().plan(given.text)

    @router.post("/apply")
    def apply(given: Text) -> dict[str, Any]:
        return answering(lambda: live.required().apply(given.text))

    return router
