"""What a conjunction of comparisons leaves of a value: bounds, excluded values, and who set them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from cepheus.core.values import Value
from cepheus.rules.expressions import Constraint

_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class Fact:
    """``value operator bound``, and the constraint that says so.

    An approximate fact comes from arithmetic on doubles: the last digits of its bound are not to be relied on.
    """

    operator: str
    bound: Value
    source: Constraint
    approximate: bool = False


class Bounds:
    """All facts about one value that matter: the tightest bound on each side and the excluded values."""

    __slots__ = ("excluded", "high", "low", "whole")

    def __init__(self, whole: bool) -> None:
        self.low: Fact | None = None
        self.high: Fact | None = None
        self.excluded: dict[Value, Fact] = {}
        self.whole = whole

    def facts(self) -> Iterator[Fact]:
        """The facts that describe the bounds."""
        yield from (fact for fact in (self.low, self.high, *self.excluded.values()) if fact is not None)

    def add(self, fact: Fact) -> list[Fact] | None:
        """Take in a fact; give the facts that it contradicts (empty: it contradicts itself), None if there are none."""
        if any(_kind(other.bound) is not _kind(fact.bound) for other in self.facts()):
            return None  # a type error, which is reported as such
        if isinstance(fact.bound, bool) and fact.operator == "!=":
            fact = Fact("=", not fact.bound, fact.source)
        if self.whole and isinstance(fact.bound, float | int) and not isinstance(fact.bound, bool):
            whole = _whole(fact)
            if whole is None:
                return [] if fact.operator == "=" else None
            fact = whole
        if fact.operator == "!=":
            self.excluded.setdefault(fact.bound, fact)
        if fact.operator in ("=", ">", ">=") and (self.low is None or _tighter(fact, self.low, upward=True)):
            self.low = fact
        if fact.operator in ("=", "<", "<=") and (self.high is None or _tighter(fact, self.high, upward=False)):
            self.high = fact
        return self._contradiction(fact)

    def _contradiction(self, latest: Fact) -> list[Fact] | None:
        low, high = self.low, self.high
        if low is None or high is None:
            return None
        involved: list[Fact] | None = None
        if _apart(low, high):
            involved = [low, high]
        elif low.bound == high.bound and low.operator not in (">", "<") and high.operator not in (">", "<"):
            excluded = self.excluded.get(low.bound)
            if excluded is not None and not any(fact.approximate for fact in (low, high, excluded)):
                involved = [low, high, excluded]
        if involved is None:
            return None
        return [fact for fact in involved if fact.source is not latest.source]


def _kind(bound: Value) -> type:
    """Numbers, strings and bools are compared only among themselves."""
    return float if type(bound) is int else type(bound)


def _whole(fact: Fact) -> Fact | None:
    """A fact about an int with an int bound; None if it says nothing or the impossible."""
    bound = fact.bound
    assert not isinstance(bound, str | tuple)
    if isinstance(bound, float) and not math.isfinite(bound):
        return None
    match fact.operator:
        case ">":
            return Fact(">=", math.floor(bound) + 1, fact.source, fact.approximate)
        case ">=":
            return Fact(">=", math.ceil(bound), fact.source, fact.approximate)
        case "<":
            return Fact("<=", math.ceil(bound) - 1, fact.source, fact.approximate)
        case "<=":
            return Fact("<=", math.floor(bound), fact.source, fact.approximate)
        case _:
            return Fact(fact.operator, int(bound), fact.source, fact.approximate) if bound == int(bound) else None


def _less(one: Value, other: Value) -> bool:
    if isinstance(one, str | tuple) or isinstance(other, str | tuple):
        return str(one) < str(other)
    return one < other


def _tighter(fact: Fact, than: Fact, *, upward: bool) -> bool:
    if fact.bound == than.bound:
        return fact.operator in ("<", ">") and than.operator not in ("<", ">")
    return _less(than.bound, fact.bound) if upward else _less(fact.bound, than.bound)


def _apart(low: Fact, high: Fact) -> bool:
    """Whether nothing lies above the low bound and below the high one."""
    if low.approximate or high.approximate:
        if isinstance(low.bound, str | tuple) or isinstance(high.bound, str | tuple):
            return False
        return low.bound - high.bound > _MARGIN * max(1.0, abs(low.bound), abs(high.bound))
    if low.bound == high.bound:
        return low.operator == ">" or high.operator == "<"
    return _less(high.bound, low.bound)


class Conjunction:
    """Bounds on many values, some of which are known to be equal."""

    def __init__(self) -> None:
        self._bounds: dict[Hashable, Bounds] = {}
        self._parents: dict[Hashable, Hashable] = {}
        self._spoilt: set[Hashable] = set()

    def root(self, key: Hashable) -> Hashable:
        """The key that stands for all that equal this one."""
        while key in self._parents:
            key = self._parents[key]
        return key

    def add(self, key: Hashable, fact: Fact, whole: bool) -> list[Fact] | None:
        """Take in a fact about a value; give what it contradicts, once per value."""
        key = self.root(key)
        if key in self._spoilt:
            return None
        bounds = self._bounds.get(key)
        if bounds is None:
            bounds = self._bounds[key] = Bounds(whole)
        bounds.whole |= whole
        contradicted = bounds.add(fact)
        if contradicted is not None:
            self._spoilt.add(key)
        return contradicted

    def equate(self, one: Hashable, other: Hashable, source: Constraint) -> list[Fact] | None:
        """Make two values equal; give the facts about them that contradict one another."""
        one, other = self.root(one), self.root(other)
        if one == other:
            return None
        moved = self._bounds.pop(one, None)
        self._parents[one] = other
        if one in self._spoilt or other in self._spoilt:
            self._spoilt.add(other)
            return None
        for fact in () if moved is None else tuple(moved.facts()):
            contradicted = self.add(other, fact, moved.whole if moved is not None else False)
            if contradicted is not None:
                return [found for found in (fact, *contradicted) if found.source is not source]
        return None
