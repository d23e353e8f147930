"""Patterns at work on a stream: one node per operator, each with the matches that wait for a partner.

A node is given what happens (one instance, or a whole instant at once) and gives the new matches of its pattern. The
docstring of ``ConsumptionPolicy`` says what the restricting policies do; the methods below follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

from cepheus.core.lists import Key
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.matches import Instance, Match, agree, binding_key, fits, relate
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Choice,
    Combined,
    ConsumptionPolicy,
    Either,
    IntervalPattern,
    Lasting,
    Operator,
    Preference,
    TimePoint,
    Where,
)
from cepheus.rules.interval.reach import END_TOGETHER, LEFT_ENDS_FIRST, reach_below

Around = Callable[[Match], Iterable[Match]]
"""The windows and conditions that stand around an operator: gives what they make of a match, nothing if they fail."""

Store = list[Match]
"""Matches that wait, in the order of their arrival."""

POINT = "\0point"
"""The type of the instance that stands for a point in time."""


class Node(Protocol):
    """A pattern at work."""

    def arrive(self, instances: Sequence[Instance]) -> list[Match]:
        """Take what happens and return the new matches, in the order in which they arise."""

    def stores(self) -> Iterator[Store]:
        """Walk through all that waits here and below, always in the same order."""

    def forget(self, time: int) -> None:
        """Drop what can have no partner any more, given that nothing before ``time`` will come."""


def build(pattern: IntervalPattern, policy: ConsumptionPolicy, conditions: Conditions, reach: int = MAX_TIME) -> Node:
    """Make the nodes of a pattern; no match longer than ``reach`` is of use to what stands around it."""
    layers: list[Lasting | Where] = []
    while isinstance(pattern, Lasting | Where):
        layers.append(pattern)
        if isinstance(pattern, Lasting):
            reach = min(reach, pattern.duration)
        pattern = pattern.pattern
    around = _around(layers[::-1], conditions)
    match pattern:
        case Atom():
            return _Leaf(lambda instance: _atom_match(pattern, instance), around)
        case TimePoint(time=time):
            return _Leaf(lambda instance: _point_match(time, instance), around)
        case Either(left=left, right=right):
            return _Both(build(left, policy, conditions, reach), build(right, policy, conditions, reach), around)
        case Combined(operator=operator, left=left, right=right):
            reach = reach_below(operator, policy, reach)
            operands = build(left, policy, conditions, reach), build(right, policy, conditions, reach)
            return _Join(operator, *operands, policy, around, reach)
        case Absence(negated=negated, first=first, second=second):
            operands = build(first, policy, conditions, reach), build(second, policy, conditions, reach)
            return _Not(build(negated, policy, conditions, reach), *operands, policy, around, reach)
        case _:
            assert_never(pattern)


def _around(layers: Sequence[Lasting | Where], conditions: Conditions) -> Around:
    def apply(match: Match) -> Iterable[Match]:
        found: Iterable[Match] = [match]
        for layer in layers:
            found = [extended for each in found for extended in _layer(layer, each, conditions)]
        return found

    return apply


def _layer(layer: Lasting | Where, match: Match, conditions: Conditions) -> Iterable[Match]:
    if isinstance(layer, Where):
        return conditions.satisfy(layer.conditions, match)
    length = match.end - match.start
    return [match] if length == layer.duration or (length < layer.duration and not layer.exact) else []


def _atom_match(atom: Atom, instance: Instance) -> Match | None:
    binding = fits(atom, instance, {})
    if binding is None:
        return None
    return Match(instance.start, instance.end, binding, () if instance.id is None else (instance.id,))


def _point_match(time: int, instance: Instance) -> Match | None:
    return Match(time, time, {}) if instance.type == POINT and instance.end == time else None


class _Leaf:
    """An atom or a point in time."""

    def __init__(self, match: Callable[[Instance], Match | None], around: Around) -> None:
        self._match = match
        self._around = around

    def arrive(self, instances: Sequence[Instance]) -> list[Match]:
        matches = [match for instance in instances if (match := self._match(instance)) is not None]
        return [found for match in matches for found in self._around(match)]

    def stores(self) -> Iterator[Store]:
        yield from ()

    def forget(self, time: int) -> None:
        """Nothing waits here."""


class _Both:
    """OR: the matches of both operands."""

    def __init__(self, left: Node, right: Node, around: Around) -> None:
        self._left, self._right = left, right
        self._around = around

    def arrive(self, instances: Sequence[Instance]) -> list[Match]:
        matches = [*self._left.arrive(instances), *self._right.arrive(instances)]
        return [found for match in matches for found in self._around(match)]

    def stores(self) -> Iterator[Store]:
        yield from self._left.stores()
        yield from self._right.stores()

    def forget(self, time: int) -> None:
        self._left.forget(time)
        self._right.forget(time)


@dataclass(slots=True, eq=False)
class _Pair:
    """A new match and the partner it has found, with what they make."""

    seeker: Match
    partner: Match
    made: list[Match]


class _Join:
    """A binary operator."""

    def __init__(
        self, operator: Operator, left: Node, right: Node, policy: ConsumptionPolicy, around: Around, reach: int
    ) -> None:
        self._operator = operator
        self._left, self._right = left, right
        self._policy = policy
        self._around = around
        self._reach = reach
        self._waiting_left: Store = []
        self._waiting_right: Store = []

    def arrive(self, instances: Sequence[Instance]) -> list[Match]:
        left, right = self._left.arrive(instances), self._right.arrive(instances)
        if self._policy.choice is Choice.UNRESTRICTED:
            left, right = _new(left, self._waiting_left), _new(right, self._waiting_right)
            pairs = [(one, other) for one in left for other in (*self._waiting_right, *right)]
            pairs += [(one, other) for other in right for one in self._waiting_left]
            self._wait(left, right)
            return _once_each(made for one, other in pairs for made in self._combine(one, other))
        return self._arrive_restricted(left, right)

    def _arrive_restricted(self, left: list[Match], right: list[Match]) -> list[Match]:
        pairs: list[_Pair] = []
        for one in left:
            pairs += self._seek(one, (*self._waiting_right, *right), pairs, self._combine)
        for other in right:
            pairs += self._seek(
                other, (*self._waiting_left, *left), pairs, lambda new, waiting: self._combine(waiting, new)
            )
        if self._policy.once:
            used = {id(match) for pair in pairs for match in (pair.seeker, pair.partner)}
            left = [match for match in left if id(match) not in used]
            right = [match for match in right if id(match) not in used]
        self._wait(left, right)
        return [made for pair in pairs for made in pair.made]

    def _seek(
        self,
        seeker: Match,
        candidates: Sequence[Match],
        pairs: Sequence[_Pair],
        combine: Callable[[Match, Match], list[Match]],
    ) -> list[_Pair]:
        """Find the one partner that the policy prefers; used up, it waits no longer."""
        done = {id(pair.seeker) for pair in pairs if pair.partner is seeker}
        taken = {id(pair.partner) for pair in pairs} if self._policy.once else set()
        for candidate in in_order(self._policy, candidates):
            if id(candidate) in done or id(candidate) in taken:
                continue
            made = combine(seeker, candidate)
            if made:
                if self._policy.once:
                    _drop(self._waiting_left, candidate)
                    _drop(self._waiting_right, candidate)
                return [_Pair(seeker, candidate, made)]
        return []

    def _combine(self, left: Match, right: Match) -> list[Match]:
        interval = relate(self._operator, left.start, left.end, right.start, right.end)
        binding = None if interval is None else agree(left.binding, right.binding)
        if interval is None or binding is None:
            return []
        return list(self._around(Match(*interval, binding, left.parts + right.parts)))

    def _wait(self, left: Sequence[Match], right: Sequence[Match]) -> None:
        if self._policy.onesided:
            left = [one for one in left if not any(self._belong(one, other) for other in self._waiting_right)]
        _let_wait(self._waiting_left, left, self._policy)
        if self._operator in LEFT_ENDS_FIRST:
            return
        if self._policy.onesided:
            right = [other for other in right if not any(self._belong(one, other) for one in self._waiting_left)]
        _let_wait(self._waiting_right, right, self._policy)

    def _belong(self, left: Match, right: Match) -> bool:
        """Whether two matches can be combined, as far as the operator alone is concerned."""
        interval = relate(self._operator, left.start, left.end, right.start, right.end)
        return interval is not None and agree(left.binding, right.binding) is not None

    def stores(self) -> Iterator[Store]:
        yield self._waiting_left
        yield self._waiting_right
        yield from self._left.stores()
        yield from self._right.stores()

    def forget(self, time: int) -> None:
        starts = _horizon(time, self._reach)
        ends = time if self._operator in END_TOGETHER else MIN_TIME
        _keep(self._waiting_left, lambda match: match.start >= starts and match.end >= ends)
        if self._operator is Operator.MEETS:
            # The left operand waits for what starts at its end; the right one is a point at the same time, or late.
            _keep(self._waiting_right, lambda match: match.start >= time)
        else:
            _keep(self._waiting_right, lambda match: match.start >= starts and match.end >= ends)
        self._left.forget(time)
        self._right.forget(time)


class _Not:
    """NOT(negated).[first, second]."""

    def __init__(
        self, negated: Node, first: Node, second: Node, policy: ConsumptionPolicy, around: Around, reach: int
    ) -> None:
        self._negated, self._first, self._second = negated, first, second
        self._policy = policy
        self._around = around
        self._reach = reach
        self._seen: Store = []
        self._waiting: Store = []
        self._seconds: Store = []

    def arrive(self, instances: Sequence[Instance]) -> list[Match]:
        self._seen += self._negated.arrive(instances)
        first, second = self._first.arrive(instances), self._second.arrive(instances)
        unrestricted = self._policy.choice is Choice.UNRESTRICTED
        made = self._undisturbed(second) if unrestricted else self._nearest(second)
        _let_wait(self._waiting, _new(first, self._waiting) if unrestricted else first, self._policy)
        return made

    def _undisturbed(self, seconds: list[Match]) -> list[Match]:
        """Figure 2: an interval is out if any pair of delimiters that spans it has a negated match inside."""
        seconds = _new(seconds, self._seconds)
        self._seconds += seconds
        pairs = [
            (first, second, pair)
            for second in self._seconds
            for first in self._waiting
            if (pair := _sequence(first, second)) is not None
        ]
        out = {_outline(pair) for first, second, pair in pairs if self._disturbed(first, pair, second.start)}
        new = set(map(id, seconds))
        found = [pair for _, second, pair in pairs if id(second) in new and _outline(pair) not in out]
        return _once_each(made for pair in found for made in self._around(pair))

    def _nearest(self, seconds: list[Match]) -> list[Match]:
        """A restricting policy: each second delimiter finds one first delimiter that still waits.

        A first delimiter waits until a negated match that began after it is over.
        """
        found: list[Match] = []
        for second in seconds:
            for first in in_order(self._policy, self._waiting):
                pair = _sequence(first, second)
                made = [] if pair is None or self._disturbed(first, pair, second.end) else list(self._around(pair))
                if made:
                    found += made
                    if self._policy.once:
                        _drop(self._waiting, first)
                    break
        return found

    def _disturbed(self, first: Match, pair: Match, until: int) -> bool:
        """Whether there is a negated match after the first delimiter that ended before a time."""
        return any(
            first.end < negated.start and negated.end < until and agree(negated.binding, pair.binding) is not None
            for negated in self._seen
        )

    def stores(self) -> Iterator[Store]:
        yield from (self._seen, self._waiting, self._seconds)
        for node in (self._negated, self._first, self._second):
            yield from node.stores()

    def forget(self, time: int) -> None:
        starts = _horizon(time, self._reach)
        _keep(self._waiting, lambda match: match.start >= starts)
        _keep(self._seconds, lambda match: match.end >= time)
        earliest = min((match.end for match in self._waiting), default=time)
        _keep(self._seen, lambda match: match.start > earliest or match.end >= time)
        for node in (self._negated, self._first, self._second):
            node.forget(time)


def in_order(policy: ConsumptionPolicy, candidates: Sequence[Match]) -> list[Match]:
    """Sort candidates, which come in the order of arrival, into the order in which a restricting policy takes them."""
    recent = policy.choice is Choice.RECENT
    ranked = list(candidates)
    if recent:
        ranked.reverse()
    match policy.preference:
        case Preference.ARRIVAL:
            return ranked  # what arrives later never ends earlier
        case Preference.SHORTER:
            ranked.sort(key=lambda match: match.end - match.start)
        case Preference.LONGER:
            ranked.sort(key=lambda match: match.start - match.end)
        case Preference.GREATEST | Preference.LEAST:
            ranked.sort(key=lambda match: _rank(match, policy))
        case _:
            assert_never(policy.preference)
    ranked.sort(key=lambda match: -match.end if recent else match.start)
    return ranked


def _rank(match: Match, policy: ConsumptionPolicy) -> tuple[bool, float]:
    """Rank matches by the value of a variable; those that do not bind it to a number come last."""
    value = match.binding.get(policy.attribute or "")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return True, 0.0
    return False, -value if policy.preference is Preference.GREATEST else value


def _sequence(first: Match, second: Match) -> Match | None:
    binding = agree(first.binding, second.binding) if first.end < second.start else None
    return None if binding is None else Match(first.start, second.end, binding, first.parts + second.parts)


def _outline(pair: Match) -> Key:
    """What pairs of delimiters have in common of which none counts if one is ruled out."""
    return pair.start, pair.end, binding_key(pair.binding)


def _let_wait(store: Store, matches: Iterable[Match], policy: ConsumptionPolicy) -> None:
    for match in matches:
        if policy.renewing:
            values = binding_key(match.binding)
            store[:] = [other for other in store if binding_key(other.binding) != values]
        store.append(match)


def _new(matches: Iterable[Match], store: Store) -> list[Match]:
    """Leave out what is known already: under the unrestricted policy a pattern denotes a set."""
    known = {match.key for match in store}
    return [match for match in _once_each(matches) if match.key not in known]


def _once_each(matches: Iterable[Match]) -> list[Match]:
    found: dict[Key, Match] = {}
    for match in matches:
        found.setdefault(match.key, match)
    return list(found.values())


def _drop(store: Store, match: Match) -> None:
    store[:] = [other for other in store if other is not match]


def _keep(store: Store, wanted: Callable[[Match], bool]) -> None:
    store[:] = [match for match in store if wanted(match)]


def _horizon(time: int, reach: int) -> int:
    """The start before which nothing is within reach; a reach of all time has none."""
    return MIN_TIME if reach == MAX_TIME else max(time - reach, MIN_TIME)
