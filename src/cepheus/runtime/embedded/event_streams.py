"""Events of a session as an asynchronous iterator: ``async for fire in session.stream(Fire)``."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from cepheus.core.event import Event as EventRecord
from cepheus.language.python.events import Event
from cepheus.language.python.handlers import content_pattern
from cepheus.rules.expressions import EventPattern
from cepheus.runtime.embedded.subscriptions import Callback, Subscription

E = TypeVar("E", bound=Event)
T = TypeVar("T")
Subscribe = Callable[[EventPattern, Callback], Subscription]

if TYPE_CHECKING:
    import asyncio


class AsyncQueue(Generic[T]):
    """Things that one part of a program gives and another awaits, until the end. They wait here, however many."""

    def __init__(self) -> None:
        self._waiting: deque[T] = deque()
        self._over = False
        self._asked: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def push(self, thing: T) -> None:
        """Take one."""
        self._waiting.append(thing)
        self._wake()

    def end(self) -> None:
        """Take no more."""
        self._over = True
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._waiting:
            if self._over:
                raise StopAsyncIteration
            import asyncio  # it takes long to load, and only those who wait need it

            self._asked = (asyncio.get_running_loop(), asyncio.Event())
            await self._asked[1].wait()
        return self._waiting.popleft()

    def _wake(self) -> None:
        if self._asked is not None:
            (loop, event), self._asked = self._asked, None
            loop.call_soon_threadsafe(event.set)  # who gives may be in another thread than who awaits


class EventStream(AsyncQueue[E]):
    """The events of a class that a session processes from now on, until it is closed.

    They wait here until they are asked for, however many they are. A stream that nobody holds ends by itself.
    """

    def __init__(self, kind: type[E]) -> None:
        super().__init__()
        self._kind = kind

    @classmethod
    def listening(cls, subscribe: Subscribe, kind: type[E], *where: bool) -> EventStream[E]:
        """The events of a class that satisfy conditions, from whoever they can be subscribed to."""
        stream = EventStream(kind)
        tap = _Tap(stream)
        weakref.finalize(stream, subscribe(content_pattern(kind, *where), tap).cancel)
        return stream

    def take(self, event: EventRecord) -> None:
        """Take an event as the session has it."""
        self.push(self._kind.__from_cepheus_event__(event))


class _Tap:
    """What a session calls for a stream without keeping it alive."""

    def __init__(self, stream: EventStream[E]) -> None:
        self._stream = weakref.ref(stream)

    def __call__(self, event: EventRecord) -> None:
        """Hand an event on."""
        stream = self._stream()
        if stream is not None:
            stream.take(event)

    def end(self) -> None:
        """Tell that no further event comes."""
        stream = self._stream()
        if stream is not None:
            stream.end()
