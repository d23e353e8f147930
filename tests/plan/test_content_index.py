"""The content index finds exactly the listeners whose constraint holds."""

from __future__ import annotations

from bisect import bisect_left
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import cepheus
from cepheus.core.values import ValueType
from cepheus.kernel.instructions import OPERATOR_CODES
from cepheus.kernel.program import ConstraintKind
from cepheus.kernel.strings import StringTable
from cepheus.language.tesla import parse_event_pattern
from cepheus.plan.pattern.code import Coder, LoweredConstraint, Place, float_bits
from cepheus.plan.pattern.content_index import WORTH_AN_INDEX, Indexes, Listener, index_listeners
from cepheus.rules.comparisons import compare

SLOT = 5
OPERATORS = {code: operator for operator, code in OPERATOR_CODES.items()}


def constraint(operator: str, constant: float, *, slot: int = SLOT) -> LoweredConstraint:
    if isinstance(constant, float):
        return LoweredConstraint(
            ConstraintKind.FLOAT_CONSTANT, OPERATOR_CODES[operator], slot=slot, constant=float_bits(constant)
        )
    return LoweredConstraint(ConstraintKind.INT_CONSTANT, OPERATOR_CODES[operator], slot=slot, constant=constant)


def listeners(filters: list[tuple[LoweredConstraint, ...]]) -> list[Listener]:
    return [Listener(True, number, found) for number, found in enumerate(filters)]


def found_for(value: int, given_listeners: list[Listener]) -> set[int]:
    """Look a value up as the kernel does; what an index has not decided is tested."""
    linear, groups = index_listeners(given_listeners)
    indexes = Indexes()
    written: list[Listener] = []

    def add(listener: Listener) -> int:
        written.append(listener)
        return len(written) - 1

    for group in groups:
        indexes.add(group, add)
    met = list(linear)
    for by_range, _slot, begin, end, first_node, _is_float in indexes.rows:
        points = indexes.points[begin:end]
        below = bisect_left(points, value)
        equal = below < len(points) and points[below] == value
        if by_range:
            leaves = 1
            while leaves < 2 * len(points) + 1:
                leaves *= 2
            node = 2 * below + equal + leaves
            while node:
                first, last = indexes.nodes[first_node + node]
                met += [written[member] for member in indexes.members[first:last]]
                node >>= 1
        elif equal:
            first, last = indexes.nodes[first_node + below]
            met += [written[member] for member in indexes.members[first:last]]
    return {listener.target for listener in met if all(holds(value, constraint) for constraint in listener.filters)}


def holds(value: int, constraint: LoweredConstraint) -> bool:
    if constraint.choices:
        return value in constraint.choices and not (constraint.more and value == constraint.constant)
    return bool(compare(OPERATORS[constraint.operator], value, constraint.constant))


def choices(values: frozenset[int]) -> LoweredConstraint:
    return LoweredConstraint(ConstraintKind.CODE, slot=SLOT, choices=tuple(values))


def choices_and_more(values: frozenset[int], excluded: int) -> LoweredConstraint:
    """One of the values, but not that one: something that an index does not know of."""
    return LoweredConstraint(ConstraintKind.CODE, slot=SLOT, choices=tuple(values), constant=excluded, more=True)


CONSTRAINTS = st.one_of(
    st.builds(choices_and_more, st.frozensets(st.integers(-4, 4), min_size=1, max_size=4), st.integers(-4, 4)),
    st.builds(constraint, st.sampled_from(sorted(OPERATOR_CODES)), st.integers(-4, 4)),
    st.builds(choices, st.frozensets(st.integers(-4, 4), min_size=1, max_size=4)),
)


@given(st.lists(st.lists(CONSTRAINTS, min_size=1, max_size=3).map(tuple), max_size=30), st.integers(-6, 6))
def test_every_listener_whose_constraints_hold_is_found_and_no_other(
    filters: list[tuple[LoweredConstraint, ...]], value: int
) -> None:
    expected = {number for number, found in enumerate(filters) if all(holds(value, c) for c in found)}
    assert found_for(value, listeners(filters)) == expected


def test_few_listeners_are_looked_at_one_by_one() -> None:
    few = listeners([(constraint("=", n),) for n in range(WORTH_AN_INDEX - 1)])
    assert index_listeners(few) == (few, [])
    linear, (group,) = index_listeners(listeners([(constraint("=", n),) for n in range(WORTH_AN_INDEX)]))
    assert linear == []
    assert (group.by_range, group.slot, group.is_float) == (False, SLOT, False)


def test_equalities_go_before_ranges_and_integers_apart_from_floats() -> None:
    both = [(constraint("=", n), constraint(">", n, slot=6)) for n in range(9)]
    floats = [(constraint(">", n + 0.5),) for n in range(9)]
    unequal = [(constraint("!=", n),) for n in range(9)]
    linear, groups = index_listeners(listeners([*both, *floats, *unequal]))
    assert [(group.by_range, group.slot, group.is_float) for group in groups] == [
        (False, SLOT, False),
        (True, SLOT, True),
    ]
    assert len(linear) == 9


def test_an_index_uses_what_an_or_permits() -> None:
    """Of what stands in alternatives: one attribute that each of them asks to be a constant, with more or without."""
    asked = [
        "x = {0} or x = {1}",
        "(x = {0} and y > 0) or ({1} = x and s = 'a')",
        "x in ({0}, {1}) or x = 9",
        "(x = {0} or x = {1}) and (s = 'a' or y > 0)",
        "x = {0} or y = {1}",
        "x = {0} or o = 1 and x = {1}",
        "not (x = {0} or x = {1})",
        "s = 'a' or s = 'b' and x = {0}",
    ]
    texts = [asked[k % len(asked)].format(k % 5, k % 7) for k in range(40)]
    rules = "\n".join(f"define F{k}() from A({text})" for k, text in enumerate(texts))
    program = cepheus.compile(f"event A(x: int, y: double, s: string, o: int?)\n{rules}")
    random = Random(3)
    events: list[dict[str, Any]] = [
        {"type": "A", "time": time, "x": random.randint(-1, 9), "y": random.uniform(-1, 1), "s": random.choice("abc")}
        | ({"o": 1} if random.random() < 0.5 else {})
        for time in range(200)
    ]
    found, wanted = (
        program.detect(events, engine=engine, time_unit="s").to_dicts() for engine in ("columns", "reference")
    )
    assert len(wanted) > 1000
    assert found == wanted


def test_what_alternatives_leave_to_an_index() -> None:
    def locate(_: str | None, attribute: str) -> Place:
        return Place(0, {"x": 5, "y": 6}[attribute], ValueType.INT, False)

    coder = Coder(locate, {}, StringTable())
    texts = ("(x = 1 and y > 2) or x in (3, 4)", "x = 7 or 8 = x", "x = 1 or y = 1", "(x = 2 or x = 3 and y = 1)")
    for text, expected in zip(texts, [((1, 3, 4), True), ((7, 8), False), ((), False), ((2, 3), True)], strict=True):
        (found,) = coder.constraints(parse_event_pattern(f"A({text})").constraints)
        assert (found.choices, found.more) == expected, text
