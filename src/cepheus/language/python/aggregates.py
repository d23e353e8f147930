"""The aggregates of rules in Python: ``agg.avg(Temp.value, Temp.area == smoke.area).within("5 min", of=smoke)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from cepheus.core.errors import RuleError, did_you_mean
from cepheus.core.time import MAX_TIME
from cepheus.language.python.draft import draft, own_expression, pattern_of
from cepheus.language.python.events import Event
from cepheus.language.python.patterns import Members, Placing
from cepheus.language.python.places import Site, here, site
from cepheus.language.python.values import Symbol
from cepheus.rules.aggregates import AGGREGATES, APPROXIMATIONS, AggregateFunction, aggregate_names, approximation_of
from cepheus.rules.expressions import Aggregate, EventPattern, Expression, Scope, Within

R = TypeVar("R")
V = TypeVar("V")
Kind = type[Event] | None
Name = str | None


class Gathering(Placing[R]):
    """An aggregate that needs a window, the time between two events, or all time since the rule began."""

    __slots__ = ()

    ENDS = (*Placing.ENDS, "since_start()")

    def since_start(self) -> R:
        """Take all events since the start of the rule, up to its moment."""
        place = site()
        made = self._place(Within(MAX_TIME, draft().moment, place.method(), since_start=True), place)
        self.placed = True
        return made


class OfEvents(Protocol):
    """An aggregate that is a number of events."""

    @overload
    def __call__(self, value: object, *where: bool, events: Kind = ..., name: Name = ...) -> Gathering[int]: ...
    @overload
    def __call__(self, value: object = ..., *, over: Members[Any]) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask for it."""


class OfAnything(Protocol):
    """An aggregate that is a number of values, which may be ``approximate`` to need less memory."""

    @overload
    def __call__(
        self, value: object, *where: bool, approximate: bool = ..., events: Kind = ..., name: Name = ...
    ) -> Gathering[int]: ...
    @overload
    def __call__(self, value: object, *, approximate: bool = ..., over: Members[Any]) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask for it."""


class OfNumbers(Protocol):
    """An aggregate of numbers that is a double."""

    @overload
    def __call__(
        self, value: float, *where: bool, argument: float = ..., events: Kind = ..., name: Name = ...
    ) -> Gathering[float]: ...
    @overload
    def __call__(self, value: float, *, argument: float = ..., over: Members[Any]) -> float: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask for it."""


class OfValues(Protocol):
    """An aggregate that is of the type of its values."""

    @overload
    def __call__(self, value: V, *where: bool, events: Kind = ..., name: Name = ...) -> Gathering[V]: ...
    @overload
    def __call__(self, value: V, *, over: Members[Any]) -> V: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask for it."""


class Aggregates:
    """The aggregates of rules, by their names in lower case.

    The first argument is the value of each event (``Temp.value``, an expression of such attributes; for ``count`` also
    the type itself), those behind it are conditions on the events. ``within``, ``between`` or ``since_start`` says
    which events are looked at; or they are the members of a collection that is given as ``over``. ``events`` is the
    type, where the value does not tell it, ``argument`` the number that ``percentile`` asks for; ``approximate``
    counts distinct values nearly, and in little memory.
    """

    # What type checkers know of each; they are made from their records when they are asked for.
    count: OfEvents
    count_distinct: OfAnything
    sum: OfValues
    avg: OfNumbers
    stddev: OfNumbers
    median: OfNumbers
    slope: OfNumbers
    percentile: OfNumbers
    min: OfValues
    max: OfValues
    mode: OfValues
    first: OfValues
    last: OfValues

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            record = AGGREGATES.get(name.replace("_", "").lower())
            if record is None:
                if name.startswith("__"):
                    raise AttributeError(name)
                hint = did_you_mean(name, map(python_aggregate, aggregate_names()))
                raise RuleError.of("function", f"there is no aggregate '{name}'", span=here(), hint=hint)
            return _Asked(record)


def python_aggregate(name: str) -> str:
    """What Python calls an aggregate.

    >>> python_aggregate("Avg"), python_aggregate("CountDistinct")
    ('avg', 'count_distinct')
    """
    return "".join(
        f"_{letter.lower()}" if at and letter.isupper() else letter.lower() for at, letter in enumerate(name)
    )


class _Asked:
    """An aggregate, to be called with a value and conditions."""

    __slots__ = ("_record",)

    def __init__(self, record: AggregateFunction) -> None:
        self._record = record

    def __call__(
        self,
        value: object = None,
        *where: bool,
        over: Members[Any] | None = None,
        argument: float | None = None,
        approximate: bool = False,
        events: type[Event] | None = None,
        name: str | None = None,
    ) -> Gathering[Symbol] | Symbol:
        place = site()
        if approximate:
            return self._nearly(place)(value, *where, over=over, argument=argument, events=events, name=name)
        if over is not None:
            return self._of_members(value, over, argument, place)
        kind = events if events is not None else _kind_of(value, place)
        event = pattern_of(kind, where, name, place)
        own = None if value is kind else own_expression(event.type, value, place)
        return self._over_events(event, own, argument, place)

    def _nearly(self, place: Site) -> _Asked:
        """The aggregate that is nearly the same and takes less memory."""
        found = approximation_of(self._record.name)
        if found is None:
            called = python_aggregate(self._record.name)
            hint = f"leave approximate=True out; {', '.join(map(python_aggregate, APPROXIMATIONS))} has it"
            raise RuleError.of(
                "aggregate", f"{called} is exact: there is no other way to compute it", span=place.span, hint=hint
            )
        return _Asked(AGGREGATES[found.lower()])

    def _over_events(
        self, event: EventPattern, own: Expression | None, argument: float | None, asked: Site
    ) -> Gathering[Symbol]:
        number = self._argument(argument, asked)

        def make(scope: Scope, place: Site) -> Symbol:
            return Symbol(Aggregate(self._name(own, place), event, own, scope, number, place.span))

        return Gathering(make)

    def _of_members(self, value: object, over: Members[Any], argument: float | None, place: Site) -> Symbol:
        taken = over.collection
        own = None if value is None or isinstance(value, type) else own_expression(taken.event.type, value, place)
        number = self._argument(argument, place)
        name = self._name(own, place)
        return Symbol(Aggregate(name, taken.event, own, taken.scope, number, place.span, of=taken.event.name))

    def _name(self, own: Expression | None, place: Site) -> str:
        if own is None and self._record.needs_value:
            called = python_aggregate(self._record.name)
            hint = f"give the attribute: agg.{called}(Temp.value)"
            raise RuleError.of("aggregate", f"{called} needs a value", span=place.span, hint=hint)
        return self._record.name

    def _argument(self, argument: float | None, place: Site) -> float | None:
        wanted = self._record.argument
        if (wanted is None) != (argument is None):
            called = python_aggregate(self._record.name)
            message = f"{called} takes no argument" if wanted is None else f"{called} needs argument={wanted.example}"
            raise RuleError.of("aggregate", message, span=place.span)
        return None if argument is None else float(argument)


def _kind_of(value: object, place: Site) -> type[Event]:
    """The type of events that a value belongs to."""
    if isinstance(value, type) and issubclass(value, Event):
        return value
    if isinstance(value, Symbol) and len(value.owners) == 1:
        (kind,) = value.owners
        return kind
    hint = "write the attribute by its class, agg.avg(Temp.value), or say events=Temp"
    raise RuleError.of("aggregate", "this does not tell which events are meant", span=place.argument(0), hint=hint)


agg = Aggregates()
"""The aggregates: ``agg.avg``, ``agg.count``, ``agg.percentile`` and so on."""
