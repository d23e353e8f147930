"""The Python API: compile rules, then run them over finite input or a stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, Unpack, cast

from cepheus.core.batch import EventBatch
from cepheus.core.errors import Diagnostic, OptionError, did_you_mean
from cepheus.core.event import AsEvent, Event, EventId
from cepheus.core.options import (
    AUTO,
    ColumnNames,
    Duration,
    OnBadEvent,
    ProvenanceDepth,
    RunKeywords,
    RunOptions,
    TimeUnitName,
    chosen,
    microseconds_of,
    moment_of,
)
from cepheus.core.progress import shown
from cepheus.core.schema import ID_FIELD, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.ties import TieCounts
from cepheus.formats.named_columns import require_named
from cepheus.formats.problems import BadEvents
from cepheus.language.python.handlers import Handler, handlers_of
from cepheus.notebook.found import Found
from cepheus.rules.check import Checked, check
from cepheus.rules.model import RuleSet
from cepheus.rules.run_settings import with_provenance, with_ties
from cepheus.runtime.embedded.admission import ArrowTable, Given
from cepheus.runtime.embedded.background import Rows, read_knowledge
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.detect import (
    Detected,
    EventPath,
    FedEngine,
    FileDetection,
    Files,
    FilesByType,
    late_event,
    merge,
    place_of_late,
)
from cepheus.runtime.embedded.frames import FramesByType, is_frames_by_type, read_frames
from cepheus.runtime.embedded.rule_sources import RuleSource, read_rules
from cepheus.runtime.embedded.session import Session
from cepheus.runtime.embedded.subscriptions import Callback
from cepheus.uncertainty.belief.belief import RuleBelief, beliefs_of
from cepheus.uncertainty.verdict import Estimate, Factor, Observer, Reason, Verdict

if TYPE_CHECKING:
    from cepheus.explain.what_if import Knob, Sweep
    from cepheus.explain.why_not import WhyNot
    from cepheus.notebook.explanation import Explanation
    from cepheus.notebook.timeline import Timeline

Undeclared = Literal["auto", "refuse", "allow"]
"""What to do with event types that nobody declares: refuse them if any type is declared, always, or never."""

Input = EventBatch | ArrowTable | Files | FilesByType | FramesByType | Iterable[Given]
"""A finite input: events, dicts, instances of classes of events, a table, a frame, a file or several,
or files or frames by the type of their events."""


class _Undeclared(Enum):
    AUTO = "auto"
    REFUSE = "refuse"
    ALLOW = "allow"

    @property
    def closed(self) -> bool | None:
        """Whether an event type that nobody declares is a mistake; None if the rules decide."""
        return {_Undeclared.AUTO: None, _Undeclared.REFUSE: True, _Undeclared.ALLOW: False}[self]


@dataclass(frozen=True, slots=True)
class Program:
    """Rules that have been checked and can be run; made by ``compile``.

    >>> program = compile("define Fire(area: string) from Smoke() where area = Smoke.area")
    >>> program.composites["Fire"].attributes[0].name
    'area'
    """

    checked: Checked
    schema: Schema | None = None

    @property
    def rules(self) -> RuleSet:
        """The rules, each with its name, and the declared types."""
        return self.checked.rules

    @property
    def inputs(self) -> Schema:
        """The types of events that the rules read from outside, with the attributes they read."""
        return self.checked.inputs

    @property
    def composites(self) -> Schema:
        """The types of composite events that the rules define."""
        return self.checked.composites

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the checks found strange but not wrong."""
        return self.checked.warnings

    def belief(self, rule: str) -> RuleBelief:
        """The Bayesian network of a rule: what the rule itself says and what the rule text adds.

        >>> program = compile("define Fire() from Smoke()")
        >>> jam = program.belief("Fire").set("Smoke", {"*": {"YES": 0.5, "NO": 0.5}}, given=["Fire"])
        >>> jam.probability(), program.with_belief(jam).belief("Fire").probability()
        (0.5, 0.5)
        """
        return self._catalog.belief(rule)

    def with_belief(self, belief: RuleBelief) -> Program:
        """Return the same program with another network of a rule."""
        return replace(self, checked=self._catalog.with_belief(belief).checked)

    def detect(self, events: Input, **options: Unpack[RunKeywords]) -> Found:
        """Find the composite events in a finite input: an EventBatch of them, with what was counted on the way.

        ``why`` of what it gives tells the reasons of a composite event, ``timeline`` draws; events that were given in
        memory are kept for that as long as the result is.

        ``events`` are Events, dicts, instances of classes of events, an EventBatch, an Arrow table, a pandas or Polars
        frame, a file, a list of files, or a dict of files or of frames by the type of their events. The keywords are
        those of ``cepheus.RunKeywords``: ``engine``, ``limit``, ``threads``, ``calculus``, ``lateness``, ``sort``,
        ``time_unit``, ``time_format``, the names of columns (``time``, ``type``, ``id``, ``sequence``, ``start``,
        ``probability``), ``uncertain``, ``on_bad_event``, ``strict`` and ``ties``. An Event or EventBatch has its times
        in microseconds whatever the unit, and fields of its own for what other events have in columns. An event that
        lags behind the latest by more than the lateness is a bad event.

        >>> rule = "define Fire(temp: double) from Smoke() and last Temp(value > 45) within 5 min from Smoke"
        >>> program = compile(rule + " where temp = Temp.value")
        >>> events = [{"type": "Temp", "time": 10, "value": 51.5}, {"type": "Smoke", "time": 60}]
        >>> program.detect(events, time_unit="s").to_dicts()
        [{'type': 'Fire', 'time': 60, 'temp': 51.5, 'start': 10, 'id': 'Fire:...', 'from': [1, 0]}]
        """
        return self._detect(events, _options(**options))

    def detect_files(
        self, files: Files = (), of_type: FilesByType | None = None, **options: Unpack[RunKeywords]
    ) -> FileDetection:
        """Find the composite events in files, one batch after the other, in bounded memory: iterate over the result.

        ``of_type`` has files without types of their own, by the type of their events. The keywords are those of
        ``detect``.
        """
        given = _options(**options)
        return self._detect_files(files, of_type or {}, given)

    def why(self, events: Input, composite: EventId, **options: Unpack[RunKeywords]) -> Verdict:
        """Say why a composite event, given by its id, has its probability: every constraint, negation and so on.

        A rule of ETALIS takes events as certain: what it makes has the probability of the rule itself. The same is told
        of what a rule of TESLA makes where nothing is uncertain.

        The events and options are those of ``detect``, which is run again, with the reference engine. OptionError if
        there is no such event.

        >>> rule = "define Hot() from Temp(value > 30)"
        >>> events = [{"type": "Temp", "time": 1, "value": {"value": 31.8, "error": "N(0, 1)"}}]
        >>> program = compile(rule)
        >>> (hot,) = program.detect(events, time_unit="s").to_events()
        >>> print(program.why(events, hot.id, time_unit="s"))
        0.964070  constraint: value > 30
        """
        told: dict[EventId, Verdict] = {}

        def observe(event: Event, verdict: Verdict) -> None:
            if event.id is not None:
                told[event.id] = verdict

        given = replace(RunOptions.of(**options), engine="reference", threads=1)
        found = self._detect(events, given, observe)
        if told.get(composite, _NOTHING_UNCERTAIN) == _NOTHING_UNCERTAIN:
            told |= _as_certain(found)
        if composite not in told:
            hint = did_you_mean(str(composite), map(str, told)) or "its id is in the field id of what detect gives"
            raise OptionError.of("why", f"there is no composite event '{composite}' in these events", hint=hint)
        return told[composite]

    def why_not(
        self,
        events: Input,
        rule: str,
        at: int | str | datetime | None = None,
        *,
        event: EventId | None = None,
        **options: Unpack[RunKeywords],
    ) -> WhyNot:
        """Say why a rule did not fire: for each of its parts what was there and what failed, and the nearest misses.

        ``at`` is a moment: a datetime, a text such as ``2026-01-31T12:03:00Z``, or an integer in the time unit; where
        nothing evaluates the rule then, the nearest moment is looked at. ``event`` is instead the id of the event that
        should have completed the rule. The other keywords are those of ``detect``. Rules in TESLA alone.

        >>> rule = "define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke"
        >>> events = [{"type": "Temp", "time": 10, "value": 44.8}, {"type": "Smoke", "time": 60}]
        >>> told = compile(rule).why_not(events, "Fire", at=60, time_unit="s")
        >>> print(told.nearest)
        Temp(value=44.8) at 1970-01-01T00:00:10Z: value 44.8 is below 45
        """
        from cepheus.explain.why_not import why_not

        given = _options(**options)
        moment = None if at is None else moment_of(at, given.unit)
        catalog = self._catalog_for(given)
        batch = self.read(events, **options)
        return why_not(catalog.checked.rules, catalog.types, batch, rule, given, at=moment, terminator=event)

    def read(self, events: Input, **options: Unpack[RunKeywords]) -> EventBatch:
        """The events that the rules read, put into the order of the stream, each with its id; nothing is run.

        The events and options are those of ``detect``.

        >>> program = compile("define Fire() from Smoke()")
        >>> program.read([{"type": "Smoke", "time": 5}, {"type": "Other", "time": 7}], time_unit="s").types
        ('Smoke',)
        """
        given = replace(_options(**options), provenance=ProvenanceDepth.PARTS)
        collected = _Collector()
        if _is_paths(events) or _is_by_type(events, given.columns):
            files, of_type = (events, {}) if _is_paths(events) else ((), cast("FilesByType", events))
            list(FileDetection(files, of_type, self._catalog_for(given).checked, given, lambda _: collected))
            return EventBatch.in_chunks(collected.batches)
        rules = replace(self.rules, rules=(), interval_rules=(), row_rules=(), beliefs=())
        admitting = replace(self, checked=replace(self.checked, rules=rules))
        return EventBatch.in_chunks(admitting._detect(events, replace(given, engine="reference", threads=1)).sources)

    def knobs(self) -> list[Knob]:
        """The numbers of the rules in TESLA that can be turned: constants, windows, timers, least probabilities.

        >>> [knob.name for knob in compile("define Hot() from Temp(value > 45)").knobs()]
        ['Hot: value > 45']
        """
        from cepheus.explain.what_if import knobs

        return knobs(self.rules)

    def with_knob(self, knob: str | Knob, value: float) -> Program:
        """The same program with another number in one place; windows and timers are in microseconds.

        >>> program = compile("define Hot() from Temp(value > 45)").with_knob("Hot: value > 45", 50)
        >>> program.knobs()[0].value
        50
        """
        from cepheus.explain.what_if import knob_named, turned

        chosen_knob = knob_named(self.rules, knob) if isinstance(knob, str) else knob
        changed = turned(self.rules, chosen_knob, value)
        return replace(self, checked=check(changed, schema=self.schema, closed=self.checked.inputs.closed))

    def sweep(
        self,
        events: Input,
        knob: str | Knob,
        values: Iterable[float],
        *,
        labels: Sequence[int] | None = None,
        tolerance: Duration = 0,
        **options: Unpack[RunKeywords],
    ) -> Sweep:
        """What the rules find in the same events with one value of a knob after the other.

        ``labels`` are the times, in microseconds, at which the knob's rule should have fired: precision and recall are
        told then, a composite event at most ``tolerance`` from a label being right. The events and options are those
        of ``detect``.

        >>> program = compile("define Hot() from Temp(value > 45)")
        >>> events = [{"type": "Temp", "time": t, "value": 40.0 + t} for t in range(10)]
        >>> [point.counts for point in program.sweep(events, "Hot: value > 45", [42, 45, 60], time_unit="s").points]
        [{'Hot': 7}, {'Hot': 4}, {}]
        """
        from cepheus.explain.what_if import knob_named, sweep

        chosen_knob = knob_named(self.rules, knob) if isinstance(knob, str) else knob
        batch = self.read(events, **options)
        fed: dict[str, Any] = {**options, "time_unit": None, "time_format": None, "sort": None, "lateness": None}
        closed = self.checked.inputs.closed

        def run(rules: RuleSet) -> EventBatch:
            changed = replace(self, checked=check(rules, schema=self.schema, closed=closed))
            return changed._detect(batch, _options(**fed))

        allowed = microseconds_of(tolerance)
        tried = list(values)
        with shown(f"trying values of {chosen_knob.name}") as tell:

            def done(count: int) -> None:
                tell(count / len(tried), "")

            return sweep(self.rules, chosen_knob, tried, run, labels=labels, tolerance=allowed, progress=done)

    def explain(self) -> Explanation:
        """What the rules do, in words and drawings: print it, or let a notebook show it.

        >>> print(compile("define Fire() from Smoke()").explain())
        rule Fire makes Fire()
        ├── when Smoke arrives   the terminator: it decides the rule, at its time
        ...
        """
        from cepheus.notebook.explanation import Explanation  # drawings need compilers, which take a while to import

        return Explanation(self.rules)

    def plot(self, events: Input, title: str = "", **options: Unpack[RunKeywords]) -> Timeline:
        """A picture of events over time and, above them, of what the rules find in them.

        The events and options are those of ``detect``.
        """
        return self.detect(events, **options).timeline(title)

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def _detect(self, events: Input, options: RunOptions, observe: Observer | None = None) -> Found:
        if _is_paths(events):
            return self._found(self._detect_files(events, {}, options, observe).all(), [])
        if _is_by_type(events, options.columns):
            return self._found(self._detect_files((), events, options, observe).all(), [])
        late: list[Event] = []
        catalog = self._catalog_for(options)
        session = Session(catalog, options, on_late=late.append, observe=observe, whole=True)
        sources: list[EventBatch] = []
        session.tap(lambda fed, _made, _until: sources.append(fed))
        if is_frames_by_type(events, options.columns):
            return self._found(_detect_frames(session, catalog, events, options), sources)
        if isinstance(events, Event | Mapping | AsEvent):
            events = [cast("Given", events)]
        require_named(events, options.columns)
        composites: EventBatch = session.feed(cast("EventBatch | ArrowTable | Iterable[Given]", events))
        if late and options.on_bad_event is OnBadEvent.STOP:
            place = place_of_late(late[0], events, options.columns.id or ID_FIELD)
            raise late_event(late[0].type, late[0].time, options.lateness or 0, place)
        composites = EventBatch.concat([composites, session.close()])
        counts = session.counts
        found = Detected.around(composites, options.unit, ties=counts.ties, skipped=counts.skipped, late=len(late))
        return self._found(found, sources)

    def _found(self, found: Detected, sources: list[EventBatch]) -> Found:
        return Found.among(found, sources, self.rules.all_rules)

    def _detect_files(
        self, files: Files, of_type: FilesByType, options: RunOptions, observe: Observer | None = None
    ) -> FileDetection:
        catalog = self._catalog_for(options)
        engine = create(options, catalog.rules, catalog.types, beliefs=catalog.beliefs(), observe=observe)
        fed = FedEngine(engine, catalog.checked.rules, options.until)
        return FileDetection(files, of_type, catalog.checked, options, lambda _: fed)

    @property
    def _catalog(self) -> Catalog:
        return Catalog.of(self.checked, self.schema)

    def _catalog_for(self, options: RunOptions) -> Catalog:
        checked = replace(
            self.checked, rules=with_provenance(with_ties(self.checked.rules, options.ties), options.provenance)
        )
        return Catalog.of(checked, self.schema)

    def start(
        self,
        *,
        on_late: Callback | None = None,
        snapshot: bytes | None = None,
        handlers: Iterable[Handler[Any]] = (),
        **options: Unpack[RunKeywords],
    ) -> Session:
        """Start the rules on a stream.

        The keywords are those of ``detect``. ``lateness`` is how long to wait for stragglers; each event that comes
        later still is counted and given to ``on_late``. With a ``snapshot`` the session goes on where that was taken,
        with the rules, engine, columns and calculus of then; what is done with bad events, and the limit, are as given
        here. Each of the ``handlers``, made by ``cepheus.typed.on``, is called with the events it is for. The first
        times tell whether they make sense in their unit.

        >>> with compile("define Alarm() from Smoke()").start(time_unit="s") as engine:
        ...     alarms = engine.feed({"type": "Smoke", "time": 5})
        >>> alarms[0].type, engine.counts.composite
        ('Alarm', {'Alarm': 1})
        """
        given = _options(**options)
        session = Session(self._catalog_for(given), given, on_late=on_late)
        if snapshot is not None:
            session.restore(snapshot)
        for handler in handlers_of(handlers):
            session.handle(handler)
        return session


class _Collector:
    """In place of an engine: keeps the events and makes nothing of them."""

    def __init__(self) -> None:
        self.batches: list[EventBatch] = []

    def feed(self, batch: EventBatch) -> EventBatch:
        """Keep some events."""
        self.batches.append(batch)
        return EventBatch.empty()

    def finish(self, last: int | None) -> EventBatch:  # noqa: ARG002  # there is nothing to complete
        """Nothing is completed."""
        return EventBatch.empty()

    @property
    def ties(self) -> TieCounts:
        """Nothing was counted."""
        return TieCounts.none()


def compile(
    source: RuleSource,
    *,
    schema: Schema | Iterable[EventType] | None = None,
    undeclared: Undeclared = "auto",
    knowledge: Mapping[str, Rows] | None = None,
    time_unit: TimeUnitName = "us",
) -> Program:
    """Read and check rules; a RuleError tells all that is wrong with them.

    ``source`` is rule text, a Path, a list of files, rules already read, or rules written in Python. A str is the name
    of a file if it is a single line and either ends in ``.tesla``, ``.etalis`` or ``.sql`` or names a file that exists;
    any other str is rule text, of any of the languages: TESLA, ETALIS, or SQL with MATCH_RECOGNIZE.

    ``schema`` describes event types that the data has and the rules do not declare. An event type that is neither
    declared nor described nor defined by a rule comes from the data (``undeclared="allow"``) or is a mistake
    (``"refuse"``); ``"auto"`` refuses it if the rules declare any type at all.

    ``knowledge`` is background knowledge for rules of the ETALIS language, by the name of the relation: a CSV file, a
    table, a frame or rows. ``time_unit`` is the unit of numbers in such rules that have none.

    >>> compile("define Fire() from Smoke(area = 'A1')").inputs
    Schema(Smoke(area: string))
    """
    known = schema if schema is None or isinstance(schema, Schema) else Schema(schema)
    rules = read_rules(source, chosen("time unit", time_unit, TimeUnit, "time-unit"))
    rules += RuleSet(knowledge=read_knowledge(knowledge or {}))
    checked = check(rules, schema=known, closed=chosen("undeclared", undeclared, _Undeclared, "undeclared").closed)
    beliefs_of(checked.rules)  # a network in which what a match observes cannot be is wrong, too
    return Program(checked, known)


def _detect_frames(session: Session, catalog: Catalog, frames: FramesByType, options: RunOptions) -> Detected:
    """Find the composite events in frames that are given by the type of their events."""
    bad = BadEvents(options.on_bad_event)
    intervals = bool(catalog.checked.rules.interval_rules)
    batches, late = read_frames(frames, catalog.expected, options, bad, intervals=intervals)
    found = [session.feed(batch) for batch in merge([[batch] for batch in batches])]
    composites = EventBatch.concat([*found, session.close()])
    return Detected.around(composites, options.unit, ties=session.counts.ties, skipped=bad.skipped, late=late)


_NOTHING_UNCERTAIN = Verdict(())


def _options(**keywords: Unpack[RunKeywords]) -> RunOptions:
    """The options of a run in this process, which uses all processors unless it is told not to."""
    options = RunOptions.of(**keywords)
    return options if keywords.get("threads") is not None else replace(options, threads=AUTO)


def _as_certain(found: EventBatch) -> dict[EventId, Verdict]:
    """Why composite events in which nothing is uncertain have their probability: it is that of their rule."""
    told: dict[EventId, Verdict] = {}
    for event in found.to_events():
        if event.id is not None and event.rule is not None:
            text = f"{event.rule} found it in {', '.join(map(str, event.made_of)) or 'a point in time'}"
            told[event.id] = Verdict((Factor(Reason.RULE, text, Estimate(event.probability)),))
    return told


def _is_paths(events: object) -> TypeGuard[EventPath | Sequence[EventPath]]:
    """Whether an input names files; anything else holds events."""
    if isinstance(events, list | tuple):
        return bool(events) and all(isinstance(item, str | os.PathLike) for item in events)
    return isinstance(events, str | os.PathLike)


def _is_by_type(events: object, columns: ColumnNames) -> TypeGuard[FilesByType]:
    """Whether an input is files by the type of their events; an event that is a dict has a time or a type."""
    if not isinstance(events, Mapping) or not events or events.keys() & {columns.time, columns.type}:
        return False
    return all(map(_is_paths, events.values()))
