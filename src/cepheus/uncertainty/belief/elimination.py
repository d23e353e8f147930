"""The probability of one node of a network given others: variables are summed out one by one, in a fixed order.

The order is worked out once for the shape of a network: which nodes there are, with how many states, on what they
depend and what is observed. Evaluating is then a short list of products and sums of small arrays. Each step keeps its
result, so that after an edit of one table only the steps that this table reaches are taken again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from operator import mul
from threading import Lock

import numpy as np

from cepheus.core.errors import RuleError
from cepheus.rules.belief.model import Belief, Node, Observation, Row
from cepheus.uncertainty.belief.tables import Table, tabulate

MAX_CELLS = 2**22
"""How large an array of a step may be; a network that needs more has too many edges to be evaluated exactly."""

Index = tuple[slice | int | None, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A node as far as the order of steps depends on it."""

    name: str
    size: int
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """How the table of a node becomes a factor: axes in the order of all variables, what is observed picked out."""

    axes: tuple[int, ...]
    pick: Index


@dataclass(frozen=True, slots=True)
class _Step:
    """A product of factors, summed over an axis; ``operands`` are places of factors and how each is spread."""

    operands: tuple[tuple[int, Index], ...]
    axis: int | None


class Elimination:
    """Evaluates networks of one shape; ``observed`` are nodes and the index of the state they are in.

    ``needed`` are the nodes whose tables matter: the others have no effect on what is asked.

    >>> steps = Elimination([Variable("Fire", 2, ()), Variable("Smoke", 2, ("Fire",))], {"Smoke": 0}, "Fire")
    >>> steps.put("Fire", np.array([0.5, 0.5]))
    >>> steps.put("Smoke", np.array([[1.0, 0.0], [0.25, 0.75]]))
    >>> steps.joint()
    [0.5, 0.125]
    """

    def __init__(self, variables: Sequence[Variable], observed: Mapping[str, int], asked: str) -> None:
        sizes = {variable.name: variable.size for variable in variables}
        relevant = _relevant(variables, observed, asked)
        order = {variable.name: place for place, variable in enumerate(relevant)}
        self.needed = tuple(order)
        self._place = order
        self._leaves = [_leaf(variable, order, observed) for variable in relevant]
        self._steps: list[_Step] = []
        scopes = {
            place: frozenset((variable.name, *variable.parents)) - observed.keys()
            for place, variable in enumerate(relevant)
        }
        waiting = {name for scope in scopes.values() for name in scope} - {asked}
        while waiting:
            name = min(waiting, key=lambda name: (_cost(name, scopes, sizes), order[name]))
            waiting.discard(name)
            self._add([place for place, scope in scopes.items() if name in scope], name, scopes, order, sizes)
        self._add(list(scopes), None, scopes, order, sizes)
        self._factors: list[Table] = [np.empty(0)] * (len(self._leaves) + len(self._steps))
        self._changed = [True] * len(self._factors)

    def put(self, node: str, table: Table) -> None:
        """Set the table of a node."""
        place = self._place[node]
        leaf = self._leaves[place]
        self._factors[place] = table.transpose(leaf.axes)[leaf.pick]
        self._changed[place] = True

    def joint(self) -> list[float]:
        """For each state of the node asked for, the probability of that state together with what is observed."""
        factors, changed = self._factors, self._changed
        place = len(self._leaves)
        for step in self._steps:
            if True in [changed[operand] for operand, _ in step.operands]:
                product: Table = reduce(mul, [factors[operand][index] for operand, index in step.operands])
                factors[place] = product if step.axis is None else np.add.reduce(product, axis=step.axis)
                changed[place] = True
            place += 1
        self._changed = [False] * place
        found: list[float] = factors[-1].tolist()
        return found

    def _add(
        self,
        places: list[int],
        name: str | None,
        scopes: dict[int, frozenset[str]],
        order: Mapping[str, int],
        sizes: Mapping[str, int],
    ) -> None:
        """Add a step that multiplies factors and, if a variable is named, sums it out."""
        scope = sorted(frozenset().union(*(scopes[place] for place in places)), key=lambda each: order[each])
        if prod(sizes[each] for each in scope) > MAX_CELLS:
            raise RuleError.of(
                "network-size",
                f"the network is too densely connected: a step needs {prod(sizes[each] for each in scope):,} numbers",
                hint="let fewer nodes depend on many others, or join causes into one node",
            )
        operands = tuple((place, _spread(scopes[place], scope)) for place in places)
        made = len(self._leaves) + len(self._steps)
        self._steps.append(_Step(operands, None if name is None else scope.index(name)))
        for place in places:
            del scopes[place]
        scopes[made] = frozenset(scope) - {name}


def _relevant(variables: Sequence[Variable], observed: Iterable[str], asked: str) -> list[Variable]:
    """The nodes that matter: the one asked for, those observed, and all their causes."""
    parents = {variable.name: variable.parents for variable in variables}
    needed: set[str] = set()
    waiting = [asked, *observed]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += parents[name]
    return [variable for variable in variables if variable.name in needed]


def _leaf(variable: Variable, order: Mapping[str, int], observed: Mapping[str, int]) -> _Leaf:
    names = (*variable.parents, variable.name)
    axes = sorted(range(len(names)), key=lambda axis: order[names[axis]])
    return _Leaf(tuple(axes), tuple(observed.get(names[axis], slice(None)) for axis in axes))


def _spread(scope: frozenset[str], wanted: Sequence[str]) -> Index:
    return tuple(slice(None) if name in scope else None for name in wanted)


def _cost(name: str, scopes: Mapping[int, frozenset[str]], sizes: Mapping[str, int]) -> int:
    """The size of the array that summing out a variable would need."""
    together = frozenset().union(*(scope for scope in scopes.values() if name in scope))
    return prod(sizes[each] for each in together)


_MOST_QUESTIONS = 16

Question = tuple[str, tuple[Observation, ...]]
"""The node that is asked for, and what is observed."""


@dataclass(slots=True)
class _Answering:
    """The steps for one question and, for each node, the rows that they last saw."""

    steps: Elimination
    rows: dict[str, tuple[Row, ...]]


@dataclass(frozen=True)
class Structure:
    """What stays the same when only tables change; remembers how to answer the questions it was asked.

    Safe to share between threads.
    """

    states: Mapping[str, tuple[str, ...]]
    variables: tuple[Variable, ...]
    _answering: dict[Question, _Answering] = field(default_factory=dict, compare=False, repr=False)
    _lock: Lock = field(default_factory=Lock, compare=False, repr=False)

    @classmethod
    def of(cls, whole: Belief, states: Mapping[str, tuple[str, ...]]) -> Structure:
        """The structure of a network that has been checked."""
        return cls(states, tuple(Variable(node.name, len(states[node.name]), node.parents) for node in whole.nodes))

    def joint(
        self, asked: str, known: tuple[Observation, ...], nodes: Mapping[str, Node], rows: Mapping[str, tuple[Row, ...]]
    ) -> list[float]:
        """For each state of the node asked for, its probability together with what is observed."""
        numbers = {each.node: each.number for each in known if nodes[each.node].bands is not None}
        with self._lock:
            answering = self._answering.get((asked, known))
            if answering is None:
                observed = {each.node: self._place(each, nodes[each.node]) for each in known}
                answering = _Answering(Elimination(self.variables, observed, asked), {})
                if len(self._answering) >= _MOST_QUESTIONS:
                    del self._answering[next(iter(self._answering))]
                self._answering[asked, known] = answering
            for name in answering.steps.needed:
                if answering.rows.get(name) is not rows[name]:
                    answering.rows.pop(name, None)  # if the table is wrong after all, nothing of it stays
                    number = numbers.get(name)
                    answering.steps.put(name, tabulate(nodes[name], rows[name], self.states, number))
                    answering.rows[name] = rows[name]
            return answering.steps.joint()

    def _place(self, known: Observation, node: Node) -> int:
        """The place of an observed state among those of its node; a number is in a band."""
        if node.bands is not None and known.number is not None:
            return node.bands.place_of(known.number)
        return self.states[known.node].index(known.state)
