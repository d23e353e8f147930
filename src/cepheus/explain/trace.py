"""What came of each step of a rule for one terminator: what was there, what was taken, what each event lacked.

The steps are those that the reference engine carries out, with its own functions: only where it would stop, the trace
goes on with what was there before, so that a reader learns of every part, not only of the first that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from cepheus.core.event import Event
from cepheus.engine.base.ties import TieCounter
from cepheus.engine.reference.meaning import Meaning
from cepheus.engine.reference.state import Deployed, Match, Stored
from cepheus.explain.unmet import Unmet, precise, too_early, unmet
from cepheus.rules.expressions import Between, Constraint, Scope, Within, scope_events
from cepheus.rules.resolved import Absent, Choose, Compute, Require, needs
from cepheus.rules.timers import MOMENT, NOW

MOST_MATCHES = 200
"""How many combinations of choices are looked at in detail."""

MOST_LOOKED_AT = 20_000
"""How many events, from the latest on, are looked at for the nearest miss."""

MOST_MISSES = 3
_MOST_SHOWN = 20


class Outcome(Enum):
    """What came of a part of a rule."""

    HELD = "held"
    FAILED = "failed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Miss:
    """An event that was not taken, and all that it lacked."""

    event: Event
    lacks: tuple[Unmet, ...]

    @property
    def rank(self) -> tuple[int, int, float]:
        """How near a miss it is, the nearest first: lacks that cannot be measured weigh most."""
        far = sum(not lack.measured for lack in self.lacks)
        return far, len(self.lacks), sum(lack.distance for lack in self.lacks)


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of one step: its outcome, in words, the events that were there, the nearest misses.

    ``step`` is the step of the resolved rule, None for the terminator; ``count`` is how many events were there.
    """

    step: Choose | Compute | Require | Absent | str | None
    outcome: Outcome
    says: str
    events: tuple[Event, ...] = ()
    count: int = 0
    misses: tuple[Miss, ...] = ()


class Trace(Meaning):
    """The meaning of a rule that tells what comes of each of its steps."""

    def told(self, terminator: Stored) -> list[Told]:
        """Go through the rule for one terminator."""
        rule = self.deployed.resolved
        start = Match({rule.terminator.name: terminator}, {})
        if rule.delay:
            start.events[NOW] = Stored(Event(MOMENT, terminator.event.time + rule.delay, {}), -1)
        lacks = self._lacks(rule.terminator.constraints, start, rule.terminator.name)
        miss = (Miss(terminator.event, tuple(lacks)),) if lacks else ()
        says = "it arrived" if not lacks else "it arrived, but " + " and ".join(lack.text for lack in lacks)
        told = [Told(None, Outcome.FAILED if lacks else Outcome.HELD, says, (terminator.event,), 1, miss)]
        matches, missing = [start], set[str]()
        for step in rule.steps:
            absent = sorted(missing.intersection(_needed(step)))
            if absent:
                told.append(_waits(step, absent, self.deployed))
                missing.add(step.name if isinstance(step, Choose) else f"${getattr(step, 'name', '')}")
                continue
            match step:
                case Choose():
                    told.append(self._told_choice(step, matches))
                    if told[-1].outcome is Outcome.FAILED:
                        missing.add(step.name)
                    else:
                        matches = self._extend(step, matches)
                case Compute():
                    matches = [
                        replace(match, values=match.values | {step.name: self._compute(step, match)})
                        for match in matches
                    ]
                    told.append(self._told_value(step, matches))
                    if told[-1].outcome is Outcome.FAILED:
                        missing.add(f"${step.name}")
                case Require(constraint=constraint):
                    told.append(self._told_requirement(step, matches))
                    held = [m for m in matches if self.deployed.probability((constraint,), m, self.calculus) > 0.0]
                    matches = held or matches
        for absence in rule.absences:
            absent = sorted(missing.intersection(_needed(absence)))
            if absent:
                told.append(_waits(absence, absent, self.deployed))
                continue
            one = self._told_absence(absence, matches)
            told.append(one)
            if one.outcome is Outcome.HELD:
                matches = [match for match in matches if not self._occurred(absence, match)]
        if all(each.outcome is Outcome.HELD for each in told):
            told += self._told_production(matches)
        return told

    def _told_choice(self, step: Choose, matches: list[Match]) -> Told:
        taken = [stored.event for match in matches[:MOST_MATCHES] for stored, _ in self._choose(step, match)]
        if taken:
            once = list({id(event): event for event in taken}.values())
            there = "it was there" if len(once) == 1 else f"{len(once)} were there"
            there += _cut(MOST_MATCHES, len(matches), "combinations")
            return Told(step, Outcome.HELD, there, tuple(once[:_MOST_SHOWN]), len(once))
        if len(matches) > MOST_MATCHES and self._extend(step, matches):
            return Told(step, Outcome.HELD, "it was there")

        def trial(match: Match, stored: Stored) -> Match:
            return match.extended(step.name, stored)

        return self._told_lacking(step, step.type, step.window, step.constraints, matches, trial, step.name)

    def _told_value(self, step: Compute, matches: list[Match]) -> Told:
        events = [stored.event for match in matches[:1] for stored in self._members(step, match)]
        values = [match.values[step.name].value for match in matches]
        called = self.deployed.resolved.called(step.name)
        if all(value is None for value in values) and step.name in self.deployed.needed:
            lacking = self._told_lacking(step, step.type, step.scope, step.constraints, matches, Match.testing, None)
            reason = lacking.says if not events else f"it cannot be computed from these {len(events)} events"
            return replace(lacking, says=f"{called} has no value: {reason}", count=len(events))
        shown = list(dict.fromkeys("undefined" if value is None else precise(value) for value in values))
        listed = ", ".join(shown[:5]) + (", .." if len(shown) > 5 else "")
        says = f"{called} is {listed}" + (f", of {len(events)} events" if len(matches) == 1 else "")
        return Told(step, Outcome.HELD, says, tuple(events[:_MOST_SHOWN]), len(events))

    def _told_requirement(self, step: Require, matches: list[Match]) -> Told:
        lacks = []
        for match in matches[:MOST_MATCHES]:
            lacking = self._lacks((step.constraint,), match, None)
            if not lacking:
                return Told(step, Outcome.HELD, "it holds")
            lacks.append(lacking)
        if any(self.deployed.probability((step.constraint,), m, self.calculus) > 0.0 for m in matches[MOST_MATCHES:]):
            return Told(step, Outcome.HELD, "it holds")
        nearest = min(lacks, key=lambda each: sum(lack.distance for lack in each))
        among = f" (the nearest of {len(lacks)} combinations)" if len(lacks) > 1 else ""
        among += _cut(len(lacks), len(matches), "combinations")
        return Told(step, Outcome.FAILED, " and ".join(lack.text for lack in nearest) + among)

    def _told_absence(self, absent: Absent, matches: list[Match]) -> Told:
        found: list[Event] = []
        for match in matches[:MOST_MATCHES]:
            occurred = self._occurred(absent, match)
            if not occurred:
                return Told(absent, Outcome.HELD, "there was none")
            found += [stored.event for stored in occurred]
        if any(not self._occurred(absent, match) for match in matches[MOST_MATCHES:]):
            return Told(absent, Outcome.HELD, "there was none")
        once = list({id(event): event for event in found}.values())
        says = "there was one" if len(once) == 1 else f"there were {len(once)}"
        says += _cut(MOST_MATCHES, len(matches), "combinations")
        return Told(absent, Outcome.FAILED, says, tuple(once[:_MOST_SHOWN]), len(once))

    def _told_production(self, matches: list[Match]) -> list[Told]:
        """What keeps matches in which all parts hold from being made into composite events."""
        if any(self._produce(match) is not None for match in matches):
            return []
        told = []
        for name, _, compute in self.deployed.values:
            declared = self.deployed.resolved.composite.attribute(name)
            optional = declared is not None and declared.optional
            if not optional and all(compute(match) is None for match in matches):
                told.append(Told(name, Outcome.FAILED, f"the attribute {name} would have no value"))
        if told:
            return told
        relaxed = Deployed(
            replace(self.deployed.rule, min_probability=None), self.deployed.since, self.deployed.earlier
        )
        relaxed.factor = self.deployed.factor
        anything = replace(self.calculus, ignore=0.0)
        least = max(self.deployed.resolved.min_probability, self.calculus.ignore)
        verdicts = [replace(self, deployed=relaxed, calculus=anything)._verdict(match) for match in matches]
        likely = max((each.estimate.probability for each in verdicts if each is not None), default=0.0)
        says = f"its probability {likely:.4g} is below {least:g}"
        return [Told("probability", Outcome.FAILED, says)]

    def _told_lacking(
        self,
        step: Choose | Compute,
        event_type: str,
        scope: Scope,
        constraints: tuple[Constraint, ...],
        matches: list[Match],
        trial: Callable[[Match, Stored], Match],
        own: str | None,
    ) -> Told:
        """Say what the events of a type lack, each in the combination in which it lacks least."""
        stored = self.history.get(event_type, [])
        looked_at = stored[-MOST_LOOKED_AT:]
        combinations = len(matches)
        matches = matches[: max(1, MOST_LOOKED_AT // max(1, len(looked_at)))]
        inside = [{one.ordinal for one in self._candidates(event_type, scope, match)} for match in matches]
        in_scope, nearest = len(set[int]().union(*inside)), list[Miss]()
        for each in looked_at:
            found = []
            for match, candidates in zip(matches, inside, strict=True):
                outside = [] if each.ordinal in candidates else self._outside(each, scope, match)
                found.append(Miss(each.event, (*outside, *self._lacks(constraints, trial(match, each), own))))
            miss = min(found, key=lambda one: one.rank)
            if miss.lacks:
                nearest.append(miss)
        nearest.sort(key=lambda one: one.rank)
        where = _where(scope)
        if not stored:
            says = f"there was no {event_type} at all before"
        elif not in_scope:
            says = f"there was no {event_type} {where}"
        else:
            says = f"of {in_scope} {event_type} {where} none fits" if in_scope > 1 else "the only one does not fit"
        says += _cut(len(looked_at), len(stored), "events") + _cut(len(matches), combinations, "combinations")
        return Told(step, Outcome.FAILED, says, count=in_scope, misses=tuple(nearest[:MOST_MISSES]))

    def _outside(self, stored: Stored, scope: Scope, match: Match) -> list[Unmet]:
        """What keeps an event out of a scope, whatever its values are."""
        rule = self.deployed.resolved
        lacks = []
        if stored.ordinal < self.deployed.first(stored.event.type):
            lacks.append(Unmet("it came before the rule was deployed"))
        if rule.name in stored.consumed_by:
            lacks.append(Unmet("it was consumed by an earlier firing"))
        time = stored.event.time
        references = [match.events[name] for name in scope_events(scope)]
        latest = max(each.event.time for each in references)
        names = " and ".join(scope_events(scope))
        if isinstance(scope, Within) and time < latest - scope.duration:
            lacks.append(too_early(latest - scope.duration - time, scope.duration, names))
        elif time == latest:
            lacks.append(Unmet(f"it has the very time of {names}, and does not lie before", 0.0, measured=True))
        elif time > latest:
            lacks.append(Unmet(f"it came after {names}"))
        elif isinstance(scope, Between):
            lacks.append(Unmet(f"it does not lie between {names}"))
        return lacks

    def _lacks(self, constraints: Iterable[Constraint], match: Match, own: str | None) -> list[Unmet]:
        lacks = []
        for constraint in constraints:
            if self.deployed.probability((constraint,), match, self.calculus) == 0.0:
                words = unmet(constraint, match, self.deployed.resolved, own)
                lacks += words or [Unmet("its probability is 0")]
        return lacks

    def _members(self, step: Compute, match: Match) -> list[Stored]:
        trial = self._trials(step.type, step.constraints, match)
        return [each for each in self._candidates(step.type, step.scope, match) if self._worth(trial(each)) > 0.0][::-1]

    def _occurred(self, absent: Absent, match: Match) -> list[Stored]:
        """The events that must not be there and surely are."""
        trial = self._trials(absent.type, absent.constraints, match)
        found = [s for s in self._candidates(absent.type, absent.scope, match) if self._worth(trial(s)) == 1.0]
        return found[::-1]


def trace(meaning: Meaning, terminator: Stored) -> list[Told]:
    """What comes of each step of a rule for one terminator; what is counted of ties stays as it is."""
    own = Trace(meaning.deployed, meaning.history, TieCounter(), meaning.calculus, meaning.limit, None)
    return own.told(terminator)


def _needed(step: Choose | Compute | Require | Absent) -> set[str]:
    """The events and values that a step cannot do without."""
    match step:
        case Choose(window=window, constraints=constraints, name=name):
            return {*scope_events(window), *(need for c in constraints for need in needs(c))} - {name}
        case Compute(scope=scope, constraints=constraints, value=value):
            nodes = (*constraints, *(() if value is None else (value,)))
            return {*scope_events(scope), *(need for node in nodes for need in needs(node))}
        case Require(constraint=constraint):
            return set(needs(constraint))
        case Absent(scope=scope, constraints=constraints):
            return {*scope_events(scope), *(need for c in constraints for need in needs(c))}


def _waits(step: Choose | Compute | Require | Absent, absent: Sequence[str], deployed: Deployed) -> Told:
    names = [deployed.resolved.called(name[1:]) if name.startswith("$") else name for name in absent]
    verb = "is" if len(names) == 1 else "are"
    return Told(step, Outcome.UNDECIDED, f"not decided: {' and '.join(names)} {verb} missing")


def _cut(looked: int, of: int, what: str) -> str:
    """That not all of them were looked at; nothing if all were."""
    return f"; only {looked:,} of {of:,} {what} were looked at" if looked < of else ""


def _where(scope: Scope) -> str:
    match scope:
        case Within(since_start=True):
            return "since the start"
        case Within(reference=reference):
            return f"in the window before {reference}"
        case Between(first=first, second=second):
            return f"between {first} and {second}"
