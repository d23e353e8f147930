"""The reference engine: the meaning of rules, transcribed. The oracle of every other engine.

Here is how the stream goes by: when rules come and go, at which moments they are evaluated, how composite events enter
the stream, and what is forgotten. What a rule makes of one terminator is in ``meaning``. Both are written to be read
next to the semantics page of the documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import OWNED_ATTRIBUTE, Schema
from cepheus.core.time import MIN_TIME
from cepheus.engine.base.declared_types import batch_of_made
from cepheus.engine.base.interface import Past
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.base.refusals import no_such_rule, require_factor, require_ties, tesla_rules
from cepheus.engine.base.snapshot import pack, restoring
from cepheus.engine.base.ties import TieCounter, TieCounts
from cepheus.engine.reference.deadlines import Deadlines
from cepheus.engine.reference.meaning import Meaning
from cepheus.engine.reference.state import Deployed, Stored, read, stored_to_json
from cepheus.rules.json_form import to_json
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.rules.timers import Every
from cepheus.uncertainty.verdict import Observer


class ReferenceEngine:
    """Runs every rule by the book; slow and obvious.

    ``limit`` is the number of composite events that one event may make. ``observe`` is told of every composite event
    with the factors of its probability.
    """

    name: ClassVar[str] = "reference"

    def __init__(
        self, limit: int = DEFAULT_LIMIT, calculus: Calculus = DEFAULT_CALCULUS, observe: Observer | None = None
    ) -> None:
        self._limit = limit
        self._calculus = calculus
        self._observe = observe
        self._errors: dict[str, dict[str, Distribution]] = {}
        self._rules: dict[str, Deployed] = {}
        self._places, self._places_of = 0, dict[str, int]()
        self._history: dict[str, list[Stored]] = {}
        self._fed = 0
        self._begun = False
        self._ordinal = 0
        self._time = MIN_TIME
        self._ties = TieCounter()
        self._deadlines = Deadlines()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are deployed."""
        return tuple(deployed.rule for deployed in self._rules.values())

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events since the engine was made."""
        return self._ties.counts

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules; they see the events fed from now on."""
        deployed = {str(rule.name): Deployed(rule, self._ordinal) for rule in tesla_rules(rules, self.name)}
        first = next(iter((self._rules or deployed).values()), None)
        if first is not None:
            require_ties((each.rule for each in deployed.values()), ordered=first.rule.ordered)
        for name in deployed.keys() & self._rules.keys():
            raise OptionError.of("deploy", f"a rule named '{name}' is already deployed", hint="withdraw it first")
        for place, (name, each) in enumerate(deployed.items(), self._places):
            self._places_of[name] = place
            if self._begun and isinstance(each.resolved.timer, Every):
                self._deadlines.start(each, place, self._time + 1)
        self._places += len(deployed)
        self._rules |= deployed
        for event_type in schema.values():
            errors = {a.name: a.error for a in event_type.attributes if a.error is not None}
            if errors:
                self._errors[event_type.name] = errors

    def withdraw(self, name: str) -> None:
        """Remove a rule and what it consumed."""
        if name not in self._rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        del self._rules[name]
        self._deadlines.forget(name)
        for stored in (stored for events in self._history.values() for stored in events):
            stored.consumed_by.discard(name)

    def set_factor(self, rule: str, factor: float) -> None:
        """Set what the probabilities of a rule's composite events are multiplied by from now on."""
        deployed = self._rules.get(rule)
        if deployed is None:
            raise no_such_rule(rule, self._rules)
        deployed.factor = require_factor(factor)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        found = [made for event in batch.to_events() for made in self.feed_event(event)]
        return batch_of_made(found, [deployed.rule.composite for deployed in self._rules.values()])

    def feed_event(self, event: Event) -> list[Event]:
        """Process the next event and the composite events it completes."""
        position = self._fed
        self._fed += 1
        return self._process(event, position)

    def advance(self, time: int) -> EventBatch:
        """Evaluate the rules whose moments have come, and forget what no window can reach any more."""
        made = self._moments(time)
        self._time = max(self._time, time)
        self._forget()
        return batch_of_made(made, [deployed.rule.composite for deployed in self._rules.values()])

    def begin(self, time: int) -> None:
        """Let time begin, before the first event: with the first event of all, which may be another engine's."""
        self._begun, self._time = True, max(self._time, time)
        for name, deployed in self._rules.items():
            if isinstance(deployed.resolved.timer, Every):
                self._deadlines.start(deployed, self._places_of[name], time)

    def next_deadline(self) -> int | None:
        """The next moment at which a rule is evaluated, None if none is to come."""
        return self._deadlines.next()

    def last_deadline(self) -> int | None:
        """The last moment that an event has set, None if nothing waits for one."""
        return self._deadlines.last_set()

    def _process(self, event: Event, position: int) -> list[Event]:
        if not self._begun:
            self.begin(event.time)
        made = self._moments(event.time)
        made += self._enter([self._with_errors(event if event.id is not None else replace(event, id=position))])[1:]
        if event.time > self._time:
            self._time = event.time
            self._forget()
        return made

    # Timers. A moment comes before the events of its time. What is made at a moment enters the stream there.

    def _moments(self, until: int) -> list[Event]:
        made: list[Event] = []
        self._deadlines.require_few(self._time, until, self._limit)
        while (time := self._deadlines.next()) is not None and time <= until:
            self._time = max(self._time, time)
            deployed, terminator = self._deadlines.take(time)
            if deployed.resolved.name not in terminator.consumed_by:
                made += self._enter(self._evaluate(deployed, terminator, []))
        return made

    # Hierarchies. A composite event enters the stream at its time and may feed any rule. It takes its place right
    # after the event that completed it; those completed by one event are ordered by rule, then by choice of parts.

    def _enter(self, events: list[Event]) -> list[Event]:
        """Take events in, and those that they complete; all of them are returned."""
        queue = list(events)
        for current in queue:
            stored = Stored(current, self._ordinal)
            self._ordinal += 1
            made: list[Event] = []
            gathered: list[int] = []
            for name, deployed in self._rules.items():
                if deployed.resolved.terminator.type == current.type:
                    if deployed.resolved.timer is None:
                        made += self._evaluate(deployed, stored, gathered)
                    else:
                        self._deadlines.set(deployed, self._places_of[name], stored)
                if len(made) > self._limit:
                    raise too_many_composites(deployed.rule, self._limit)
            queue += made
            self._history.setdefault(current.type, []).append(stored)
        return queue

    def _evaluate(self, deployed: Deployed, terminator: Stored, gathered: list[int]) -> list[Event]:
        counted = self._ties.counts
        meaning = Meaning(deployed, self._history, self._ties, self._calculus, self._limit, self._observe, gathered)
        made = meaning.fire(terminator)
        if terminator.event.attributes.get(OWNED_ATTRIBUTE) is False:  # it is counted where the event is at home
            self._ties.reset(counted)
        if len(made) > self._limit:
            raise too_many_composites(deployed.rule, self._limit)
        return made

    # Uncertainty. A source that sends no error of its own has the one that the rules declare.

    def _with_errors(self, event: Event) -> Event:
        declared = self._errors.get(event.type)
        if declared is None:
            return event
        return replace(event, errors={**declared, **event.errors})

    def _forget(self) -> None:
        """Drop the events that lie further back than any rule can look."""
        horizon = self._time - max((deployed.reach for deployed in self._rules.values()), default=0)
        for events in self._history.values():
            gone = 0
            while gone < len(events) and events[gone].event.time < horizon:
                gone += 1
            del events[:gone]

    def adopt(self, past: Past) -> None:
        """Go on where another engine stops, with its rules and what it remembers."""
        ordered = sorted(past.events, key=lambda seen: (seen.event.time, seen.place))  # events of a type stay in order
        place = {(seen.event.type, seen.number): ordinal for ordinal, seen in enumerate(ordered)}
        self._history = {}
        for ordinal, seen in enumerate(ordered):
            stored = Stored(seen.event, ordinal, set(seen.consumed_by))
            self._history.setdefault(seen.event.type, []).append(stored)
        self._fed, self._ordinal, self._time = past.fed, len(ordered), past.time
        for rule, schema, since in past.rules:
            self.deploy([rule], schema)
            earlier = {
                event_type: min(
                    (at for (name, row), at in place.items() if name == event_type and row >= number), default=0
                )
                for event_type, number in since.items()
            }
            deployed = Deployed(rule, 0, earlier)
            deployed.factor = past.factors.get(str(rule.name), 1.0)
            self._rules[str(rule.name)] = deployed
        self._errors |= {event_type: dict(errors) for event_type, errors in past.errors.items()}
        self._rebuild_deadlines()

    def _rebuild_deadlines(self) -> None:
        """Find out which moments are still to come: what is remembered tells."""
        self._places_of = {name: place for place, name in enumerate(self._rules)}
        self._places = len(self._rules)
        self._begun = self._fed > 0
        rules = [(self._places_of[name], deployed) for name, deployed in self._rules.items()]
        self._deadlines.rebuild(rules, self._history, self._time, started=self._begun)

    def snapshot(self) -> bytes:
        """The rules and all that is remembered, as bytes."""
        header = {
            "rules": to_json(RuleSet((), tuple(deployed.rule for deployed in self._rules.values()))),
            "since": [deployed.since for deployed in self._rules.values()],
            "earlier": [dict(deployed.earlier) for deployed in self._rules.values()],
            "errors": {
                event_type: {name: str(error) for name, error in errors.items()}
                for event_type, errors in self._errors.items()
            },
            "factors": [deployed.factor for deployed in self._rules.values()],
            "fed": self._fed,
            "ordinal": self._ordinal,
            "time": self._time,
            "history": [
                stored_to_json(stored.event, stored.ordinal, stored.consumed_by)
                for events in self._history.values()
                for stored in events
            ],
        }
        return pack(self.name, header)

    def restore(self, data: bytes) -> None:
        """Take over a snapshot."""
        with restoring(self):
            header = read(self.name, data)
            self._rules, self._history = {}, {}
            for rule, since, earlier, factor in zip(
                header["rules"], header["since"], header["earlier"], header["factors"], strict=True
            ):
                deployed = Deployed(rule, since, earlier)
                deployed.factor = factor
                self._rules[deployed.resolved.name] = deployed
            self._fed, self._ordinal, self._time = header["fed"], header["ordinal"], header["time"]
            self._errors = header["errors"]
            for each in header["history"]:
                stored = Stored(each["event"], each["ordinal"], set(each["consumed_by"]))
                self._history.setdefault(stored.event.type, []).append(stored)
            self._rebuild_deadlines()
