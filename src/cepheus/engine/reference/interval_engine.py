"""The reference engine of interval rules: Figure 2 and the policies of section 6, on a stream.

Written to be read next to the semantics page of the documentation; no indexes, no cleverness.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.event import Event
from cepheus.core.lists import Key
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import MIN_TIME
from cepheus.core.values import Value, ValueType
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.limits import endless_limits, too_many_composites, too_much_state
from cepheus.engine.base.refusals import Reads, interval_rules, reads_of, refuse_uncertain_event, require_factor
from cepheus.engine.base.restored_rules import check_restored_intervals
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.reference.interval_tree import POINT, Node, build
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.json_form import read_interval_rule
from cepheus.rules.interval.matches import Instance, Match, instance_id
from cepheus.rules.interval.model import Aggregated, Atom, Choice, IntervalRule, TimePoint
from cepheus.rules.interval.reach import effective_policy
from cepheus.rules.model import AnyRule
from cepheus.rules.node_json import node_to_json
from cepheus.rules.walk import walk

_KIND = "interval reference"
_MOST_WAITING = 1_000_000  # matches are Python objects here: more would fill the memory before any limit

Effect = tuple[IntervalRule, Event, Instance]
"""What a rule makes: the event for the world, and the instance for the rules."""


class _Deployed:
    """A rule with its pattern at work.

    It sees nothing of what came before it: ``before`` is how many events of the present instant did.
    """

    def __init__(self, rule: IntervalRule, before: int) -> None:
        self.rule = rule
        self.before = before
        self.history: dict[str, list[Instance]] = {}
        self.conditions = Conditions(rule.relations, self._events_between)
        self.policy = effective_policy(rule)
        self.node: Node = build(rule.pattern, self.policy, self.conditions)
        nodes = list(walk(rule.pattern))
        aggregated = [node for node in nodes if isinstance(node, Aggregated)]
        self.windows = {node.atom.type: node.window for node in sorted(aggregated, key=lambda node: node.window)}
        self.points = {node.time for node in nodes if isinstance(node, TimePoint)}
        self.types = {node.type for node in nodes if isinstance(node, Atom)}
        self.factor = 1.0

    def note(self, instance: Instance) -> None:
        """Keep an event that sliding windows look at."""
        if instance.type in self.windows:
            self.history.setdefault(instance.type, []).append(instance)

    def _events_between(self, event_type: str, start: int, end: int) -> list[Instance]:
        inside = [i for i in self.history.get(event_type, []) if start <= i.start and i.end <= end]
        return sorted(inside, key=lambda instance: (instance.end, instance.start))

    def begin(self, time: int) -> None:
        """Begin an instant, and forget what no window reaches from there."""
        self.before = 0
        self.node.forget(time)
        self.history = {
            event_type: [i for i in events if i.start >= time - self.windows[event_type]]
            for event_type, events in self.history.items()
        }

    def instances(self, matches: Iterable[Match]) -> Iterator[tuple[Instance, Match]]:
        """Make the complex events of matches."""
        for match in matches:
            values = tuple(
                _as_told(attribute, self.conditions.value(value, match.binding))
                for attribute, value in zip(self.rule.head.attributes, self.rule.values, strict=True)
            )
            if None not in values:
                name = self.rule.head.name
                identity = instance_id(name, values, match.start, match.end)
                yield Instance(name, values, match.start, match.end, identity), match


class IntervalReferenceEngine:
    """Runs interval rules by the book; slow and obvious.

    ``limit`` is the number of complex events that one event may make, and of matches that may wait in one rule.
    """

    name: ClassVar[str] = "interval-reference"

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._rules: dict[str, _Deployed] = {}
        self._arguments: dict[str, tuple[str, ...]] = {}
        self._time = MIN_TIME
        self._fed = 0
        self._points: list[int] = []
        self._looked_at: set[str] = set()
        self._reads: Reads = {}
        self._endless: dict[str, int] = {}
        self._known: set[Key] = set()
        self._instant: list[Instance] = []

    @property
    def ties(self) -> TieCounts:
        """Nothing: what simultaneous events decide in interval rules is not counted."""
        return TieCounts.not_counted(self.name)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules; they see the events fed from now on, and the points in time to come."""
        added = interval_rules(rules, self.name)
        for rule in added:
            if rule.name in self._rules:
                message = f"a rule named '{rule.name}' is already deployed"
                raise OptionError.of("deploy", message, hint="withdraw it first")
        self._arguments |= {event_type.name: _names(event_type) for event_type in schema.values()}
        for rule in added:
            self._arguments[rule.head.name] = _names(rule.head)
            deployed = _Deployed(rule, len(self._instant))
            self._rules[str(rule.name)] = deployed
            self._looked_at |= deployed.types | set(deployed.windows) | {rule.head.name}
            for point in sorted(deployed.points):
                if point >= self._time and point not in self._points:
                    insort(self._points, point)
        self._reads = reads_of([deployed.rule for deployed in self._rules.values()], self._arguments)
        self._endless = endless_limits([deployed.rule for deployed in self._rules.values()], self._limit)

    def withdraw(self, name: str) -> None:
        """Remove a rule and all that waits in it."""
        if name not in self._rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        del self._rules[name]
        self._points = [point for point in self._points if any(point in rule.points for rule in self._rules.values())]

    def set_factor(self, rule: str, factor: float) -> None:
        """Set the probability of a rule's complex events from now on."""
        if rule not in self._rules:
            raise OptionError.of("factor", f"no rule named '{rule}' is deployed", hint=did_you_mean(rule, self._rules))
        self._rules[rule].factor = require_factor(factor)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        return EventBatch.from_events(made for event in batch.to_events() for made in self.feed_event(event))

    def feed_event(self, event: Event) -> list[Event]:
        """Process the next event, after what time alone has decided up to it."""
        refuse_uncertain_event(event, self._reads)
        made = self._reach(event.time)
        instance = self._instance(event, self._fed)
        self._fed += 1
        if event.type not in self._looked_at or instance.key in self._known:
            return made
        return made + self._happen(instance)

    def advance(self, time: int) -> EventBatch:
        """Decide what time alone decides: points in time up to ``time``, and what waited for the end of an instant."""
        return EventBatch.from_events(self._reach(time))

    # Time. A point in time is something that happens at that time, before all events of it. An instant is over when
    # time goes on: rules that look at all of an instant are run then.

    def _reach(self, time: int) -> list[Event]:
        made: list[Event] = []
        while self._points and self._points[0] <= time:
            point = self._points.pop(0)
            made += self._begin(point)
            made += self._happen(Instance(POINT, (), point, point))
        return made + self._begin(time)

    def _begin(self, time: int) -> list[Event]:
        if time <= self._time:
            return []
        made = self._end_of_instant()
        self._time = time
        self._known.clear()
        self._instant.clear()
        for deployed in self._rules.values():
            deployed.begin(time)
        return made

    def _end_of_instant(self) -> list[Event]:
        made: list[Event] = []
        for stratum in sorted({d.rule.decided_late for d in self._rules.values()} - {0}):
            late = [deployed for deployed in self._rules.values() if deployed.rule.decided_late == stratum]
            instant = list(self._instant)
            for deployed in late:
                seen = instant[deployed.before :]
                unrestricted = deployed.policy.choice is Choice.UNRESTRICTED
                for portion in [seen] if unrestricted else [[instance] for instance in seen]:
                    for _, event, instance in self._run(deployed, portion):
                        made.append(event)
                        self._spread(instance, late, made)
        return made

    # Hierarchies and recursion. A complex event takes its place right where it is made: it goes to all rules before
    # the event that completed it goes to the next one.

    def _happen(self, instance: Instance) -> list[Event]:
        self._known.add(instance.key)
        made: list[Event] = []
        self._spread(instance, [d for d in self._rules.values() if d.rule.decided_late == 0], made)
        return made

    def _spread(self, instance: Instance, rules: Sequence[_Deployed], made: list[Event]) -> None:
        """Bring an instance to all rules; what it makes in one of them goes everywhere before it goes to the next."""
        work = [self._effects(instance, rules)]
        endless = 0
        while work:
            effect = next(work[-1], None)
            if effect is None:
                work.pop()
                continue
            rule, event, instance = effect
            made.append(event)
            own = self._endless.get(str(rule.name), 0)
            endless += own > 0
            if len(made) > self._limit or 0 < own < endless:
                raise too_many_composites(rule, self._limit, [deployed.rule for deployed in self._rules.values()])
            work.append(self._effects(instance, rules))

    def _effects(self, instance: Instance, rules: Sequence[_Deployed]) -> Iterator[Effect]:
        self._instant.append(instance)
        for deployed in self._rules.values():
            deployed.note(instance)
        for deployed in rules:
            if instance.type in deployed.types or instance.type == POINT:
                yield from self._run(deployed, [instance])

    def _run(self, deployed: _Deployed, instances: Sequence[Instance]) -> Iterator[Effect]:
        """Bring instances to a rule and return what it makes, each instance that is not known yet."""
        matches = deployed.node.arrive(instances)
        most = min(self._limit, _MOST_WAITING)
        if sum(map(len, deployed.node.stores())) > most:
            raise too_much_state(deployed.rule, self._limit, _MOST_WAITING)
        for instance, match in deployed.instances(matches):
            if instance.key not in self._known:
                self._known.add(instance.key)
                yield deployed.rule, _event(deployed, instance, match), instance

    def _instance(self, event: Event, position: int) -> Instance:
        names = self._arguments.get(event.type, tuple(event.attributes))
        values = tuple(event.attributes.get(name) for name in names)
        start = event.time if event.start is None else event.start
        return Instance(event.type, values, start, event.time, position if event.id is None else event.id)

    # Snapshots.

    def snapshot(self) -> bytes:
        """Rules and state as JSON."""
        header: dict[str, Any] = {
            "rules": [node_to_json(deployed.rule) for deployed in self._rules.values()],
            "factors": {name: deployed.factor for name, deployed in self._rules.items()},
            "arguments": self._arguments,
            "time": self._time,
            "fed": self._fed,
            "points": self._points,
            "instant": [_instance_json(instance) for instance in self._instant],
            "before": [deployed.before for deployed in self._rules.values()],
            "history": [
                {name: [_instance_json(i) for i in events] for name, events in deployed.history.items()}
                for deployed in self._rules.values()
            ],
            "stores": [
                [[[m.start, m.end, dict(m.binding), list(m.parts)] for m in store] for store in deployed.node.stores()]
                for deployed in self._rules.values()
            ],
        }
        return pack(_KIND, header)

    def restore(self, data: bytes) -> None:
        """Take over rules and state."""
        with restoring(self):
            header, blobs = unpack(_KIND, data)
            form.only_blobs(blobs, ())
            self._restore(_HEADER(header, "$"))

    def _restore(self, header: dict[str, Any]) -> None:
        arguments = {name: tuple(names) for name, names in header["arguments"].items()}
        known = [EventType(name, tuple(Attribute(each, None) for each in names)) for name, names in arguments.items()]
        check_restored_intervals(header["rules"], known)
        self._rules, self._known, self._instant = {}, set(), []
        self._time, self._points = MIN_TIME, []
        self._looked_at, self._endless, self._arguments = set(), {}, {}
        self.deploy(header["rules"], Schema())
        for name, factor in header["factors"].items():
            self.set_factor(name, factor)
        self._arguments = arguments
        self._reads = reads_of([deployed.rule for deployed in self._rules.values()], self._arguments)
        self._time, self._fed, self._points = header["time"], header["fed"], header["points"]
        form.require(self._points == sorted(set(self._points)), "$.points", "the points in time are not in order")
        self._instant = header["instant"]
        self._known = {instance.key for instance in self._instant}
        for deployed, before, history in zip(self._rules.values(), header["before"], header["history"], strict=True):
            deployed.before, deployed.history = before, history
            form.require(history.keys() <= deployed.windows.keys(), "$.history", "no window looks at such events")
        for deployed, stores in zip(self._rules.values(), header["stores"], strict=True):
            for store, matches in zip(deployed.node.stores(), stores, strict=True):
                store[:] = matches


def _as_told(attribute: Attribute, value: Value | None) -> Value | None:
    """Make an integer a float where others count on floats; what is no number is undefined there."""
    if attribute.type is not ValueType.FLOAT:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _names(event_type: EventType) -> tuple[str, ...]:
    return tuple(attribute.name for attribute in event_type.attributes)


def _event(deployed: _Deployed, instance: Instance, match: Match) -> Event:
    return Event(
        instance.type,
        instance.end,
        dict(zip(_names(deployed.rule.head), instance.values, strict=True)),
        id=instance.id,
        probability=deployed.factor,
        start=instance.start,
        rule=deployed.rule.name,
        made_of=match.parts,
    )


def _instance_json(instance: Instance) -> list[Any]:
    return [instance.type, list(instance.values), instance.start, instance.end, instance.id]


_INSTANCE = form.row(form.text, form.listing(form.maybe(form.value)), form.time, form.time, form.maybe(form.event_id))
_MATCH = form.row(form.time, form.time, form.by_name(form.value), form.listing(form.event_id))


def _instance_of(data: object, path: str) -> Instance:
    event_type, values, start, end, identity = _INSTANCE(data, path)
    form.require(start <= end, path, "an event ends before it starts")
    return Instance(event_type, tuple(values), start, end, identity)


def _match_of(data: object, path: str) -> Match:
    start, end, binding, parts = _MATCH(data, path)
    form.require(start <= end, path, "a match ends before it starts")
    return Match(start, end, binding, tuple(parts))


_HEADER = form.record(
    rules=form.listing(read_interval_rule),
    factors=form.by_name(form.probability),
    arguments=form.by_name(form.distinct(form.listing(form.text))),
    time=form.time,
    fed=form.count,
    points=form.listing(form.time),
    instant=form.listing(_instance_of),
    before=form.listing(form.count),
    history=form.listing(form.by_name(form.listing(_instance_of))),
    stores=form.listing(form.listing(form.listing(_match_of))),
)
