"""Connections that are kept: sources and sinks are opened again, after a while, when they lose the other side."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from cepheus.runtime.live.contract import DescribesSink, Disconnected, Output, Position, Sink, Surroundings
from cepheus.runtime.live.counts import Link


@dataclass(slots=True)
class Backoff:
    """How long to wait before the next try: twice as long each time, up to a bound, give or take a fifth."""

    first: float = 0.1
    most: float = 10.0
    _next: float = 0.0

    def reset(self) -> None:
        """It worked."""
        self._next = 0.0

    def seconds(self, spread: Callable[[], float] = random.random) -> float:
        """The next pause.

        >>> backoff = Backoff()
        >>> [round(backoff.seconds(lambda: 0.5), 2) for _ in range(3)]
        [0.1, 0.2, 0.4]
        """
        self._next = min(self.most, max(self.first, 2 * self._next))
        return self._next * (0.8 + 0.4 * spread())


class SteadySink:
    """A sink that is opened again when it loses its connection; then what has not arrived for sure is written again.

    ``composite`` is the one type that it takes, None for all.
    """

    def __init__(
        self, described: DescribesSink, around: Surroundings, link: Link, composite: str | None = None
    ) -> None:
        self._described = described
        self._around = around
        self._link = link
        self._composite = composite
        self._sink: Sink | None = None
        self._position: Position = None
        self._unsure: list[Output] = []

    async def open(self, position: Position) -> None:
        """Open it where it was when the state was saved."""
        self._position = position
        await self._connected(self._open)

    async def write(self, output: Output) -> None:
        """Hand over composite events."""
        own = output.only(self._composite)
        if not len(own):
            return
        self._unsure.append(own)
        try:
            if self._sink is None:
                raise Disconnected("it was not opened")
            await self._write_last()
        except Disconnected as lost:
            await self._lost(lost)
            await self._connected(self._open)  # which writes it, too
        self._link.passed += len(own)

    async def _write_last(self) -> None:
        """Write what was handed over last; of what arrived nothing is written again."""
        assert self._sink is not None
        try:
            await self._sink.write(self._unsure[-1])
        except Disconnected as lost:
            if lost.arrived:
                self._unsure[-1] = self._unsure[-1].picked(range(lost.arrived, len(self._unsure[-1])))
            raise
        if self._sink.sure:
            self._unsure.clear()

    async def flush(self) -> Position:
        """Wait until all has arrived."""

        async def flush() -> None:
            if self._sink is None:
                await self._open()
            assert self._sink is not None
            self._position = await self._sink.flush()

        await self._connected(flush)
        self._unsure.clear()
        return self._position

    async def close(self) -> None:
        """End."""
        if self._sink is not None:
            sink, self._sink = self._sink, None
            with suppress(Disconnected):
                await sink.close()
        self._link.connected = False

    async def _open(self) -> None:
        self._sink = self._described.build(self._around)
        await self._sink.open(self._position)
        self._link.connected, self._link.trouble = True, ""
        waiting, self._unsure = self._unsure, []
        for place, output in enumerate(waiting):
            self._unsure.append(output)
            try:
                await self._write_last()
            except Disconnected:
                self._unsure += waiting[place + 1 :]
                raise

    async def _lost(self, lost: Disconnected) -> None:
        if str(lost) != self._link.trouble:
            self._around.say(f"{self._around.name}: {lost}; it is tried again")
        await self.close()
        self._link.trouble = str(lost)
        self._link.reconnects += 1

    async def _connected(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do a step, as often as it takes."""
        backoff = Backoff()
        while True:
            try:
                await step()
                return
            except Disconnected as lost:
                await self._lost(lost)
            await asyncio.sleep(backoff.seconds())
