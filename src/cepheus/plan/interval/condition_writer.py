"""Windows and conditions around a pattern, described for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from cepheus.core.lists import distinct, value_key
from cepheus.plan.aggregate_codes import code_of
from cepheus.plan.interval.coder import Coder
from cepheus.plan.interval.constructs import GOALS, IntervalConstruct, unsupported
from cepheus.plan.interval.graph import ConditionSpec, Graph, NodeSpec, atom_node
from cepheus.plan.interval.program import ConditionKind, NodeKind
from cepheus.plan.support import require
from cepheus.rules.aggregates import aggregate_named
from cepheus.rules.expressions import Constant, Parameter
from cepheus.rules.functions import LIST_DISTINCT
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.lists import is_hidden, steps
from cepheus.rules.interval.matches import unify
from cepheus.rules.interval.model import (
    Aggregated,
    AnyOf,
    Argument,
    Bind,
    Element,
    Fits,
    Holds,
    IntervalRule,
    Known,
    Lasting,
    ListPattern,
    Member,
    NoneOf,
    Relation,
    Unknown,
    Where,
)
from cepheus.rules.walk import walk

_Plain = Holds | Bind | Known | Unknown | Member | Element | AnyOf | NoneOf
"""Conditions that the kernel has as one, without a table of members."""


class ConditionWriter:
    """Describes the conditions of one rule; what they look at becomes nodes of the graph."""

    def __init__(self, graph: Graph, rule: IntervalRule) -> None:
        self._graph = graph
        self._relations: dict[str, Relation] = {relation.name: relation for relation in rule.relations}
        self._conditions = Conditions(rule.relations)
        self.members: list[int] = []

    def layers(
        self, layers: Sequence[Lasting | Where], known: Sequence[str], surely: frozenset[str]
    ) -> tuple[tuple[ConditionSpec, ...], tuple[str, ...], frozenset[str]]:
        """Describe windows and conditions over variables, of which some surely have a value.

        Also give the variables that there are afterwards, and which of them surely have one.
        """
        names, sure = list(known), set(surely)
        specs: list[ConditionSpec] = []
        for layer in layers:
            if isinstance(layer, Lasting):
                kind = ConditionKind.EXACTLY if layer.exact else ConditionKind.WITHIN
                specs.append(ConditionSpec(kind, number=layer.duration))
            else:
                for condition in layer.conditions:
                    if isinstance(condition, Aggregated):
                        specs += self._aggregated(condition, names, sure)
                    elif isinstance(condition, Fits):
                        specs += self._fits(condition, names, sure)
                    else:
                        specs.append(self._condition(condition, names, sure))
        return tuple(specs), tuple(names), frozenset(sure)

    def _condition(self, condition: _Plain, names: list[str], sure: set[str]) -> ConditionSpec:
        coder = self._graph.coder(names)
        match condition:
            case Holds(constraint=constraint):
                return ConditionSpec(ConditionKind.TEST, code=coder.test(constraint))
            case Member() if condition.gives is not None and condition.gives not in sure:
                return self._listed(condition, condition.gives, names, sure)
            case Member(value=value, options=options):
                return ConditionSpec(ConditionKind.TEST, code=coder.member(value, options))
            case Bind(variable=variable) if variable in names and variable not in sure:
                raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
            case Bind(variable=variable, value=value):
                if variable in names:
                    return ConditionSpec(ConditionKind.TEST, code=coder.equality(variable, value))
                code = coder.value(value)
                return ConditionSpec(ConditionKind.SET, _bind(variable, names, sure), code)
            case Known(relation=relation):
                return self._known(self._relations[relation], condition, names, sure)
            case Element(value=Parameter(name=name), elements=elements) if name not in names:
                function = self._graph.functions.built_in(LIST_DISTINCT)
                code = coder.value(elements)
                return ConditionSpec(ConditionKind.ELEMENT, _bind(name, names, sure), code, function)
            case Element(value=Parameter(name=name)) if name not in sure:
                raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
            case Element() | Unknown() | AnyOf() | NoneOf():
                return self._asked(condition, names, coder)
            case _:
                assert_never(condition)

    def _fits(self, condition: Fits, names: list[str], sure: set[str]) -> list[ConditionSpec]:
        """Write the conditions that take a list apart, or that make it of its parts."""
        value, pattern = condition.value, condition.pattern
        if isinstance(value, Parameter) and value.name not in names:
            return [self._condition(Bind(value.name, pattern.built(), condition.span), names, sure)]
        variables = {node.name for node in walk(pattern) if isinstance(node, Parameter)}
        if isinstance(value, Parameter):
            variables.add(value.name)
        if any(name in names and name not in sure for name in variables):
            raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
        return [self._condition(step, names, sure) for step in steps(value, pattern, tuple(names))]

    def _asked(self, condition: Element | Unknown | AnyOf | NoneOf, names: list[str], coder: Coder) -> ConditionSpec:
        """Ask Python for the truth of a condition that binds nothing; it depends on values of variables alone."""
        used = {node.name for node in walk(condition) if isinstance(node, Parameter)}
        used |= {node.variable for node in walk(condition) if isinstance(node, Bind)}
        if any(isinstance(node, Aggregated) for node in walk(condition)):
            raise unsupported(IntervalConstruct.AGGREGATES_INSIDE, condition.span)
        read = tuple(name for name in names if name in used)
        function = self._graph.functions.condition(condition, self._conditions, read)
        return ConditionSpec(ConditionKind.TEST, code=coder.call(function, read, condition.span))

    def _listed(self, condition: Member, variable: str, names: list[str], sure: set[str]) -> ConditionSpec:
        """Describe the condition that gives a variable each value of a list."""
        values = distinct(option.value for option in condition.options if isinstance(option, Constant))
        rows = tuple((value,) for value in values)
        known = Known("", (Parameter(variable),), condition.span)
        return self._known(Relation("", 1, rows), known, names, sure)

    def _known(self, relation: Relation, condition: Known, names: list[str], sure: set[str]) -> ConditionSpec:
        relation, arguments = _without_lists(relation, condition.arguments)
        rows = tuple(row for row in relation.rows if unify(arguments, row, {}) is not None)
        places = {a.name: place for place, a in reversed([*enumerate(arguments)]) if isinstance(a, Parameter)}
        places = dict(sorted(places.items(), key=lambda item: item[1]))
        if any(name in names and name not in sure for name in places):
            raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
        keys = tuple((place, names.index(name)) for name, place in places.items() if name in names)
        binds = tuple((place, _bind(name, names, sure)) for name, place in places.items() if name not in names)
        spec = NodeSpec(NodeKind.MEMBERS, variables=len(arguments), type=f"\0relation {relation.name}")
        return ConditionSpec(ConditionKind.KNOWN, keys=keys, binds=binds, rows=rows, node=self._graph.node(spec))

    def _aggregated(self, condition: Aggregated, names: list[str], sure: set[str]) -> list[ConditionSpec]:
        """Make the condition that computes an aggregate; its members are kept in a table of their own."""
        record = aggregate_named(condition.function)
        require(GOALS, record, condition.span)
        function = code_of(record)
        assert function is not None
        atom, free = atom_node(self._graph, condition.atom)
        met = [(place, name) for place, name in enumerate(free) if name in names and not is_hidden(name)]
        if any(name in names and name not in sure for name in (*(name for _, name in met), condition.variable)):
            raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
        keys = tuple((place, names.index(name)) for place, name in met)
        members = NodeSpec(NodeKind.MEMBERS, left=atom, keys=keys, reach=condition.window)
        number = self._graph.node(members)
        self.members.append(number)
        result = len(names)
        unbound = [(place, name) for place, name in enumerate(free) if (place, name) not in met]
        binds = tuple((place, result + 1 + at) for at, (place, _) in enumerate(unbound))
        coder = self._graph.coder([*names, "", *(name for _, name in unbound)])
        spec = ConditionSpec(
            ConditionKind.AGGREGATE,
            result,
            () if condition.value is None else coder.value(condition.value),
            condition.window,
            keys,
            binds,
            node=number,
            function=function,
        )
        self._graph.deepest = max(self._graph.deepest, result + 1 + len(binds))
        if condition.variable not in names:
            _bind(condition.variable, names, sure)
            return [spec]
        same = self._graph.coder([*names, ""]).equality(condition.variable, Parameter(""))
        return [spec, ConditionSpec(ConditionKind.TEST, code=same)]


def _without_lists(relation: Relation, arguments: Sequence[Argument]) -> tuple[Relation, tuple[Argument, ...]]:
    """Return a relation of the values that variables have where lists are taken apart; any other as it is."""
    if not any(isinstance(argument, ListPattern) for argument in arguments):
        return relation, tuple(arguments)
    names = dict.fromkeys(n.name for argument in arguments for n in walk(argument) if isinstance(n, Parameter))
    bindings = (unify(tuple(arguments), row, {}) for row in relation.rows)
    rows = (tuple(binding[name] for name in names) for binding in bindings if binding is not None)
    distinct_rows = {tuple(map(value_key, row)): row for row in rows}
    written = ", ".join(map(str, arguments))
    taken = Relation(f"{relation.name} {written}", len(names), tuple(distinct_rows.values()))
    return taken, tuple(map(Parameter, names))


def _bind(name: str, names: list[str], sure: set[str]) -> int:
    names.append(name)
    sure.add(name)
    return len(names) - 1
