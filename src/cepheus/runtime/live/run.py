"""A live run at work: readers fill a bounded inbox, one loop empties it, and state is saved now and then.

The order of things is what makes it safe to kill. Sinks have all that was found before state that knows of it is saved;
sources may forget messages only after that. Killed in between, the run goes on from the last state: it reads again what
came since, finds the same again, and gives it the same keys, by which sinks tell that they have it.

So a run that is stopped need not wait for a sink that is away: after some grace it ends as if it had been killed.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from cepheus.runtime.live.contract import Disconnected, Messages, Output, Position, Source, Surroundings
from cepheus.runtime.live.control import ControlSocket, Request
from cepheus.runtime.live.counts import LiveCounts
from cepheus.runtime.live.description import Clock, Live, NamedSink, NamedSource, When
from cepheus.runtime.live.links import Backoff, SteadySink
from cepheus.runtime.live.monitoring import Monitoring
from cepheus.runtime.live.processing import Processed, Processing, join
from cepheus.runtime.live.rules_at_work import catalog_of
from cepheus.runtime.live.state import StateFolder
from cepheus.runtime.live.steering import Steering
from cepheus.runtime.live.web import WebServers

log = logging.getLogger("cepheus.live")
T = TypeVar("T")
_NOTHING = Output((), (), ())
_TICK = 0.1
_TOLD_AT_MOST = 10
_TOLD_OF_EACH = 200
_FEW = 256
_CLOSING_SECONDS = 5.0


@dataclass(slots=True)
class _Reading:
    """A source of the run at work."""

    described: NamedSource
    position: Position
    source: Source | None = None
    done: Position = None


class LiveRun:
    """A run: ``await run()`` until its sources are over or ``stop`` is called, also by a signal.

    ``counts`` tells at any time what has passed; ``ask`` steers it while it works. A run is used once. One that is
    ``alone`` in its process keeps Python's collector from what is there to stay.
    """

    def __init__(self, live: Live, *, fresh: bool = False, alone: bool = False) -> None:
        self._live = live
        self._settles = alone
        self.counts = LiveCounts()
        self.web = WebServers()
        self._folder = StateFolder(live.state)
        try:
            if fresh:
                self._folder.forget()
            self._saved = self._folder.load()
            self._processing = Processing(live, catalog_of(live.rules, live.options), self._saved)
        except BaseException:
            self._folder.close()
            raise
        for note in self._processing.notes:
            log.info(note)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cepheus-live")
        self._inbox: deque[tuple[_Reading, Messages]] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._stopped = asyncio.Event()
        self._readings = [_Reading(each, self._position_of(each.name)) for each in live.sources]
        self._sinks = {each.name: self._steady(each) for each in live.sinks}
        self._dead = None if live.dead_letters is None else self._steady(live.dead_letters)
        self._pending: list[Output] = []
        self._changed = False
        self._saving: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[int] | None = None
        self._given_up = asyncio.Event()
        self._failure: BaseException | None = None
        self._told = 0
        self._steering = Steering(self._processing, self.counts, self._wake.set)

    def stop(self) -> None:
        """Let the run end in order: what was read is processed, state is saved. Called again, it ends at once."""
        if self._stopped.is_set():
            self._given_up.set()
        self.counts.stopping = True
        self._stopped.set()
        self._wake.set()
        self._room.set()

    async def ask(self, request: Request) -> dict[str, Any]:
        """Answer what is asked of the run while it works: ``state``, ``pause``, ``rules``, ``plan`` and ``apply``."""
        return await self._steering.ask(request)

    async def run(self) -> LiveCounts:
        """Work until the sources are over or the run is stopped."""
        self.counts.started = self.counts.clock()
        monitoring = Monitoring(self._live, self.counts, self.web)
        control = ControlSocket(self._folder.path, self.ask)
        readers: list[asyncio.Task[None]] = []
        try:
            await monitoring.start()
            await control.start()
            await self._within_grace(self._open_and_work(readers))
        finally:
            await control.stop()
            await self._end(readers)
            await monitoring.stop()
        return self.counts

    async def _open_and_work(self, readers: list[asyncio.Task[None]]) -> None:
        await self._or_stopped(self._open_sinks())
        if not self._stopped.is_set():
            readers += [asyncio.create_task(self._read(each)) for each in self._readings]
            self.counts.ready = True
            await self._work(readers)

    async def _within_grace(self, work: Coroutine[Any, Any, None]) -> None:
        """Work to the end; once the run is stopped, no longer than its grace."""
        task = asyncio.ensure_future(work)
        stopped, given_up = (asyncio.ensure_future(each.wait()) for each in (self._stopped, self._given_up))
        try:
            await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait([task, given_up], timeout=self._live.grace, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            else:
                self._tell_given_up()
        finally:
            for each in (task, stopped, given_up):
                each.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _tell_given_up(self) -> None:
        away = [f"{name} ({link.trouble})" for name, link in self.counts.links.items() if link.trouble and link.is_sink]
        reason = f"without {', '.join(away)}" if away else "before all that was read was processed"
        log.warning("the run ends %s; it goes on from the state that was saved last, and nothing is lost", reason)

    # ---- opening and closing ---------------------------------------------------------------------------------------

    def _steady(self, described: NamedSink) -> SteadySink:
        link = self.counts.link(described.name, "sink")
        return SteadySink(described.sink, self._around(described.name), link, described.composite)

    def _around(self, name: str) -> Surroundings:
        return Surroundings(name, self._live.state / name, self.web, log.warning)

    def _position_of(self, source: str) -> Position:
        return None if self._saved is None else self._saved.sources.get(source)

    async def _or_stopped(self, work: object) -> None:
        """Do something that may take for ever, unless the run is stopped."""
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        stopped = asyncio.ensure_future(self._stopped.wait())
        await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        elif task.exception() is not None:
            raise task.exception()

    async def _open_sinks(self) -> None:
        """Open the sinks, give them what they had not got yet, and save that this run has begun."""
        saved = self._saved
        for reading in self._readings:
            reading.done = reading.position
        sinks = [*self._sinks.items()]
        if self._dead is not None and self._live.dead_letters is not None:
            sinks.append((self._live.dead_letters.name, self._dead))
        for name, sink in sinks:
            await sink.open(None if saved is None else saved.sinks.get(name))
        if saved is not None and len(saved.pending):
            await self._hand_out(saved.pending)
        await self._save_now()

    async def _end(self, readers: list[asyncio.Task[None]]) -> None:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        if self._saving is not None:
            self._saving.cancel()  # it may wait for a sink that is away
            await asyncio.gather(self._saving, return_exceptions=True)
        if self._writing is not None:  # no other process may have the folder before this is on the disk
            await asyncio.gather(self._writing, return_exceptions=True)
        for reading in self._readings:
            if reading.source is not None:
                await _closed(reading.source)
        for sink in self._all_sinks():
            await _closed(sink)
        await self.web.close()
        self._thread.shutdown(wait=True)
        self._folder.close()

    # ---- reading ---------------------------------------------------------------------------------------------------

    async def _read(self, reading: _Reading) -> None:
        """Read a source for ever, opening it again where it was whenever the other side is lost."""
        name = reading.described.name
        link = self.counts.link(name, "source")
        backoff = Backoff()
        try:
            while not self._stopped.is_set():
                reading.source = reading.described.source.build(self._around(name))
                try:
                    await reading.source.open(reading.position)
                    link.connected, link.trouble = True, ""
                    while (messages := await reading.source.read()) is not None and not self._stopped.is_set():
                        backoff.reset()
                        link.passed += len(messages)
                        await self._admit(reading, messages)
                    link.over = messages is None
                    return
                except Disconnected as lost:
                    if str(lost) != link.trouble:
                        log.warning("%s: %s; it is tried again", name, lost)
                    link.trouble = str(lost)
                    link.reconnects += 1
                finally:
                    link.connected = False
                    if not link.over:
                        await reading.source.close()
                await asyncio.sleep(backoff.seconds())
        except Exception as error:  # it ends the run, which says what it was
            self._failure = self._failure or error
        finally:
            self._wake.set()

    async def _admit(self, reading: _Reading, messages: Messages) -> None:
        """Take messages in as soon as there is room for them."""
        while self.counts.waiting >= self._live.ahead and not self._stopped.is_set():
            self._room.clear()
            await self._room.wait()
        reading.position = messages.position
        self.counts.waiting += len(messages)
        self._inbox.append((reading, messages))
        self._wake.set()

    # ---- working ---------------------------------------------------------------------------------------------------

    async def _work(self, readers: list[asyncio.Task[None]]) -> None:
        saved = quiet = time.monotonic()
        while True:
            self._wake.clear()  # before it is looked at what there is to do: what comes then wakes it again
            if self._failure is not None:
                raise self._failure
            if await self._steering.do_between(self._threaded):
                self._changed = True
            now = time.monotonic()
            busy = bool(self._inbox) and not self.counts.paused
            if busy:
                await self._process_inbox()
                quiet = time.monotonic()
            elif self._stopped.is_set() or (not self.counts.paused and all(reader.done() for reader in readers)):
                break
            elif self.counts.paused:
                quiet = now  # time stands still
            elif self._processing.is_held_back and self._all_connected():  # a lane may have been silent for too long
                await self._given(await self._threaded(lambda: self._processing.work(())))
                quiet = now
            elif self._live.clock is Clock.WALL and not self._all_connected():
                quiet = now  # what a source that is away will still give must not be late
            elif self._live.clock is Clock.WALL and self._processing.is_behind:
                quiet = now  # nor what a lane will still give, of which more is there
            elif self._live.clock is Clock.WALL and now - quiet >= self._live.idle:
                await self._given(await self._threaded(self._processing.advance))
            if self._changed and now - saved >= self._live.every and (self._saving is None or self._saving.done()):
                began = time.monotonic()
                await self._save()
                saved = time.monotonic()
                self._processing.held_up(saved - began)
            if not busy:
                pause = max(0.001, saved + self._live.every - time.monotonic()) if self._changed else None
                if self._live.clock is Clock.WALL or self._processing.is_held_back:
                    pause = _TICK if pause is None else min(pause, _TICK)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), pause)
        await self._finish(over=not self._stopped.is_set())

    def _all_connected(self) -> bool:
        links = [self.counts.link(each.described.name, "source") for each in self._readings]
        return all(link.connected or link.over for link in links)

    async def _process_inbox(self) -> None:
        batches: list[tuple[_Reading, Messages]] = []
        rows = 0
        while self._inbox and (not rows or rows + len(self._inbox[0][1]) <= self._live.batch):
            batches.append(self._inbox.popleft())
            rows += len(batches[-1][1])
        work = [(reading.described.name, messages) for reading, messages in batches]
        # a few are done sooner than another thread could begin; many must not keep the loop from its connections
        few = rows <= _FEW
        processed = self._processing.work(work) if few else await self._threaded(lambda: self._processing.work(work))
        await self._given(processed)
        if self._settles:  # kernels are there now; to walk all that was loaded takes the collector a tenth of a second
            self._settles = False
            gc.collect()
            gc.freeze()
        written = time.perf_counter()
        for reading, messages in batches:
            reading.done = messages.position
            self.counts.latency.add(written - messages.received, len(messages))
        self.counts.waiting -= rows
        self.counts.event_time = self._processing.latest
        self._changed = True
        self._room.set()

    async def _given(self, processed: Processed) -> None:
        """Hand on what was found, and what was refused."""
        began = time.monotonic()
        try:
            await self._hand_on(processed)
        finally:
            self._processing.held_up(time.monotonic() - began)

    async def _hand_on(self, processed: Processed) -> None:
        self._tell(processed)
        if self._dead is not None and processed.dead:
            await self._dead.write(processed.dead_letters())
        if not processed.found:
            return
        self._changed = True
        output = processed.output()
        for name in output.types:
            self.counts.composites[name] += 1
        if self._live.when is When.SAVED:
            self._pending.append(output)
        else:
            await self._hand_out(output)

    def _tell(self, processed: Processed) -> None:
        self.counts.late += processed.late
        for source, count in processed.bad.items():
            self.counts.link(source, "source").bad += count
        for key, line in processed.dead[: max(0, _TOLD_AT_MOST - self._told)]:
            log.warning("refused %s: %s", key, _shortened(line))
        if self._told < _TOLD_AT_MOST <= self._told + len(processed.dead):
            log.warning("more that is refused is counted, and goes to the dead letters if there are any")
        self._told += len(processed.dead)

    async def _hand_out(self, output: Output) -> None:
        for sink in self._sinks.values():
            await sink.write(output)

    async def _threaded(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # ---- saving ----------------------------------------------------------------------------------------------------

    async def _finish(self, *, over: bool) -> None:
        """All is read: if the sources are over, so is the stream; then save for the last time."""
        await self._save_now()
        if over:
            await self._given(await self._threaded(self._processing.end))
            await self._hand_out(join(self._pending) if self._pending else _NOTHING)
            for sink in self._all_sinks():
                await sink.flush()
        elif self._changed:
            await self._save_now()  # that what waited for the state was handed out

    def _all_sinks(self) -> list[SteadySink]:
        return [*self._sinks.values(), *([] if self._dead is None else [self._dead])]

    async def _save_now(self) -> None:
        """Save, and wait until it is done."""
        if self._saving is not None:
            await self._saving
        await self._save()
        if self._saving is not None:
            await self._saving
        if self._failure is not None:
            raise self._failure

    async def _save(self) -> None:
        """Let sinks have everything, take a snapshot, and write it in the background."""
        began = time.perf_counter()
        sinks = {name: await sink.flush() for name, sink in self._sinks.items()}
        if self._dead is not None and self._live.dead_letters is not None:
            sinks[self._live.dead_letters.name] = await self._dead.flush()
        positions = {reading.described.name: reading.done for reading in self._readings}
        pending = join(self._pending) if self._pending else _NOTHING
        self._pending = []
        self._changed = False
        state = await self._threaded(lambda: self._processing.state(positions, sinks, pending))
        self._saving = asyncio.create_task(self._keep(state, positions, pending, began))
        if len(pending):
            await self._saving

    async def _keep(
        self, state: Callable[[], bytes], positions: dict[str, Position], pending: Output, began: float
    ) -> None:
        def write() -> int:
            data = state()
            self._folder.save(data)
            return len(data)

        try:
            self._writing = asyncio.create_task(asyncio.to_thread(write))
            self.counts.state_bytes = await asyncio.shield(self._writing)
            self.counts.saved_at = self.counts.clock()
            self.counts.save_seconds.add(time.perf_counter() - began)
            if len(pending):
                await self._hand_out(pending)
                self._changed = True
            for reading in self._readings:
                if reading.source is not None and positions[reading.described.name] is not None:
                    with suppress(Disconnected):
                        await reading.source.acknowledge(positions[reading.described.name])
        except Exception as error:  # it ends the run, which says what it was
            self._failure = self._failure or error
            self._wake.set()


async def _closed(what: Source | SteadySink) -> None:
    """Close a source or sink, and wait for the other side only so long."""
    with suppress(TimeoutError):
        await asyncio.wait_for(what.close(), _CLOSING_SECONDS)


def _shortened(line: str) -> str:
    """The beginning of what the log tells of a line that may be as long as any message."""
    return line if len(line) <= _TOLD_OF_EACH else f"{line[:_TOLD_OF_EACH]}.. ({len(line)} characters)"
