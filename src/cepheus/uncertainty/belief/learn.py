"""The tables of a network from cases: counted where all is known, by expectation and maximisation where it is not.

A case says what state some nodes were in. For nodes that it does not name, the present tables tell how likely each
state is, and each is counted as much (expectation); the counts give better tables (maximisation); and so on, until
cases become no more likely. Where every case names every node that is plain counting, and done after one round.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.rules.belief.model import Node
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.tables import tabulate

Floats = NDArray[np.float64]
Case = tuple[int | None, ...]

MOST_CELLS = 2**20
"""How many combinations of states all nodes together may have."""

BLUR = 0.1
"""What tables are mixed with at first, so that what an expert holds for impossible can be learned."""


def learned(
    belief: RuleBelief,
    cases: Iterable[Mapping[str, object]],
    *,
    smoothing: float = 1.0,
    only: Iterable[str] | None = None,
    rounds: int = 500,
    seed: int = 1,
) -> RuleBelief:
    """The network with tables that make the cases likely.

    A case maps nodes to their states, or to a number where a node is one; a node that it leaves out or maps to None was
    not observed. ``smoothing`` cases are added to every row of a table, spread over its states, so that a few cases do
    not make anything certain. Tables of numbers and those that change over time stay as they are, and so do the
    tables of other nodes than ``only``, if that is given.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> rules = name_rules(parse("define Fire() from Smoke()"))
    >>> cases = [{"Fire": "YES", "Smoke": "YES"}] * 9 + [{"Fire": "NO", "Smoke": "YES"}] * 3
    >>> round(learned(RuleBelief.of(rules.rules[0]), cases, smoothing=0).probability(), 3)
    0.75
    """
    if not 0 <= smoothing < math.inf or rounds < 1:
        raise OptionError.of("table", "smoothing must be 0 or more, and rounds 1 or more")
    network = _Network.of(belief, frozenset(belief.nodes if only is None else only))
    counted = Counter(network.case(number, case) for number, case in enumerate(cases, 1))
    if not counted:
        raise OptionError.of("table", "there is no case to learn from", hint="give at least some dozens")
    present = network.present()
    tables = network.blurred(present, np.random.default_rng(seed))
    before = -math.inf
    for _ in range(rounds):
        counts, likelihood = network.expected(tables, counted)
        tables = network.maximised(tables, counts, smoothing, present)
        if likelihood - before < 1e-9 * abs(likelihood):
            break
        before = likelihood
    for name in network.learned:
        node = belief.nodes[name]
        belief = belief.set(name, _written(node, tables[name], belief.states), given=node.parents)
    return belief


@dataclass(frozen=True, slots=True)
class _Network:
    """The nodes of a network as axes of one array of all combinations of states."""

    belief: RuleBelief
    names: tuple[str, ...]
    learned: tuple[str, ...]

    @classmethod
    def of(cls, belief: RuleBelief, only: frozenset[str]) -> _Network:
        for name in sorted(only - belief.nodes.keys()):
            hint = did_you_mean(name, belief.nodes) or f"its nodes are {', '.join(belief.nodes)}"
            raise OptionError.of("node", f"the network of '{belief.rule.name}' has no node '{name}'", hint=hint)
        names = tuple(belief.nodes)
        if math.prod(len(belief.states[name]) for name in names) > MOST_CELLS:
            what = f"the network of '{belief.rule.name}' is too large to learn its tables"
            raise OptionError.of("network-size", what, hint=f"at most {MOST_CELLS:,} combinations of states")
        plain = [name for name in names if belief.nodes[name].bands is None and not belief.nodes[name].seasons]
        return cls(belief, names, tuple(name for name in plain if name in only))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many states each node has."""
        return tuple(len(self.belief.states[name]) for name in self.names)

    def case(self, number: int, case: Mapping[str, object]) -> Case:
        """A case as the places of states, None where nothing is known."""
        for name in case:
            if name not in self.belief.nodes:
                hint = did_you_mean(str(name), self.names) or f"its nodes are {', '.join(self.names)}"
                raise OptionError.of(
                    "node", f"case {number} names '{name}', which the network does not have", hint=hint
                )
        return tuple(self._place(number, name, case.get(name)) for name in self.names)

    def _place(self, number: int, name: str, state: object) -> int | None:
        if state is None:
            return None
        bands, states = self.belief.nodes[name].bands, self.belief.states[name]
        if bands is not None and isinstance(state, int | float) and not isinstance(state, bool):
            return bands.place_of(float(state))
        if isinstance(state, bool) and states == ("YES", "NO"):
            return 0 if state else 1
        if state not in states:
            hint = did_you_mean(str(state), states) or f"its states are {', '.join(states)}"
            raise OptionError.of("node", f"case {number} has '{name}' in no state of it: {state!r}", hint=hint)
        return states.index(str(state))

    def present(self) -> dict[str, Floats]:
        """The tables that the network has."""
        nodes = self.belief.nodes
        return {name: tabulate(nodes[name], nodes[name].rows, self.belief.states) for name in self.names}

    def blurred(self, present: Mapping[str, Floats], rng: np.random.Generator) -> dict[str, Floats]:
        """The tables to begin with: those that the network has, so mixed that nothing is impossible, and no two states
        of a node that is never observed are alike.
        """
        tables = {}
        for name, table in present.items():
            if name in self.learned:
                noise = rng.dirichlet(np.full(table.shape[-1], 20.0), table.shape[:-1])
                tables[name] = (1 - BLUR) * table + BLUR * noise
            else:
                tables[name] = table
        return tables

    def _spread(self, name: str, table: Floats) -> Floats:
        """A table with an axis for every node of the network."""
        own = (*self.belief.nodes[name].parents, name)
        axes = [self.names.index(each) for each in own]
        order = np.argsort(axes)
        shape = [size if place in axes else 1 for place, size in enumerate(self.sizes)]
        return table.transpose(order).reshape(shape)

    def expected(self, tables: Mapping[str, Floats], counted: Mapping[Case, int]) -> tuple[Floats, float]:
        """How often each combination of states is expected, and how likely the cases are (the logarithm)."""
        joint = np.ones(self.sizes)
        for name in self.names:
            joint = joint * self._spread(name, tables[name])
        counts, likelihood = np.zeros(self.sizes), 0.0
        for case, many in counted.items():
            seen = tuple(slice(None) if place is None else slice(place, place + 1) for place in case)
            total = float(joint[seen].sum())
            if total <= 0.0:
                known = ", ".join(
                    f"{name} = {self.belief.states[name][place]}"
                    for name, place in zip(self.names, case, strict=True)
                    if place is not None
                )
                raise OptionError.of(
                    "evidence", f"by tables that are not learned a case cannot be: {known}", hint="learn more of them"
                )
            counts[seen] += joint[seen] * (many / total)
            likelihood += many * math.log(total)
        return counts, likelihood

    def maximised(
        self, tables: Mapping[str, Floats], counts: Floats, smoothing: float, present: Mapping[str, Floats]
    ) -> dict[str, Floats]:
        """The tables that make the counts most likely; a row that nothing is known of stays as it was at first."""
        made = dict(tables)
        for name in self.learned:
            own = (*self.belief.nodes[name].parents, name)
            axes = [self.names.index(each) for each in own]
            kept = counts.sum(axis=tuple(place for place in range(len(self.names)) if place not in axes))
            family = kept.transpose(np.argsort(np.argsort(axes)))
            smoothed = family + smoothing / family.shape[-1]
            total = smoothed.sum(axis=-1, keepdims=True)
            made[name] = np.where(total > 0, smoothed / np.where(total > 0, total, 1.0), present[name])
        return made


def _written(node: Node, table: Floats, states: Mapping[str, Sequence[str]]) -> Mapping[Any, Any]:
    """A table as an expert writes it."""
    own = states[node.name]
    rows = table.reshape(-1, len(own))
    written = [_row(own, row.tolist()) for row in rows]
    if not node.parents:
        return written[0]
    return dict(zip(product(*(states[parent] for parent in node.parents)), written, strict=True))


def _row(states: Sequence[str], chances: list[float]) -> dict[str, float]:
    rounded = [round(chance, 6) for chance in chances]
    largest = max(range(len(rounded)), key=rounded.__getitem__)
    rounded[largest] = round(1.0 - sum(chance for place, chance in enumerate(rounded) if place != largest), 6)
    return dict(zip(states, rounded, strict=True))
