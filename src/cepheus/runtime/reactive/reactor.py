"""The reactor: takes events, lets time go on, and keeps all signals at one moment.

A batch of events is a row of moments. Every signal is computed for all of them at once, those that others are made of
first, so no one ever sees one signal after a moment and another before it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, TypeVar, Unpack, cast

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, RuleError, UnsupportedError
from cepheus.core.event import Event as EventRecord
from cepheus.core.options import RunKeywords, RunOptions, microseconds_of
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.time import MIN_TIME
from cepheus.core.values import Value, ValueType
from cepheus.formats.parquet_arrow import arrow_table
from cepheus.language.python.draft import own_expression
from cepheus.language.python.events import Event, event_type, value_type
from cepheus.language.python.places import Site, here, site
from cepheus.language.python.values import Symbol
from cepheus.rules.aggregates import AGGREGATES, AggregateFunction
from cepheus.rules.check import check
from cepheus.rules.expressions import AttributeRef, EventPattern, Expression
from cepheus.rules.model import RuleSet
from cepheus.rules.rows.expressions import Operation, Operator, RowExpression
from cepheus.rules.rows.types import checked_type
from cepheus.rules.walk import walk
from cepheus.runtime.embedded.admission import ArrowTable, Given
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.results import Composites
from cepheus.runtime.embedded.session import Session
from cepheus.runtime.embedded.subscriptions import call_all
from cepheus.runtime.reactive.frame import Frame, columns_of, rows_of
from cepheus.runtime.reactive.keyed import Attached, Keyed, Keys
from cepheus.runtime.reactive.observing import Changes, Emission, Observer, Trigger
from cepheus.runtime.reactive.row_form import row_form
from cepheus.runtime.reactive.signals import (
    Computed,
    Counted,
    FromEvents,
    Latest,
    ReadSignals,
    Signal,
    Windowed,
)

T = TypeVar("T")
V = TypeVar("V")
E = TypeVar("E", bound=Event)

MOST_ROUNDS = 1000
"""How often events that signals give rise to may give rise to others at one moment."""


class Reactor:
    """Signals over the events of a session, or over events alone.

    The keywords of a reactor without a session are those of ``Program.start``.

    >>> class Temp(Event):
    ...     area: str
    ...     value: float
    >>> reactor = Reactor(time_unit="s")
    >>> temp = reactor.latest(Temp.value)
    >>> hot = temp > 45
    >>> _ = reactor.feed([{"type": "Temp", "time": 10, "area": "A1", "value": 51.5}])
    >>> temp.value, hot.value
    (51.5, True)
    """

    def __init__(self, session: Session | None = None, **options: Unpack[RunKeywords]) -> None:
        if session is not None and options:
            raise OptionError.of("option", "the session has its options already", hint="give them to Program.start")
        self._options = RunOptions.of(**options)
        self.session = session or Session(Catalog.of(check(RuleSet(), closed=False)), self._options)
        self.session.tap(self._take)
        self._signals: weakref.WeakValueDictionary[int, Signal[Any]] = weakref.WeakValueDictionary()
        self._families: weakref.WeakSet[_Family] = weakref.WeakSet()
        self._observers: list[Observer] = []
        self._queues: list[tuple[weakref.ref[Changes[Any]], Observer]] = []
        self._emissions: list[Emission] = []
        self._attached: list[object] = []
        self._numbers = 0
        self._now = MIN_TIME
        self._emitted: list[EventRecord] = []
        self._reading: tuple[int | None, ReadSignals, int] | None = None
        self._heard: set[str] = set()
        self._emitting: set[str] = set()
        self._read: tuple[RuleSet, frozenset[str], frozenset[str]] | None = None

    # ---- Signals -------------------------------------------------------------------------------------------------

    def latest(self, value: V, *where: bool, per: object = None) -> Any:
        """The value of the latest event that satisfies the conditions; ``per`` area, a family of signals by area."""
        return self._source(value, where, per, _latest, site())

    def count(self, events: object, *where: bool, within: str | timedelta | None = None, per: object = None) -> Any:
        """How many events have come, of late or since the signal was made; with an attribute, those that have it."""
        return self.aggregate("count", events, *where, within=within, per=per)

    def aggregate(
        self,
        function: str,
        value: object,
        *where: bool,
        within: str | timedelta | None = None,
        per: object = None,
        argument: float | None = None,
    ) -> Any:
        """Any aggregate of the events of a time that ends now: ``aggregate("avg", Temp.value, within="5 min")``."""
        place = site()
        record = AGGREGATES.get(function.replace("_", "").lower())
        if record is None or (record.argument is None) != (argument is None):
            raise RuleError.of("aggregate", f"there is no such aggregate '{function}'", span=place.span)
        if within is None and (function != "count" or not isinstance(value, type)):
            hint = "give the length of the window: within='5 min'"
            raise RuleError.of("aggregate", "only events are counted without an end", span=place.span, hint=hint)
        length = None if within is None else microseconds_of(within)
        made = record.given(argument)
        return self._source(value, where, per, lambda *parts: _windowed(made, length, *parts), place)

    def avg(self, value: float, *where: bool, within: str | timedelta, per: object = None) -> Any:
        """The average of a time that ends now."""
        return self.aggregate("avg", value, *where, within=within, per=per)

    def sum(self, value: float, *where: bool, within: str | timedelta, per: object = None) -> Any:
        """The sum of a time that ends now."""
        return self.aggregate("sum", value, *where, within=within, per=per)

    def min(self, value: object, *where: bool, within: str | timedelta, per: object = None) -> Any:
        """The least value of a time that ends now."""
        return self.aggregate("min", value, *where, within=within, per=per)

    def max(self, value: object, *where: bool, within: str | timedelta, per: object = None) -> Any:
        """The greatest value of a time that ends now."""
        return self.aggregate("max", value, *where, within=within, per=per)

    def compute(self, function: Callable[[], T | None], kind: type[T]) -> Signal[T]:
        """What a function of other signals' ``value`` gives; it may read others each time that it is asked."""
        return Computed(self, function, cast("ValueType", value_type(Computed, "compute", kind, here())[0]))

    def emit(self, kind: type[E], when: Trigger, **attributes: object) -> Emission | Attached[Emission]:
        """Let a signal give rise to events of a class, with attributes that are signals or constants.

        Rules of the session and other signals may use them; they come right behind the event that brought them about.
        """
        described = event_type(kind)
        lacking = [each.name for each in described.attributes if each.name not in attributes and not each.optional]
        unknown = [name for name in attributes if described.attribute(name) is None]
        if lacking or unknown:
            message = f"a {described.name} needs {', '.join(lacking)}" if lacking else f"there is no '{unknown[0]}'"
            raise RuleError.of("signal", message, span=here())
        self._hear(kind)
        self._emitting.add(described.name)
        if isinstance(when.signal, Keyed):
            return self._emit_each(kind, when, attributes)
        emission = Emission(self, described.name, when, attributes)
        self._refuse_circle(emission)
        self._emissions.append(emission)
        return emission

    def _emit_each(self, kind: type[Event], when: Trigger, attributes: dict[str, object]) -> Attached[Emission]:
        family: Keyed[Any] = when.signal

        def attach(key: Any) -> Emission:
            own = {
                name: value[key] if isinstance(value, Keyed) else key if value is KEY else value
                for name, value in attributes.items()
            }
            return cast("Emission", self.emit(kind, Trigger(family[key], when.becomes_true), **own))

        return Attached(family.keys, attach)

    # ---- Events --------------------------------------------------------------------------------------------------

    def feed(self, events: Given | EventBatch | ArrowTable | Iterable[Given]) -> Composites:
        """Take events, as a session does; give composite events, and those that signals gave rise to."""
        self._emitted.clear()
        given: Any = events if isinstance(events, EventBatch | ArrowTable | list) else [events]
        if not self._feeds_back:
            found = [self.session.feed(given)]
        else:
            if self._options.waits:
                hint = "sort the events before, and leave lateness and sort out"
                raise UnsupportedError.of("unsupported", "signals that feed rules take events in order", hint=hint)
            found = [made for single in _singles(given) for made in self._fed_back(single)]
        emitted = EventBatch.from_events(self._emitted) if self._emitted else EventBatch.empty()
        return Composites.around(EventBatch.concat([*found, emitted]), self._options.unit)

    def advance(self, time: int | datetime) -> Composites:
        """Let time go on: what is as old as its window leaves it."""
        return self.session.advance(time)

    def close(self) -> Composites:
        """End the session, and whoever waits for changes."""
        found = self.session.close()
        for reference, _ in self._queues:
            queue = reference()
            if queue is not None:
                queue.end()
        return found

    @property
    def reads(self) -> frozenset[str]:
        """The types of events from outside that signals and rules read."""
        rules = self.session.rules
        if self._read is None or self._read[0] is not rules:
            checked = check(rules, closed=False)
            self._read = rules, frozenset(checked.inputs), frozenset(checked.composites)
        _, inputs, composites = self._read
        return (inputs | self._heard) - composites - self._emitting

    @property
    def _feeds_back(self) -> bool:
        """Whether rules or signals read events that signals give rise to."""
        if not self._emitting:
            return False
        read = {node.type for rule in self.session.rules.rules for node in walk(rule) if isinstance(node, EventPattern)}
        read |= {signal.event for signal in self._signals.values() if isinstance(signal, FromEvents)}
        return not read.isdisjoint(self._emitting)

    def _fed_back(self, single: Any) -> Iterator[EventBatch]:
        """Feed one event, then what it has given rise to, and so on."""
        waiting: list[Any] = [single]
        for _ in range(MOST_ROUNDS):
            if not waiting:
                return
            before = len(self._emitted)
            yield self.session.feed(waiting if isinstance(waiting[0], EventRecord) else waiting[0])
            waiting = list(self._emitted[before:])
        raise LimitError.of("limit", f"events of signals gave rise to others {MOST_ROUNDS} times at one moment")

    def _take(self, ready: EventBatch, composites: EventBatch, until: int | None) -> None:
        """Take what a session has processed, and compute every signal at every moment of it."""
        batch = _in_order(ready, composites)
        last = int(batch.times[-1]) if len(batch) else self._now
        last = last if until is None else max(last, until)
        for family in list(self._families):
            family.look(batch)
        signals = sorted(self._signals.values(), key=lambda signal: signal.number)
        sources = [signal for signal in signals if isinstance(signal, FromEvents)]
        for source in sources:
            source.gather(batch)
        windows = [source for source in sources if isinstance(source, Windowed)]
        leaving = [window.leavings(self._now, last) for window in windows]
        frame = Frame.of(batch.times, leaving)
        self._now = max(self._now, last)
        if not len(frame):
            return
        for signal in signals:
            signal.update(frame)
        emitted = sorted(chain.from_iterable(each.events(frame) for each in self._emissions), key=lambda pair: pair[0])
        self._emitted += [event for _, event in emitted]
        told = [(moment, observer, change) for observer in self._observers for moment, change in observer.told(frame)]
        for signal in signals:
            signal.settle()
        for window in windows:
            window.forget(self._now)
        told.sort(key=lambda each: each[0])
        call_all((observer.function, change) for _, observer, change in told)

    # ---- For signals ---------------------------------------------------------------------------------------------

    def take_in(self, signal: Signal[Any]) -> int:
        """Give a signal its number: those it is made of have smaller ones."""
        self._numbers += 1
        self._signals[self._numbers] = signal
        return self._numbers

    def read(self, signal: Signal[Any]) -> Value | None:
        """The value of a signal, at the moment for which a function is asked if one is."""
        if self._reading is None:
            return signal.current
        moment, read, number = self._reading
        if signal.number >= number:
            raise RuleError.of("signal", "a function reads a signal that was made after it", span=here())
        read[signal.number] = weakref.ref(signal)
        for leaf in signal.leaves.values():
            read.setdefault(leaf.number, weakref.ref(leaf))
        return signal.current if moment is None or not len(signal.column) else signal.column[moment].as_py()

    @contextmanager
    def reading(self, moment: int | None, read: ReadSignals, number: int) -> Iterator[None]:
        """Note which signals are read, at a moment."""
        before, self._reading = self._reading, (moment, read, number)
        try:
            yield
        finally:
            self._reading = before

    def observe(self, signal: Signal[T], function: Callable[[Any], object]) -> Observer:
        """Tell a function of the changes of a signal."""
        self._observers.append(Observer(self, signal, function))
        return self._observers[-1]

    def changes_of(self, signal: Signal[T]) -> Changes[T]:
        """The changes of a signal for ``async for``."""
        queue: Changes[T] = Changes()
        reference = weakref.ref(queue)

        def push(change: Any) -> None:
            held = reference()
            if held is not None:
                held.push(change)

        observer = self.observe(signal, push)
        weakref.finalize(queue, observer.cancel)
        self._queues.append((reference, observer))
        return queue

    def forget(self, ended: Observer | Emission) -> None:
        """End an observer or an emission."""
        self._observers = [each for each in self._observers if each is not ended]
        self._emissions = [each for each in self._emissions if each is not ended]
        self._queues = [pair for pair in self._queues if pair[1] is not ended]

    # ---- Sources -------------------------------------------------------------------------------------------------

    def _source(
        self, value: object, where: tuple[bool, ...], per: object, make: Callable[..., Any], place: Site
    ) -> Any:
        kind = _kind_of(value, place)
        self._hear(kind)
        name = event_type(kind).name
        nodes = [own_expression(name, each, place) for each in where]
        whole = None if isinstance(value, type) else own_expression(name, value, place)
        if per is None:
            return make(self, kind, whole, nodes)
        group = own_expression(name, per, place)
        if not isinstance(group, AttributeRef):
            raise RuleError.of("signal", "a family is made by an attribute", span=place.keyword("per"))
        family = _Family(name, group.name, _attribute_types(kind)[group.name], self._attached)
        self._families.add(family)

        def member(key: Any) -> Signal[Any]:
            same = cast("Symbol", Symbol(group, frozenset({kind})) == key).node
            return cast("Signal[Any]", make(self, kind, whole, [*nodes, same]))

        return Keyed(family.keys, member, family)

    def _hear(self, kind: type[Event]) -> None:
        described = event_type(kind)
        if described.name in self._heard:
            return
        known = {each.name for each in self.session.rules.declarations}
        known |= {rule.composite.name for rule in self.session.rules.all_rules}
        if described.name not in known:
            self.session.deploy(RuleSet((described,)))
        self.session.hear(EventPattern(described.name))
        self._heard.add(described.name)

    def _refuse_circle(self, emission: Emission) -> None:
        """Refuse events that would bring themselves about: what a signal reads must not come from its own events."""
        reached = {emission.event}
        rules = self.session.rules.rules
        while True:
            more = {
                rule.composite.name
                for rule in rules
                if any(isinstance(node, EventPattern) and node.type in reached for node in walk(rule))
            }
            more |= {each.event for each in self._emissions if _reads(each) & reached}
            if more <= reached:
                break
            reached |= more
        circle = sorted(_reads(emission) & reached)
        if circle:
            message = f"events of type '{emission.event}' would come from themselves, by way of '{circle[0]}'"
            raise RuleError.of("signal", message, span=here(), hint="read other events, or let a rule wait for a time")


KEY: Any = object()
"""Stands for the key in the attributes of events that a family of signals gives rise to."""


class _Family:
    """Which keys the events of a type have had."""

    def __init__(self, event: str, attribute: str, kind: ValueType, attached: list[object]) -> None:
        self.event, self.attribute, self.kind = event, attribute, kind
        self.keys = Keys(attached)

    def look(self, batch: EventBatch) -> None:
        """Find new keys."""
        column = columns_of(batch, rows_of(batch, self.event), {self.attribute: self.kind}).arrays[self.attribute]
        for key in column.unique().drop_null().to_pylist() if len(column) else ():
            self.keys.add(key)


def _reads(emission: Emission) -> set[str]:
    """The types of events on which what gives rise to an event depends."""
    found: set[str] = set()
    waiting: list[Signal[Any]] = list(emission.signals)
    while waiting:
        signal = waiting.pop()
        if isinstance(signal, FromEvents):
            found.add(signal.event)
        elif isinstance(signal, Computed):
            waiting += signal.read_signals
        else:
            waiting += signal.leaves.values()
    return found


def _attribute_types(kind: type[Event]) -> dict[str, ValueType]:
    known = {each.name: each.type for each in event_type(kind).attributes if each.type is not None}
    return {**known, TIME_ATTRIBUTE: ValueType.TIMESTAMP}


Parts = tuple[dict[str, ValueType], RowExpression | None, RowExpression | None, ValueType | None]


def _parts(kind: type[Event], whole: Expression | None, nodes: list[Expression]) -> Parts:
    """The types of attributes that are read, the value, the condition, and the type of the value."""
    every = _attribute_types(kind)
    value = None if whole is None else row_form(whole)
    conditions = [row_form(node) for node in nodes]
    condition = None
    for each in conditions:
        condition = each if condition is None else _both(condition, each)
    read = {
        node.name
        for expression in (whole, *nodes)
        if expression is not None
        for node in walk(expression)
        if isinstance(node, AttributeRef)
    }
    types = {name: every[name] for name in every if name in read}
    for each in conditions:
        checked_type(each, types)
    return types, value, condition, None if value is None else checked_type(value, types)


def _both(one: RowExpression, other: RowExpression) -> RowExpression:
    return Operation(Operator.AND, (one, other))


def _latest(reactor: Reactor, kind: type[Event], whole: Expression | None, nodes: list[Expression]) -> Signal[Any]:
    if whole is None:
        raise RuleError.of("signal", "latest needs an attribute", span=here(), hint="write latest(Temp.value)")
    types, value, condition, result = _parts(kind, whole, nodes)
    return Latest(reactor, event_type(kind).name, types, value, condition, result)


def _windowed(
    record: AggregateFunction,
    length: int | None,
    reactor: Reactor,
    kind: type[Event],
    whole: Expression | None,
    nodes: list[Expression],
) -> Signal[Any]:
    types, value, condition, own = _parts(kind, whole, nodes)
    name = event_type(kind).name
    if length is None:
        return Counted(reactor, name, types, condition)
    if value is None and record.needs_value:
        raise RuleError.of("aggregate", f"{record.name} needs an attribute", span=here())
    result = own if record.result is None else record.result
    return Windowed(reactor, name, types, value, condition, result, record, length)


def _kind_of(value: object, place: Site) -> type[Event]:
    if isinstance(value, type) and issubclass(value, Event):
        return value
    if isinstance(value, Symbol) and len(value.owners) == 1:
        (kind,) = value.owners
        return kind
    hint = "write the attribute by its class: latest(Temp.value)"
    raise RuleError.of("signal", "this does not tell which events are meant", span=place.span, hint=hint)


def _in_order(ready: EventBatch, composites: EventBatch) -> EventBatch:
    """Events and the composite events of them in the order of time, those that came before those that were made."""
    if not len(composites):
        return ready
    both = EventBatch.concat([ready, composites])
    return both.take(np.argsort(both.times, kind="stable"))


def _singles(given: Any) -> Iterator[Any]:
    """Events one by one, each in a form that sessions take as a batch."""
    if isinstance(given, list):
        yield from ([event] for event in given)
    elif isinstance(given, EventBatch):
        yield from (given.slice(row, row + 1) for row in range(len(given)))
    else:
        table: pa.Table = arrow_table(given)
        yield from (table.slice(row, 1) for row in range(table.num_rows))
