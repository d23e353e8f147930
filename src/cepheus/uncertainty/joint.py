"""The probability of a match: of all its factors together.

Factors that share no uncertain quantity, directly or by way of others, are independent, and their probabilities
multiply; what shares one is a joint event, whatever it is made of. Each such group is worked out as a whole: a single
condition, negation or aggregate by its closed form, several of them given what they share, the rest in drawn worlds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cepheus.core.calculus import Calculus
from cepheus.uncertainty.aggregates import Computed
from cepheus.uncertainty.closed_forms import settled
from cepheus.uncertainty.conditioning import conditioned
from cepheus.uncertainty.forms import Pending, connected
from cepheus.uncertainty.judge import Judgement, judge
from cepheus.uncertainty.quantities import Key
from cepheus.uncertainty.trials import Aggregations, Condition, Few, HasValue, Occurrence, Part, SourceFinder, Trial
from cepheus.uncertainty.verdict import CERTAIN, IMPOSSIBLE, Estimate, Method, conjunction
from cepheus.uncertainty.worlds import simulated

Values = Mapping[str, Computed]
"""The aggregates of a match by the names of their parameters."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Factors that hang together, and how likely all of them hold."""

    parts: tuple[Part, ...]
    estimate: Estimate


def judge_parts(parts: Sequence[Part], values: Values, calculus: Calculus) -> tuple[Judged, ...]:
    """The groups that factors fall into and what each is worth; factors that are certain to hold are left out."""
    judging = _Judging(values, calculus)
    left: list[Part] = []
    for part in _once(parts):
        simpler = judging.simplified(part)
        if simpler is False:
            return (Judged((part,), IMPOSSIBLE),)
        if simpler is not True:
            left.append(simpler)
    found = []
    for group in connected(left, judging.finder.of):
        estimate = judging.group(group)
        estimate = replace(estimate, probability=settled(estimate.probability))
        found.append(Judged(tuple(group), estimate))
        if estimate.probability == 0.0:
            break
    return tuple(found)


def _once(parts: Sequence[Part]) -> list[Part]:
    """Factors without repetitions: an event that is chosen at two places of a pattern took place once."""
    seen: set[Key] = set()
    found = []
    for part in parts:
        if isinstance(part, Occurrence):
            if part.key in seen:
                continue
            seen.add(part.key)
        found.append(part)
    return found


def probability_of(trial: Trial, values: Values, calculus: Calculus) -> Estimate:
    """The probability that an event took place and satisfies its conditions."""
    return _Judging(values, calculus).fits(trial)


class _Judging:
    """Works out groups of factors of one match."""

    def __init__(self, values: Values, calculus: Calculus) -> None:
        self._values = values
        self._calculus = calculus
        self._aggregations: Aggregations = {
            name: computed.source for name, computed in values.items() if computed.source is not None
        }
        self.finder = SourceFinder(self._aggregations)

    # ---- What is certain -------------------------------------------------------------------------------------------

    def simplified(self, part: Part) -> Part | bool:
        """A factor without what is certain about it; whether it holds, if all of it is."""
        match part:
            case Condition(constraint=constraint, situation=situation):
                pending = Pending.of(constraint, situation)
                if pending.is_settled() or not self.finder.of_node(constraint, situation):
                    return conjunction(one.estimate for one in judge([(constraint, situation)])).probability == 1.0
                return part
            case Occurrence(probability=probability):
                return True if probability == 1.0 else part
            case HasValue(aggregate=name):
                if self._values[name].defined in (0.0, 1.0):
                    return self._values[name].defined == 1.0
                return part
            case Few():
                return self._few(part)

    def _few(self, few: Few) -> Few | bool:
        left, most = [], few.most
        for trial in few.trials:
            simpler = self.simplified_trial(trial)
            if simpler is True:
                most -= 1
            elif simpler is not False:
                left.append(simpler)
        if most < 0:
            return False
        return True if len(left) <= most else replace(few, trials=tuple(left), most=most)

    def simplified_trial(self, trial: Trial) -> Trial | bool:
        """A trial without what is certain about it; whether it succeeds, if all of it is."""
        conditions = []
        for condition in trial.conditions:
            simpler = self.simplified(Condition(condition, trial.situation))
            if simpler is False:
                return False
            if simpler is not True:
                conditions.append(condition)
        if trial.occurrence is not None and trial.occurrence.probability == 0.0:
            return False
        occurrence = None if trial.occurrence is None or trial.occurrence.probability == 1.0 else trial.occurrence
        if not conditions and occurrence is None:
            return True
        return Trial(tuple(conditions), trial.situation, occurrence)

    # ---- Groups ----------------------------------------------------------------------------------------------------

    def group(self, parts: Sequence[Part]) -> Estimate:
        """The probability of factors that hang together."""
        if len(parts) == 1 and isinstance(parts[0], Few) and self._are_apart(parts[0].trials):
            return self._few_of(parts[0])
        plain = not any(isinstance(part, Few) for part in parts) and self._aggregates_are_apart(parts)
        estimate = self._plain(parts) if plain else None
        if estimate is not None and estimate.method not in (Method.APPROXIMATED, Method.SIMULATED):
            return estimate
        exact = conditioned(parts, self._aggregations)
        return exact or estimate or simulated(parts, self._aggregations, self._calculus)

    def _are_apart(self, trials: Sequence[Trial]) -> bool:
        """Whether trials share nothing with one another, nor aggregates with them."""
        asked: set[Key] = set()
        for trial in trials:
            own = self.finder.of_trial(trial).keys()
            conditions = [Condition(condition, trial.situation) for condition in trial.conditions]
            if not asked.isdisjoint(own) or not self._aggregates_are_apart(conditions):
                return False
            asked |= own
        return True

    def _aggregates_are_apart(self, parts: Sequence[Part]) -> bool:
        """Whether what aggregates depend on is asked about in no other way: each is then a quantity of its own."""
        names: set[str] = set()
        direct: set[Key] = set()
        for part in parts:
            if isinstance(part, HasValue):
                names.add(part.aggregate)
            elif isinstance(part, Condition):
                read = self.finder.aggregates_in(part.constraint)
                names |= read
                direct |= SourceFinder({}).of_node(part.constraint, part.situation).keys() - read
            elif isinstance(part, Occurrence):
                direct.add(part.key)
        asked = {part.aggregate for part in parts if isinstance(part, HasValue)}
        if any(self._values[name].defined < 1.0 for name in names - asked):
            return False  # something else happens where there is no value
        for name in names:
            own = self.finder.of_aggregate(name).keys()
            if not direct.isdisjoint(own):
                return False
            direct |= own
        return True

    def _plain(self, parts: Sequence[Part]) -> Estimate:
        """Conditions with aggregates as quantities of their own."""
        conditions = [part for part in parts if isinstance(part, Condition)]
        judgements = judge([(c.constraint, c.situation) for c in conditions], self._calculus)
        estimates = [self._with_bounds(one) for one in judgements]
        for part in parts:
            if isinstance(part, HasValue):
                computed = self._values[part.aggregate]
                estimates.append(Estimate(computed.defined, Method.CLOSED, computed.doubt))
            elif isinstance(part, Occurrence):
                estimates.append(Estimate(part.probability, Method.CLOSED))
        return conjunction(estimates)

    def _with_bounds(self, judged: Judgement) -> Estimate:
        """What a judgement comes to, with what the laws of the aggregates that it reads may be off by."""
        names: set[str] = set().union(*(self.finder.aggregates_in(constraint) for constraint in judged.constraints))
        read = [self._values[name] for name in sorted(names) if self._values[name].bound]
        if not read:
            return judged.estimate
        errors = [one.error_of(judged.estimate.probability) for one in read]
        error = math.hypot(judged.estimate.standard_error, *errors)
        return Estimate(judged.estimate.probability, Method.APPROXIMATED, error)

    def fits(self, trial: Trial) -> Estimate:
        """The probability of a single trial."""
        simpler = self.simplified_trial(trial)
        if isinstance(simpler, bool):
            return CERTAIN if simpler else IMPOSSIBLE
        parts: list[Part] = [Condition(condition, simpler.situation) for condition in simpler.conditions]
        if simpler.occurrence is not None:
            parts.append(simpler.occurrence)
        return conjunction(self.group(group) for group in connected(parts, self.finder.of))

    def _few_of(self, few: Few) -> Estimate:
        """The probability that at most so many of independent trials succeed."""
        estimates = [self.fits(trial) for trial in few.trials]
        total = _at_most([one.probability for one in estimates], few.most)
        variance = 0.0
        for place, one in enumerate(estimates):
            if one.standard_error:
                others = [other.probability for at, other in enumerate(estimates) if at != place]
                slope = _at_most(others, few.most) - _at_most(others, few.most - 1)
                variance += (slope * one.standard_error) ** 2
        method = conjunction(estimates).method
        return Estimate(total, Method.CLOSED if method is Method.CERTAIN else method, math.sqrt(variance))


def _at_most(probabilities: Sequence[float], most: int) -> float:
    """The probability that at most so many of independent events occur."""
    if most < 0:
        return 0.0
    if most == 0:
        return math.prod(1.0 - p for p in probabilities)
    chances = [1.0]
    for p in probabilities:
        chances = [a * (1.0 - p) + b * p for a, b in zip([*chances, 0.0], [0.0, *chances], strict=True)][: most + 1]
    return math.fsum(chances)
