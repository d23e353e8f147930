"""What is asked of a live run while it works: how it is, that it pause, that it go on with other rules.

Rules are changed between two events, and the change is part of the state that is saved. The next start compares with
the files of rules again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from cepheus.core.errors import OptionError
from cepheus.runtime.live.control import Request
from cepheus.runtime.live.counts import LiveCounts
from cepheus.runtime.live.processing import Processing

log = logging.getLogger("cepheus.live")
Answering: TypeAlias = Callable[[], dict[str, Any]]
Threaded: TypeAlias = Callable[[Answering], Awaitable[dict[str, Any]]]
_PATIENCE = 8.0


class Steering:
    """Answers what a run is asked; ``wake`` lets the run look whether there is something to do."""

    def __init__(self, processing: Processing, counts: LiveCounts, wake: Callable[[], None]) -> None:
        self._processing = processing
        self._counts = counts
        self._wake = wake
        self._paused_at: float | None = None
        self._has_changed = False
        self._between: deque[tuple[Answering, asyncio.Future[dict[str, Any]]]] = deque()

    async def ask(self, request: Request) -> dict[str, Any]:
        """Answer ``state``, ``pause``, ``rules``, ``plan`` or ``apply``."""
        match request.get("what"):
            case "state":
                return self._state(int(request.get("since", 0)))
            case "pause":
                self._pause(paused=bool(request.get("paused")))
                return self._state(0)
            case "rules":
                return {"texts": dict(self._processing.texts)}
            case "plan":
                text = str(request.get("text", ""))
                return await self._when_idle(lambda: {"changes": list(self._processing.change_to(text).told)})
            case "apply":
                text = str(request.get("text", ""))
                return await self._when_idle(lambda: self._change(text))
            case other:
                raise OptionError.of("control", f"a live run does not understand '{other}'")

    def _pause(self, *, paused: bool) -> None:
        now = time.monotonic()
        if paused and self._paused_at is None:
            self._paused_at = now
            log.warning("the run is paused: it takes no events until it is told to go on, or is started again")
        elif not paused and self._paused_at is not None:
            self._processing.held_up(now - self._paused_at)
            self._paused_at = None
            log.warning("the run goes on")
        self._counts.paused = paused
        self._wake()

    def _state(self, since: int) -> dict[str, Any]:
        processing, counts = self._processing, self._counts
        return {
            "paused": counts.paused,
            "late": counts.late,
            "skipped": sum(link.bad for link in counts.links.values()),
            "waiting": counts.waiting,
            "watermark": processing.latest,
            "state_bytes": counts.state_bytes,
            "saved": counts.saved_at or None,
            "links": {name: link.told() for name, link in counts.links.items()},
            "rules": list(processing.texts),
            **processing.figures.told(since),
        }

    def _change(self, text: str) -> dict[str, Any]:
        self._processing.change(self._processing.change_to(text))
        self._has_changed = True
        return self._state(0)

    async def _when_idle(self, work: Answering) -> dict[str, Any]:
        """Do something with the rules when no event is under way."""
        done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._between.append((work, done))
        self._wake()
        try:
            return await asyncio.wait_for(done, _PATIENCE)
        except TimeoutError:
            hint = "look whether a sink does not take what was found, and try again"
            raise OptionError.of("control", "the run is busy and did not come to it", hint=hint) from None

    async def do_between(self, threaded: Threaded) -> bool:
        """Do what waits for a moment between two events; whether it changed what must be saved."""
        while self._between:
            work, done = self._between.popleft()
            if done.done():  # whoever asked has gone
                continue
            try:
                answer = await threaded(work)
            except Exception as error:  # whoever asked is told
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(answer)
        changed, self._has_changed = self._has_changed, False
        return changed
