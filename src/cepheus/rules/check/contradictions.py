"""Can the constraints of a rule hold, all of them at once?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from cepheus.core.values import Value, ValueType
from cepheus.rules.check.findings import Findings, line_of, text_of
from cepheus.rules.check.scope import Role, RuleScope, Site
from cepheus.rules.check.type_slots import Key
from cepheus.rules.check.types import InferredTypes
from cepheus.rules.comparisons import compare
from cepheus.rules.evaluate import evaluator
from cepheus.rules.expressions import (
    FLIPPED,
    Aggregate,
    Arithmetic,
    AttributeRef,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.model import Aggregation

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
    """Return a fact about an int with an int bound; None if it says nothing or the impossible."""
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


Leaf = tuple[str, str]
"""An attribute of an event of the rule (no event: the negated or aggregated one at hand), or ``$`` and a parameter."""


def find_contradictions(scope: RuleScope, inferred: InferredTypes, findings: Findings) -> None:
    """Report constraints that contradict themselves or one another, and warn of those that always hold.

    ``value > 5 and value < 3`` can never hold, nor ``x = 1 and x = 2``, ``x != x`` or ``5 < 3``. The constraints of all
    events that take part count together; those of a negated or aggregated event for that event.
    """
    together = _Reasoning(scope, inferred, findings)
    members: dict[int, _Reasoning] = {}
    for site in scope.sites:
        match site.role:
            case Role.EVENT | Role.COMPARISON | Role.CONDITION:
                together.take_in(site)
            case Role.MEMBER:
                key = id(site.own)
                if key not in members:
                    members[key] = _Reasoning(scope, inferred, findings)
                members[key].take_in(site)
            case Role.VALUE | Role.ASSIGNMENT:
                pass


@dataclass(frozen=True, slots=True)
class _Term:
    """``leaf + offset``; without a leaf a constant, None where it is undefined."""

    leaf: Leaf | None
    offset: Value | None
    whole: bool = False

    @property
    def moved(self) -> bool:
        """Whether a leaf has something added to it."""
        return self.leaf is not None and self.offset != 0


class _Reasoning:
    """What is known of the values of one conjunction."""

    def __init__(self, scope: RuleScope, inferred: InferredTypes, findings: Findings) -> None:
        self._scope = scope
        self._inferred = inferred
        self._findings = findings
        self._facts = Conjunction()

    def take_in(self, site: Site) -> None:
        """Add a constraint, reporting if nothing can satisfy it any more."""
        node = site.node
        if not isinstance(node, Comparison):
            if isinstance(node, Constant) and node.type is ValueType.BOOL:
                self._constant(site, node.value is True)
            return
        terms = [self._term(operand, site) for operand in node.operands]
        if all(term is not None and term.leaf is None for term in terms):
            values = [term.offset for term in terms if term is not None]
            if all(_comparable(one, other) for one, other in pairwise(values)):
                links = zip(node.operators, pairwise(values), strict=True)
                self._constant(site, all(compare(operator, one, other) for operator, (one, other) in links))
            return
        for position, operator in enumerate(node.operators):
            left, right = terms[position], terms[position + 1]
            if left is None or right is None:
                continue
            contradicted = self._pair(left, operator, right, site)
            if contradicted is not None:
                self._report(site, contradicted)
                return

    def _constant(self, site: Site, holds: bool) -> None:
        if holds:
            message = f"{text_of(site.node)} always holds"
            self._findings.warning("always", message, site.node.span, "leave it out, or compare an attribute")
        else:
            self._report(site, [])

    def _pair(self, left: _Term, operator: str, right: _Term, site: Site) -> list[Fact] | None:
        """Take in ``left operator right``; give what it contradicts, None if nothing."""
        if left.offset is None or right.offset is None:
            return []  # compared with what is undefined, such as 1/0
        if left.leaf is None:
            if right.leaf is None:
                known = _comparable(left.offset, right.offset)
                return [] if known and not compare(operator, left.offset, right.offset) else None
            left, operator, right = right, FLIPPED[operator], left
        assert left.leaf is not None
        if right.leaf is None:
            return self._bound(left.leaf, left, operator, right, site)
        if self._facts.root(left.leaf) == self._facts.root(right.leaf):
            impossible = operator in ("<", ">") or (operator == "!=" and left.offset == right.offset)
            return [] if impossible and not compare(operator, left.offset, right.offset) else None
        if operator == "=" and not left.moved and not right.moved:
            return self._facts.equate(left.leaf, right.leaf, site.node)
        if str(left.leaf) > str(right.leaf):
            left, operator, right = right, FLIPPED[operator], left
        return self._bound((left.leaf, right.leaf), left, operator, right, site)

    def _bound(self, key: Hashable, left: _Term, operator: str, right: _Term, site: Site) -> list[Fact] | None:
        bound, moved = right.offset, left.moved or right.moved
        if moved:
            bound = _minus(right.offset, left.offset)
        if bound is None:
            return None
        whole = left.whole and (right.leaf is None or right.whole)
        approximate = moved and not (whole and isinstance(bound, int))
        return self._facts.add(key, Fact(operator, bound, site.node, approximate), whole)

    def _report(self, site: Site, contradicted: list[Fact]) -> None:
        node = site.node
        others = list(dict.fromkeys(_located(fact, site) for fact in contradicted))
        if others:
            message = f"{text_of(node)} can never hold together with {' and '.join(others)}"
            hint = "change one of the bounds, or write 'or' between them if either will do"
        else:
            message = f"{text_of(node)} can never hold"
            hint = "no event can satisfy it: change it or leave it out"
        self._findings.error("never", message, node.span, hint)

    def _term(self, node: Expression, site: Site) -> _Term | None:
        """Return an expression as leaf plus constant, None if it is anything else."""
        match node:
            case Constant(value=value):
                return _Term(None, value)
            case AttributeRef() | Parameter() | Aggregate():
                return self._leaf(node, site)
            case Negative(operand=operand):
                inner = self._term(operand, site)
                if inner is None or inner.leaf is not None or not _is_number(inner.offset):
                    return None
                return _Term(None, _calculated("-", 0, inner.offset))
            case Arithmetic(operator=operator, left=left, right=right):
                return self._arithmetic(operator, self._term(left, site), self._term(right, site))
            case _:
                return None

    def _arithmetic(self, operator: str, left: _Term | None, right: _Term | None) -> _Term | None:
        if left is None or right is None:
            return None
        if any(term.offset is not None and not _is_number(term.offset) for term in (left, right)):
            return None
        if left.leaf is None and right.leaf is None:
            return _Term(None, _calculated(operator, left.offset, right.offset))
        if operator == "+" and left.leaf is None:
            left, right = right, left
        if operator not in ("+", "-") or right.leaf is not None or left.offset is None or right.offset is None:
            return None
        offset = _calculated(operator, left.offset, right.offset)
        return None if offset is None else _Term(left.leaf, offset, left.whole)

    def _leaf(self, node: AttributeRef | Parameter | Aggregate, site: Site) -> _Term | None:
        match node:
            case AttributeRef():
                return self._attribute(node, site.own, site.role)
            case Parameter(name=name):
                binder = self._scope.binders.get(name)
                if binder is None:
                    return _Term(("$", name), 0)
                return self._attribute(binder, None, Role.EVENT)
            case Aggregate():
                if site.role is not Role.COMPARISON:
                    return None
                item = self._scope.rule.pattern.items[site.index - 1]
                parameter = item.parameter if isinstance(item, Aggregation) else None
                return _Term(("#", str(site.index)) if parameter is None else ("$", parameter), 0)

    def _attribute(self, node: AttributeRef, own: EventPattern | None, role: Role) -> _Term | None:
        type_name = self._scope.type_of(node, own)
        if type_name is None:
            return None
        event = node.event
        if own is not None and (event is None or event == own.alias):
            event = "" if role is Role.MEMBER else own.name
        key: Key = (type_name, node.name)
        whole = self._inferred.types.get(key) in (ValueType.INT, ValueType.TIMESTAMP)
        return _Term((event or "", node.name), 0, whole)


def _located(fact: Fact, site: Site) -> str:
    """Name the other constraint, with its line if that is not the one of the message."""
    here, there = site.node.span, fact.source.span
    text = text_of(fact.source)
    if here is None or there is None or (here.source == there.source and here.line == there.line):
        return text
    return f"{text} {line_of(there, here)}"


class _Nothing:
    """The situation of constants: there are no events in it."""

    def attribute(self, event: str | None, name: str) -> Value | None:
        raise AssertionError(f"a constant reads no attribute: {event}.{name}")

    def computed(self, name: str) -> Value | None:
        raise AssertionError(f"a constant reads no computed value: {name}")


def _is_number(value: Value | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparable(one: Value | None, other: Value | None) -> bool:
    """Whether two constants are of one family; a mismatch is a type error, reported as such."""
    if one is None or other is None:
        return True
    return isinstance(one, str) == isinstance(other, str) and isinstance(one, bool) == isinstance(other, bool)


def _calculated(operator: str, left: Value | None, right: Value | None) -> Value | None:
    if left is None or right is None:
        return None
    one, other = (Constant(value, ValueType.FLOAT) for value in (left, right))
    return evaluator(Arithmetic(operator, one, other))(_Nothing())


def _minus(one: Value | None, other: Value | None) -> Value | None:
    return _calculated("-", one, other) if _is_number(one) and _is_number(other) else None
