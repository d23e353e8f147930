"""Factors that share quantities, given the values of what they share.

``value > 30 and not Ref(r < $v)``: both ask about the value; given the value, they are independent. So the quantities
that tie factors together are fixed, at many values at once, the factors multiplied, and the product averaged: over all
outcomes of discrete quantities, and by quadrature over one that is continuous.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from cepheus.rules.aggregates import Form
from cepheus.uncertainty.closed_forms import spread_cdf
from cepheus.uncertainty.forms import Direction, LinearCondition, Pending, connected, flipped
from cepheus.uncertainty.laws import Floats, Law, Spreads, added, many_uniform
from cepheus.uncertainty.quadrature import is_integrable, mean_of
from cepheus.uncertainty.quantities import Key
from cepheus.uncertainty.trials import (
    Aggregations,
    Belonging,
    Condition,
    Few,
    HasValue,
    Occurrence,
    Part,
    SourceFinder,
    Sources,
    Trial,
)
from cepheus.uncertainty.verdict import Estimate, Method
from cepheus.uncertainty.worlds import Truths, Worlds, compared

_MOST_OUTCOMES = 256
_MOST_EDGES = 64


def conditioned(parts: Sequence[Part], aggregations: Aggregations) -> Estimate | None:
    """The probability that factors hold, all of them; None if conditioning on a few quantities does not part them."""
    finder = SourceFinder(aggregations)
    sources: Sources = {}
    for part in parts:
        sources |= finder.of(part)
    tied = _Tied.of(parts, finder, aggregations, sources)
    fixed = None if tied is None else tied.to_fix()
    if tied is None or fixed is None:
        return None
    discrete = [key for key in fixed if _is_discrete(sources[key])]
    continuous = [key for key in fixed if key not in discrete]
    outcomes = [_outcomes(sources[key]) for key in discrete]
    total = error = 0.0
    for outcome in product(*outcomes):
        weight = math.prod(chance for _, chance in outcome)
        values = {key: value for key, (value, _) in zip(discrete, outcome, strict=True)}
        found = _averaged(tied, values, continuous, sources)
        if found is None:
            return None
        total += weight * found[0]
        error += weight * found[1]
    method = Method.QUADRATURE if continuous else Method.ENUMERATED if discrete else Method.CLOSED
    return Estimate(min(max(total, 0.0), 1.0), method, error)


def _averaged(
    tied: _Tied, values: Mapping[Key, float], continuous: Sequence[Key], sources: Sources
) -> tuple[float, float] | None:
    if not continuous:
        found = tied.given({key: np.array([value]) for key, value in values.items()}, 1)
        return None if found is None else (float(found[0]), 0.0)
    (key,) = continuous

    def function(at: Floats) -> Floats:
        given = {key: at, **{other: np.full(len(at), value) for other, value in values.items()}}
        found = tied.given(given, len(at))
        assert found is not None
        return found

    trial = tied.given({key: np.array([0.5]), **{k: np.array([v]) for k, v in values.items()}}, 1)
    if trial is None or not is_integrable(sources[key]):
        return None
    return mean_of(sources[key], function, tied.breaks(key, values))


def _is_discrete(law: Law) -> bool:
    return isinstance(law, Spreads) and law.is_discrete


def _outcomes(law: Law) -> list[tuple[float, float]]:
    assert isinstance(law, Spreads)
    merged: dict[float, float] = {}
    for component in law.components:
        merged[component.mean] = merged.get(component.mean, 0.0) + component.weight
    return list(merged.items())


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A trial whose conditions have been looked into."""

    trial: Trial
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Tied:
    """Factors that have been looked into: conditions, trials of few, members of counts."""

    conditions: tuple[Pending, ...]
    occurrences: tuple[Occurrence, ...]
    few: tuple[tuple[tuple[_Fit, ...], int], ...]
    counts: Mapping[str, tuple[_Fit, ...]]
    finder: SourceFinder
    aggregations: Aggregations
    sources: Sources

    @classmethod
    def of(
        cls, parts: Sequence[Part], finder: SourceFinder, aggregations: Aggregations, sources: Sources
    ) -> _Tied | None:
        """Look into factors; None if one reads an aggregate other than a count."""
        names: set[str] = set()
        conditions, few = [], []
        for part in parts:
            if isinstance(part, Condition):
                names |= finder.aggregates_in(part.constraint)
                conditions.append(Pending.of(part.constraint, part.situation))
            elif isinstance(part, HasValue):
                names.add(part.aggregate)
            elif isinstance(part, Few):
                if any(finder.aggregates_in(condition) for trial in part.trials for condition in trial.conditions):
                    return None
                few.append((tuple(map(_fit, part.trials)), part.most))
        counts = {}
        for name in names:
            members = aggregations[name].members
            if aggregations[name].record.form is not Form.COUNT or not all(map(_is_plain, members)):
                return None
            if any(finder.aggregates_in(condition) for member in members for condition in member.trial.conditions):
                return None
            counts[name] = tuple(_fit(member.trial) for member in members)
        occurred = tuple(part for part in parts if isinstance(part, Occurrence))
        return cls(tuple(conditions), occurred, tuple(few), counts, finder, aggregations, sources)

    # ---- What to fix -----------------------------------------------------------------------------------------------

    def to_fix(self) -> list[Key] | None:
        """The quantities that must be fixed for the factors to be independent; None if there are too many."""
        fixed: list[Key] = []
        while (shared := self._shared(fixed)) is not None:
            discrete = [key for key in shared if _is_discrete(self.sources[key])]
            fixed.append(max(discrete or shared, key=lambda key: shared[key]))
            outcomes = [len(_outcomes(self.sources[k])) for k in fixed if _is_discrete(self.sources[k])]
            if len(fixed) - len(outcomes) > 1 or math.prod(outcomes) > _MOST_OUTCOMES:
                return None
        return fixed

    def _shared(self, fixed: Sequence[Key]) -> Counter[Key] | None:
        """Which quantities stand in the way, and how often each is asked about; None if there are none."""
        left = [_left(pending, fixed) for pending in self.conditions]
        groups = connected(left, lambda keys: keys)
        units = [set().union(*group) for group in groups]
        units += [{occurrence.key}.difference(fixed) for occurrence in self.occurrences]
        fits = [fit for few, _ in self.few for fit in few] + [fit for count in self.counts.values() for fit in count]
        units += [set(self.finder.of_trial(fit.trial)).difference(fixed) for fit in fits]
        asked = Counter(key for unit in units for key in unit if key in self.sources)
        if any(times > 1 for times in asked.values()):
            return Counter({key: times for key, times in asked.items() if times > 1})
        for group in [self.conditions, *(fit.pending for fit in fits)]:
            hard = _hard(group, fixed)
            if hard is not None:
                return Counter({key: times for key, times in hard.items() if key in self.sources}) or None
        return None

    def breaks(self, key: Key, values: Mapping[Key, float]) -> list[float]:
        """Where, along a quantity, the probability of the factors may jump or bend."""
        found: list[float] = []
        fits = [fit for few, _ in self.few for fit in few] + [fit for count in self.counts.values() for fit in count]
        for pending in [*self.conditions, *(pending for fit in fits for pending in fit.pending)]:
            for condition in pending.conditions or ():
                factor = condition.form.coefficients.get(key)
                if factor:
                    found += [-edge / factor for edge in self._edges(condition, key, values)]
        return [value for value in found if math.isfinite(value)]

    def _edges(self, condition: LinearCondition, key: Key, values: Mapping[Key, float]) -> Iterator[float]:
        """What a form comes to without a quantity, where its other quantities have an edge or their middle."""
        constant = condition.form.constant
        choices: list[list[float]] = []
        for other, coefficient in condition.form.coefficients.items():
            if other in values:
                constant += coefficient * values[other]
            elif isinstance(other, str) and other in self.counts:
                choices.append([coefficient * number for number in range(len(self.counts[other]) + 1)])
            elif other != key:
                law = self.sources[other]
                edges = _edges(law) if isinstance(law, Spreads) else [law.mean()]
                choices.append([coefficient * edge for edge in edges])
        if math.prod(map(len, choices)) <= _MOST_EDGES:
            yield from (constant + sum(chosen) for chosen in product(*choices))

    # ---- What holds, given that ------------------------------------------------------------------------------------

    def given(self, values: Mapping[Key, Floats], count: int) -> Floats | None:
        """The probability of all factors, for each of so many values of what is fixed; None if there is no form."""
        given = _Given(values, count, self.sources, self.aggregations)
        total = np.ones(count)
        for occurrence in self.occurrences:
            total = total * values.get(occurrence.key, np.full(count, occurrence.probability))
        counting = [p for p in self.conditions if p.conditions is not None and _reads(p, self.counts)]
        found = given.all_of([p for p in self.conditions if p not in counting])
        if found is None:
            return None
        total = total * found
        for fits, most in self.few:
            chances = given.number_of(fits, most)
            if chances is None:
                return None
            total = total * sum(chances[: most + 1])
        for name, fits in self.counts.items():
            asked = [p for p in counting if name in _names(p, self.counts)]
            if any(len(_names(p, self.counts)) > 1 for p in asked):
                return None
            chances = given.number_of(fits)
            if chances is None:
                return None
            inside = [given.counted(asked, name, number) for number in range(len(chances))]
            kept = [chance * truth for chance, truth in zip(chances, inside, strict=True) if truth is not None]
            if len(kept) < len(inside):
                return None
            total = total * sum(kept)
        return total


def _fit(trial: Trial) -> _Fit:
    return _Fit(trial, tuple(Pending.of(condition, trial.situation) for condition in trial.conditions))


def _is_plain(member: Belonging) -> bool:
    """Whether a member of a count counts in every world in which it fits."""
    return member.observed is not None


def _left(pending: Pending, fixed: Iterable[Key]) -> set[Key]:
    """What a constraint leaves open."""
    if pending.conditions is None:
        return set(pending.quantities).difference(fixed)
    return {key for condition in pending.conditions for key in condition.form.coefficients}.difference(fixed)


def _names(pending: Pending, counts: Mapping[str, object]) -> set[str]:
    return {str(key) for key in _left(pending, ()) if key in counts}


def _reads(pending: Pending, counts: Mapping[str, object]) -> bool:
    return bool(_names(pending, counts))


def _hard(group: Sequence[Pending], fixed: Sequence[Key]) -> Counter[Key] | None:
    """Quantities of constraints that are no intervals of one form each, by how often they are asked about."""
    open_ones = [pending for pending in group if _left(pending, fixed)]
    for together in connected(open_ones, lambda pending: _left(pending, fixed)):
        asked = Counter(key for pending in together for key in _left(pending, fixed))
        if any(pending.conditions is None for pending in together):
            return asked
        conditions = [_without(condition, fixed) for pending in together for condition in pending.conditions or ()]
        varying = [condition for condition in conditions if condition.form.coefficients]
        for parallel in connected(varying, lambda condition: condition.form.coefficients):
            direction = Direction.of(parallel[0].form)
            if any(direction.factor(condition.form) is None for condition in parallel):
                return Counter(key for condition in parallel for key in condition.form.coefficients)
    return None


def _without(condition: LinearCondition, fixed: Iterable[Key]) -> LinearCondition:
    kept = {key: c for key, c in condition.form.coefficients.items() if key not in fixed}
    return replace(condition, form=replace(condition.form, coefficients=kept))


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """Values of some quantities, so many of each."""

    values: Mapping[Key, Floats]
    count: int
    sources: Sources
    aggregations: Aggregations

    def all_of(self, group: Sequence[Pending]) -> Floats | None:
        """The probability that constraints hold, all of them."""
        total = np.ones(self.count)
        conditions: list[tuple[LinearCondition, Floats]] = []
        for pending in group:
            if pending.conditions is not None:
                conditions += [self._fixed(condition) for condition in pending.conditions]
            elif all(key in self.values for key in pending.quantities):
                total = total * Worlds(self.count, self.values, {}).truth(pending.constraint, pending.situation)
            else:
                return None
        for condition, constant in conditions:
            if not condition.form.coefficients:
                total = total * compared(condition.operator, constant, 0.0)
        varying = [each for each in conditions if each[0].form.coefficients]
        for together in connected(varying, lambda each: each[0].form.coefficients):
            found = self._interval(together)
            if found is None:
                return None
            total = total * found
        return total

    def _fixed(self, condition: LinearCondition) -> tuple[LinearCondition, Floats]:
        constant = np.full(self.count, condition.form.constant)
        for key, coefficient in condition.form.coefficients.items():
            if key in self.values:
                constant = constant + coefficient * self.values[key]
        return _without(condition, self.values), constant

    def _interval(self, conditions: Sequence[tuple[LinearCondition, Floats]]) -> Floats | None:
        """The probability that a form keeps all its bounds."""
        direction = Direction.of(conditions[0][0].form)
        laws = [self.sources.get(key) for key in direction.coefficients]
        bounds = _Bounds(self.count)
        for condition, constant in conditions:
            factor = direction.factor(condition.form)
            if factor is None:
                return None
            bounds.restrict(flipped(condition.operator, factor), -constant / factor)
        known = [law for law in laws if law is not None]
        if len(known) < len(laws):
            return None
        moved = [law.moved(c, 0.0) for law, c in zip(known, direction.coefficients.values(), strict=True)]
        if len(moved) == 1:
            return bounds.probability(moved[0])
        closed = [law for law in moved if isinstance(law, Spreads)]
        total = added(closed) if len(closed) == len(moved) else None
        return None if total is None else bounds.probability(total)

    def number_of(self, fits: Sequence[_Fit], most: int | None = None) -> list[Floats] | None:
        """The probabilities that none, one, two and so on of trials succeed, up to one more than the ``most``."""
        chances = [np.ones(self.count)]
        for fit in fits:
            p = self.all_of(fit.pending)
            if p is None:
                return None
            occurrence = fit.trial.occurrence
            if occurrence is not None:
                p = p * self.values.get(occurrence.key, np.full(self.count, occurrence.probability))
            zero = np.zeros(self.count)
            chances = [a * (1.0 - p) + b * p for a, b in zip([*chances, zero], [zero, *chances], strict=True)]
            if most is not None:
                chances = chances[: most + 1]
        return chances

    def counted(self, asked: Sequence[Pending], name: str, number: int) -> Truths | None:
        """Where conditions on a count hold if it is a number; None if they ask about more than that."""
        truth = np.ones(self.count, np.bool_)
        for pending in asked:
            for condition in pending.conditions or ():
                left, constant = self._fixed(condition)
                if not left.form.coefficients.keys() <= {name}:
                    return None
                constant = constant + left.form.coefficients.get(name, 0.0) * number
                truth = truth & compared(condition.operator, constant, 0.0)
        return truth


class _Bounds:
    """Intervals side by side."""

    def __init__(self, count: int) -> None:
        self._low, self._low_inside = np.full(count, -np.inf), np.zeros(count, np.bool_)
        self._high, self._high_inside = np.full(count, np.inf), np.zeros(count, np.bool_)
        self._excluded: list[Floats] = []

    def restrict(self, operator: str, bound: Floats) -> None:
        """Keep the numbers that compare so with bounds."""
        if operator == "!=":
            self._excluded.append(bound)
        if operator in (">", ">=", "="):
            inside = operator != ">"
            closer = (bound > self._low) | ((bound == self._low) & (not inside))
            self._low, self._low_inside = np.where(closer, bound, self._low), np.where(closer, inside, self._low_inside)
        if operator in ("<", "<=", "="):
            inside = operator != "<"
            closer = (bound < self._high) | ((bound == self._high) & (not inside))
            self._high = np.where(closer, bound, self._high)
            self._high_inside = np.where(closer, inside, self._high_inside)

    def probability(self, law: Law) -> Floats:
        """The probability that a value lies in each."""
        total = below(law, self._high, self._high_inside) - below(law, self._low, ~self._low_inside)
        for left_out in self._excluded:
            above = (left_out > self._low) | ((left_out == self._low) & self._low_inside)
            under = (left_out < self._high) | ((left_out == self._high) & self._high_inside)
            everywhere = np.ones(len(left_out), np.bool_)
            atom = below(law, left_out, everywhere) - below(law, left_out, ~everywhere)
            total = total - np.where(above & under, atom, 0.0)
        return np.asarray(np.where(self._low > self._high, 0.0, np.maximum(total, 0.0)))


_SPREAD: Callable[..., object] = np.frompyfunc(spread_cdf, 4, 1)


def below(law: Law, bounds: Floats, inclusive: Truths) -> Floats:
    """The probability of a value less than each bound, or equal to it where inclusive."""
    if not isinstance(law, Spreads):
        pairs = zip(bounds.tolist(), inclusive.tolist(), strict=True)
        return np.array([_ends(bound, law, inside) for bound, inside in pairs])
    total = np.where(bounds == np.inf, 1.0, 0.0)
    finite = np.isfinite(bounds)
    at, inside = bounds[finite], inclusive[finite]
    found = np.zeros(len(at))
    for c in law.components:
        t = at - c.mean
        if c.is_point:
            found += c.weight * ((t > 0.0) | (inside & (t == 0.0)))
        elif len(c.widths) > 2:
            found += c.weight * np.array([many_uniform(one, math.sqrt(c.variance), c.widths) for one in t.tolist()])
        else:
            wide, narrow = (*c.widths, 0.0, 0.0)[:2]
            found += c.weight * np.asarray(_SPREAD(t, math.sqrt(c.variance), wide, narrow), np.float64)
    total[finite] = found
    return total


def _ends(bound: float, law: Law, inside: bool) -> float:
    return (1.0 if bound > 0.0 else 0.0) if math.isinf(bound) else law.below(bound, inclusive=inside)


def _edges(law: Spreads) -> list[float]:
    """Where the distribution function of a law jumps or bends, and the middle of what is smooth."""
    found = []
    for component in law.components:
        reach = [0.0]
        for width in component.widths if component.variance == 0.0 else ():
            reach = [edge + side for edge in reach for side in (-width, width)]
        found += [component.mean + edge for edge in reach]
        if component.widths:
            found.append(component.mean)
    return found
