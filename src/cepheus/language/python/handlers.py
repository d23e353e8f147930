"""Functions that are called with events of a class: ``@on(Fire, Fire.temp > 50)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cepheus.core.errors import OptionError
from cepheus.core.event import Event as EventRecord
from cepheus.language.python.draft import constraints_of
from cepheus.language.python.events import Event, event_type
from cepheus.language.python.places import site
from cepheus.rules.expressions import EventPattern

E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Handler(Generic[E]):
    """A function, and which events it is called with."""

    kind: type[E]
    pattern: EventPattern
    function: Callable[[E], object]

    def __call__(self, event: E) -> object:
        """Call the function."""
        return self.function(event)

    def told(self, event: EventRecord) -> object:
        """Call the function with an event of a session."""
        return self.function(self.kind.__from_cepheus_event__(event))


def handler_of(given: Handler[E]) -> Handler[E]:
    """A handler; anything else is refused."""
    if isinstance(given, Handler):
        return given
    name = getattr(given, "__name__", type(given).__name__)
    hint = "write @on(Fire) above the function, with the class of the events that it is called with"
    raise OptionError.of("option", f"'{name}' is no handler: nothing says which events it is for", hint=hint)


def handlers_of(given: Iterable[Handler[Any]]) -> tuple[Handler[Any], ...]:
    """Handlers, as they are given to a run."""
    if isinstance(given, Iterable):
        return tuple(map(handler_of, given))
    raise OptionError.of("option", "handlers are given as a list", hint="write handlers=[alarm]")


def on(kind: type[E], *where: bool) -> Callable[[Callable[[E], object]], Handler[E]]:
    """Make a handler of a function, to be given to ``Program.start(handlers=[..])``.

    >>> class Fire(Event):
    ...     temp: float
    >>> @on(Fire, Fire.temp > 50)
    ... def alarm(fire: Fire) -> None:
    ...     print("alarm", fire.temp)
    >>> alarm(Fire(temp=51.5))
    alarm 51.5
    """
    pattern = content_pattern(kind, *where)
    return lambda function: Handler(kind, pattern, function)


def content_pattern(kind: type[Event], *where: object) -> EventPattern:
    """Events of a class that satisfy conditions on their own attributes."""
    place = site()
    name = event_type(kind).name
    return EventPattern(name, constraints_of(name, where, place), None, place.argument(0))
