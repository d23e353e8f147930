"""What a rule means for one terminator: windows, choices, absences, aggregates, and what is made of them.

Written to be read next to the semantics page of the documentation; no indexes, no cleverness. Each function below
is one paragraph of that page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import assert_never

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.event import Event, composite_id, with_counted
from cepheus.core.values import Value, ValueType, as_float
from cepheus.engine.base.limits import too_many_composites, too_many_members, too_many_values
from cepheus.engine.base.ties import MOST_COMPARED, TieCounter
from cepheus.engine.reference.state import Deployed, Match, Stored
from cepheus.rules.aggregates import Form, aggregate_named
from cepheus.rules.evaluate import evaluator, group_of
from cepheus.rules.expressions import Between, Constraint, Expression, Scope, Within, scope_events
from cepheus.rules.policies import Take
from cepheus.rules.resolved import Absent, Choose, Compute, Gather, Ranked, Require
from cepheus.rules.timers import MOMENT, NOW
from cepheus.uncertainty.aggregates import Computed
from cepheus.uncertainty.computed_errors import error_of
from cepheus.uncertainty.explained import factor_of
from cepheus.uncertainty.joint import Judged, judge_parts
from cepheus.uncertainty.memberships import computed_of
from cepheus.uncertainty.posterior import posterior_error
from cepheus.uncertainty.trials import Aggregation, Belonging, Condition, Few, HasValue, Part, Trial
from cepheus.uncertainty.verdict import Estimate, Factor, Observer, Reason, Verdict, absence


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a deployed rule makes of the events so far, which are in ``history`` by type and in the order of the stream.

    ``ties`` counts what simultaneous events decided. ``limit`` is the number of composite events that one event may
    make, and of members that these may name, which are counted in ``gathered``. ``observe`` is told of every composite
    event with the factors of its probability.
    """

    deployed: Deployed
    history: Mapping[str, Sequence[Stored]]
    ties: TieCounter
    calculus: Calculus
    limit: int
    observe: Observer | None
    gathered: list[int] = field(default_factory=list)

    # Terminator. The rule is evaluated once for each event that matches its terminator.

    def fire(self, terminator: Stored) -> list[Event]:
        """The composite events that an event of the terminator's type completes, in the order of the choices."""
        rule = self.deployed.resolved
        start = Match({rule.terminator.name: terminator}, {})
        if rule.delay:
            start.events[NOW] = Stored(Event(MOMENT, terminator.event.time + rule.delay, {}), -1)
        if self.deployed.probability(rule.terminator.constraints, start, self.calculus) == 0.0:
            return []
        matches = [start]
        for step in rule.steps:
            match step:
                case Choose():
                    matches = self._extend(step, matches)
                case Compute():
                    matches = [
                        replace(match, values=match.values | {step.name: self._compute(step, match)})
                        for match in matches
                    ]
                case Require(constraint=constraint):
                    matches = [m for m in matches if self.deployed.probability((constraint,), m, self.calculus) > 0.0]
                case _:
                    assert_never(step)
        fired = [(match, event) for match in matches if (event := self._produce(match)) is not None]
        # Consumption. What took part in a firing is gone for this rule's later terminators.
        for match, _ in fired:
            for name in rule.consuming & match.events.keys():
                match.events[name].consumed_by.add(rule.name)
            for member in (member for name in rule.consuming & match.members.keys() for member in match.members[name]):
                member.consumed_by.add(rule.name)
        return [event for _, event in fired]

    # Window. `P B within x from A` looks at every B with A.time - x <= B.time < A.time. `between X and Y` looks at
    # what lies strictly between the two. With `ties ordered` an event precedes those that come after it in the stream.

    def _candidates(self, event_type: str, scope: Scope, match: Match) -> Iterator[Stored]:
        if self.deployed.resolved.ordered:
            yield from self._candidates_in_order(event_type, scope, match)
            return
        start, end = _bounds(scope, match)
        for stored in self._visible(event_type):
            if stored.event.time < start:
                return
            if stored.event.time < end:
                yield stored

    def _candidates_in_order(self, event_type: str, scope: Scope, match: Match) -> Iterator[Stored]:
        references = sorted(_place(match.events[name]) for name in scope_events(scope))
        earliest, latest = references[0], references[-1]
        for stored in self._visible(event_type):
            if isinstance(scope, Within):
                follows = stored.event.time >= latest[0] - scope.duration
            else:
                follows = _place(stored) > earliest
            if not follows:
                return
            if _place(stored) < latest:
                yield stored

    def _visible(self, event_type: str) -> Iterator[Stored]:
        """Walk through the events of a type that a rule sees, the latest first."""
        first_seen = self.deployed.first(event_type)
        for stored in reversed(self.history.get(event_type, [])):
            if stored.ordinal < first_seen:
                return
            if self.deployed.resolved.name not in stored.consumed_by:
                yield stored

    # Ties. Events of equal time do not precede one another: those that would do but have the very time of an event
    # that they would have to precede, or in an interval to follow, are passed over, and counted. The order of
    # simultaneous events decides a choice if one that is not taken has the time of one that is.

    def _pass_over(self, event_type: str, scope: Scope, match: Match, fits: Callable[[Stored], bool]) -> None:
        if self.deployed.resolved.ordered:
            return  # nobody is simultaneous
        start, end = _bounds(scope, match)
        edges = {end: 0} if isinstance(scope, Within) else {end: 0, min(start - 1, end): 0}
        references = [match.events[name] for name in scope_events(scope)]
        for stored in self._visible(event_type):
            time = stored.event.time
            if time < min(edges):
                return
            if time in edges and edges[time] < MOST_COMPARED:
                edges[time] += 1
                self.ties.passed_over += stored not in references and fits(stored)
            elif time in edges:
                self.ties.at_least = True

    def _note_choice(
        self, taken: Stored, others: Iterable[Stored], fits: Callable[[Stored], bool] = lambda _: True
    ) -> None:
        """Count a choice if one of the ``others``, which come from the nearest on, would have done as well."""
        tied = takewhile(lambda other: other.event.time == taken.event.time, others)
        for compared, other in enumerate(tied):
            if compared == MOST_COMPARED:
                self.ties.at_least = True
                return
            if fits(other):
                self.ties.decided += 1
                return

    # Selection. Of the events in the window that satisfy the constraints, each takes all, last/first the
    # latest/earliest, n last/n first up to n of them. Where it is uncertain which of them satisfy the constraints,
    # every one that may be among the n is taken, in those worlds in which fewer than n of the nearer ones do.

    def _choose(self, step: Choose, match: Match) -> list[tuple[Stored, Few | None]]:
        wanted = 1 if step.count is None else step.count

        def trial(candidate: Stored) -> Trial:
            return Trial(step.constraints, match.extended(step.name, candidate), candidate.occurred(step.name))

        def worth(candidate: Stored) -> float:
            own = self.deployed.worth(trial(candidate), self.calculus)
            if step.policy.takes_all or own == 1.0:
                return own if own > self.calculus.ignore else 0.0
            # As printed: the candidate's own probability exceeds the least one of the rule, and no doubt is left.
            least = self.deployed.resolved.min_probability if printed else self.calculus.ignore
            return 0.0 if own <= least else 1.0 if printed else own

        printed = self.calculus.choice == "as-printed" or step.ranked is not None
        printed = printed or step.policy.takes is Take.BY_MEANING
        self._pass_over(step.type, step.window, match, lambda stored: worth(stored) > 0.0)
        candidates = self._candidates(step.type, step.window, match)
        match step.policy.takes:
            case Take.LATEST | Take.EARLIEST if not step.per:
                latest = step.policy.takes is Take.LATEST
                nearest = candidates if latest else iter([*candidates][::-1])
                near = self._nearest(nearest, worth, wanted)
                taken = [(stored, _rivals(step, near[:place], trial, wanted)) for place, (stored, _) in enumerate(near)]
                return taken[::-1] if latest else taken
            case Take.ALL | Take.BY_MEANING | Take.LATEST | Take.EARLIEST:
                fitting = [(stored, own) for stored in candidates if (own := worth(stored)) > 0.0][::-1]
                if step.per:
                    taken = self._choose_by_group(step, fitting, wanted, trial)
                else:
                    chosen = list(step.policy.record.meaning([stored for stored, _ in fitting], wanted))
                    if step.policy.takes is Take.BY_MEANING:
                        for stored in chosen:
                            self._note_choice(stored, [other for other, _ in fitting if other not in chosen])
                    taken = [(stored, None) for stored in chosen]
                kept = self._greatest(step.ranked, step.name, [stored for stored, _ in taken], match)
                return [(stored, rivals) for stored, rivals in taken if stored in kept]
            case _:
                assert_never(step.policy.takes)

    def _nearest(
        self, candidates: Iterator[Stored], worth: Callable[[Stored], float], wanted: int
    ) -> list[tuple[Stored, float]]:
        """The candidates that may be among the nearest, from the nearest on: until so many of them surely are."""
        taken: list[tuple[Stored, float]] = []
        sure = 0
        for candidate in candidates:
            own = worth(candidate)
            if own > 0.0:
                taken.append((candidate, own))
                sure += own == 1.0
                if sure == wanted:
                    self._note_choice(candidate, candidates, lambda other: worth(other) > 0.0)
                    break
                if wanted == 1 and own < 1.0 and 1.0 - own <= self.calculus.ignore:
                    break  # whoever lies behind is taken with a probability that is of no use
        return taken

    # Groups. A choice of its own for each value of the attributes that `per` names; events that lack one are a group,
    # too. What is taken stays in the order of the stream.

    def _choose_by_group(
        self, step: Choose, fitting: list[tuple[Stored, float]], wanted: int, trial: Callable[[Stored], Trial]
    ) -> list[tuple[Stored, Few | None]]:
        groups: dict[tuple[Value | None, ...], list[tuple[Stored, float]]] = {}
        for stored, own in fitting:
            groups.setdefault(group_of(step.per, Match({step.name: stored}, {})), []).append((stored, own))
        chosen: list[tuple[Stored, Few | None]] = []
        for group in groups.values():
            if step.policy.takes in (Take.LATEST, Take.EARLIEST):
                near = group[::-1] if step.policy.takes is Take.LATEST else group
                near = near[: _until_sure([own for _, own in near], wanted)]
            else:
                meant = step.policy.record.meaning([stored for stored, _ in group], wanted)
                near = [(stored, 1.0) for stored in meant]
            taken = [stored for stored, _ in near]
            left = {stored.event.time for stored, _ in group if stored not in taken}
            self.ties.decided += any(stored.event.time in left for stored in taken)
            chosen += [(stored, _rivals(step, near[:place], trial, wanted)) for place, stored in enumerate(taken)]
        return sorted(chosen, key=lambda one: one[0].ordinal)

    # Rankings. Of these events, those with the greatest values; of equal values, the later ones.

    def _greatest(self, ranked: Ranked | None, name: str, events: list[Stored], match: Match) -> list[Stored]:
        if ranked is None:
            return events
        value = evaluator(ranked.by)
        found: list[tuple[float, int]] = []
        for place, stored in enumerate(events):
            situation = Match(match.events | {name: stored}, dict(match.values))
            for compute in ranked.computes:
                situation.values[compute.name] = self._compute(compute, situation)
            worth = value(situation)
            if isinstance(worth, int | float):
                found.append((worth, place))
        found.sort()
        kept, left = found[-ranked.count :], found[: -ranked.count]
        if left and left[-1][0] == kept[0][0]:
            self.ties.decided += events[left[-1][1]].event.time == events[kept[0][1]].event.time
        return [events[place] for place in sorted(place for _, place in kept)]

    # Every combination of choices gives one composite event.

    def _extend(self, step: Choose, matches: list[Match]) -> list[Match]:
        extended: list[Match] = []
        for match in matches:
            extended += [match.extended(step.name, chosen, rivals) for chosen, rivals in self._choose(step, match)]
            if len(extended) > 10 * self.limit:  # more than memory may hold, whatever negations rule out later
                raise too_many_composites(self.deployed.rule, self.limit)
        return extended

    # Negation. Checked after selection: the probability that no such event occurred.

    def _absence(self, absent: Absent, match: Match) -> tuple[Few, list[tuple[str, float]]]:
        """That no such event occurred, and those that may have, with their probabilities."""
        found: list[tuple[str, float]] = []
        trials: list[Trial] = []
        trial = self._trials(absent.type, absent.constraints, match)
        self._pass_over(absent.type, absent.scope, match, lambda stored: self._worth(trial(stored)) > 0.0)
        for stored in self._candidates(absent.type, absent.scope, match):
            one = trial(stored)
            probability = self._worth(one)
            if probability > 0.0:
                found.append((f"{absent.type} {stored.event.id}", probability))
                trials.append(one)
            if probability == 1.0 and self.calculus.negation == "independent":
                break
        return Few(tuple(trials), 0, f"no {absent.type}"), found

    def _trials(self, event_type: str, constraints: tuple[Constraint, ...], match: Match) -> Callable[[Stored], Trial]:
        """That an event occurred and satisfies what is asked of one that takes no part, as a function."""
        return lambda stored: Trial(constraints, match.testing(stored), stored.occurred(event_type))

    def _worth(self, trial: Trial) -> float:
        return self.deployed.worth(trial, self.calculus)

    # Aggregates. Over the values of the matching events of a window or interval, in the order of the stream;
    # a member without a value does not count. Values and membership may be uncertain.

    def _compute(self, step: Compute, match: Match) -> Computed:
        trial = self._trials(step.type, step.constraints, match)
        since_start = isinstance(step.scope, Within) and step.scope.since_start

        def counts(stored: Stored) -> bool:  # totals know only of those that have a value
            value = self.deployed.members[step.name] if since_start and step.value is not None else None
            return self._worth(trial(stored)) > 0.0 and (value is None or value(match.testing(stored)) is not None)

        if not step.silent:
            self._pass_over(step.type, step.scope, match, counts)
        members: list[Belonging] = []
        sources: list[Stored] = []
        for stored in self._candidates(step.type, step.scope, match):
            one = trial(stored)
            if self._worth(one) > 0.0:
                value = self.deployed.members[step.name](match.testing(stored)) if step.value is not None else 1
                if value is None and not step.even_undefined:
                    continue
                members.append(Belonging(one, step.value, value, stored.event.time))
                sources.append(stored)
        record = aggregate_named(step.function).given(step.argument)
        if len(members) > self.limit and (record.holds_values or since_start):
            raise too_many_values(self.deployed.rule, self.limit)
        if since_start and record.form in (Form.SUM, Form.AVERAGE) and not all(map(_adds_up, members)):
            return Computed(None)
        if record.form.is_end and sources and not since_start:
            taken, *others = sources if record.form is Form.LAST else sources[::-1]
            self._note_choice(taken, others)
        members.reverse()
        whole = Aggregation(record, tuple(members), step.even_undefined, step.argument)
        return computed_of(whole, step.function, match.values, self.calculus)

    # Probability. The product over constraints, negations and aggregates, times what the rule itself is worth.

    def _verdict(self, match: Match) -> Verdict | None:
        parts: list[Part] = [
            occurred for name, stored in match.events.items() if (occurred := stored.occurred(name)) is not None
        ]
        if match.is_certain():
            if not all(self.deployed.test(constraint)(match) for constraint in self.deployed.constraints):
                return None
        else:
            parts += [Condition(constraint, match) for constraint in self.deployed.constraints]
        self.deployed.refuse_doubtful(match.values)
        printed: list[Factor] = []
        details: dict[str, list[tuple[str, float]]] = {}
        there = [HasValue(name) for name in self.deployed.needed if 0.0 < match.values[name].defined < 1.0]
        if any(_is_impossible(one.estimate) for one in self._judged([*parts, *there], match)):
            return None  # an undefined aggregate is noticed after the absences, as in every engine
        for absent in self.deployed.resolved.absences:
            few, found = self._absence(absent, match)
            if self.calculus.negation == "as-printed":
                estimate = absence([probability for _, probability in found], "as-printed")
                printed.append(Factor(Reason.NEGATION, few.text, estimate, tuple(found)))
                hopeless = estimate.probability == 0.0
            else:
                parts.append(few)
                details.setdefault(few.text, []).extend(found)
                hopeless = any(probability == 1.0 for _, probability in found)
            if hopeless:
                return None  # nobody asks for the absences behind it, nor counts what they pass over
        parts += match.rivals
        parts += [HasValue(name) for name in self.deployed.needed if match.values[name].defined < 1.0]
        match.parts = tuple(parts)
        factors = [factor_of(one, self.deployed.resolved.called, details) for one in self._judged(parts, match)]
        factors += printed
        if self.deployed.factor < 1.0:
            factors.append(Factor(Reason.NETWORK, f"rule {self.deployed.rule.name}", Estimate(self.deployed.factor)))
        verdict = Verdict(tuple(factors))
        probability = verdict.estimate.probability
        negligible = probability <= self.calculus.ignore and probability < 1.0
        least = self.deployed.resolved.min_probability
        return None if probability == 0.0 or negligible or probability < least else verdict

    def _judged(self, parts: list[Part], match: Match) -> tuple[Judged, ...]:
        return judge_parts(parts, match.values, self.calculus) if parts else ()

    # Production. The composite event carries the terminator's time; a rule that needs an undefined value does not
    # fire, unless the attribute is declared optional.

    def _produce(self, match: Match) -> Event | None:
        rule = self.deployed.resolved
        verdict = self._verdict(match)
        if verdict is None:
            return None
        attributes: dict[str, Value | None] = {}
        errors: dict[str, Distribution] = {}
        for name, expression, compute in self.deployed.values:
            declared = rule.composite.attribute(name)
            assert declared is not None
            value = compute(match)
            if value is None and not declared.optional:
                return None
            attributes[name] = as_float(value) if declared.type is ValueType.FLOAT and value is not None else value
            error = None if value is None else self._error(expression, value, match)
            if error is not None:
                errors[name] = error
        match.members = {gather.name: self._gather(gather, match) for gather in rule.gathers}
        self.gathered.append(sum(map(len, match.members.values())))
        if sum(self.gathered) > self.limit:
            raise too_many_members(self.deployed.rule, self.limit)
        collected = [member for gather in rule.gathers if not gather.counted for member in match.members[gather.name]]
        counted = [member for gather in rule.gathers if gather.counted for member in match.members[gather.name]]
        parts = [match.events[position.name].event for position in rule.positions]
        parts += [member.event for member in collected]
        made_of = tuple(part.id for part in parts if part.id is not None)
        made = Event(
            rule.composite.name,
            parts[0].time + rule.delay,
            attributes,
            id=composite_id(rule.composite.name, rule.name, made_of),
            probability=verdict.estimate.probability,
            errors=errors,
            start=min(part.time if part.start is None else part.start for part in parts),
            rule=rule.name,
            made_of=with_counted(made_of, [member.event.id for member in counted if member.event.id is not None]),
        )
        if self.observe is not None:
            self.observe(made, verdict)
        return made

    def _error(self, expression: Expression, value: Value, match: Match) -> Distribution | None:
        """What a value is off by: as its events came or, if that is wanted, given that they passed the rule."""
        if self.calculus.posterior:
            return posterior_error(expression, value, match, match.parts, match.values, self.calculus)
        return error_of(expression, value, match, self.calculus)

    # Collections. Their members are part of what the composite event is made of, behind the chosen events.

    def _gather(self, gather: Gather, match: Match) -> list[Stored]:
        trial = self._trials(gather.type, gather.constraints, match)
        candidates = self._candidates(gather.type, gather.scope, match)
        found = [stored for stored in candidates if self._worth(trial(stored)) > 0.0][::-1]
        if gather.value is None:
            return found
        value = evaluator(gather.value)
        return [stored for stored in found if value(Match(match.events, match.values, stored)) is not None]


def _adds_up(member: Belonging) -> bool:
    """Whether a member's value lies in the range of exact sums, which those since the start are kept in."""
    value = member.observed
    return not isinstance(value, float) or (abs(value) < 2.0**64 and value.as_integer_ratio()[1] <= 2**128)


def _place(stored: Stored) -> tuple[int, int]:
    """Where an event stands in the stream; a moment has no number there and stands before the events of its time."""
    return stored.event.time, stored.ordinal


def _is_impossible(estimate: Estimate) -> bool:
    """Whether something cannot be: that it came about in none of the worlds that were drawn does not say so."""
    return estimate.probability == 0.0 and estimate.standard_error == 0.0


def _until_sure(worths: Sequence[float], wanted: int) -> int:
    """How many events, from the nearest on, may be among the nearest so many."""
    sure = 0
    for place, own in enumerate(worths, 1):
        sure += own == 1.0
        if sure == wanted:
            return place
    return len(worths)


def _rivals(
    step: Choose, nearer: Sequence[tuple[Stored, float]], trial: Callable[[Stored], Trial], wanted: int
) -> Few | None:
    """That few enough of the nearer events fit for another one to be taken."""
    if len(nearer) < wanted:
        return None
    sure = sum(own == 1.0 for _, own in nearer)
    unsure = tuple(trial(stored) for stored, own in nearer if own < 1.0)
    if len(unsure) + sure < wanted:
        return None
    return Few(unsure, wanted - 1 - sure, f"{step.name} is the {step.policy.value} one", rivals=True)


def _bounds(scope: Scope, match: Match) -> tuple[int, int]:
    """The time from which, and the one before which, events lie in a scope."""
    match scope:
        case Within(duration=duration, reference=reference):
            end = match.events[reference].event.time
            return end - duration, end
        case Between(first=first, second=second):
            times = sorted((match.events[first].event.time, match.events[second].event.time))
            return times[0] + 1, times[1]
        case _:
            assert_never(scope)
