"""What a rule means for one terminator: windows, choices, absences, aggregates, and what is made of them.

Written to be read next to the semantics page of the documentation; no indexes, no cleverness. Each function below
is one paragraph of that page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import assert_never

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.event import Event, composite_id, with_counted
from cepheus.core.values import Value, ValueType, as_float
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.base.ties import MOST_COMPARED, TieCounter
from cepheus.engine.reference.state import Deployed, Match, Stored
from cepheus.rules.aggregates import Form, aggregate_named
from cepheus.rules.check.findings import text_of
from cepheus.rules.evaluate import evaluator, group_of
from cepheus.rules.expressions import Between, Constraint, Scope, Within, scope_events
from cepheus.rules.policies import Take
from cepheus.rules.resolved import Absent, Choose, Compute, Gather, Ranked, Require
from cepheus.rules.timers import MOMENT, NOW
from cepheus.uncertainty.aggregates import Computed, Member, compute_aggregate, only_defined
from cepheus.uncertainty.computed_errors import error_of, law_of_value
from cepheus.uncertainty.verdict import CERTAIN, Estimate, Factor, Method, Observer, Reason, Verdict, absence


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a deployed rule makes of the events so far, which are in ``history`` by type and in the order of the stream.

    ``ties`` counts what simultaneous events decided. ``limit`` is the number of composite events that one event may
    make. ``observe`` is told of every composite event with the factors of its probability.
    """

    deployed: Deployed
    history: Mapping[str, Sequence[Stored]]
    ties: TieCounter
    calculus: Calculus
    limit: int
    observe: Observer | None

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
                        Match(match.events, match.values | {step.name: self._compute(step, match)}) for match in matches
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
        references = sorted((match.events[name] for name in scope_events(scope)), key=lambda stored: stored.ordinal)
        earliest, latest = references[0], references[-1]
        for stored in self._visible(event_type):
            if isinstance(scope, Within):
                follows = stored.event.time >= latest.event.time - scope.duration
            else:
                follows = stored.ordinal > earliest.ordinal
            if not follows:
                return
            if stored.ordinal < latest.ordinal:
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
    # latest/earliest, n last/n first up to n of them.

    def _choose(self, step: Choose, match: Match) -> list[Stored]:
        situation = Match(dict(match.events), match.values)
        wanted = 1 if step.count is None else step.count

        def fits(candidate: Stored) -> bool:
            situation.events[step.name] = candidate
            own = candidate.occurrence * self.deployed.probability(step.constraints, situation, self.calculus)
            # The candidate's own probability exceeds the least one of the rule, which nothing can where that is 1.
            return own > self.deployed.resolved.min_probability or own == 1.0 or (step.policy.takes_all and own > 0.0)

        self._pass_over(step.type, step.window, match, fits)
        candidates = self._candidates(step.type, step.window, match)
        if step.per:
            chosen = self._choose_by_group(step, [*filter(fits, candidates)][::-1], wanted)
            return self._greatest(step.ranked, step.name, chosen, match)
        match step.policy.takes:
            case Take.ALL:
                fitting = [*filter(fits, candidates)][::-1]  # from the earliest to the latest
                return self._greatest(step.ranked, step.name, fitting, match)
            case Take.LATEST:
                chosen = list(islice(filter(fits, candidates), wanted))
                if len(chosen) == wanted:
                    self._note_choice(chosen[-1], candidates, fits)
                return chosen[::-1]
            case Take.EARLIEST:
                chosen = [*filter(fits, candidates)][::-1]
                if len(chosen) > wanted:
                    self._note_choice(chosen[wanted - 1], chosen[wanted:])
                return chosen[:wanted]
            case Take.BY_MEANING:
                fitting = [*filter(fits, candidates)][::-1]
                chosen = list(step.policy.record.meaning(fitting, wanted))
                for stored in chosen:
                    self._note_choice(stored, [other for other in fitting if other not in chosen])
                return chosen
            case _:
                assert_never(step.policy.takes)

    # Groups. A choice of its own for each value of the attributes that `per` names; events that lack one are a group,
    # too. What is taken stays in the order of the stream.

    def _choose_by_group(self, step: Choose, fitting: list[Stored], wanted: int) -> list[Stored]:
        groups: dict[tuple[Value | None, ...], list[Stored]] = {}
        for stored in fitting:
            groups.setdefault(group_of(step.per, Match({step.name: stored}, {})), []).append(stored)
        chosen: list[Stored] = []
        for group in groups.values():
            taken = list(step.policy.record.meaning(group, wanted))
            left = {stored.event.time for stored in group if stored not in taken}
            self.ties.decided += any(stored.event.time in left for stored in taken)
            chosen += taken
        return sorted(chosen, key=lambda stored: stored.ordinal)

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
            extended += [
                Match(match.events | {step.name: chosen}, match.values) for chosen in self._choose(step, match)
            ]
            if len(extended) > 10 * self.limit:  # more than memory may hold, whatever negations rule out later
                raise too_many_composites(self.deployed.rule, self.limit)
        return extended

    # Negation. Checked after selection: the probability that no such event occurred.

    def _absence(self, absent: Absent, match: Match) -> tuple[Estimate, list[tuple[str, float]]]:
        found: list[tuple[str, float]] = []
        possible = self._possible(absent.constraints, match)
        self._pass_over(absent.type, absent.scope, match, lambda stored: possible(stored) > 0.0)
        for stored in self._candidates(absent.type, absent.scope, match):
            probability = possible(stored)
            if probability > 0.0:
                found.append((f"{absent.type} {stored.event.id}", probability))
            if probability == 1.0 and self.calculus.negation == "independent":
                break
        return absence([probability for _, probability in found], self.calculus.negation), found

    def _possible(self, constraints: tuple[Constraint, ...], match: Match) -> Callable[[Stored], float]:
        """How probably an event occurred and satisfies what is asked of one that takes no part, as a function."""
        situation = Match(match.events, match.values)

        def probability(stored: Stored) -> float:
            situation.under_test = stored
            return stored.occurrence * self.deployed.probability(constraints, situation, self.calculus)

        return probability

    # Aggregates. Over the values of the matching events of a window or interval, in the order of the stream;
    # a member without a value does not count. Values and membership may be uncertain.

    def _compute(self, step: Compute, match: Match) -> Computed:
        situation = Match(match.events, match.values)
        possible = self._possible(step.constraints, match)
        if not step.silent:
            self._pass_over(step.type, step.scope, match, lambda stored: possible(stored) > 0.0)
        members: list[Member | float] = []
        sources: list[Stored] = []
        for situation.under_test in self._candidates(step.type, step.scope, match):
            probability = possible(situation.under_test)
            if probability > 0.0:
                value = self.deployed.members[step.name](situation) if step.value is not None else 1
                if value is not None:
                    law = None if step.value is None else law_of_value(step.value, situation, self.calculus)
                    members.append(Member(probability, value, law, situation.under_test.event.time))
                elif step.even_undefined:
                    members.append(probability)
                else:
                    continue
                sources.append(situation.under_test)
        form = aggregate_named(step.function).form
        if form.is_end and sources:
            taken, *others = sources if form is Form.LAST else sources[::-1]
            self._note_choice(taken, others)
        members.reverse()
        return compute_aggregate(step.function, only_defined(form, members), self.calculus, step.argument)

    # Probability. The product over constraints, negations and aggregates, times what the rule itself is worth.

    def _verdict(self, match: Match) -> Verdict | None:
        factors: list[Factor] = []
        for name, stored in match.events.items():
            if stored.occurrence < 1.0:
                factors.append(Factor(Reason.EVENT, f"{name} occurred", Estimate(stored.occurrence, Method.CLOSED)))
        for judgement in self.deployed.judge(self.deployed.constraints, match, self.calculus):
            if judgement.estimate != CERTAIN:
                text = " and ".join(map(text_of, judgement.constraints))
                factors.append(Factor(Reason.CONSTRAINT, text, judgement.estimate))
        for name in self.deployed.needed:
            computed = match.values[name]
            if computed.defined < 1.0:
                estimate = Estimate(computed.defined, Method.CLOSED, computed.bound)
                factors.append(Factor(Reason.AGGREGATE, f"{self.deployed.resolved.called(name)} is defined", estimate))
        self.deployed.refuse_doubtful(match.values)
        for absent in self.deployed.resolved.absences:
            if any(f.estimate.probability == 0.0 for f in factors if f.reason is not Reason.AGGREGATE):
                return None  # an undefined aggregate is noticed after the absences, as in every engine
            estimate, found = self._absence(absent, match)
            factors.append(Factor(Reason.NEGATION, f"no {absent.type}", estimate, tuple(found)))
        if self.deployed.factor < 1.0:
            factors.append(Factor(Reason.NETWORK, f"rule {self.deployed.rule.name}", Estimate(self.deployed.factor)))
        verdict = Verdict(tuple(factors))
        probability = verdict.estimate.probability
        return None if probability == 0.0 or probability < self.deployed.resolved.min_probability else verdict

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
            error = None if value is None else error_of(expression, value, match, self.calculus)
            if error is not None:
                errors[name] = error
        match.members = {gather.name: self._gather(gather, match) for gather in rule.gathers}
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

    # Collections. Their members are part of what the composite event is made of, behind the chosen events.

    def _gather(self, gather: Gather, match: Match) -> list[Stored]:
        possible = self._possible(gather.constraints, match)
        candidates = self._candidates(gather.type, gather.scope, match)
        found = [stored for stored in candidates if possible(stored) > 0.0][::-1]
        if gather.value is None:
            return found
        value = evaluator(gather.value)
        return [stored for stored in found if value(Match(match.events, match.values, stored)) is not None]


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
