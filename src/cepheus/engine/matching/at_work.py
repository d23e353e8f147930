"""Rules at work over one store of events: what an event completes, and what that completes in turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Record, Store
from cepheus.plan.partial import input_types


@dataclass(slots=True)
class RuleAtWork:
    """A rule that is evaluated for terminators from ``first`` (None: not yet) up to, not including, ``until``.

    ``place`` orders rules: of what one event completes, the events of the first rule come first. A rule that ``relays``
    hands on the event at its top as it is, instead of making composite events.
    """

    matcher: Matcher
    place: tuple[int | str, ...]
    first: int | None = MIN_TIME
    until: int | None = None
    relays: bool = False

    def decides(self, time: int) -> bool:
        """Whether the rule is evaluated for a terminator of that time."""
        return self.first is not None and self.first <= time and (self.until is None or time < self.until)


class RulesAtWork:
    """All rules that are evaluated over the events of one store.

    ``reads`` are the types of events that they look at, ``terminators`` those that some rule may end with.
    """

    def __init__(self, store: Store, limit: int | None = None) -> None:
        self.store = store
        self.reads: frozenset[str] = frozenset()
        self.terminators: dict[str, list[RuleAtWork]] = {}
        self._limit = limit

    def use(self, rules: Iterable[RuleAtWork]) -> None:
        """Evaluate these rules from now on, in the order of their places."""
        ordered = sorted(rules, key=lambda rule: rule.place)
        self.terminators = {}
        for rule in ordered:
            self.terminators.setdefault(rule.matcher.type, []).append(rule)
        self.reads = frozenset(kind for rule in ordered for kind in input_types(rule.matcher.rule))

    def fire(self, record: Record) -> list[Event]:
        """The composite events that an event completes, and those that these complete, in the order they arise.

        A composite event takes its place right after the event that completed it.
        """
        made: list[Event] = []
        queue = [record]
        for current in queue:
            before = len(made)
            for rule in self.terminators.get(current.type, ()):
                if not rule.decides(current.time):
                    continue
                if rule.relays:
                    if current is record and rule.matcher.accepts(current):
                        made.append(current.event)
                    continue
                for choice, event in enumerate(rule.matcher.fire(current, self.store)):
                    made.append(event)
                    if event.type in self.reads:
                        path = (*current.key[4], *rule.place, choice)
                        queue.append(Record(event, record.source, record.counter, current.key[3] + 1, path))
                if self._limit is not None and len(made) - before > self._limit:
                    raise too_many_composites(rule.matcher.rule, self._limit)
        for follower in queue[1:]:
            self.store.insert(follower)
        return made
