"""A live run that a file describes: one of another process if there is one, or one that the studio runs itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from cepheus.core.errors import CepheusError, OptionError
from cepheus.runtime.live.control import ControlClient, Request
from cepheus.studio.watched import said

_PATIENCE = 15.0


class Steered(Protocol):
    """A live run that can be asked."""

    def ask(self, request: Request) -> dict[str, Any]:
        """Ask it; OptionError if it refuses."""

    def close(self) -> None:
        """Leave it, or end it if it is ours."""


class OwnRun:
    """A live run in a thread of this process, with its own sources, sinks and state."""

    def __init__(self, path: Path) -> None:
        from cepheus.runtime.live.live_file import check_live, read_live_file
        from cepheus.runtime.live.rules_at_work import catalog_of
        from cepheus.runtime.live.run import LiveRun

        described = read_live_file(path)
        check_live(described, path, catalog_of(described.rules, described.options).checked.composites)
        self.ended: str | None = None
        self._name = path.name
        self._loop = asyncio.new_event_loop()
        self._run = self._loop.run_until_complete(_made(lambda: LiveRun(described)))
        self._thread = threading.Thread(target=self._work, name="cepheus-studio-run", daemon=True)
        self._thread.start()

    def ask(self, request: Request) -> dict[str, Any]:
        """Ask it, from any thread."""
        if not self._thread.is_alive():
            raise OptionError.of("live", self.ended or f"{self._name} has ended", hint="start it again")
        future = asyncio.run_coroutine_threadsafe(self._run.ask(request), self._loop)
        try:
            answer: dict[str, Any] = future.result(_PATIENCE)
            return answer
        except TimeoutError:
            future.cancel()
            raise OptionError.of("live", f"{self._name} does not answer", hint="it may be starting") from None

    def close(self) -> None:
        """End it in order: what was read is processed, its state is saved."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._run.stop)
        self._thread.join(timeout=30)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._run.run())
            self.ended = f"{self._name} has ended: its sources are over"
        except Exception as error:  # whatever it is, the page is told
            self.ended = said(error, self._name)
        finally:
            self._loop.close()


async def _made(make: Any) -> Any:
    """Make something that belongs to the loop that runs."""
    return make()


class LiveFileRun:
    """The live run of a file, wherever it is at work: what the page shows of it."""

    def __init__(self, path: Path) -> None:
        from cepheus.runtime.live.live_file import read_live_file

        self._path = path
        self._theirs = True
        self._last: dict[str, Any] = {}
        self._lock = threading.Lock()
        folder = read_live_file(path).state
        try:
            self._run: Steered = ControlClient(folder)
        except OptionError:  # nobody runs it
            self._run = OwnRun(path)
            self._theirs = False

    def state(self, since: int) -> dict[str, Any]:
        """How it is; of one that has ended, how it was, and why."""
        error = None
        try:
            self._last = self._ask({"what": "state", "since": since})
        except CepheusError as problem:
            error = problem.diagnostics[0].message
            if not self._last:
                raise
        where = "in a process of its own" if self._theirs else "run by this studio"
        return {
            **self._last,
            "kind": "run",
            "name": f"{self._path.name}, {where}",
            "error": error,
            "matches": [] if error else self._last["matches"],
            "can_deploy": True,
            "note": "Rules deployed here are at work until the run is started again from its files.",
        }

    def pause(self, *, paused: bool) -> None:
        """Let it take no more events from its sources, or go on."""
        self._ask({"what": "pause", "paused": paused})

    def rules(self) -> Mapping[str, str]:
        """The texts of the rules at work."""
        texts: dict[str, str] = self._ask({"what": "rules"})["texts"]
        return texts

    def plan(self, text: str) -> list[dict[str, str]]:
        """What would be done for the rules of a text to be at work."""
        changes: list[dict[str, str]] = self._ask({"what": "plan", "text": text})["changes"]
        return changes

    def apply(self, text: str) -> None:
        """Withdraw and deploy, between two events."""
        self._ask({"what": "apply", "text": text})

    def stop(self) -> None:
        """End a run of this studio; one of another process goes on."""
        self._run.close()

    def _ask(self, request: Request) -> dict[str, Any]:
        with self._lock:
            return self._run.ask(request)
