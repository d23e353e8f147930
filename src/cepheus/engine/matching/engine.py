"""The matching engine: it takes events in any order of arrival and evaluates them in total order, as far as it is safe.

Processors of a network evaluate rules and partial rules with the same matchers, stores and queues. As an engine it runs
on one machine whatever one processor runs, so that every test of engines is a test of what processors do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import Event
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.time import MIN_TIME, format_time
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.capabilities import MATCHING
from cepheus.engine.base.declared_types import batch_of_made
from cepheus.engine.base.refusals import no_such_rule, require_factor, tesla_rules
from cepheus.engine.base.restored_rules import check_restored, require_values
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.matching.at_work import RuleAtWork, RulesAtWork
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Record, Store, Waiting
from cepheus.plan.partial import input_types
from cepheus.plan.pattern.constructs import Construct, require_rules
from cepheus.rules.json_form import to_json
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.rules.resolved import reach

_HINT = MATCHING.elsewhere


class MatchingEngine:
    """Runs rules of TESLA over certain events; ``limit`` is the number of composite events that one event may make.

    ``feed`` takes events in total order, as every engine does. ``insert`` takes them in any order, and ``advance`` then
    evaluates those that nothing can precede any more.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> checked = check(parse("define Fire() from Smoke() and last Heat() within 5 s from Smoke"))
    >>> engine = MatchingEngine()
    >>> engine.deploy(checked.rules.rules, checked.inputs)
    >>> engine.insert([Event("Smoke", 4_000_000, id="s")])
    >>> engine.insert([Event("Heat", 3_000_000, id="h")])
    >>> [(fire.type, fire.made_of) for fire in engine.advance(5_000_000).to_events()]
    [('Fire', ('s', 'h'))]
    """

    name: ClassVar[str] = "matching"

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._begin()

    def _begin(self) -> None:
        self._rules: dict[str, RuleAtWork] = {}
        self._deployed: dict[str, SavedRule] = {}
        self._store = Store()
        self._at_work = RulesAtWork(self._store, self._limit)
        self._waiting = Waiting()
        self._fed = 0
        self._deployments = 0
        self._time = self._forgotten = MIN_TIME
        self._reach = 0

    @property
    def ties(self) -> TieCounts:
        """Nothing: a choice ends at the event that it takes, and does not look at its rivals."""
        return TieCounts.not_counted(self.name)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules; they see the events fed from now on, and those inserted that have not been evaluated."""
        fresh = tesla_rules(rules, self.name)
        require_rules(MATCHING, RuleSet.of(fresh))
        for rule in fresh:
            if str(rule.name) in self._rules:
                raise OptionError.of(
                    "deploy", f"a rule named '{rule.name}' is already deployed", hint="withdraw it first"
                )
            _refuse_declared_errors(rule, schema)
        for rule in fresh:
            all_seen = not self._hide_present(str(rule.name))
            self._add(SavedRule(rule, self._time, self._deployments), all_seen=all_seen)
            self._deployments += 1
        self._use_rules()

    def _hide_present(self, name: str) -> bool:
        """Hide the events of this very time from a new rule, which sees later ones only; whether there are any."""
        found = False
        for column in self._store.columns.values():
            for record in column.records[bisect_left(column.times, self._time) :]:
                record.consumed = {name} if record.consumed is None else record.consumed | {name}
                found = True
        return found

    def _add(self, deployed: SavedRule, *, all_seen: bool) -> None:
        name = str(deployed.rule.name)
        matcher = Matcher(deployed.rule, deployed.since, all_seen=all_seen, limit=self._limit)
        self._deployed[name] = deployed
        self._rules[name] = RuleAtWork(matcher, (deployed.place,))

    def _use_rules(self) -> None:
        self._at_work.use(self._rules.values())
        self._reach = max((reach(rule.matcher.resolved) for rule in self._rules.values()), default=0)

    def withdraw(self, name: str) -> None:
        """Remove a rule and what it consumed."""
        if name not in self._rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        del self._rules[name], self._deployed[name]
        for record in self._store:
            if record.consumed is not None:
                record.consumed.discard(name)
        self._use_rules()

    def set_factor(self, rule: str, factor: float) -> None:
        """Refuse to trust a rule less than fully: this engine does not weigh what it makes."""
        at_work = self._rules.get(rule)
        if at_work is None:
            raise no_such_rule(rule, self._rules)
        if require_factor(factor) != 1.0:
            raise MATCHING.refusal(Construct.BELIEFS, at_work.matcher.rule.span)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        return self._batch([made for event in batch.to_events() for made in self.feed_event(event)])

    def feed_event(self, event: Event) -> list[Event]:
        """Process the next event; what was inserted before its time comes first."""
        made = list(self._evaluated(event.time - 1)) if self._waiting else []
        made += self._evaluate(self._record(event, self._fed))
        self._move_on(event.time)
        return made

    def insert(self, events: Sequence[Event]) -> None:
        """Take events in any order, none before the time last promised; ``advance`` and ``feed`` evaluate them.

        Simultaneous events are ordered by their sequence, and without one by the order of arrival.
        """
        for event in events:
            if event.time < self._time:
                raise EventError.of(
                    "late",
                    f"{event.type} at {format_time(event.time)} comes after {format_time(self._time)} was promised",
                    hint="insert an event before advance promises that none of its time will come",
                )
            path = () if event.sequence is None else (self._fed,)
            place = self._fed if event.sequence is None else event.sequence
            self._waiting.add(event.time, [self._record(event, place, path)])

    def advance(self, time: int) -> EventBatch:
        """Evaluate what was inserted before a time, and forget what no window can reach any more."""
        made = list(self._evaluated(time - 1))
        self._move_on(time)
        return self._batch(made)

    def _record(self, event: Event, place: int, path: tuple[int, ...] = ()) -> Record:
        if event.errors or event.probability != 1.0:
            self._refuse_uncertain(event)
        record = Record(event if event.id is not None else replace(event, id=self._fed), "", place, path=path)
        self._fed += 1
        return record

    def _refuse_uncertain(self, event: Event) -> None:
        """Refuse an uncertain event that rules read; a composite event counts as certain, but for its errors."""
        made = event.rule is not None or event.made_of
        if event.type in self._at_work.reads and (event.errors or not made):
            message = f"the engine {self.name} takes events as certain, but an event {event.type} is not"
            raise EventError.of("uncertain-event", message, hint=_HINT)

    def _evaluated(self, through: int) -> Iterator[Event]:
        """Evaluate what waits, up to a time, in total order."""
        for at, records in self._waiting.take(through):
            for record in sorted(records, key=lambda record: record.key):
                yield from self._evaluate(record)
            self._move_on(at)

    def _evaluate(self, record: Record) -> list[Event]:
        if record.type not in self._at_work.reads:
            return []
        self._store.insert(record)
        return self._at_work.fire(record)

    def _move_on(self, time: int) -> None:
        """Note how far the stream has come, and forget, now and then, what lies too far back."""
        if time > self._time:
            self._time = time
            horizon = time - self._reach
            if horizon - self._forgotten > self._reach // 4:
                self._forgotten = horizon
                self._store.forget(horizon)

    def _batch(self, made: list[Event]) -> EventBatch:
        return batch_of_made(made, [rule.matcher.rule.composite for rule in self._rules.values()])

    def snapshot(self) -> bytes:
        """The rules, what they may still look at, and what waits."""
        horizon = self._time - self._reach
        return write(
            self.name,
            Saved(
                list(self._deployed.values()),
                [record for record in self._store if record.time >= horizon],
                [record for _, _, records in self._waiting.in_order() for record in records],
                self._fed,
                self._deployments,
                self._time,
            ),
        )

    def restore(self, data: bytes) -> None:
        """Take over a snapshot."""
        with restoring(self):
            saved = read(self.name, data)
            self._begin()
            for record in saved.remembered:
                self._store.insert(record)
            for record in saved.waiting:
                self._waiting.add(record.time, [record])
            gone = {name for record in saved.remembered for name in record.consumed or ()}
            for each in saved.rules:
                self._add(each, all_seen=str(each.rule.name) not in gone)
            self._fed, self._deployments, self._time = saved.fed, saved.deployments, saved.time
            self._use_rules()


def _refuse_declared_errors(rule: Rule, schema: Schema) -> None:
    """Refuse a rule that reads attributes with a declared error."""
    for kind in input_types(rule):
        declared = schema.get(kind)
        for attribute in () if declared is None else declared.attributes:
            if attribute.error is not None:
                raise MATCHING.refusal(Construct.ERRORS, rule.span)


@dataclass(frozen=True, slots=True)
class SavedRule:
    """A rule, the time from which it sees events, and its place among the others."""

    rule: Rule
    since: int
    place: int


@dataclass(frozen=True, slots=True)
class Saved:
    """All that later answers depend on; ``fed`` and ``deployments`` are how many events and rules there have been."""

    rules: list[SavedRule]
    remembered: list[Record]
    waiting: list[Record]
    fed: int
    deployments: int
    time: int


_RECORDS = form.listing(
    form.record(
        event=form.event,
        counter=form.integer,
        depth=form.count,
        path=form.listing(form.count),
        consumed_by=form.listing(form.text),
    )
)
_HEADER = form.record(
    rules=form.rules,
    since=form.listing(form.time),
    places=form.distinct(form.listing(form.count)),
    remembered=_RECORDS,
    waiting=_RECORDS,
    fed=form.count,
    deployments=form.count,
    time=form.horizon,
)


def write(kind: str, saved: Saved) -> bytes:
    """Put what is saved into an envelope."""
    header = {
        "rules": to_json(RuleSet((), tuple(each.rule for each in saved.rules))),
        "since": [each.since for each in saved.rules],
        "places": [each.place for each in saved.rules],
        "remembered": _to_json(saved.remembered),
        "waiting": _to_json(saved.waiting),
        "fed": saved.fed,
        "deployments": saved.deployments,
        "time": saved.time,
    }
    return pack(kind, header)


def _to_json(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [
        {
            "event": form.event_to_json(record.event),
            "counter": record.counter,
            "depth": record.key[3],
            "path": list(record.key[4]),
            "consumed_by": sorted(record.consumed or ()),
        }
        for record in records
    ]


def read(kind: str, data: bytes) -> Saved:
    """Open an envelope; an error if what is in it does not hold together."""
    header, blobs = unpack(kind, data)
    form.only_blobs(blobs, ())
    found = _HEADER(header, "$")
    saved = Saved(
        [SavedRule(*each) for each in zip(found["rules"], found["since"], found["places"], strict=True)],
        _records(found["remembered"]),
        _records(found["waiting"]),
        found["fed"],
        found["deployments"],
        found["time"],
    )
    both = (*saved.remembered, *saved.waiting)
    require_values((record.event for record in both), check_restored(found["rules"]))
    form.require(not any(each.event.errors for each in both), "$", "an event has an error of measurement")
    form.require(all(each.place < saved.deployments for each in saved.rules), "$.places", "a rule has not come yet")
    form.require(all(each.time <= saved.time for each in saved.remembered), "$", "an event has not come yet")
    form.require(all(each.time >= saved.time for each in saved.waiting), "$", "an event waits in the past")
    distinct = all(len({each.key for each in group}) == len(group) for group in (saved.remembered, saved.waiting))
    form.require(distinct, "$", "an event is there twice")
    return saved


def _records(found: list[dict[str, Any]]) -> list[Record]:
    records = []
    for each in found:
        record = Record(each["event"], "", each["counter"], each["depth"], tuple(each["path"]))
        record.consumed = set(each["consumed_by"]) or None
        records.append(record)
    return records
