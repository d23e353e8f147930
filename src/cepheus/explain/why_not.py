"""Why a rule did not fire: for each of its parts what was there and what failed, and the nearest misses.

The rules are run by the reference engine, which is watched where the rule in question is evaluated. Only the stretch of
the stream is run that can matter; a rule that consumes, counts since the start or feeds itself is run from its
beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import Calculus
from cepheus.core.display import shown
from cepheus.core.errors import OptionError, UnsupportedError, did_you_mean
from cepheus.core.event import Event, EventId
from cepheus.core.options import END, RunOptions
from cepheus.core.schema import Schema
from cepheus.core.source import Span
from cepheus.core.time import MAX_TIME, MIN_TIME, format_duration, format_time
from cepheus.engine.assembly.registry import weighted
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.engine.reference.meaning import Meaning
from cepheus.engine.reference.state import Deployed, Stored
from cepheus.explain.trace import Miss, Outcome, Told, trace
from cepheus.explain.unmet import precise
from cepheus.explain.wording import StepOfRule, span_of, text_of
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Rule, RuleSet
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import reach
from cepheus.rules.timers import After, Every
from cepheus.rules.walk import walk
from cepheus.uncertainty.belief.belief import beliefs_of


@dataclass(frozen=True, slots=True)
class PartFinding:
    """What came of one part of a rule: the part as rules write it, its outcome, what was there, the nearest misses."""

    part: str
    outcome: Outcome
    says: str
    events: tuple[Event, ...] = ()
    count: int = 0
    misses: tuple[Miss, ...] = ()
    span: Span | None = None
    step: StepOfRule = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The finding as a JSON object; times are in microseconds."""
        return {
            "part": self.part,
            "outcome": self.outcome.value,
            "says": self.says,
            "count": self.count,
            "events": [event.to_dict() for event in self.events],
            "misses": [
                {"event": miss.event.to_dict(), "lacks": [lack.text for lack in miss.lacks], "says": miss_text(miss)}
                for miss in self.misses
            ],
            "span": None if self.span is None else [self.span.start, self.span.end],
        }


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a rule did not fire at a moment, or that it did.

    ``at`` is the moment at which the rule was evaluated, None if it never was; ``asked`` the one that was asked about.
    ``fired`` are the composite events that it made then; ``others`` is how many more events evaluated it then, which
    are not told of.
    """

    rule: str
    asked: int
    at: int | None
    terminator: Event | None
    fired: tuple[Event, ...]
    parts: tuple[PartFinding, ...]
    others: int = 0

    @property
    def failed(self) -> tuple[PartFinding, ...]:
        """The parts that failed."""
        return tuple(part for part in self.parts if part.outcome is Outcome.FAILED)

    @property
    def nearest(self) -> str | None:
        """The nearest miss in a sentence."""
        failed = self.failed
        if self.fired or not failed:
            return None
        return miss_text(failed[0].misses[0]) if failed[0].misses else f"{failed[0].part}: {failed[0].says}"

    def headline(self) -> str:
        """What came of it, in one sentence."""
        if self.at is None:
            return f"{self.rule} was not evaluated: {self.parts[0].says}"
        moment = f"at {format_time(self.at)}"
        if self.at != self.asked:
            moment += f", the nearest moment to {format_time(self.asked)}"
        if self.others:
            moment += f" (one of {self.others + 1} events then; name one by its id)"
        if self.fired:
            return f"{self.rule} did fire {moment}: {', '.join(str(event.id) for event in self.fired[:5])}"
        failed = len(self.failed)
        return f"{self.rule} did not fire {moment}: {failed} of {len(self.parts)} parts failed"

    def __str__(self) -> str:
        marks = {Outcome.HELD: "+", Outcome.FAILED: "-", Outcome.UNDECIDED: "?"}
        lines = [self.headline()]
        for part in self.parts:
            lines.append(f"  {marks[part.outcome]} {part.part}")
            lines.append(f"      {part.says}")
            lines += [f"      near miss: {miss_text(miss)}" for miss in part.misses]
            if part.outcome is Outcome.FAILED and not part.misses:
                lines += [f"      {event_text(event)}" for event in part.events[:3]]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """All of it as a JSON object; times are in microseconds."""
        return {
            "rule": self.rule,
            "asked": self.asked,
            "at": self.at,
            "headline": self.headline(),
            "nearest": self.nearest,
            "terminator": None if self.terminator is None else self.terminator.to_dict(),
            "others": self.others,
            "fired": [event.to_dict() for event in self.fired],
            "parts": [part.to_json() for part in self.parts],
        }


def event_text(event: Event) -> str:
    """An event in a few words: its type, its values, its time.

    >>> event_text(Event("Temp", 60_000_000, {"value": 44.8, "area": "A1"}))
    'Temp(value=44.8, area=A1) at 1970-01-01T00:01:00Z'
    """
    values = ", ".join(
        f"{name}={precise(value) if isinstance(value, float) else shown(value)}"
        for name, value in event.attributes.items()
        if value is not None
    )
    return f"{event.type}({values}) at {format_time(event.time)}"


def miss_text(miss: Miss) -> str:
    """A miss in a sentence.

    >>> from cepheus.explain.unmet import Unmet
    >>> miss_text(Miss(Event("Temp", 0, {"value": 44.8}), (Unmet("value 44.8 is below 45"),)))
    'Temp(value=44.8) at 1970-01-01T00:00:00Z: value 44.8 is below 45'
    """
    return f"{event_text(miss.event)}: {' and '.join(lack.text for lack in miss.lacks)}"


def why_not(
    rules: RuleSet,
    types: Schema,
    events: EventBatch,
    rule: str,
    options: RunOptions,
    *,
    at: int | None = None,
    terminator: EventId | None = None,
) -> WhyNot:
    """Say why a rule, given by its name, did not fire at a moment in microseconds, or for an event given by its id.

    ``rules`` have been checked, ``events`` are in the order of the stream. If nothing evaluates the rule at that time,
    the nearest moment is looked at.
    """
    wanted = _rule(rules, rule)
    needed = _feeding(rules, wanted)
    asked = _moment(events, wanted, at, terminator)
    part, first, last = _stretch(events, needed, wanted, asked, options)
    begun = max(int(events.times[0]), first) if len(events) else None
    reached = min(int(events.times[-1]), last) if len(events) else MIN_TIME
    run = _Run(rules, types, part, needed, options, begun, reached)
    moments = _moments(run, wanted, asked)
    if not moments:
        return WhyNot(rule, asked, None, None, (), tuple(_never(wanted, events)))
    nearest = min(moments, key=lambda time: (abs(time - asked), time))
    found = run.watched(_Watch(rule, nearest, terminator))
    if not found:  # a moment of the terminator that the events do not reach
        return WhyNot(rule, asked, None, None, (), tuple(_never(wanted, events)))
    seen = next((one for one in found if one.fired), found[0])  # of simultaneous terminators one that fired, if any
    parts = tuple(_finding(told, wanted) for told in seen.told)
    return WhyNot(rule, asked, nearest, seen.terminator, tuple(seen.fired), parts, len(found) - 1)


def _rule(rules: RuleSet, name: str) -> Rule:
    found = next((each for each in rules.all_rules if each.name == name), None)
    if found is None:
        names = [str(each.name) for each in rules.all_rules]
        hint = did_you_mean(name, names) or f"the rules are {', '.join(names[:10])}"
        raise OptionError.of("why-not", f"there is no rule '{name}'", hint=hint)
    if not isinstance(found, Rule):
        raise UnsupportedError.of(
            "why-not",
            f"why '{name}' did not fire can be told of rules in TESLA alone",
            span=found.span,
            hint="cepheus explain shows what such a rule waits for",
        )
    return found


def _feeding(rules: RuleSet, wanted: Rule) -> list[Rule]:
    """The rule and all rules whose composite events it may see, directly or not, in the order of deployment."""
    types, needed = _types(wanted), {str(wanted.name)}
    grown = True
    while grown:
        grown = False
        for each in rules.all_rules:
            if each.composite.name in types and str(each.name) not in needed:
                if not isinstance(each, Rule):
                    message = f"'{wanted.name}' reads {each.composite.name}, which a rule in another language makes"
                    raise UnsupportedError.of("why-not", message, span=wanted.span)
                needed.add(str(each.name))
                types |= _types(each)
                grown = True
    return [each for each in rules.rules if str(each.name) in needed]


def _types(rule: Rule) -> set[str]:
    return {node.type for node in walk(rule.pattern) if isinstance(node, EventPattern)} | {
        node.event.type for node in walk(rule) if isinstance(getattr(node, "event", None), EventPattern)
    }


def _moment(events: EventBatch, wanted: Rule, at: int | None, terminator: EventId | None) -> int:
    """The moment that is asked about, by itself or as that of an event."""
    if terminator is None:
        if at is None:
            raise OptionError.of("why-not", "no moment is named", hint="name a time, or the id of an event")
        return at
    row = _row_of(events, terminator)
    if row is None:
        message = f"there is no event {terminator!r} in these events"
        raise OptionError.of("why-not", message, hint="name a time, or the id of an event that was read")
    kind = events.types[int(events.codes[row])]
    if kind != wanted.pattern.terminator.type:
        hint = f"'{wanted.name}' is evaluated when {wanted.pattern.terminator.type} arrives: name such an event"
        raise OptionError.of("why-not", f"the event {terminator!r} is a {kind}", hint=hint)
    delay = wanted.pattern.timer.duration if isinstance(wanted.pattern.timer, After) else 0
    return int(events.times[row]) + delay


def _row_of(events: EventBatch, at: EventId) -> int | None:
    ids = events.ids
    if ids is None or not len(events):
        return None
    if isinstance(ids, np.ndarray):
        rows = np.flatnonzero(ids == at) if isinstance(at, int) else np.empty(0, np.int64)
        return int(rows[0]) if len(rows) else None
    return next((row for row, each in enumerate(ids) if each == at and type(each) is type(at)), None)


def _stretch(
    events: EventBatch, needed: Sequence[Rule], wanted: Rule, asked: int, options: RunOptions
) -> tuple[EventBatch, int, int]:
    """The events that can matter, of the types that are read and in a stretch of time, and its beginning and end."""
    first, last = MIN_TIME, MAX_TIME
    types = set().union(*map(_types, needed))
    codes = [code for code, name in enumerate(events.types) if name in types]
    rows = np.flatnonzero(np.isin(events.codes, codes))
    resolved = [resolve(rule) for rule in needed]
    made = {rule.composite.name for rule in needed}
    terminator = wanted.pattern.terminator.type
    whole = (
        _feed_themselves(needed)
        or any(rule.consuming for rule in resolved)
        or any(reach(r) >= MAX_TIME // 4 for r in resolved)
    )
    if not whole and terminator not in made:
        nearest = _nearest(events.times[rows[np.isin(events.codes[rows], [_code(events, terminator)])]], wanted, asked)
        if isinstance(wanted.pattern.timer, Every) and len(events):
            nearest = _reached(wanted.pattern.timer, events, options, nearest)
        back = sum(map(reach, resolved)) + reach(resolve(wanted))
        first = max(min(nearest, asked) - 2 * back - 1, MIN_TIME)
        last = min(max(nearest, asked), MAX_TIME)
        times = events.times[rows]
        rows = rows[np.searchsorted(times, first) : np.searchsorted(times, last, side="right")]
    return _with_ids(events, rows), first, last


def _reached(timer: Every, events: EventBatch, options: RunOptions, moment: int) -> int:
    """A moment of ``every``, or else the nearest to it that the time of the events reaches."""
    end = int(events.times[-1])
    if isinstance(options.until, int):
        end = max(end, options.until)
    return max(timer.first(int(events.times[0])), min(moment, timer.first(end + 1) - timer.period))


def _feed_themselves(rules: Sequence[Rule]) -> bool:
    """Whether what a rule makes may lead to what it reads: then there is no bound to how far back it looks."""
    graph: dict[str, set[str]] = {}
    for rule in rules:
        graph.setdefault(rule.composite.name, set()).update(_types(rule))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


def _code(events: EventBatch, event_type: str) -> int:
    return events.types.index(event_type) if event_type in events.types else -1


def _nearest(times: Any, wanted: Rule, asked: int) -> int:
    """The moment nearest to the one asked about at which an event of the terminator's type evaluates the rule."""
    timer = wanted.pattern.timer
    if isinstance(timer, Every):
        after = timer.first(asked)
        return after if after - asked <= asked - (after - timer.period) else after - timer.period
    delay = timer.duration if isinstance(timer, After) else 0
    if not len(times):
        return asked
    place = int(np.searchsorted(times, asked - delay))
    near = [int(times[each]) + delay for each in (place - 1, place) if 0 <= each < len(times)]
    return min(near, key=lambda time: abs(time - asked))


def _with_ids(events: EventBatch, rows: Any) -> EventBatch:
    """Some of the events, with the ids that they have among all."""
    part = events.take(rows)
    if events.ids is not None:
        return part
    return replace(part, ids=rows.astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Watch:
    """Which evaluations of a rule are looked at: those at a moment, None for all, of a terminator, None for any."""

    rule: str
    moment: int | None = None
    terminator: EventId | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    moment: int
    terminator: Event
    told: list[Told]
    fired: list[Event]


class _WatchedEngine(ReferenceEngine):
    """The reference engine, telling what came of a rule where that is asked for; it forgets nothing."""

    def __init__(self, watch: _Watch, limit: int, calculus: Calculus) -> None:
        super().__init__(limit, calculus)
        self._watch = watch
        self.seen: list[_Seen] = []

    def _evaluate(self, deployed: Deployed, terminator: Stored, gathered: list[int]) -> list[Event]:
        moment = terminator.event.time + deployed.resolved.delay
        watch = self._watch
        asked = deployed.resolved.name == watch.rule and watch.terminator in (None, terminator.event.id)
        if not asked or watch.moment not in (None, moment):
            return super()._evaluate(deployed, terminator, gathered)
        told: list[Told] = []
        if watch.moment is not None:
            meaning = Meaning(deployed, self._history, self._ties, self._calculus, self._limit, None, [])
            told = trace(meaning, terminator)
        fired = super()._evaluate(deployed, terminator, gathered)
        self.seen.append(_Seen(moment, terminator.event, told, fired))
        return fired

    def _forget(self) -> None:
        """Keep all: an event just out of reach may be the nearest miss."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What is run: rules over a part of the events, from when time begins, if ever, until it has ``reached``."""

    rules: RuleSet
    types: Schema
    part: EventBatch
    needed: Sequence[Rule]
    options: RunOptions
    begun: int | None
    reached: int

    def watched(self, watch: _Watch) -> list[_Seen]:
        """Run the rules and tell what was seen of the one that is watched."""
        engine = _WatchedEngine(watch, self.options.limit, self.options.calculus)
        names = {str(rule.name) for rule in self.needed}
        beliefs = {name: one for name, one in beliefs_of(self.rules).items() if name in names}
        running = weighted(engine, beliefs)
        running.deploy(list(self.needed), self.types)
        if self.begun is not None:
            engine.begin(self.begun)
        running.feed(self.part)
        if self.begun is not None:
            running.advance(self.reached)
        until = self.options.until
        if until is not None:
            end = engine.last_deadline() if until == END else int(until)
            running.advance(MIN_TIME if end is None else end)
        return engine.seen


def _moments(run: _Run, wanted: Rule, asked: int) -> list[int]:
    """The moments at which the rule is evaluated, as far as they can be the nearest to the one asked about."""
    made = {rule.composite.name for rule in run.needed}
    pattern = wanted.pattern
    if pattern.timer is None and pattern.terminator.type not in made:
        times = run.part.times[run.part.codes == _code(run.part, pattern.terminator.type)]
        return [_nearest(times, wanted, asked)] if len(times) else []
    return [seen.moment for seen in run.watched(_Watch(str(wanted.name)))]


def _never(wanted: Rule, events: EventBatch) -> Iterator[PartFinding]:
    """What is told of a rule that nothing has evaluated."""
    pattern = wanted.pattern
    last = f"the events end at {format_time(int(events.times[-1]))}" if len(events) else "there are no events"
    if isinstance(pattern.timer, Every):
        says = f"no moment of {pattern.timer} was reached; {last}"
    elif isinstance(pattern.timer, After) and pattern.terminator.type in events.types:
        waits = format_duration(pattern.timer.duration)
        says = f"{waits} after {pattern.terminator.type} were not reached; {last}, and 'until' says how time goes on"
    else:
        says = f"there is no {pattern.terminator.type}, which would decide it"
    yield PartFinding(text_of(None, wanted), Outcome.FAILED, says, span=pattern.terminator.span)
    for step in (*resolve(wanted).steps, *resolve(wanted).absences):
        text, span = text_of(step, wanted), span_of(step, wanted)
        yield PartFinding(text, Outcome.UNDECIDED, "not decided: the rule was not evaluated", span=span)


def _finding(told: Told, rule: Rule) -> PartFinding:
    return PartFinding(
        text_of(told.step, rule),
        told.outcome,
        told.says,
        told.events,
        told.count,
        told.misses,
        span_of(told.step, rule),
        told.step,
    )
