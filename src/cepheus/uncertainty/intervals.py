"""The values of one linear form that several comparisons leave over: an interval, perhaps without some points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cepheus.uncertainty.laws import Law


@dataclass(slots=True)
class Interval:
    """All numbers between two bounds, each of which may belong to it or not, without the excluded ones."""

    low: float = -math.inf
    low_inclusive: bool = False
    high: float = math.inf
    high_inclusive: bool = False
    excluded: set[float] = field(default_factory=set)

    def restrict(self, operator: str, bound: float) -> None:
        """Keep the numbers that compare so with a bound."""
        if operator == "!=":
            self.excluded.add(bound)
        if operator in (">", ">=", "="):
            inclusive = operator != ">"
            if bound > self.low or (bound == self.low and not inclusive):
                self.low, self.low_inclusive = bound, inclusive
        if operator in ("<", "<=", "="):
            inclusive = operator != "<"
            if bound < self.high or (bound == self.high and not inclusive):
                self.high, self.high_inclusive = bound, inclusive

    def probability(self, law: Law) -> float:
        """The probability that a value of the law lies in the interval.

        >>> from cepheus.uncertainty.laws import Component, Spreads
        >>> near = Interval(-10.0, False, 10.0, False)
        >>> round(near.probability(Spreads((Component(1.0, 0.2, 3.0),))), 6)
        1.0
        """
        if self.low > self.high:
            return 0.0
        upper = 1.0 if self.high == math.inf else law.below(self.high, inclusive=self.high_inclusive)
        lower = 0.0 if self.low == -math.inf else law.below(self.low, inclusive=not self.low_inclusive)
        total = upper - lower
        for point in self.excluded:
            if self._contains(point):
                total -= law.below(point, inclusive=True) - law.below(point, inclusive=False)
        return max(total, 0.0)

    def _contains(self, point: float) -> bool:
        above = point > self.low or (point == self.low and self.low_inclusive)
        return above and (point < self.high or (point == self.high and self.high_inclusive))
