"""The content index: which listeners of a type are found by the value of an attribute instead of one by one."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from cepheus.kernel.instructions import OPERATOR_CODES
from cepheus.kernel.program import ConstraintKind, IndexField
from cepheus.plan.pattern.code import LoweredConstraint

WORTH_AN_INDEX = 8
"""Fewer listeners on one attribute than this are looked at one by one."""

_EQUAL, _UNEQUAL = OPERATOR_CODES["="], OPERATOR_CODES["!="]
_LOWER = (OPERATOR_CODES[">"], OPERATOR_CODES[">="])
_STRICT = (OPERATOR_CODES["<"], OPERATOR_CODES[">"])


@dataclass(frozen=True, slots=True)
class Listener:
    """A rule or column waiting for events of a type that satisfy the filters."""

    is_rule: bool
    target: int
    filters: tuple[LoweredConstraint, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Listeners that are found through one attribute: all by equality, or all by range."""

    by_range: bool
    slot: int
    is_float: bool
    listeners: tuple[Listener, ...]


def index_listeners(listeners: Sequence[Listener]) -> tuple[list[Listener], list[Group]]:
    """Split the listeners of a type into those looked at one by one and groups that deserve an index."""
    candidates: dict[tuple[bool, int, bool], list[int]] = defaultdict(list)
    for number, listener in enumerate(listeners):
        for key in {_key(constraint) for constraint in listener.filters}:
            if key is not None:
                candidates[key].append(number)
    grouped: dict[int, tuple[bool, int, bool]] = {}
    for key in sorted(candidates, key=lambda key: (key[0], -len(candidates[key]), key)):  # equalities first
        free = [number for number in candidates[key] if number not in grouped]
        if len(free) >= WORTH_AN_INDEX:
            grouped |= dict.fromkeys(free, key)
    members: dict[tuple[bool, int, bool], list[Listener]] = defaultdict(list)
    for number, key in grouped.items():
        members[key].append(listeners[number])
    linear = [listener for number, listener in enumerate(listeners) if number not in grouped]
    return linear, [Group(*key, tuple(found)) for key, found in members.items()]


def _key(constraint: LoweredConstraint) -> tuple[bool, int, bool] | None:
    if constraint.choices:
        return False, constraint.slot, False
    if constraint.kind not in (ConstraintKind.INT_CONSTANT, ConstraintKind.FLOAT_CONSTANT):
        return None
    if constraint.operator == _UNEQUAL:
        return None
    is_float = constraint.kind == ConstraintKind.FLOAT_CONSTANT
    return constraint.operator != _EQUAL, constraint.slot, is_float


def _points(constraint: LoweredConstraint) -> list[tuple[float, int]]:
    """The values that a constraint compares with, as numbers and as words."""
    if constraint.choices:
        return [(word, word) for word in constraint.choices]
    return [(_number(constraint), constraint.constant)]


def _number(constraint: LoweredConstraint) -> float:
    if constraint.kind == ConstraintKind.INT_CONSTANT:
        return constraint.constant
    (number,) = struct.unpack("<d", struct.pack("<q", constraint.constant))
    return float(number)


@dataclass(slots=True)
class Indexes:
    """The rows of all indexes: sorted points, nodes with ranges of members, and the members."""

    rows: list[tuple[int, ...]] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    nodes: list[tuple[int, int]] = field(default_factory=list)
    members: list[int] = field(default_factory=list)

    def add(self, group: Group, add_member: Callable[[Listener], int]) -> None:
        """Write the index of a group; ``add_member`` gives what stands for a listener with the filters that remain."""
        spans = [_span(group, listener) for listener in group.listeners]
        words = {number: word for span in spans for c in span.used for number, word in _points(c)}
        numbers = sorted(words)
        first_point, first_node = len(self.points), len(self.nodes)
        self.points += [words[number] for number in numbers]
        hung: dict[int, list[int]] = defaultdict(list)
        leaves = 1
        while leaves < 2 * len(numbers) + 1:
            leaves *= 2
        for listener, span in zip(group.listeners, spans, strict=True):
            number = add_member(replace(listener, filters=span.rest))
            if group.by_range:
                for node in _cover(*span.cells(numbers), leaves):
                    hung[node].append(number)
            else:
                for point, _ in _points(span.used[0]):
                    hung[bisect_left(numbers, point)].append(number)
        for node in range(2 * leaves if group.by_range else len(numbers)):
            begin = len(self.members)
            self.members += hung[node]
            self.nodes.append((begin, len(self.members)))
        self.rows.append(
            IndexField.row(
                by_range=group.by_range,
                slot=group.slot,
                points=first_point,
                points_end=len(self.points),
                nodes=first_node,
                is_float=group.is_float,
            )
        )


@dataclass(frozen=True, slots=True)
class _Span:
    """The filters of a listener that its index decides, and the rest."""

    used: tuple[LoweredConstraint, ...]
    rest: tuple[LoweredConstraint, ...]

    def cells(self, numbers: Sequence[float]) -> tuple[int, int]:
        """Return the first and last cell of the range; cell 2k+1 is the k-th endpoint, 2k the gap before it."""
        low, high = 0, 2 * len(numbers)
        for constraint in self.used:
            point = 2 * bisect_left(numbers, _number(constraint)) + 1
            if constraint.operator in _LOWER:
                low = max(low, point + (constraint.operator in _STRICT))
            else:
                high = min(high, point - (constraint.operator in _STRICT))
        return low, high


def _span(group: Group, listener: Listener) -> _Span:
    fitting = [c for c in listener.filters if _key(c) == (group.by_range, group.slot, group.is_float)]
    used = fitting if group.by_range else fitting[:1]
    return _Span(tuple(used), tuple(c for c in listener.filters if c.more or not any(c is u for u in used)))


def _cover(low: int, high: int, leaves: int) -> list[int]:
    """The nodes of a segment tree that together cover exactly the cells from ``low`` to ``high``."""
    nodes = []
    left, right = low + leaves, high + leaves + 1
    while left < right:
        if left & 1:
            nodes.append(left)
            left += 1
        if right & 1:
            right -= 1
            nodes.append(right)
        left >>= 1
        right >>= 1
    return nodes
