"""A running engine in one process: events in, composite events out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.error_columns import error_sources_to_json
from cepheus.core.errors import CepheusError, OptionError, did_you_mean
from cepheus.core.event import AsEvent, Event
from cepheus.core.options import RunOptions
from cepheus.core.time import TimeCheck
from cepheus.engine.assembly.ending import end_input, has_timers, require_end
from cepheus.engine.assembly.registry import create, goals_of, goes_on_as, take_for_instants, threads_for, weighted
from cepheus.engine.assembly.weighted import WeightedEngine
from cepheus.engine.base.batch_bytes import batch_from_bytes, batch_to_bytes
from cepheus.engine.base.snapshot import pack, restoring
from cepheus.engine.base.ties import TieCounts
from cepheus.formats.rows import NumberedRows
from cepheus.language.python.events import Event as TypedEvent
from cepheus.language.python.handlers import Handler, handler_of, on
from cepheus.language.tesla import parse_event_pattern
from cepheus.plan.split.component import reads
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import RuleSet
from cepheus.rules.resolve import resolve
from cepheus.rules.run_settings import with_provenance, with_ties
from cepheus.runtime.embedded.admission import Admission, ArrowTable, Given
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.counts import Counts
from cepheus.runtime.embedded.event_streams import EventStream
from cepheus.runtime.embedded.order import ReorderBuffer, no_sequence
from cepheus.runtime.embedded.results import Composites
from cepheus.runtime.embedded.rule_sources import RuleSource, read_rules
from cepheus.runtime.embedded.snapshot import KIND, opened, options_of, require_same_ties
from cepheus.runtime.embedded.subscriptions import (
    BatchTap,
    Call,
    Callback,
    GoalCallback,
    ProgressSubscription,
    ProgressWatch,
    Subscription,
    Subscriptions,
    call_all,
    in_order_of_time,
    require_fraction,
)
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.verdict import Observer

if TYPE_CHECKING:
    from cepheus.plan.interval.goal_texts import Goal

E = TypeVar("E", bound=TypedEvent)
Work = TypeVar("Work")
Made = TypeVar("Made")


class Session:
    """Rules at work on a stream of events, in this process; made by ``Program.start``.

    Use it as a context manager: leaving it processes what still waits for stragglers, unless an exception leads
    out. A session belongs to one thread at a time.

    >>> import cepheus
    >>> program = cepheus.compile("define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke")
    >>> with program.start(time_unit="s") as engine:
    ...     _ = engine.feed({"type": "Temp", "time": 10, "value": 50.5})
    ...     fires = engine.feed({"type": "Smoke", "time": 20})
    >>> [(fire.type, fire.made_of) for fire in fires]
    [('Fire', (1, 0))]
    """

    def __init__(
        self,
        catalog: Catalog,
        options: RunOptions | None = None,
        *,
        on_late: Callback | None = None,
        observe: Observer | None = None,
        whole: bool = False,
    ) -> None:
        self._catalog = catalog
        self._options = options = options or RunOptions()
        self._on_late = on_late
        self._check = TimeCheck.of(options.time_unit, strict=options.strict)
        self._admission = Admission(options, self._check, whole=whole)
        require_end(catalog.checked.rules, options.until)
        self._expect(catalog)
        self.buffer = self._new_buffer()
        self._engine = create(options, catalog.rules, catalog.types, beliefs=catalog.beliefs(), observe=observe)
        self._take_for_instants()
        self._subscriptions = Subscriptions()
        self._watch = ProgressWatch()
        self._fed = self._late = 0
        self._composite: Counter[str] = Counter()
        self._earlier_ties = TieCounts.none()
        self._stopped: str | None = None
        self._tap: BatchTap | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._stopped = "the session is closed"

    @property
    def counts(self) -> Counts:
        """How many events were fed and came too late, how many composite events of each type were made, and what was
        counted of simultaneous events. A session that was restored goes on from the counts of the snapshot.
        """
        ties = self._earlier_ties + self._engine.ties
        return Counts(self._fed, self._late, dict(self._composite), ties, self._admission.bad.skipped)

    @property
    def rules(self) -> RuleSet:
        """The deployed rules, each with its name, and the declared types."""
        return self._catalog.checked.rules

    @property
    def engine_name(self) -> str:
        """The name of the engine that runs the rules."""
        return self._engine.name

    @overload
    def feed(self, events: Given) -> list[Event]: ...
    @overload
    def feed(self, events: EventBatch | ArrowTable | NumberedRows | Iterable[Given]) -> Composites: ...

    def feed(
        self, events: Given | EventBatch | ArrowTable | NumberedRows | Iterable[Given]
    ) -> list[Event] | Composites:
        """Take events and give the composite events that can be decided now.

        One event, as an Event, a dict or an instance of a class of events, gives a list; many, as an iterable of those,
        an EventBatch, an Arrow table or a frame, give an EventBatch. Answers do not depend on how calls cut a stream.

        Bad events raise an EventError, and then nothing of the call is taken. Callbacks of subscriptions and for late
        events are called once all events of the call have been processed; what a callback raises comes out of this
        call after all of them were called. The session goes on as if it had not, but the caller does not get the
        composite events of that call.
        """
        if type(events) is dict or isinstance(events, Event | Mapping | AsEvent):  # the first test is the quick one
            return self._feed_one(events)
        self._require_running()
        if isinstance(events, EventBatch | ArrowTable | NumberedRows):
            batch, count = self._admission.table(events, self._fed)
        elif isinstance(events, Iterable) and not isinstance(events, str | bytes):
            batch, count = self._admission.events(events, self._fed)
        else:
            raise OptionError.of("events", "these are no events", hint="feed an event, a dict, a table or a list")
        self._require_sequences(batch)
        self._fed += count
        ordered = self.buffer.push(batch)
        late = batch.take(ordered.late).to_events() if len(ordered.late) else []
        return self._process(ordered.ready, late)

    def advance(self, time: int | datetime) -> Composites:
        """Promise that no event before ``time`` will come: an integer in the session's time unit, or a datetime.

        Gives the composite events of what no longer has to wait, and those that time alone completes. Events before
        that time are late from now on.
        """
        self._require_running()
        moment = self._admission.time(time)
        return self._process(self.buffer.advance(moment), until=moment)

    def flush(self) -> Composites:
        """Process all that waits for stragglers; those that come later are late."""
        self._require_running()
        return self._process(self.buffer.flush())

    def close(self) -> Composites:
        """Process all that waits, let time run out, and end the session; a second call does nothing.

        Timers have come as far as the last event and ``advance`` let them, and go on if ``until`` says so.
        """
        if self._stopped is not None:
            return Composites.around(EventBatch.empty(), self._options.unit)
        try:
            made = self._process(self.buffer.flush(), over=True)
            self._admission.tell()
            return made
        finally:
            self._stopped = "the session is closed"
            self._subscriptions.end()

    def deploy(self, source: RuleSource) -> tuple[str, ...]:
        """Add rules while events flow, and give their names; ``source`` is as in ``cepheus.compile``.

        They are checked together with the rules present, all or none. They see the events that are processed from
        now on, which includes those that wait for stragglers. A network takes the place of the one that its rule has.
        """
        self._require_running()
        rules = with_provenance(
            with_ties(read_rules(source, self._options.unit), self._options.ties), self._options.provenance
        )
        catalog, added = self._catalog.with_rules(rules)
        beliefs = catalog.beliefs(rules.beliefs)
        self._expect(catalog)
        try:
            engine = WeightedEngine.around(self._engine) if beliefs else self._engine
            engine.deploy(added, self._admission.settled_in(catalog.types))
        except CepheusError:
            self._expect(self._catalog)
            raise
        if isinstance(engine, WeightedEngine):
            for belief in beliefs.values():
                engine.set_belief(belief)
        self._catalog, self._engine = catalog, engine
        self._take_for_instants()
        return tuple(str(rule.name) for rule in added)

    def belief(self, rule: str) -> RuleBelief:
        """The Bayesian network of a deployed rule, to look at it or to edit it and put it back."""
        return self._catalog.belief(rule)

    def set_belief(self, belief: RuleBelief) -> float:
        """Replace the network of a deployed rule and evaluate it; returns its probability outside all periods.

        Composite events that the rule makes from now on have it as a factor of their own probability.
        """
        self._require_running()
        catalog = self._catalog.with_belief(belief)
        engine = WeightedEngine.around(self._engine)
        engine.set_belief(belief)
        self._catalog, self._engine = catalog, engine
        return belief.probability()

    def withdraw(self, name: str) -> None:
        """Take a rule away, with all it remembers."""
        self._require_running()
        catalog = self._catalog.without(name)
        self._engine.withdraw(name)
        self._catalog = catalog
        self._expect(catalog)

    def goals(self, rule: str | None = None) -> list[Goal]:
        """What is under way toward complex events of interval rules, of one rule or of all of them.

        Each goal tells what has happened, what is missing, and how far along that is. A rule that is not deployed is an
        OptionError; rules of TESLA have no goals. ``progress`` sorts them by how far along they are.

        >>> import cepheus
        >>> rules = "late(X) <- ordered(X) SEQ paid(X) SEQ shipped(X)."
        >>> with cepheus.compile(rules).start(engine="goals", time_unit="s") as engine:
        ...     _ = engine.feed([{"type": "ordered", "time": 1, "args": [7]}, {"type": "paid", "time": 2, "args": [7]}])
        ...     print(engine.goals()[-1])
        late: ordered(X) SEQ paid(X) with X = 7 waits for shipped(X) (67%)
        """
        self._require_rule(rule)
        return goals_of(self._engine, rule)

    def progress(self, least: float = 0.0, *, rule: str | None = None) -> list[Goal]:
        """The goals of which at least a fraction is there, those that are nearest to completion first.

        A goal tells its rule, the ``fraction`` that is there, what is ``missing`` next, the ``values`` of its
        variables, and since when it waits: its ``end``. Among equals the one that waits longest comes first.
        """
        self._require_rule(rule)
        found = goals_of(self._engine, rule, require_fraction(least))
        return sorted(found, key=lambda goal: (-goal.fraction, goal.end))

    def on_progress(self, least: float, callback: GoalCallback, *, rule: str | None = None) -> ProgressSubscription:
        """Call a function with each goal that begins to wait from now on with at least a fraction of its pattern there.

        Goals are looked at after every event. It is called once for each, when all events of a call have been
        processed, whether or not the goal still waits then. A goal that grows is another goal. While there is such a
        subscription, events are processed one after the other. Like those of ``subscribe``, it is not part of
        snapshots; what waited in a snapshot is not told of again.

        >>> import cepheus
        >>> rules = "late(X) <- ordered(X) SEQ paid(X) SEQ shipped(X)."
        >>> with cepheus.compile(rules).start(engine="goals", time_unit="s") as engine:
        ...     _ = engine.on_progress(0.6, print)
        ...     _ = engine.feed([{"type": "ordered", "time": 1, "args": [7]}, {"type": "paid", "time": 2, "args": [7]}])
        late: ordered(X) SEQ paid(X) with X = 7 waits for shipped(X) (67%)
        """
        self._require_rule(rule)
        return self._watch.add(least, rule, callback, self._engine)

    def _require_rule(self, rule: str | None) -> None:
        """Refuse a rule that is not deployed, and a session that has ended."""
        self._require_running()
        names = [str(each.name) for each in self._catalog.rules]
        if rule is not None and rule not in names:
            raise OptionError.of("goals", f"no rule named '{rule}' is deployed", hint=did_you_mean(rule, names))

    def on(self, kind: type[E], *where: bool) -> Callable[[Callable[[E], object]], Callable[[E], object]]:
        """Call the decorated function with each event of a class that satisfies the conditions, as its instance."""

        def attach(function: Callable[[E], object]) -> Callable[[E], object]:
            self.handle(on(kind, *where)(function))
            return function

        return attach

    def handle(self, handler: Handler[E]) -> Subscription:
        """Call a handler, made by ``cepheus.typed.on``, with each event that it is for."""
        known = handler_of(handler)
        return self.subscribe(known.pattern, known.told)

    def stream(self, kind: type[E], *where: bool) -> EventStream[E]:
        """The events of a class that satisfy the conditions, for ``async for``, until the session is closed."""
        return EventStream.listening(self.subscribe, kind, *where)

    def subscribe(self, pattern: str | EventPattern, callback: Callback) -> Subscription:
        """Call a function with each event of a type and content, primitive or composite, from now on.

        The pattern is written as in a rule and compares the event's own attributes with constants:
        ``Temp(area='A1', value>=12)``. Events are told when they are processed, in the order of time; within one call
        and one time primitive events come before composite ones. A primitive event has the attributes that its
        declaration names or, if its type is not declared, those that rules and subscriptions read.
        """
        parsed = parse_event_pattern(pattern, "<subscription>") if isinstance(pattern, str) else pattern
        self.hear(parsed)
        return self._subscriptions.add(parsed, callback)

    def hear(self, pattern: EventPattern) -> None:
        """Take in events of a type and content also where no rule asks for them."""
        self._require_running()
        catalog = self._catalog.hearing(pattern)
        self._expect(catalog)
        self._catalog = catalog

    def tap(self, tap: BatchTap) -> None:
        """Hand on all events that are processed from now on, in their order, and the composite events of them."""
        self._tap = tap

    def snapshot(self) -> bytes:
        """All that later answers depend on, but for subscriptions: rules, engine, waiting events, counts, options."""
        return self.snapshot_later()()

    def snapshot_later(self) -> Callable[[], bytes]:
        """Take a snapshot now, to be made into bytes later, in any thread: meanwhile the session may go on."""
        self._require_running()
        waiting, blob = batch_to_bytes(self.buffer.waiting())
        header = {
            "engine": self._engine.name,
            "catalog": self._catalog.to_json(),
            "settled": [[*key, kind.value] for key, kind in self._admission.settled.items()],
            "unit": self._options.unit.value,
            "columns": asdict(self._options.columns),
            "lateness": self.buffer.lateness,
            "floor": self.buffer.floor,
            "waiting": waiting,
            "fed": self._fed,
            "late": self._late,
            "skipped": self._admission.bad.skipped,
            "unseen": self._admission.unseen.keys,
            "composite": dict(self._composite),
            "ties": self.counts.ties.to_dict(),
            "uncertain": error_sources_to_json(self._options.uncertain),
            "calculus": asdict(self._options.calculus),
        }
        blobs = {"engine": self._engine.snapshot(), "waiting": blob}
        return lambda: pack(KIND, header, blobs)

    def restore(self, data: bytes) -> None:
        """Go on where a snapshot was taken, with its rules and options, but with the subscriptions of this session."""
        with restoring(self):
            self._restore(*opened(data))

    def _restore(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        catalog = self._catalog.restored(header["catalog"])
        require_same_ties(self.rules, catalog.checked.rules)
        options = options_of(header | {"engine": goes_on_as(header["engine"], self._options.engine)}, self._options)
        threads = 1 if has_timers(catalog.checked.rules) else threads_for(options.engine, options.threads)
        engine = create(replace(options, threads=threads))
        engine.restore(blobs["engine"])
        self._catalog, self._engine = catalog, weighted(engine, catalog.beliefs())
        self._options = options
        self._take_for_instants()
        if self._watch:
            self._watch.begin(self._engine)
        check = self._check if self._check.unit is options.unit else None
        self._admission = Admission(options, check, self._admission.bad)
        self._expect(catalog)
        self._admission.restore(header["settled"], header.get("unseen", ()))
        self.buffer = self._new_buffer()
        waiting = batch_from_bytes(header["waiting"], blobs["waiting"])
        self._require_sequences(waiting)
        self.buffer.restore(waiting, header["floor"])
        self._fed, self._late = header["fed"], header["late"]
        self._admission.bad.skipped = header["skipped"]
        self._composite = Counter(header["composite"])
        self._earlier_ties = TieCounts.from_dict(header["ties"])
        self._stopped = None

    def _feed_one(self, given: Given) -> list[Event]:
        if self._stopped is not None:
            self._require_running()
        event = self._admission.event(given, self._fed)
        if event is None:
            self._fed += 1
            return []
        ready = self.buffer.push_event(event)
        self._fed += 1
        if ready is None:
            self._late += 1
            if self._on_late is not None:
                self._on_late(event)
            return []
        told: list[Event] = []
        goals: list[tuple[GoalCallback, Goal]] = []
        composites: list[Event] = []
        for current in ready:
            made = self._guarded(self._engine.feed_event, current)
            composites += made
            if self._tap is not None:
                self._tap(self._admission.batch_of([current]), EventBatch.from_events(made), None)
            for composite in made:
                self._composite[composite.type] += 1
            if self._subscriptions:
                told += (current, *made)
            if self._watch:
                goals += self._watch.told(self._engine)
        if told or goals:
            call_all(chain(self._subscriptions.calls(told), goals))
        return composites

    def _process(
        self, ready: EventBatch, late: list[Event] | None = None, *, until: int | None = None, over: bool = False
    ) -> Composites:
        """Run the engine on events in total order, let time go on to ``until``, or as far as it may, then call back."""
        goals: list[tuple[GoalCallback, Goal]] = []
        if self._watch:
            composites = self._watch.watched(self._engine, ready, self._guarded, goals)
        else:
            composites = self._guarded(self._engine.feed, ready) if len(ready) else EventBatch.empty()
        if until is not None or over:
            ended = self._guarded(self._engine.advance, until) if until is not None else EventBatch.empty()
            ended = self._guarded(partial(end_input, self._engine, self.rules), self._options.until) if over else ended
            composites = EventBatch.concat([composites, ended])
            goals += self._watch.told(self._engine) if self._watch else ()
        for part in composites.parts:
            for name, count in zip(part.types, np.bincount(part.codes, minlength=0).tolist(), strict=False):
                if count:
                    self._composite[name] += count
        if self._tap is not None:
            self._tap(ready, composites, until)
        self._late += len(late or ())
        calls: Iterable[Call] = goals
        if self._on_late is not None:
            calls = chain(((self._on_late, event) for event in late or ()), goals)
        if self._subscriptions:
            wanted = self._subscriptions.wanted
            calls = chain(calls, self._subscriptions.calls(in_order_of_time(wanted(ready), wanted(composites))))
        call_all(calls)
        return Composites.around(composites, self._options.unit)

    def _guarded(self, feed: Callable[[Work], Made], given: Work) -> Made:
        """Let the engine work; if it fails half-way through, nothing that it would say later can be trusted."""
        try:
            return feed(given)
        except Exception:
            self._stopped = "the session stopped when its engine failed"
            raise

    def _expect(self, catalog: Catalog) -> None:
        intervals = bool(catalog.checked.rules.interval_rules)
        self._admission.expect(
            catalog.expected,
            catalog.checked.equal_types,
            intervals=intervals,
            plain=lambda: reads(resolve(rule) for rule in catalog.checked.rules.rules),
        )

    def _take_for_instants(self) -> None:
        """Let events that have not lasted so far count as instants, unless the user has named where starts are."""
        if self._options.columns.start is None:
            made = {rule.composite.name for rule in self._catalog.checked.rules.rules}
            take_for_instants(self._engine, made)

    def _new_buffer(self) -> ReorderBuffer:
        sequenced = self._options.columns.sequence is not None
        return ReorderBuffer(self._options.waits, sequenced=sequenced, to_batch=self._admission.batch_of)

    def _require_running(self) -> None:
        if self._stopped is not None:
            raise OptionError.of("session", self._stopped, hint="start a new one, or restore a snapshot")

    def _require_sequences(self, batch: EventBatch) -> None:
        if self._options.columns.sequence is not None and len(batch) and batch.sequences is None:
            raise no_sequence()
