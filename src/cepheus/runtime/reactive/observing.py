"""Who is told of changes: functions, asynchronous iterators, and events that signals give rise to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from cepheus.core.event import Event
from cepheus.language.python.values import moment_of
from cepheus.runtime.embedded.event_streams import AsyncQueue
from cepheus.runtime.reactive.frame import Frame, IntArray
from cepheus.runtime.reactive.signals import Change, Signal

if TYPE_CHECKING:
    from cepheus.runtime.reactive.reactor import Reactor

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Observer:
    """A function that is told of the changes of a signal, until it is cancelled."""

    reactor: Reactor
    signal: Signal[Any]
    function: Callable[[Change[Any]], object]

    def cancel(self) -> None:
        """End it; a second call does nothing."""
        self.reactor.forget(self)

    def told(self, frame: Frame) -> list[tuple[int, Change[Any]]]:
        """What it is to be told of a batch: moments and changes."""
        moments = self.signal.changed
        if not len(moments):
            return []
        values = self.signal.column.take(moments).to_pylist()
        times = frame.times[moments].tolist()
        shown = self.signal.shown
        found = zip(moments.tolist(), times, values, strict=True)
        return [(moment, Change(moment_of(time), shown(value))) for moment, time, value in found]


class Changes(AsyncQueue[Change[T]], Generic[T]):
    """The changes of a signal, for ``async for``, until the reactor is closed."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a signal gives rise to an event: when it becomes true, or whenever it changes."""

    signal: Any
    becomes_true: bool

    def moments(self) -> IntArray:
        """The moments of a batch at which it does."""
        signal: Signal[Any] = self.signal
        moments: IntArray = signal.changed
        if self.becomes_true and len(moments):
            true = signal.column.take(moments).fill_null(False).to_numpy(zero_copy_only=False)
            moments = moments[true.astype(np.bool_)]
        return moments


def becomes(condition: Signal[bool]) -> Trigger:
    """The moments at which a condition becomes true, having been false or undefined."""
    return Trigger(condition, becomes_true=True)


def changes(signal: Signal[Any]) -> Trigger:
    """The moments at which a signal has another value."""
    return Trigger(signal, becomes_true=False)


@dataclass(slots=True, eq=False)
class Emission:
    """Events of a type that a signal gives rise to, until it is cancelled."""

    reactor: Reactor
    event: str
    trigger: Trigger
    attributes: dict[str, object]
    made: int = field(default=0)

    def cancel(self) -> None:
        """End it; a second call does nothing."""
        self.reactor.forget(self)

    def events(self, frame: Frame) -> list[tuple[int, Event]]:
        """The events of a batch, with their moments."""
        found = []
        for moment in self.trigger.moments().tolist():
            values: dict[str, Any] = {
                name: value.column[moment].as_py() if isinstance(value, Signal) else value
                for name, value in self.attributes.items()
            }
            found.append((moment, Event(self.event, int(frame.times[moment]), values, f"{self.event}#{self.made}")))
            self.made += 1
        return found

    @property
    def signals(self) -> list[Signal[Any]]:
        """The signals that it reads."""
        return [self.trigger.signal, *(value for value in self.attributes.values() if isinstance(value, Signal))]
