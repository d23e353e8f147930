"""What ties the events of a rule together: equalities, and distances between numbers.

``last Temp(area = $a and $k - 10 < km < $k + 10) within 5 min from Smoke`` ties ``Temp.area`` to ``Smoke.area`` with
distance 0, and ``Temp.km`` to ``Smoke.km`` with a distance from -10 to 10. Only what is demanded of an event where it
is chosen counts: a constraint that is checked later, at another event, does not narrow the choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import ValueType, as_float
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
)
from cepheus.rules.functions import function_of
from cepheus.rules.resolved import Choose, Compute, ResolvedRule

Ref = tuple[str | None, str]
"""An attribute of an event of a rule, None the event under test."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one value may lie from another; ``equal`` says that the two are the same value, of whatever type.

    >>> Distance(-10, 10) + Distance(0, 5)
    Distance(low=-10, high=15, equal=False)
    """

    low: float
    high: float
    equal: bool = False

    def __add__(self, other: Distance) -> Distance:
        return Distance(self.low + other.low, self.high + other.high, self.equal and other.equal)

    def __and__(self, other: Distance) -> Distance:
        return Distance(max(self.low, other.low), min(self.high, other.high), self.equal or other.equal)

    @property
    def is_bounded(self) -> bool:
        """Whether it has an end on both sides."""
        return self.low > -inf and self.high < inf

    @property
    def size(self) -> float:
        """The largest distance in either direction."""
        return max(abs(self.low), abs(self.high))


SAME = Distance(0, 0, equal=True)
_FREE = Distance(-inf, inf)

Known = dict[Ref, Distance]
"""Attributes whose distance from one attribute of the terminator is known."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place of a rule at which events are looked for: a selection, a negation or an aggregate."""

    name: str | None
    type: str
    constraints: tuple[Constraint, ...]
    what: str


def sites(rule: ResolvedRule) -> tuple[Site, ...]:
    """The places of a rule besides its terminator, in the order in which they are decided."""
    found = []
    for step in rule.steps:
        match step:
            case Choose(name=name, type=event_type, policy=policy, constraints=constraints):
                found.append(Site(name, event_type, constraints, f"{policy.value} {name}"))
            case Compute(function=function, type=event_type, constraints=constraints):
                found.append(Site(None, event_type, constraints, f"{function} of {event_type}"))
            case _:
                pass
    found += [Site(None, absent.type, absent.constraints, f"not {absent.type}") for absent in rule.absences]
    found += [Site(None, gather.type, gather.constraints, f"all {gather.name}") for gather in rule.gathers]
    return tuple(found)


def at_terminator(rule: ResolvedRule, attribute: str) -> Known:
    """Return what is known of the terminator itself, beginning with one of its attributes."""
    name = rule.terminator.name
    known: Known = {(name, attribute): SAME}
    _settle(name, rule.terminator.constraints, known)
    return known


def at_site(site: Site, known: Known) -> dict[str, Distance]:
    """The attributes of an event at a site that are tied to what is known, each with its distance."""
    found: Known = dict(known)
    _settle(site.name, site.constraints, found)
    return {name: distance for (event, name), distance in found.items() if event == site.name}


def learn(site: Site, known: Known) -> None:
    """Add what is known of an event once it is chosen; of events that are only counted or ruled out, nothing is."""
    if site.name is not None:
        _settle(site.name, site.constraints, known)


def of_value(value: Expression, known: Known) -> Distance | None:
    """The distance of a computed value, if it is known."""
    linear = _linear(value)
    if linear is None or len(linear.terms) != 1:
        return None
    ((ref, factor),) = linear.terms.items()
    if factor != 1 or ref not in known:
        return None
    return known[ref] + (Distance(linear.constant, linear.constant) if linear.constant else SAME)


def candidates(rule: ResolvedRule) -> tuple[str, ...]:
    """The attributes of the terminator that something may be tied to, in order of appearance."""
    name = rule.terminator.name
    nodes = (constraint for site in sites(rule) for constraint in site.constraints)
    refs = [ref for constraint in nodes for one, other, _ in _relations(constraint) for ref in (one, other)]
    refs += [ref for a in rule.assignments if (linear := _linear(a.value)) is not None for ref in linear.terms]
    return tuple(dict.fromkeys(attribute for event, attribute in refs if event == name))


def _settle(event: str | None, constraints: Iterable[Constraint], known: Known) -> None:
    """Follow constraints from what is known to the attributes of one event, until nothing new comes up."""
    relations = [relation for constraint in constraints for relation in _relations(constraint)]
    while True:
        found: Known = {}
        for one, other, distance in relations:
            if one[0] == event and other in known and one not in known:
                found[one] = found.get(one, _FREE) & (known[other] + distance)
        fresh = {ref: distance for ref, distance in found.items() if distance.is_bounded}
        if not fresh:
            return
        known.update(fresh)


def _relations(constraint: Constraint) -> Iterator[tuple[Ref, Ref, Distance]]:
    """Yield the ties of a constraint in both directions: an attribute, another, and how far the first is from it."""
    if not isinstance(constraint, Comparison):
        return
    pairs = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
    for left, operator, right in pairs:
        for one, other, distance in _link(left, operator, right):
            if one != other and TIME_ATTRIBUTE not in (one[1], other[1]):
                yield one, other, distance
                yield other, one, Distance(-distance.high, -distance.low, distance.equal)


def _link(left: Expression, operator: str, right: Expression) -> Iterator[tuple[Ref, Ref, Distance]]:
    match left, operator, right:
        case AttributeRef(), "=", AttributeRef():
            yield (left.event, left.name), (right.event, right.name), SAME
            return
        case Call(function=name, arguments=(inner,)), "<" | "<=", _ if function_of(name).distance:
            yield from _absolute(inner, right)
            return
        case _, ">" | ">=", Call(function=name, arguments=(inner,)) if function_of(name).distance:
            yield from _absolute(inner, left)
            return
    a, b = _linear(left), _linear(right)
    if a is None or b is None or operator == "!=":
        return
    difference = a.plus(b, -1)
    pair = _pair(difference)
    if pair is not None:
        one, other = pair
        bound = -difference.constant  # one - other + constant OPERATOR 0
        low = bound if operator in (">", ">=", "=") else -inf
        high = bound if operator in ("<", "<=", "=") else inf
        yield one, other, Distance(low, high)


def _absolute(inner: Expression, bound: Expression) -> Iterator[tuple[Ref, Ref, Distance]]:
    difference, limit = _linear(inner), _linear(bound)
    if difference is None or limit is None or limit.terms:
        return
    pair = _pair(difference)
    if pair is not None:
        yield *pair, Distance(-limit.constant - difference.constant, limit.constant - difference.constant)


@dataclass(frozen=True, slots=True)
class _Linear:
    """A sum of attributes, each times a factor, and a constant."""

    terms: dict[Ref, float]
    constant: float

    def plus(self, other: _Linear, factor: float) -> _Linear:
        terms = dict(self.terms)
        for ref, times in other.terms.items():
            terms[ref] = terms.get(ref, 0) + factor * times
        return _Linear({ref: times for ref, times in terms.items() if times}, self.constant + factor * other.constant)

    def times(self, factor: float) -> _Linear:
        return _Linear({ref: factor * times for ref, times in self.terms.items()}, factor * self.constant)


def _pair(linear: _Linear) -> tuple[Ref, Ref] | None:
    """The attributes of a difference of two."""
    if sorted(linear.terms.values()) != [-1, 1]:
        return None
    one = next(ref for ref, factor in linear.terms.items() if factor == 1)
    other = next(ref for ref, factor in linear.terms.items() if factor == -1)
    return one, other


def _linear(expression: Expression) -> _Linear | None:
    match expression:
        case Constant(value=value, type=ValueType.INT | ValueType.FLOAT):
            return _Linear({}, as_float(value))
        case AttributeRef(event=event, name=name):
            return _Linear({(event, name): 1.0}, 0.0)
        case Negative(operand=operand):
            inner = _linear(operand)
            return None if inner is None else inner.times(-1)
        case Arithmetic(operator="+" | "-" as operator, left=left, right=right):
            a, b = _linear(left), _linear(right)
            return None if a is None or b is None else a.plus(b, 1 if operator == "+" else -1)
        case Arithmetic(operator="*", left=left, right=right):
            a, b = _linear(left), _linear(right)
            if a is None or b is None or (a.terms and b.terms):
                return None
            return b.times(a.constant) if b.terms else a.times(b.constant)
        case _:
            return None
