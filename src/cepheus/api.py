"""The Python API: compile rules, then run them over finite input or a stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeGuard, cast

from cepheus.core.batch import EventBatch
from cepheus.core.companions import Companions
from cepheus.core.errors import Diagnostic, OptionError, did_you_mean
from cepheus.core.event import Event, EventId
from cepheus.core.schema import EventType, Schema
from cepheus.core.time import TimeUnit, parse_duration
from cepheus.core.time_check import TimeCheck
from cepheus.engine.assembly.registry import AUTO, create
from cepheus.engine.base.limits import DEFAULT_LIMIT
from cepheus.formats.intake import IntakeOptions
from cepheus.formats.read import open_files
from cepheus.rules.check import Checked, check
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.admission import ArrowTable, Record
from cepheus.runtime.embedded.background import Rows, read_knowledge
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.detect import Detected, Tally, detect_in_files, late_event, place_of_late
from cepheus.runtime.embedded.session import Session
from cepheus.runtime.embedded.sources import RuleSource, read_rules
from cepheus.runtime.embedded.subscriptions import Callback
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.beliefs import beliefs_of
from cepheus.uncertainty.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.uncertainty.estimate import Estimate
from cepheus.uncertainty.verdict import Factor, Observer, Reason, Verdict

Duration = int | str | timedelta
"""Microseconds, a text such as ``10s`` or ``5 min``, or a timedelta."""

EventPath = str | os.PathLike[str]
"""A file of events."""

Undeclared = Literal["auto", "refuse", "allow"]
"""What to do with event types that nobody declares: refuse them if any type is declared, always, or never."""

TimeUnitName = Literal["us", "ms", "s"]
"""The unit of integer times: microseconds, milliseconds or seconds."""

Input = EventBatch | ArrowTable | EventPath | Sequence[EventPath] | Iterable[Event | Record]
"""A finite input: events, dicts, a table, a frame, a file or several."""

_CLOSED: dict[str, bool | None] = {"auto": None, "refuse": True, "allow": False}


@dataclass(frozen=True, slots=True)
class _Options:
    """What a run over a finite input is asked for."""

    engine: str
    lateness: Duration
    time_unit: TimeUnitName | None
    sequence: str | None
    limit: int
    uncertain: Companions | None
    calculus: Calculus
    observe: Observer | None = None
    threads: int = 1
    strict: bool = False


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
        """Give the Bayesian network of a rule: what the rule itself says and what the rule text adds.

        >>> program = compile("define Fire() from Smoke()")
        >>> jam = program.belief("Fire").set("Smoke", {"*": {"YES": 0.5, "NO": 0.5}}, given=["Fire"])
        >>> jam.probability(), program.with_belief(jam).belief("Fire").probability()
        (0.5, 0.5)
        """
        return Catalog.of(self.checked, self.schema).belief(rule)

    def with_belief(self, belief: RuleBelief) -> Program:
        """Give the same program with another network of a rule."""
        return replace(self, checked=Catalog.of(self.checked, self.schema).with_belief(belief).checked)

    def detect(
        self,
        events: Input,
        *,
        engine: str = AUTO,
        lateness: Duration = 0,
        time_unit: TimeUnitName | None = None,
        sequence: str | None = None,
        limit: int = DEFAULT_LIMIT,
        uncertain: Companions | None = None,
        calculus: Calculus = DEFAULT_CALCULUS,
        threads: int = 1,
        strict: bool = False,
    ) -> Detected:
        """Give the composite events in a finite input, an EventBatch of them.

        ``events`` are Events, dicts, an EventBatch, an Arrow table, a pandas or Polars frame, a file or a list of
        files. Integer times, and integers in attributes of type timestamp, are in ``time_unit``, microseconds if none
        is given; in an Event or EventBatch they are always in microseconds. Times that make no sense in their unit give
        a CepheusWarning or, if ``strict``, an OptionError.

        ``sequence`` names the column that breaks ties of time. An event that lags behind the latest by more than
        ``lateness`` is an EventError; a rule that would make more than ``limit`` composite events from one event, or a
        rule over intervals in which more than that wait for a partner in one place, is a LimitError. ``uncertain``
        names, by attribute, the columns that have its error (see ``cepheus.companions``), and ``calculus`` says how
        probabilities are worked out. The work is spread over so many ``threads``; the answer is the same, in the same
        order. In ``ties`` the answer has what was counted of simultaneous events (``cepheus.TieCounts``).

        >>> rule = "define Fire(temp: double) from Smoke() and last Temp(value > 45) within 5 min from Smoke"
        >>> program = compile(rule + " where temp = Temp.value")
        >>> events = [{"type": "Temp", "time": 10, "value": 51.5}, {"type": "Smoke", "time": 60}]
        >>> program.detect(events, time_unit="s").to_dicts()
        [{'type': 'Fire', 'time': 60000000, 'temp': 51.5, 'start': 10000000, 'id': 'Fire:...', 'from': [1, 0]}]
        """
        options = _Options(
            engine, lateness, time_unit, sequence, limit, uncertain, calculus, threads=threads, strict=strict
        )
        return self._detect(events, options)

    def why(
        self,
        events: Input,
        composite: EventId,
        *,
        lateness: Duration = 0,
        time_unit: TimeUnitName | None = None,
        sequence: str | None = None,
        uncertain: Companions | None = None,
        calculus: Calculus = DEFAULT_CALCULUS,
    ) -> Verdict:
        """Tell why a composite event, given by its id, has its probability: every constraint, negation and so on.

        A rule of ETALIS takes events as certain: what it makes has the probability of the rule itself. The same is told
        of what a rule of TESLA makes where nothing is uncertain.

        The events and options are those of ``detect``, which is run again. OptionError if there is no such event.

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

        options = _Options("reference", lateness, time_unit, sequence, DEFAULT_LIMIT, uncertain, calculus, observe)
        found = self._detect(events, options)
        if told.get(composite, _NOTHING_UNCERTAIN) == _NOTHING_UNCERTAIN:
            told |= _as_certain(found)
        if composite not in told:
            hint = did_you_mean(str(composite), map(str, told)) or "its id is in the field id of what detect gives"
            raise OptionError.of("why", f"there is no composite event '{composite}' in these events", hint=hint)
        return told[composite]

    def _detect(self, events: Input, options: _Options) -> Detected:
        delay, check = _microseconds(options.lateness), _time_check(options.time_unit, strict=options.strict)
        unit, sequence = check.unit, options.sequence
        catalog = Catalog.of(self.checked, self.schema)
        if _is_paths(events):
            paths = [events] if isinstance(events, str | os.PathLike) else list(events)
            intake = IntakeOptions(
                self.inputs,
                unit,
                sequence=sequence,
                uncertain=options.uncertain or {},
                intervals=bool(self.rules.interval_rules),
                check=check,
            )
            running = create(
                options.engine,
                catalog.rules,
                catalog.types,
                limit=options.limit,
                beliefs=catalog.beliefs(),
                calculus=options.calculus,
                observe=options.observe,
                threads=options.threads,
            )
            files = open_files([Path(path) for path in paths], intake)
            tally = Tally(self.checked.equal_types)
            found = detect_in_files(files, running, tally, lateness=delay, sequenced=sequence is not None)
            return Detected.of(EventBatch.concat(list(found)), tally.ties)
        late: list[Event] = []
        session = Session(
            catalog,
            engine=options.engine,
            lateness=delay,
            sequence=sequence,
            on_late=late.append,
            unit=unit,
            limit=options.limit,
            uncertain=options.uncertain,
            calculus=options.calculus,
            observe=options.observe,
            threads=options.threads,
            check=check,
        )
        if isinstance(events, Event | Mapping):
            events = [events]
        composites = session.feed(cast("EventBatch | ArrowTable | Iterable[Event | Record]", events))
        if late:
            raise late_event(late[0].type, late[0].time, delay, place_of_late(late[0], events))
        composites = EventBatch.concat([composites, session.close()])
        return Detected.of(composites, session.counts.ties)

    def start(
        self,
        *,
        engine: str = AUTO,
        lateness: Duration = 0,
        sequence: str | None = None,
        on_late: Callback | None = None,
        time_unit: TimeUnitName | None = None,
        snapshot: bytes | None = None,
        limit: int = DEFAULT_LIMIT,
        uncertain: Companions | None = None,
        calculus: Calculus = DEFAULT_CALCULUS,
        threads: int = 1,
        strict: bool = False,
    ) -> Session:
        """Start the rules on a stream.

        ``lateness`` is how long to wait for stragglers; each event that comes later still is counted and given to
        ``on_late``. With a ``snapshot`` the session goes on where that was taken, with the rules and options of then.
        ``limit``, for what one event makes and for what waits in one place, ``time_unit``, ``uncertain``, ``calculus``,
        ``threads`` and ``strict`` are as in ``detect``; the first times tell whether they make sense in their unit.

        >>> with compile("define Alarm() from Smoke()").start(time_unit="s") as engine:
        ...     alarms = engine.feed({"type": "Smoke", "time": 5})
        >>> alarms[0].type, engine.counts.composite
        ('Alarm', {'Alarm': 1})
        """
        check = _time_check(time_unit, strict=strict)
        session = Session(
            Catalog.of(self.checked, self.schema),
            engine=engine,
            lateness=_microseconds(lateness),
            sequence=sequence,
            on_late=on_late,
            unit=check.unit,
            limit=limit,
            uncertain=uncertain,
            calculus=calculus,
            threads=threads,
            check=check,
        )
        if snapshot is not None:
            session.restore(snapshot)
        return session


def compile(
    source: RuleSource,
    *,
    schema: Schema | Iterable[EventType] | None = None,
    undeclared: Undeclared = "auto",
    knowledge: Mapping[str, Rows] | None = None,
    time_unit: TimeUnitName = "us",
) -> Program:
    """Read and check rules; a RuleError tells all that is wrong with them.

    ``source`` is rule text, a Path, a list of files, or rules already read. A str is the name of a file if it is a
    single line and either ends in ``.tesla`` or ``.etalis`` or names a file that exists; any other str is rule text, of
    either language.

    ``schema`` describes event types that the data has and the rules do not declare. An event type that is neither
    declared nor described nor defined by a rule comes from the data (``undeclared="allow"``) or is a mistake
    (``"refuse"``); ``"auto"`` refuses it if the rules declare any type at all.

    ``knowledge`` is background knowledge for rules of the ETALIS language, by the name of the relation: a CSV file, a
    table, a frame or rows. ``time_unit`` is the unit of numbers in such rules that have none.

    >>> compile("define Fire() from Smoke(area = 'A1')").inputs
    Schema(Smoke(area: string))
    """
    if undeclared not in _CLOSED:
        raise _choice("undeclared", undeclared, _CLOSED)
    known = schema if schema is None or isinstance(schema, Schema) else Schema(schema)
    rules = read_rules(source, _time_unit(time_unit)) + RuleSet(knowledge=read_knowledge(knowledge or {}))
    checked = check(rules, schema=known, closed=_CLOSED[undeclared])
    beliefs_of(checked.rules)  # a network in which what a match observes cannot be is wrong, too
    return Program(checked, known)


_NOTHING_UNCERTAIN = Verdict(())


def _as_certain(found: EventBatch) -> dict[EventId, Verdict]:
    """Tell why composite events in which nothing is uncertain have their probability: it is that of their rule."""
    told: dict[EventId, Verdict] = {}
    for event in found.to_events():
        if event.id is not None and event.rule is not None:
            text = f"{event.rule} found it in {', '.join(map(str, event.made_of)) or 'a point in time'}"
            told[event.id] = Verdict((Factor(Reason.RULE, text, Estimate(event.probability)),))
    return told


def _is_paths(events: object) -> TypeGuard[EventPath | Sequence[EventPath]]:
    """Tell whether an input names files; anything else holds events."""
    if isinstance(events, list | tuple):
        return bool(events) and all(isinstance(item, str | os.PathLike) for item in events)
    return isinstance(events, str | os.PathLike)


def _microseconds(duration: Duration) -> int:
    if isinstance(duration, str):
        return parse_duration(duration)
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    return duration


def _time_unit(name: str) -> TimeUnit:
    units = {unit.value: unit for unit in TimeUnit}
    if name not in units:
        raise _choice("time unit", name, units)
    return units[name]


def _time_check(name: str | None, *, strict: bool) -> TimeCheck:
    return TimeCheck.of(None if name is None else _time_unit(name), strict=strict)


def _choice(what: str, given: str, known: Iterable[str]) -> OptionError:
    known = list(known)
    hint = did_you_mean(given, known) or f"choose one of {', '.join(known)}"
    return OptionError.of(what.replace(" ", "-"), f"'{given}' is not a choice for {what}", hint=hint)
