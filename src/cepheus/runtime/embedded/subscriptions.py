"""Who wants to hear of what: events by their content, and goals that are so far along."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import Diagnostic, OptionError, RuleError
from cepheus.core.event import Event
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.values import Value
from cepheus.engine.assembly.registry import goals_of, goals_since
from cepheus.engine.base.interface import Engine
from cepheus.rules.evaluate import Test, tester
from cepheus.rules.expressions import Aggregate, AttributeRef, EventPattern, Parameter
from cepheus.rules.walk import walk

if TYPE_CHECKING:
    from cepheus.plan.interval.goal_texts import Goal


Callback = Callable[[Event], object]
"""What is called with each event that a subscription asks for; what it gives back is ignored."""


BatchTap = Callable[[EventBatch, EventBatch, int | None], None]
"""What is called with events, the composite events of them, and how far time has gone on, if that was said."""


Call = tuple[Callable[[Any], object], object]
"""A function of a user, and what it is to be called with."""


class Subscription(Protocol):
    """A wish to hear of events, until it is cancelled."""

    @property
    def pattern(self) -> EventPattern:
        """What the events look like."""

    def cancel(self) -> None:
        """End the subscription; a second call does nothing."""


@dataclass(slots=True)
class _Content:
    """An event as the situation that constraints are tested in."""

    event: Event

    def attribute(self, event: str | None, name: str) -> Value | None:
        """Look up an attribute of the one event there is."""
        del event
        return self.event.time if name == TIME_ATTRIBUTE else self.event.attributes.get(name)

    def computed(self, name: str) -> Value | None:
        """Parameters are refused before."""
        raise AssertionError(f"${name} has no value in a subscription")


@dataclass(slots=True, eq=False)
class _Subscription:
    pattern: EventPattern
    callback: Callback
    tests: tuple[Test, ...]
    owner: Subscriptions

    def cancel(self) -> None:
        self.owner.remove(self)


class Subscriptions:
    """All subscriptions of a session, by event type.

    >>> heard = []
    >>> subscriptions = Subscriptions()
    >>> subscription = subscriptions.add(EventPattern("Fire"), heard.append)
    >>> subscriptions.notify([Event("Fire", 1), Event("Smoke", 1)])
    >>> subscription.cancel()
    >>> subscriptions.notify([Event("Fire", 2)])
    >>> [event.time for event in heard]
    [1]
    """

    def __init__(self) -> None:
        self._by_type: dict[str, list[_Subscription]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_type)

    def add(self, pattern: EventPattern, callback: Callback) -> Subscription:
        """Add a subscription; a pattern that looks beyond the event's own content is a RuleError."""
        refuse_beyond_content(pattern)
        tests = tuple(tester(constraint) for constraint in pattern.constraints)
        subscription = _Subscription(pattern, callback, tests, self)
        self._by_type.setdefault(pattern.type, []).append(subscription)
        return subscription

    def end(self) -> None:
        """Tell those who wait for events that there will be no more."""
        for subscription in [each for held in self._by_type.values() for each in held]:
            ended = getattr(subscription.callback, "end", None)
            if ended is not None:
                ended()

    def remove(self, subscription: Subscription) -> None:
        """End a subscription; nothing happens if it has ended already."""
        held = self._by_type.get(subscription.pattern.type, [])
        kept = [other for other in held if other is not subscription]
        if kept:
            self._by_type[subscription.pattern.type] = kept
        else:
            self._by_type.pop(subscription.pattern.type, None)

    def wanted(self, batch: EventBatch) -> list[Event]:
        """The events of a batch whose type someone has subscribed to."""
        codes = [code for code, name in enumerate(batch.types) if name in self._by_type]
        if not codes or not len(batch):
            return []
        if len(codes) == len(batch.types):
            return batch.to_events()
        return batch.take(np.flatnonzero(np.isin(batch.codes, codes))).to_events()

    def notify(self, events: Iterable[Event]) -> None:
        """Call whoever has subscribed to each event, in the order of the events, as ``call_all`` does."""
        call_all(self.calls(events))

    def calls(self, events: Iterable[Event]) -> Iterator[tuple[Callback, Event]]:
        """Find the callback of whoever has subscribed to each event, in the order of the events."""
        for event in events:
            for subscription in self._by_type.get(event.type, ()):
                content = _Content(event)
                if all(test(content) for test in subscription.tests):
                    yield subscription.callback, event


def call_all(calls: Iterable[Call]) -> None:
    """Call every callback with what it is for, even if one raises.

    The first exception is raised at the end, the others are told in its notes.
    """
    failures: list[Exception] = []
    for callback, told in calls:
        try:
            callback(told)
        except Exception as failure:  # whatever a user's function raises is handed on below
            failures.append(failure)
    if failures:
        first, *others = failures
        for other in others:
            first.add_note(f"another callback of the same call raised {other!r}")
        raise first


def refuse_beyond_content(pattern: EventPattern) -> None:
    """Refuse a pattern that needs more than the content of one event: parameters, aggregates, other events."""
    findings = []
    for node in walk(pattern):
        match node:
            case Parameter(name=name, span=span):
                found = f"${name} is a parameter, and a subscription has nothing that could bind it"
            case AttributeRef(event=str(other), name=name, span=span) if other != pattern.name:
                found = f"{other}.{name} is of another event than the one subscribed to"
            case Aggregate(span=span):
                found = "a subscription looks at one event and cannot aggregate over others"
            case _:
                continue
        hint = "compare the event's own attributes with constants, or write a rule and subscribe to what it defines"
        findings.append(Diagnostic("subscription", found, span, hint))
    if findings:
        raise RuleError(findings)


def in_order_of_time(primitive: Sequence[Event], composite: Sequence[Event]) -> list[Event]:
    """Put the events of one batch into the order of notification: by time, primitive before composite events."""
    return sorted([*primitive, *composite], key=lambda event: event.time)


GoalCallback = Callable[["Goal"], object]
"""What is called with each goal that is far enough along; what it gives back is ignored."""


@dataclass(slots=True, eq=False)
class ProgressSubscription:
    """A wish to hear of goals of which at least ``fraction`` is there, of one rule or of all, until it is cancelled."""

    fraction: float
    rule: str | None
    callback: GoalCallback
    owner: ProgressWatch

    def cancel(self) -> None:
        """End the subscription; a second call does nothing."""
        self.owner.remove(self)


class ProgressWatch:
    """All such wishes of a session, and which goals were told of.

    New goals end at the present time of the engine or, where they are decided when an instant is over, at the one
    before. So it is enough to look at goals from the time of the last look on, and to remember which were there.
    """

    def __init__(self) -> None:
        self._wishes: list[ProgressSubscription] = []
        self._time = MIN_TIME
        self._seen: set[Hashable] = set()

    def __bool__(self) -> bool:
        return bool(self._wishes)

    def add(self, fraction: float, rule: str | None, callback: GoalCallback, engine: Engine) -> ProgressSubscription:
        """Tell of goals from now on; those that wait already are not told of."""
        wish = ProgressSubscription(require_fraction(fraction), rule, callback, self)
        goals_of(engine, rule)  # an engine that does not show its goals says so
        self._wishes.append(wish)
        self.begin(engine)
        return wish

    def remove(self, wish: ProgressSubscription) -> None:
        """End a subscription; nothing happens if it has ended already."""
        self._wishes = [other for other in self._wishes if other is not wish]

    def begin(self, engine: Engine) -> None:
        """Take all goals that wait for told."""
        self._time, _ = goals_since(engine, MAX_TIME, 1.0)
        self.told(engine)

    def told(self, engine: Engine) -> list[tuple[GoalCallback, Goal]]:
        """Find whoever is to be called with goals that are new since the last look."""
        return [
            (wish.callback, goal)
            for goal in self._new(engine)
            for wish in self._wishes
            if goal.fraction >= wish.fraction and wish.rule in (None, goal.rule)
        ]

    def watched(
        self,
        engine: Engine,
        ready: EventBatch,
        guarded: Callable[[Callable[[EventBatch], EventBatch], EventBatch], EventBatch],
        goals: list[tuple[GoalCallback, Goal]],
    ) -> EventBatch:
        """Run the engine on one event after the other, and add the goals that are to be told of."""
        found = []
        for place in range(len(ready)):
            found.append(guarded(engine.feed, ready.slice(place, place + 1)))
            goals += self.told(engine)
        return EventBatch.concat(found) if found else EventBatch.empty()

    def _new(self, engine: Engine) -> list[Goal]:
        time, goals = goals_since(engine, self._time, min((wish.fraction for wish in self._wishes), default=0.0))
        keys = [_key(goal) for goal in goals]
        new = [goal for goal, key in zip(goals, keys, strict=True) if key not in self._seen]
        self._time = time
        self._seen = {key for goal, key in zip(goals, keys, strict=True) if goal.end >= time}
        return new


def require_fraction(fraction: float) -> float:
    """Refuse what is no share of a goal."""
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        hint = "write a fraction from 0 to 1, as in 0.9 for 90%"
        raise OptionError.of("option", f"{fraction!r} is no share of a goal", hint=hint)
    return float(fraction)


def _key(goal: Goal) -> Hashable:
    """What makes a goal one and the same."""
    return goal.rule, goal.happened, goal.missing, goal.start, goal.end, tuple(goal.values.items()), goal.parts
