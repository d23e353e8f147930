"""Binarisation: the pattern of a rule as nodes of a graph of goals, each with two inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cepheus.core.time import format_duration
from cepheus.core.values import ValueType
from cepheus.language.etalis.print import format_condition, format_pattern
from cepheus.plan.interval.condition_writer import ConditionWriter
from cepheus.plan.interval.constructs import GOALS
from cepheus.plan.interval.goal_texts import Seat, seat_of
from cepheus.plan.interval.graph import (
    UNLIMITED,
    ConditionSpec,
    Graph,
    NodeSpec,
    PolicySpec,
    Screen,
    atom_node,
    point_type,
)
from cepheus.plan.interval.program import ChoiceCode, NodeKind, OperatorCode, PreferenceCode
from cepheus.plan.support import require
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Combined,
    Condition,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    TimePoint,
    Where,
)
from cepheus.rules.interval.reach import effective_policy, reach_below
from cepheus.rules.interval.stand_ins import awaited_instants, sides_compared


def add_rule(graph: Graph, rule: IntervalRule) -> None:
    """Add the nodes of a rule that are not in a graph yet."""
    binariser = _Binariser(graph, rule)
    name = str(rule.name)
    graph.heads[name] = binariser.head()
    graph.members[name] = binariser.conditions.members
    graph.seats[name] = binariser.seats


@dataclass(frozen=True, slots=True)
class _Built:
    """A node in the making: its number, the names of its variables, and those that every match binds."""

    node: int
    names: tuple[str, ...] = ()
    sure: frozenset[str] = frozenset()


class _Binariser:
    """Adds one rule to a graph."""

    def __init__(self, graph: Graph, rule: IntervalRule) -> None:
        self._graph = graph
        self._rule = rule
        self._policy = effective_policy(rule)
        self.conditions = ConditionWriter(graph, rule)
        self.seats: dict[tuple[int, int], Seat] = {}

    def head(self) -> int:
        built = self._build(self._rule.pattern, UNLIMITED)
        root = self._graph.nodes[built.node]
        coder = self._graph.coder(built.names)
        spec = NodeSpec(
            NodeKind.HEAD,
            variables=len(self._rule.values),
            parts=root.parts,
            type=self._rule.head.name,
            left=built.node,
            values=tuple(
                coder.value(value, as_float=attribute.type is ValueType.FLOAT)
                for attribute, value in zip(self._rule.head.attributes, self._rule.values, strict=True)
            ),
            rule=str(self._rule.name),
        )
        number = self._graph.node(spec)
        self._graph.words[number] = (f"{self._rule.name}: {self._rule.head.name}",)
        return number

    def _build(self, pattern: IntervalPattern, reach: int) -> _Built:
        layers: list[Lasting | Where] = []
        inner = pattern
        while isinstance(inner, Lasting | Where):
            layers.append(inner)
            if isinstance(inner, Lasting):
                reach = min(reach, inner.duration)
            inner = inner.pattern
        layers.reverse()
        built = self._operator(inner, layers, reach)
        if not layers:
            return built
        conditions, names, sure = self.conditions.layers(layers, built.names, built.sure)
        if self._graph.nodes[built.node].conditions == conditions and names == built.names:
            self._graph.words[built.node] = (_operator_words(inner), *_layer_words(layers))
            return built  # the operator has asked all of them when it chose the partner
        source = self._graph.nodes[built.node]
        spec = NodeSpec(
            NodeKind.FILTER, len(names), source.parts, left=built.node, conditions=conditions, policy=source.policy
        )
        number = self._graph.node(spec)
        self._graph.words.setdefault(number, tuple(_layer_words(layers)))
        return _Built(number, names, sure)

    def _operator(self, pattern: IntervalPattern, layers: Sequence[Lasting | Where], reach: int) -> _Built:
        built = self._any_operator(pattern, layers, reach)
        self._graph.words.setdefault(built.node, (_operator_words(pattern),))
        return built

    def _any_operator(self, pattern: IntervalPattern, layers: Sequence[Lasting | Where], reach: int) -> _Built:
        match pattern:
            case Atom():
                return self._atom(pattern)
            case TimePoint(time=time):
                return _Built(self._graph.node(NodeSpec(NodeKind.ATOM, type=point_type(time))))
            case Either(left=left, right=right):
                return self._either(self._build(left, reach), self._build(right, reach))
            case Combined(operator=operator, left=left, right=right):
                require(GOALS, operator, pattern.span)
                reach = reach_below(operator, self._policy, reach)
                one, other = self._build(left, reach), self._build(right, reach)
                built = self._combined(pattern, one, other, layers, reach)
                self.seats[built.node, 0] = seat_of(pattern, 0, one.names)
                self.seats[built.node, 1] = seat_of(pattern, 1, other.names)
                return built
            case Absence(negated=negated, first=first, second=second):
                opening, closing = self._build(first, reach), self._build(second, reach)
                built = self._absence(self._build(negated, reach), opening, closing, layers, reach)
                self.seats[built.node, 0] = seat_of(pattern, 0, opening.names)
                return built
            case _:
                raise AssertionError(f"no operator: {pattern!r}")

    def _atom(self, atom: Atom) -> _Built:
        node, names = atom_node(self._graph, atom)
        return _Built(node, names, frozenset(names))

    def _either(self, left: _Built, right: _Built) -> _Built:
        names = (*left.names, *(name for name in right.names if name not in left.names))
        nodes = self._graph.nodes
        spec = NodeSpec(
            NodeKind.EITHER,
            len(names),
            nodes[left.node].parts + nodes[right.node].parts,
            left=left.node,
            right=right.node,
            fresh=tuple(names.index(name) for name in right.names),
        )
        return _Built(self._graph.node(spec), names, left.sure & right.sure)

    def _pair(self, left: _Built, right: _Built) -> tuple[NodeSpec, _Built]:
        """Describe what every node with two inputs has; the number is still to come."""
        nodes = self._graph.nodes
        common = [name for name in left.names if name in right.names]
        links = {name: (left.names.index(name), right.names.index(name)) for name in common}
        fresh = tuple(name for name in right.names if name not in left.names)
        surely = left.sure & right.sure
        spec = NodeSpec(
            NodeKind.COMBINED,
            len(left.names) + len(fresh),
            nodes[left.node].parts + nodes[right.node].parts,
            left=left.node,
            right=right.node,
            policy=self._policy_spec(left, right),
            keys=tuple(link for name, link in links.items() if name in surely),
            shared=tuple(link for name, link in links.items() if name not in surely),
            fresh=tuple(right.names.index(name) for name in fresh),
        )
        return spec, _Built(-1, left.names + fresh, left.sure | right.sure)

    def _combined(
        self, pattern: Combined, left: _Built, right: _Built, layers: Sequence[Lasting | Where], reach: int
    ) -> _Built:
        spec, built = self._pair(left, right)
        awaits = awaited_instants(pattern, _conditions_in(layers), self._policy, left.names, right.names)
        spec = replace(
            spec,
            operator=OperatorCode[pattern.operator.name],
            awaits=awaits or "",
            reach=reach,
            conditions=self._guard(layers, built),
            screen=self._screen(layers, left, right),
        )
        return replace(built, node=self._graph.node(spec))

    def _absence(
        self, negated: _Built, first: _Built, second: _Built, layers: Sequence[Lasting | Where], reach: int
    ) -> _Built:
        spec, built = self._pair(first, second)
        common = [name for name in negated.names if name in built.names]
        links = {name: (negated.names.index(name), built.names.index(name)) for name in common}
        surely = negated.sure & built.sure
        spec = replace(
            spec,
            kind=NodeKind.ABSENCE,
            negated=negated.node,
            reach=reach,
            negated_keys=tuple(link for name, link in links.items() if name in surely),
            negated_shared=tuple(link for name, link in links.items() if name not in surely),
            final=set(common) <= first.sure,
            conditions=self._guard(layers, built),
            screen=self._screen(layers, first, second),
        )
        return replace(built, node=self._graph.node(spec))

    def _policy_spec(self, left: _Built, right: _Built) -> PolicySpec:
        policy = self._policy
        name = policy.attribute
        return PolicySpec(
            ChoiceCode[policy.choice.name],
            policy.once,
            policy.renewing,
            policy.onesided,
            PreferenceCode[policy.preference.name],
            left.names.index(name) if name in left.names else -1,
            right.names.index(name) if name in right.names else -1,
        )

    # Under a restricting policy an operator looks at the windows and conditions around it to find a partner; under the
    # unrestricted one they are asked afterwards.

    def _guard(self, layers: Sequence[Lasting | Where], built: _Built) -> tuple[ConditionSpec, ...]:
        if ChoiceCode[self._policy.choice.name] is ChoiceCode.UNRESTRICTED or not layers:
            return ()
        return self.conditions.layers(layers, built.names, built.sure)[0]

    def _screen(self, layers: Sequence[Lasting | Where], left: _Built, right: _Built) -> Screen | None:
        """Find the first comparison of something of the one operand with something of the other, if there is one."""
        if ChoiceCode[self._policy.choice.name] is ChoiceCode.UNRESTRICTED:
            return None
        found = sides_compared(_conditions_in(layers), left.names, right.names)
        if found is None:
            return None
        codes = self._graph.coder(left.names).value(found.left), self._graph.coder(right.names).value(found.right)
        return Screen(*codes, found.downward)


def _conditions_in(layers: Sequence[Lasting | Where]) -> list[Condition]:
    return [condition for layer in layers if isinstance(layer, Where) for condition in layer.conditions]


def _operator_words(pattern: IntervalPattern) -> str:
    match pattern:
        case Combined(operator=operator):
            return operator.value
        case Either():
            return "OR"
        case Absence():
            return "NOT between"
        case _:
            return format_pattern(pattern)


def _layer_words(layers: Sequence[Lasting | Where]) -> Iterator[str]:
    for layer in layers:
        if isinstance(layer, Lasting):
            yield f"lasts {'exactly' if layer.exact else 'at most'} {format_duration(layer.duration)}"
        else:
            yield from map(format_condition, layer.conditions)
