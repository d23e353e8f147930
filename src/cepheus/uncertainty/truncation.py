"""The law of a value that is known to lie between bounds: what passes ``value > 30`` is above 30."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheus.rules.expressions import Constraint
from cepheus.uncertainty.forms import Direction, Interval, LinearCondition, Pending, connected, flipped
from cepheus.uncertainty.laws import Component, Floats, Law, Spreads, added, point
from cepheus.uncertainty.quantities import Linear, UncertainSituation
from cepheus.uncertainty.trials import Sources

_ROUNDS = 64
_DRAWN = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Truncated:
    """``scale * X + shift`` for a value X of a law, given that X lies in an interval, which it does with ``mass``."""

    law: Law
    interval: Interval
    mass: float
    scale: float = 1.0
    shift: float = 0.0

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""
        at = (bound - self.shift) / self.scale
        if self.scale < 0.0:
            return 1.0 - self._below(at, not inclusive)
        return self._below(at, inclusive)

    def _below(self, bound: float, inclusive: bool) -> float:
        under = Interval(
            self.interval.low,
            self.interval.low_inclusive,
            self.interval.high,
            self.interval.high_inclusive,
            set(self.interval.excluded),
        )
        under.restrict("<=" if inclusive else "<", bound)
        return min(1.0, under.probability(self.law) / self.mass)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values; what is too rare to be drawn is taken from the edge of the interval."""
        found = np.empty(0)
        inside = self.interval
        for _ in range(_ROUNDS):
            drawn = self.law.draw(generator, max(count, _DRAWN))
            above = (drawn >= inside.low) if inside.low_inclusive else (drawn > inside.low)
            under = (drawn <= inside.high) if inside.high_inclusive else (drawn < inside.high)
            kept = drawn[above & under & ~np.isin(drawn, list(inside.excluded))]
            found = np.concatenate([found, kept])
            if len(found) >= count:
                break
        if len(found) < count:
            mean = self.law.mean()
            edge = inside.low if mean < inside.low else inside.high if mean > inside.high else mean
            found = np.concatenate([found, np.full(count - len(found), edge)])
        with np.errstate(over="ignore"):
            moved = self.scale * found[:count] + self.shift
        return np.asarray(np.clip(moved, -sys.float_info.max, sys.float_info.max))

    def mean(self) -> float:
        """The expected value, from a fixed set of draws."""
        return float((self.draw(np.random.default_rng(1), _DRAWN) / _DRAWN).sum())

    def moved(self, scale: float, shift: float) -> Law:
        """The law of ``scale * value + shift``."""
        if scale == 0.0:
            return point(shift)
        return Truncated(self.law, self.interval, self.mass, scale * self.scale, scale * self.shift + shift)


def truncated(
    form: Linear, conditions: Sequence[Constraint], situation: UncertainSituation, sources: Sources
) -> Law | None:
    """The law of a linear form, given that conditions hold; None if they ask about other forms of its quantities."""
    if not form.coefficients:
        return None
    direction = Direction.of(form)
    asked: list[LinearCondition] = []
    for condition in conditions:
        pending = Pending.of(condition, situation)
        if pending.conditions is None:
            if direction.coefficients.keys().isdisjoint(pending.quantities):
                continue
            return None
        asked += [one for one in pending.conditions if one.form.coefficients]
    interval = Interval()
    for group in connected(asked, lambda one: one.form.coefficients):
        if direction.coefficients.keys().isdisjoint(key for one in group for key in one.form.coefficients):
            continue
        for one in group:
            factor = direction.factor(one.form)
            if factor is None:
                return None
            interval.restrict(flipped(one.operator, factor), -one.form.constant / factor)
    laws = [sources[key].moved(c, 0.0) for key, c in direction.coefficients.items()]
    closed = [law for law in laws if isinstance(law, Spreads)]
    total = laws[0] if len(laws) == 1 else added(closed) if len(closed) == len(laws) else None
    if total is None:
        return None
    mass = interval.probability(total)
    if mass <= 0.0:
        return None
    scale = next(iter(form.coefficients.values()))
    whole = interval.low == -np.inf and interval.high == np.inf and not interval.excluded
    inside: Law = total if whole else _inside(total, interval, mass)
    return inside.moved(scale, form.constant)


def _inside(law: Law, interval: Interval, mass: float) -> Law:
    """A law within an interval; that of single values is one of single values again."""
    if isinstance(law, Spreads) and law.is_discrete:
        kept = [
            (component, inside)
            for component in law.components
            if (inside := interval.probability(point(component.mean))) > 0.0
        ]
        weight = sum(component.weight for component, _ in kept)
        return Spreads(tuple(Component(c.weight / weight, c.mean) for c, _ in kept))
    return Truncated(law, interval, mass)
