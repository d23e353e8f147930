"""Atoms as nodes of the graph: what stands in their arguments, and lists in these that are taken apart at once."""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.values import ValueType
from cepheus.language.etalis.print import format_pattern
from cepheus.plan.interval.graph import Graph
from cepheus.plan.interval.program import ConditionKind, NodeKind
from cepheus.plan.interval.specs import ConditionSpec, NodeSpec
from cepheus.rules.expressions import Constant, Expression, Parameter
from cepheus.rules.interval.lists import opened, steps
from cepheus.rules.interval.model import Anything, Atom, Bind, Fits, Holds, ListPattern
from cepheus.rules.walk import transform


def atom_node(graph: Graph, atom: Atom) -> tuple[int, tuple[str, ...]]:
    """The node of an atom, and the names of the variables that its matches have.

    ``path([H|T], N)`` is an atom ``path(L, N)`` with conditions around it that take ``L`` apart. The last variable that
    these bind takes the place of ``L``, so that matches are told apart by the variables of the rule alone.
    """
    plain, lists = opened(atom.arguments)
    arguments, names = graph.arguments(replace(atom, arguments=plain))
    spec = NodeSpec(NodeKind.ATOM, len(names), (atom.type,), atom.type, arguments)
    node = graph.node(spec)
    if not lists or not names:
        return node, names
    shown = tuple(Anything() if isinstance(each, ListPattern) else each for each in atom.arguments)
    graph.words.setdefault(node, (format_pattern(replace(atom, arguments=shown)),))
    conditions: list[ConditionSpec] = []
    known = list(names)
    for each in lists:
        conditions += _apart(graph, each, known)
    filtered = NodeSpec(NodeKind.FILTER, len(known), spec.parts, left=node, conditions=tuple(conditions))
    return graph.node(filtered), tuple(known)


def _apart(graph: Graph, fits: Fits, names: list[str]) -> list[ConditionSpec]:
    """Describe how a list is taken apart; ``names`` has its variable, whose place is put to use, and gets further."""
    assert isinstance(fits.value, Parameter)
    place = names.index(fits.value.name)
    taken = list(steps(fits.value, fits.pattern, names))
    last = next((step for step in reversed(taken) if isinstance(step, Bind)), None)
    specs: list[ConditionSpec] = []
    for step in taken:
        if isinstance(step, Holds):
            test = step if last is None else _without(step, last)
            specs.append(ConditionSpec(ConditionKind.TEST, code=graph.coder(names).test(test.constraint)))
        elif step is not last:
            code = graph.coder(names).value(step.value)
            specs.append(ConditionSpec(ConditionKind.SET, len(names), code))
            names.append(step.variable)
    value: Expression = Constant(True, ValueType.BOOL) if last is None else last.value
    specs.append(ConditionSpec(ConditionKind.SET, place, graph.coder(names).value(value)))
    if last is not None:
        names[place] = last.variable
    return specs


def _without(step: Holds, last: Bind) -> Holds:
    """Return a test with the value of the variable that is bound last put in its place."""

    def change(node: object) -> object:
        return last.value if isinstance(node, Parameter) and node.name == last.variable else node

    changed: Holds = transform(step, change)
    return changed
