"""The reference engine: the meaning of rules, transcribed. The oracle of every other engine.

Written to be read next to the semantics page of the documentation; no indexes, no cleverness. Each function below
is one paragraph of that page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import ClassVar, assert_never

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.errors import OptionError
from cepheus.core.event import Event, composite_id, with_counted
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import OWNED_ATTRIBUTE, Schema
from cepheus.core.time import MIN_TIME
from cepheus.core.values import Value, ValueType, as_float
from cepheus.engine.base.declared_types import batch_of_made
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.base.past import Past
from cepheus.engine.base.refusals import no_such_rule, require_factor, require_ties, tesla_rules
from cepheus.engine.base.snapshot import pack, restoring
from cepheus.engine.base.ties import MOST_COMPARED, TieCounter, TieCounts
from cepheus.engine.reference.deadlines import Deadlines
from cepheus.engine.reference.state import Deployed as _Deployed
from cepheus.engine.reference.state import Match as _Match
from cepheus.engine.reference.state import Stored as _Stored
from cepheus.engine.reference.state import read, stored_to_json
from cepheus.rules.aggregates import Form, aggregate_named
from cepheus.rules.check.findings import text_of
from cepheus.rules.evaluate import evaluator, group_of
from cepheus.rules.expressions import Between, Constraint, Scope, Within
from cepheus.rules.json_form import to_json
from cepheus.rules.model import AnyRule, RuleSet
from cepheus.rules.policies import Take
from cepheus.rules.resolve import Absent, Choose, Compute, Gather, Ranked, Require, scope_events
from cepheus.rules.timers import MOMENT, NOW, Every
from cepheus.uncertainty.aggregates import Computed, Member, compute_aggregate, only_defined
from cepheus.uncertainty.computed_errors import error_of, law_of_value
from cepheus.uncertainty.verdict import CERTAIN, Estimate, Factor, Method, Observer, Reason, Verdict, absence


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
        self._rules: dict[str, _Deployed] = {}
        self._places, self._places_of = 0, dict[str, int]()
        self._history: dict[str, list[_Stored]] = {}
        self._fed = 0
        self._begun = False
        self._ordinal = 0
        self._time = MIN_TIME
        self._ties = TieCounter()
        self._deadlines = Deadlines()

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events since the engine was made."""
        return self._ties.counts

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules; they see the events fed from now on."""
        deployed = {str(rule.name): _Deployed(rule, self._ordinal) for rule in tesla_rules(rules, self.name)}
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
        while (time := self._deadlines.next()) is not None and time <= until:
            self._time = max(self._time, time)
            deployed, terminator = self._deadlines.take(time)
            if deployed.resolved.name not in terminator.consumed_by:
                made += self._enter(self._evaluate(deployed, terminator))
        return made

    # Hierarchies. A composite event enters the stream at its time and may feed any rule. It takes its place right
    # after the event that completed it; those completed by one event are ordered by rule, then by choice of parts.

    def _enter(self, events: list[Event]) -> list[Event]:
        """Take events in, and those that they complete; all of them are returned."""
        queue = list(events)
        for current in queue:
            stored = _Stored(current, self._ordinal)
            self._ordinal += 1
            made: list[Event] = []
            for name, deployed in self._rules.items():
                if deployed.resolved.terminator.type == current.type:
                    if deployed.resolved.timer is None:
                        made += self._evaluate(deployed, stored)
                    else:
                        self._deadlines.set(deployed, self._places_of[name], stored)
                if len(made) > self._limit:
                    raise too_many_composites(deployed.rule, self._limit)
            queue += made
            self._history.setdefault(current.type, []).append(stored)
        return queue

    def _evaluate(self, deployed: _Deployed, terminator: _Stored) -> list[Event]:
        counted = self._ties.counts
        made = self._fire(deployed, terminator)
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

    # Terminator. The rule is evaluated once for each event that matches its terminator.

    def _fire(self, deployed: _Deployed, terminator: _Stored) -> list[Event]:
        rule = deployed.resolved
        start = _Match({rule.terminator.name: terminator}, {})
        if rule.delay:
            start.events[NOW] = _Stored(Event(MOMENT, terminator.event.time + rule.delay, {}), -1)
        if deployed.probability(rule.terminator.constraints, start, self._calculus) == 0.0:
            return []
        matches = [start]
        for step in rule.steps:
            match step:
                case Choose():
                    matches = self._extend(deployed, step, matches)
                case Compute():
                    matches = [
                        _Match(match.events, match.values | {step.name: self._compute(deployed, step, match)})
                        for match in matches
                    ]
                case Require(constraint=constraint):
                    matches = [m for m in matches if deployed.probability((constraint,), m, self._calculus) > 0.0]
                case _:
                    assert_never(step)
        fired = [(match, event) for match in matches if (event := self._produce(deployed, match)) is not None]
        # Consumption. What took part in a firing is gone for this rule's later terminators.
        for match, _ in fired:
            for name in rule.consuming & match.events.keys():
                match.events[name].consumed_by.add(rule.name)
            for member in (member for name in rule.consuming & match.members.keys() for member in match.members[name]):
                member.consumed_by.add(rule.name)
        return [event for _, event in fired]

    # Window. `P B within x from A` looks at every B with A.time - x <= B.time < A.time. `between X and Y` looks at
    # what lies strictly between the two. With `ties ordered` an event precedes those that come after it in the stream.

    def _candidates(self, deployed: _Deployed, event_type: str, scope: Scope, match: _Match) -> Iterator[_Stored]:
        if deployed.resolved.ordered:
            yield from self._candidates_in_order(deployed, event_type, scope, match)
            return
        start, end = _bounds(scope, match)
        for stored in self._visible(deployed, event_type):
            if stored.event.time < start:
                return
            if stored.event.time < end:
                yield stored

    def _candidates_in_order(
        self, deployed: _Deployed, event_type: str, scope: Scope, match: _Match
    ) -> Iterator[_Stored]:
        references = sorted((match.events[name] for name in scope_events(scope)), key=lambda stored: stored.ordinal)
        earliest, latest = references[0], references[-1]
        for stored in self._visible(deployed, event_type):
            if isinstance(scope, Within):
                follows = stored.event.time >= latest.event.time - scope.duration
            else:
                follows = stored.ordinal > earliest.ordinal
            if not follows:
                return
            if stored.ordinal < latest.ordinal:
                yield stored

    def _visible(self, deployed: _Deployed, event_type: str) -> Iterator[_Stored]:
        """Walk through the events of a type that a rule sees, the latest first."""
        first_seen = deployed.first(event_type)
        for stored in reversed(self._history.get(event_type, [])):
            if stored.ordinal < first_seen:
                return
            if deployed.resolved.name not in stored.consumed_by:
                yield stored

    # Ties. Events of equal time do not precede one another: those that would do but have the very time of an event
    # that they would have to precede, or in an interval to follow, are passed over, and counted. The order of
    # simultaneous events decides a choice if one that is not taken has the time of one that is.

    def _pass_over(
        self, deployed: _Deployed, event_type: str, scope: Scope, match: _Match, fits: Callable[[_Stored], bool]
    ) -> None:
        if deployed.resolved.ordered:
            return  # nobody is simultaneous
        start, end = _bounds(scope, match)
        edges = {end: 0} if isinstance(scope, Within) else {end: 0, min(start - 1, end): 0}
        references = [match.events[name] for name in scope_events(scope)]
        for stored in self._visible(deployed, event_type):
            time = stored.event.time
            if time < min(edges):
                return
            if time in edges and edges[time] < MOST_COMPARED:
                edges[time] += 1
                self._ties.passed_over += stored not in references and fits(stored)
            elif time in edges:
                self._ties.at_least = True

    def _note_choice(
        self, taken: _Stored, others: Iterable[_Stored], fits: Callable[[_Stored], bool] = lambda _: True
    ) -> None:
        """Count a choice if one of the ``others``, which come from the nearest on, would have done as well."""
        tied = takewhile(lambda other: other.event.time == taken.event.time, others)
        for compared, other in enumerate(tied):
            if compared == MOST_COMPARED:
                self._ties.at_least = True
                return
            if fits(other):
                self._ties.decided += 1
                return

    # Selection. Of the events in the window that satisfy the constraints, each takes all, last/first the
    # latest/earliest, n last/n first up to n of them.

    def _choose(self, deployed: _Deployed, step: Choose, match: _Match) -> list[_Stored]:
        situation = _Match(dict(match.events), match.values)
        wanted = 1 if step.count is None else step.count

        def fits(candidate: _Stored) -> bool:
            situation.events[step.name] = candidate
            own = candidate.occurrence * deployed.probability(step.constraints, situation, self._calculus)
            # The candidate's own probability exceeds the least one of the rule, which nothing can where that is 1.
            return own > deployed.resolved.min_probability or own == 1.0 or (step.policy.takes_all and own > 0.0)

        self._pass_over(deployed, step.type, step.window, match, fits)
        candidates = self._candidates(deployed, step.type, step.window, match)
        if step.per:
            chosen = self._choose_by_group(step, [*filter(fits, candidates)][::-1], wanted)
            return self._greatest(deployed, step.ranked, step.name, chosen, match)
        match step.policy.takes:
            case Take.ALL:
                fitting = [*filter(fits, candidates)][::-1]  # from the earliest to the latest
                return self._greatest(deployed, step.ranked, step.name, fitting, match)
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

    def _choose_by_group(self, step: Choose, fitting: list[_Stored], wanted: int) -> list[_Stored]:
        groups: dict[tuple[Value | None, ...], list[_Stored]] = {}
        for stored in fitting:
            groups.setdefault(group_of(step.per, _Match({step.name: stored}, {})), []).append(stored)
        chosen: list[_Stored] = []
        for group in groups.values():
            taken = list(step.policy.record.meaning(group, wanted))
            left = {stored.event.time for stored in group if stored not in taken}
            self._ties.decided += any(stored.event.time in left for stored in taken)
            chosen += taken
        return sorted(chosen, key=lambda stored: stored.ordinal)

    # Rankings. Of these events, those with the greatest values; of equal values, the later ones.

    def _greatest(
        self, deployed: _Deployed, ranked: Ranked | None, name: str, events: list[_Stored], match: _Match
    ) -> list[_Stored]:
        if ranked is None:
            return events
        value = evaluator(ranked.by)
        found: list[tuple[float, int]] = []
        for place, stored in enumerate(events):
            situation = _Match(match.events | {name: stored}, dict(match.values))
            for compute in ranked.computes:
                situation.values[compute.name] = self._compute(deployed, compute, situation)
            worth = value(situation)
            if isinstance(worth, int | float):
                found.append((worth, place))
        found.sort()
        kept, left = found[-ranked.count :], found[: -ranked.count]
        if left and left[-1][0] == kept[0][0]:
            self._ties.decided += events[left[-1][1]].event.time == events[kept[0][1]].event.time
        return [events[place] for place in sorted(place for _, place in kept)]

    # Every combination of choices gives one composite event.

    def _extend(self, deployed: _Deployed, step: Choose, matches: list[_Match]) -> list[_Match]:
        extended: list[_Match] = []
        for match in matches:
            extended += [
                _Match(match.events | {step.name: chosen}, match.values)
                for chosen in self._choose(deployed, step, match)
            ]
            if len(extended) > 10 * self._limit:  # more than memory may hold, whatever negations rule out later
                raise too_many_composites(deployed.rule, self._limit)
        return extended

    # Negation. Checked after selection: the probability that no such event occurred.

    def _absence(self, deployed: _Deployed, absent: Absent, match: _Match) -> tuple[Estimate, list[tuple[str, float]]]:
        found: list[tuple[str, float]] = []
        possible = self._possible(deployed, absent.constraints, match)
        self._pass_over(deployed, absent.type, absent.scope, match, lambda stored: possible(stored) > 0.0)
        for stored in self._candidates(deployed, absent.type, absent.scope, match):
            probability = possible(stored)
            if probability > 0.0:
                found.append((f"{absent.type} {stored.event.id}", probability))
            if probability == 1.0 and self._calculus.negation == "independent":
                break
        return absence([probability for _, probability in found], self._calculus.negation), found

    def _possible(
        self, deployed: _Deployed, constraints: tuple[Constraint, ...], match: _Match
    ) -> Callable[[_Stored], float]:
        """How probably an event occurred and satisfies what is asked of one that takes no part, as a function."""
        situation = _Match(match.events, match.values)

        def probability(stored: _Stored) -> float:
            situation.under_test = stored
            return stored.occurrence * deployed.probability(constraints, situation, self._calculus)

        return probability

    # Aggregates. Over the values of the matching events of a window or interval, in the order of the stream;
    # a member without a value does not count. Values and membership may be uncertain.

    def _compute(self, deployed: _Deployed, step: Compute, match: _Match) -> Computed:
        situation = _Match(match.events, match.values)
        possible = self._possible(deployed, step.constraints, match)
        if not step.silent:
            self._pass_over(deployed, step.type, step.scope, match, lambda stored: possible(stored) > 0.0)
        members: list[Member | float] = []
        sources: list[_Stored] = []
        for situation.under_test in self._candidates(deployed, step.type, step.scope, match):
            probability = possible(situation.under_test)
            if probability > 0.0:
                value = deployed.members[step.name](situation) if step.value is not None else 1
                if value is not None:
                    law = None if step.value is None else law_of_value(step.value, situation, self._calculus)
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
        return compute_aggregate(step.function, only_defined(form, members), self._calculus, step.argument)

    # Probability. The product over constraints, negations and aggregates, times what the rule itself is worth.

    def _verdict(self, deployed: _Deployed, match: _Match) -> Verdict | None:
        factors: list[Factor] = []
        for name, stored in match.events.items():
            if stored.occurrence < 1.0:
                factors.append(Factor(Reason.EVENT, f"{name} occurred", Estimate(stored.occurrence, Method.CLOSED)))
        for judgement in deployed.judge(deployed.constraints, match, self._calculus):
            if judgement.estimate != CERTAIN:
                text = " and ".join(map(text_of, judgement.constraints))
                factors.append(Factor(Reason.CONSTRAINT, text, judgement.estimate))
        for name in deployed.needed:
            computed = match.values[name]
            if computed.defined < 1.0:
                estimate = Estimate(computed.defined, Method.CLOSED, computed.bound)
                factors.append(Factor(Reason.AGGREGATE, f"{deployed.resolved.called(name)} is defined", estimate))
        deployed.refuse_doubtful(match.values)
        for absent in deployed.resolved.absences:
            if any(f.estimate.probability == 0.0 for f in factors if f.reason is not Reason.AGGREGATE):
                return None  # an undefined aggregate is noticed after the absences, as in every engine
            estimate, found = self._absence(deployed, absent, match)
            factors.append(Factor(Reason.NEGATION, f"no {absent.type}", estimate, tuple(found)))
        if deployed.factor < 1.0:
            factors.append(Factor(Reason.NETWORK, f"rule {deployed.rule.name}", Estimate(deployed.factor)))
        verdict = Verdict(tuple(factors))
        probability = verdict.estimate.probability
        return None if probability == 0.0 or probability < deployed.resolved.min_probability else verdict

    # Production. The composite event carries the terminator's time; a rule that needs an undefined value does not
    # fire, unless the attribute is declared optional.

    def _produce(self, deployed: _Deployed, match: _Match) -> Event | None:
        rule = deployed.resolved
        verdict = self._verdict(deployed, match)
        if verdict is None:
            return None
        attributes: dict[str, Value | None] = {}
        errors: dict[str, Distribution] = {}
        for name, expression, compute in deployed.values:
            declared = rule.composite.attribute(name)
            assert declared is not None
            value = compute(match)
            if value is None and not declared.optional:
                return None
            attributes[name] = as_float(value) if declared.type is ValueType.FLOAT and value is not None else value
            error = None if value is None else error_of(expression, value, match, self._calculus)
            if error is not None:
                errors[name] = error
        match.members = {gather.name: self._gather(deployed, gather, match) for gather in rule.gathers}
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
        if self._observe is not None:
            self._observe(made, verdict)
        return made

    # Collections. Their members are part of what the composite event is made of, behind the chosen events.

    def _gather(self, deployed: _Deployed, gather: Gather, match: _Match) -> list[_Stored]:
        possible = self._possible(deployed, gather.constraints, match)
        candidates = self._candidates(deployed, gather.type, gather.scope, match)
        found = [stored for stored in candidates if possible(stored) > 0.0][::-1]
        if gather.value is None:
            return found
        value = evaluator(gather.value)
        return [stored for stored in found if value(_Match(match.events, match.values, stored)) is not None]

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
            stored = _Stored(seen.event, ordinal, set(seen.consumed_by))
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
            deployed = _Deployed(rule, 0, earlier)
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
                deployed = _Deployed(rule, since, earlier)
                deployed.factor = factor
                self._rules[deployed.resolved.name] = deployed
            self._fed, self._ordinal, self._time = header["fed"], header["ordinal"], header["time"]
            self._errors = header["errors"]
            for each in header["history"]:
                stored = _Stored(each["event"], each["ordinal"], set(each["consumed_by"]))
                self._history.setdefault(stored.event.type, []).append(stored)
            self._rebuild_deadlines()


def _bounds(scope: Scope, match: _Match) -> tuple[int, int]:
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
