"""The structure of a network: nodes, states and edges without the numbers, shared by all versions of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from cepheus.rules.belief.model import Belief, Node, Observation, Row
from cepheus.uncertainty.belief.elimination import Elimination, Variable
from cepheus.uncertainty.belief.tables import tabulate

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
        with self._lock:
            answering = self._answering.get((asked, known))
            if answering is None:
                observed = {each.node: self.states[each.node].index(each.state) for each in known}
                answering = _Answering(Elimination(self.variables, observed, asked), {})
                if len(self._answering) >= _MOST_QUESTIONS:
                    del self._answering[next(iter(self._answering))]
                self._answering[asked, known] = answering
            for name in answering.steps.needed:
                if answering.rows.get(name) is not rows[name]:
                    answering.rows.pop(name, None)  # if the table is wrong after all, nothing of it stays
                    answering.steps.put(name, tabulate(nodes[name], rows[name], self.states))
                    answering.rows[name] = rows[name]
            return answering.steps.joint()
