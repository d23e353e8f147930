"""What rules of the background knowledge derive: semi-naive evaluation.

Each row that is found is brought, once, to every place of a rule that it may fill; the other places of the rule are
looked up by indexes. So nothing is derived again from rows that were there before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any

from cepheus.core.values import Value
from cepheus.rules.expressions import Constant, Expression, Parameter
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.lists import opened
from cepheus.rules.interval.model import (
    AnyOf,
    Argument,
    Bind,
    Condition,
    Deduction,
    Element,
    Fits,
    Known,
    ListPattern,
    Member,
    NoneOf,
    Relation,
    Unknown,
)
from cepheus.rules.walk import walk

Cell = object
"""A value such that equal numbers are equal, and truths equal nothing else: 2 and 2.0 are one, 1 and true are not."""

Cells = tuple[Cell, ...]
Slots = list[Cell]
Follow = Callable[[Slots], None]
"""What is done with the values of a rule's variables so far."""


class TooManyFactsError(Exception):
    """A rule has derived more than is allowed."""

    def __init__(self, rule: Deduction) -> None:
        super().__init__(rule.relation)
        self.rule = rule


class _Truth:
    """A truth in a cell."""

    def __init__(self, value: bool) -> None:
        self.value = value


_TRUTHS = {True: _Truth(True), False: _Truth(False)}


def _cell(value: Value) -> Cell:
    if isinstance(value, tuple):
        return tuple(map(_cell, value))
    return _TRUTHS[value] if isinstance(value, bool) else value


def _value(cell: Any) -> Any:
    if isinstance(cell, tuple):
        return tuple(map(_value, cell))
    return cell.value if isinstance(cell, _Truth) else cell


class Store:
    """The rows of a relation, with the indexes that rules look them up by."""

    def __init__(self, rows: Iterable[Sequence[Value]] = ()) -> None:
        self.rows: dict[Cells, None] = {}
        self._indexes: list[tuple[Callable[[Cells], Cell], dict[Cell, list[Cells]]]] = []
        self._by_places: dict[tuple[int, ...], dict[Cell, list[Cells]]] = {}
        for row in rows:
            self.rows[tuple(map(_cell, row))] = None

    def add(self, row: Cells) -> None:
        """Add a row that is not there yet."""
        self.rows[row] = None
        for key, index in self._indexes:
            index.setdefault(key(row), []).append(row)

    def index(self, places: tuple[int, ...]) -> dict[Cell, list[Cells]]:
        """The rows by their values at some places; further rows show up there."""
        if places not in self._by_places:
            key, index = itemgetter(*places), dict[Cell, list[Cells]]()
            for row in self.rows:
                index.setdefault(key(row), []).append(row)
            self._by_places[places] = index
            self._indexes.append((key, index))
        return self._by_places[places]

    def values(self) -> tuple[tuple[Value, ...], ...]:
        """All rows as values, in the order in which they were found."""
        return tuple(tuple(map(_value, row)) for row in self.rows)


def complete(stores: Mapping[str, Store], rules: Sequence[Deduction], most: int) -> int:
    """Add to relations all that rules derive which depend on one another, and return how much that is.

    Each row counts as one, and so does each element of a list. TooManyFactsError is raised for the rule that derives
    more than ``most``.
    """
    rules = [replace(rule, body=tuple(_plain(rule.body))) for rule in rules]
    own = {rule.relation for rule in rules}
    work: deque[tuple[str, Cells]] = deque()
    derived = 0

    def found(rule: Deduction) -> Callable[[Cells], None]:
        rows, name = stores[rule.relation], rule.relation

        def add(row: Cells) -> None:
            nonlocal derived
            if row not in rows.rows:
                derived += 1 + _elements(row)
                if derived > most:
                    raise TooManyFactsError(rule)
                rows.add(row)
                work.append((name, row))

        return add

    for rule in rules:
        run(rule, stores, found(rule))
    places: dict[str, list[Callable[[Cells], None]]] = {name: [] for name in own}
    for rule in rules:
        for position, condition in enumerate(rule.body):
            if isinstance(condition, Known) and condition.relation in own:
                places[condition.relation].append(_filled(rule, position, stores, found(rule)))
    hidden = [rule for rule in rules if own & set(_hidden(rule))]
    before = -1
    while before < derived:
        before = derived
        while work:
            name, row = work.popleft()
            for fill in places[name]:
                fill(row)
        for rule in hidden:
            run(rule, stores, found(rule))
    return derived


def _elements(cells: Cells) -> int:
    """Count the elements of the lists among some cells, those of lists in them included."""
    lists = [cell for cell in cells if isinstance(cell, tuple)]
    return sum(len(each) + _elements(each) for each in lists)


def _plain(body: Sequence[Condition]) -> Iterator[Condition]:
    """The conditions of a body, of which none looks for a list with variables in a relation.

    Before: ``known([H|T])``. After: ``known(L), L = [H|T]``.
    """
    for place, condition in enumerate(body):
        match condition:
            case Known(arguments=arguments):
                plain, lists = opened(arguments, f"{place} ")
                yield replace(condition, arguments=plain)
                yield from lists
            case Unknown(relation=name, arguments=arguments) if any(isinstance(a, ListPattern) for a in arguments):
                yield NoneOf((Known(name, arguments),), condition.span)
            case _:
                yield condition


def run(rule: Deduction, stores: Mapping[str, Store], found: Callable[[Cells], None]) -> None:
    """Report every row that a rule derives from what is there."""
    plan = _Plan(rule, stores)
    steps = plan.steps(rule.body)
    plan.connect(steps, found)(plan.slots)


def _filled(
    rule: Deduction, position: int, stores: Mapping[str, Store], found: Callable[[Cells], None]
) -> Callable[[Cells], None]:
    """What brings a row to one place of a rule's body.

    It comes first, so that all others are looked up by it, unless it would then give a value to a variable of an
    alternative or a negation that stands before it, where that means any value.
    """
    condition = rule.body[position]
    assert isinstance(condition, Known)
    before, after = rule.body[:position], rule.body[position + 1 :]
    plan = _Plan(rule, stores)
    names = {argument.name for argument in condition.arguments if isinstance(argument, Parameter)}
    inside = {node.name for node in _grouped(before) if isinstance(node, Parameter)}
    first = plan.given(condition)
    steps: list[Step] = [first, *plan.steps(before), *plan.steps(after)]
    if names & inside:
        plan = _Plan(rule, stores)
        steps = plan.steps(before)
        first = plan.given(condition)
        steps += [first, *plan.steps(after)]
    start = plan.connect(steps, found)

    def fill(row: Cells) -> None:
        first.row = row
        start(plan.slots)

    return fill


def _grouped(conditions: Sequence[Condition]) -> Iterator[object]:
    return chain.from_iterable(walk(c) for c in conditions if isinstance(c, AnyOf | NoneOf))


def _hidden(rule: Deduction) -> Iterator[str]:
    """The relations that a rule looks at inside of alternatives and negations."""
    return (node.relation for node in _grouped(rule.body) if isinstance(node, Known | Unknown))


class _Given:
    """The place of a body that one row fills."""

    def __init__(self, checks: Sequence[tuple[int, int]], binds: Sequence[tuple[int, int]]) -> None:
        self._checks, self._binds = checks, binds
        self.row: Cells = ()

    def __call__(self, follow: Follow) -> Follow:
        checks, binds = self._checks, self._binds

        def step(slots: Slots) -> None:
            row = self.row
            for place, slot in binds:
                slots[slot] = row[place]
            for place, slot in checks:
                if row[place] != slots[slot]:
                    return
            follow(slots)

        return step


Step = Callable[[Follow], Follow]
"""A condition of a body: given what follows, what is done with the values so far."""


class _Plan:
    """A body as nested loops; every variable and constant has a slot."""

    def __init__(self, rule: Deduction, stores: Mapping[str, Store]) -> None:
        self.slots: Slots = []
        self._rule = rule
        self._stores = stores
        self._names: dict[str, int] = {}
        names = set(_hidden(rule))
        self._conditions = Conditions(
            [Relation(name, 0, stores[name].values()) for name in sorted(names) if name in stores]
        )

    def connect(self, steps: Sequence[Step], found: Callable[[Cells], None]) -> Follow:
        """What runs the steps one inside the other, and gives each row of the head."""
        follow = self._head(found)
        for step in reversed(steps):
            follow = step(follow)
        return follow

    def steps(self, conditions: Sequence[Condition]) -> list[Step]:
        """The steps of conditions, taken in this order."""
        return [self._step(condition) for condition in conditions]

    def given(self, condition: Known) -> _Given:
        """The step of a condition that a given row is to fill."""
        keys, binds, repeats = self._arguments(condition.arguments)
        return _Given([*keys, *repeats], binds)

    def _slot(self, cell: Cell = None) -> int:
        self.slots.append(cell)
        return len(self.slots) - 1

    def _arguments(
        self, arguments: Sequence[Argument]
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]]:
        """Sort places with their slots: those that have a value, those that get one, those that repeat the latter."""
        keys: list[tuple[int, int]] = []
        binds: list[tuple[int, int]] = []
        repeats: list[tuple[int, int]] = []
        bound = dict(self._names)
        for place, argument in enumerate(arguments):
            if isinstance(argument, Constant):
                keys.append((place, self._slot(_cell(argument.value))))
            elif isinstance(argument, Parameter):
                if argument.name in bound:
                    keys.append((place, bound[argument.name]))
                elif argument.name in self._names:
                    repeats.append((place, self._names[argument.name]))
                else:
                    self._names[argument.name] = self._slot()
                    binds.append((place, self._names[argument.name]))
        return keys, binds, repeats

    def _step(self, condition: Condition) -> Step:
        match condition:
            case Known(relation=name, arguments=arguments):
                keys, binds, repeats = self._arguments(arguments)
                return _looked_up(self._rows(name, keys), binds, repeats)
            case Unknown(relation=name, arguments=arguments):
                keys, _, _ = self._arguments(arguments)
                return _absent(self._rows(name, keys))
            case _:
                return self._any(condition)

    def _rows(self, name: str, keys: Sequence[tuple[int, int]]) -> Callable[[Slots], Iterable[Cells]]:
        """What gives the rows of a relation with the values of some slots at some places."""
        store = self._stores[name]
        if not keys:
            return lambda _: list(store.rows)
        index = store.index(tuple(place for place, _ in keys))
        key = itemgetter(*(slot for _, slot in keys))
        nothing: list[Cells] = []
        return lambda slots: index.get(key(slots), nothing)

    def _any(self, condition: Condition) -> Step:
        """The step of a condition that is no look into a relation."""
        bound = list(self._names.items())
        fresh = [name for name in _given(condition) if name not in self._names]
        slots = {name: self._slot() for name in fresh}
        self._names |= slots
        if isinstance(condition, Bind) and fresh:
            return _computed(condition.value, slots[condition.variable], bound, self._conditions)
        conditions, given = self._conditions, list(slots.items())

        def connected(follow: Follow) -> Follow:
            def step(slots: Slots) -> None:
                binding = {name: _value(slots[slot]) for name, slot in bound}
                for extended in conditions.bindings((condition,), binding):
                    for name, slot in given:
                        slots[slot] = _cell(extended[name])
                    follow(slots)

            return step

        return connected

    def _head(self, found: Callable[[Cells], None]) -> Follow:
        arguments = self._rule.arguments
        if arguments and all(isinstance(argument, Parameter | Constant) for argument in arguments):
            slots_of_head = [self._head_slot(argument) for argument in arguments]
            if len(slots_of_head) > 1:
                row: Callable[[Slots], Cells] = itemgetter(*slots_of_head)
                return lambda slots: found(row(slots))
            only = slots_of_head[0]
            return lambda slots: found((slots[only],))
        conditions, names = self._conditions, list(self._names.items())

        def give(slots: Slots) -> None:
            binding = {name: _value(slots[slot]) for name, slot in names}
            values = [conditions.value(argument, binding) for argument in arguments]
            defined = [_cell(value) for value in values if value is not None]
            if len(defined) == len(values):
                found(tuple(defined))

        return give

    def _head_slot(self, argument: Expression) -> int:
        if isinstance(argument, Parameter):
            return self._names[argument.name]
        assert isinstance(argument, Constant)
        return self._slot(_cell(argument.value))


def _given(condition: Condition) -> list[str]:
    """The variables that a condition, which is no look into a relation, may give values."""
    match condition:
        case Bind(variable=variable):
            return [variable]
        case Member() if condition.gives is not None:
            return [condition.gives]
        case Element(value=Parameter(name=name)):
            return [name]
        case Fits(value=value, pattern=pattern):
            own = [value] if isinstance(value, Parameter) else []
            return list(dict.fromkeys(node.name for node in (*own, *walk(pattern)) if isinstance(node, Parameter)))
        case _:
            return []


def _looked_up(
    rows: Callable[[Slots], Iterable[Cells]], binds: Sequence[tuple[int, int]], repeats: Sequence[tuple[int, int]]
) -> Step:
    """The step that goes on with each row that fits."""
    only = binds[0] if len(binds) == 1 and not repeats else None

    def connected(follow: Follow) -> Follow:
        def step(slots: Slots) -> None:
            for row in rows(slots):
                for place, slot in binds:
                    slots[slot] = row[place]
                if all(row[place] == slots[slot] for place, slot in repeats):
                    follow(slots)

        def step_with_one(slots: Slots) -> None:
            assert only is not None
            place, slot = only
            for row in rows(slots):
                slots[slot] = row[place]
                follow(slots)

        return step if only is None else step_with_one

    return connected


def _computed(expression: Expression, target: int, bound: Sequence[tuple[str, int]], conditions: Conditions) -> Step:
    """The step that gives a variable the value of an expression and goes on if it has one."""

    def connected(follow: Follow) -> Follow:
        def step(slots: Slots) -> None:
            value = conditions.value(expression, {name: _value(slots[slot]) for name, slot in bound})
            if value is not None:
                slots[target] = _cell(value)
                follow(slots)

        return step

    return connected


def _absent(rows: Callable[[Slots], Iterable[Cells]]) -> Step:
    """The step that goes on if no row fits."""

    def connected(follow: Follow) -> Follow:
        def step(slots: Slots) -> None:
            if not rows(slots):
                follow(slots)

        return step

    return connected
