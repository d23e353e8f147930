"""Binarisation: the patterns of rules as one graph of goals with two inputs each, what is alike only once.

A node is described by numbers alone: variables are places in a row, operands are other nodes. So patterns that differ
in the names of their variables are one node, and rules that have it in common share its goals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, format_duration
from cepheus.core.values import Value, ValueType
from cepheus.engine.goals.coder import Code, Coder
from cepheus.engine.goals.constructs import IntervalConstruct, unsupported
from cepheus.engine.goals.functions import FunctionTable
from cepheus.engine.goals.layout import (
    ArgumentKind,
    ChoiceCode,
    ConditionKind,
    NodeKind,
    OperatorCode,
    PreferenceCode,
)
from cepheus.engine.goals.progress import Seat, seat_of
from cepheus.engine.goals.values import Tagged, Texts
from cepheus.language.etalis.print import format_condition, format_pattern
from cepheus.rules.expressions import Arithmetic, Comparison, Constant, Expression, Negative, Parameter
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.matches import distinct, unify
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    AnyOf,
    Anything,
    Atom,
    Bind,
    Combined,
    ConsumptionPolicy,
    Either,
    Holds,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    Member,
    NoneOf,
    Relation,
    TimePoint,
    Unknown,
    Where,
)
from cepheus.rules.walk import walk

UNLIMITED = MAX_TIME
"""How long a match may last where no window says."""

Pairs = tuple[tuple[int, int], ...]

_Plain = Holds | Bind | Known | Unknown | Member | AnyOf | NoneOf
"""Conditions without tables of members."""


def point_type(time: int) -> str:
    """Give the name of the type of event that stands for a point in time."""
    return f"\0point {time}"


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """What is done with an argument of an event; ``value`` is a constant's, ``variable`` that of one bound before."""

    place: int
    kind: ArgumentKind
    value: Tagged = (0, 0)
    variable: int = 0


@dataclass(frozen=True, slots=True)
class ConditionSpec:
    """A condition: what it asks, the variable it binds, the rows it looks at."""

    kind: ConditionKind
    variable: int = 0
    code: Code = ()
    number: int = 0
    keys: Pairs = ()
    binds: Pairs = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    node: int = -1
    function: str = ""


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A consumption policy; the attributes are the places of the variable that is preferred by, -1 for none."""

    choice: ChoiceCode = ChoiceCode.UNRESTRICTED
    once: bool = False
    renewing: bool = False
    onesided: bool = False
    preference: PreferenceCode = PreferenceCode.ARRIVAL
    left_attribute: int = -1
    right_attribute: int = -1


@dataclass(frozen=True, slots=True)
class Screen:
    """A comparison that every pair must satisfy: what the left operand has is at most what the right one has.

    Downward it is at least that.
    """

    left: Code
    right: Code
    downward: bool


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node: the shape of its matches, its operands, and what its kind needs to know."""

    kind: NodeKind
    variables: int = 0
    parts: tuple[str, ...] = ()
    type: str = ""
    arguments: tuple[ArgumentSpec, ...] = ()
    left: int = -1
    right: int = -1
    negated: int = -1
    operator: OperatorCode = OperatorCode.SEQ
    policy: PolicySpec = PolicySpec()
    keys: Pairs = ()
    shared: Pairs = ()
    fresh: tuple[int, ...] = ()
    conditions: tuple[ConditionSpec, ...] = ()
    negated_keys: Pairs = ()
    negated_shared: Pairs = ()
    final: bool = False
    screen: Screen | None = None
    reach: int = UNLIMITED
    values: tuple[Code, ...] = ()
    rule: str = ""

    @property
    def operands(self) -> tuple[int, int, int]:
        """The nodes that give it matches, -1 for none."""
        return self.left, self.right, self.negated


@dataclass(frozen=True, slots=True)
class _Built:
    """A node in the making: its number, the names of its variables, and those that every match binds."""

    node: int
    names: tuple[str, ...] = ()
    sure: frozenset[str] = frozenset()


@dataclass(slots=True)
class Graph:
    """The nodes of rules that are run together, operands before what they are operands of."""

    texts: Texts
    functions: FunctionTable
    schema: Schema
    nodes: list[NodeSpec] = field(default_factory=list)
    heads: dict[str, int] = field(default_factory=dict)
    members: dict[str, list[int]] = field(default_factory=dict)
    seats: dict[str, dict[tuple[int, int], Seat]] = field(default_factory=dict)
    words: dict[int, tuple[str, ...]] = field(default_factory=dict)
    deepest: int = 0
    _numbers: dict[NodeSpec, int] = field(default_factory=dict)

    def add(self, rule: IntervalRule) -> None:
        """Add the nodes of a rule that are not there yet."""
        builder = _RuleBuilder(self, rule)
        self.heads[str(rule.name)] = builder.head()
        self.members[str(rule.name)] = builder.members
        self.seats[str(rule.name)] = builder.seats

    def node(self, spec: NodeSpec) -> int:
        """Give the number of a node, a new one if none is like it."""
        if spec not in self._numbers:
            self._numbers[spec] = len(self.nodes)
            self.nodes.append(spec)
        return self._numbers[spec]

    def owners(self) -> dict[int, str]:
        """Give, by node, the first of the rules that use it."""
        return {node: rule for rule, head in reversed(self.heads.items()) for node in self.below(head)}

    def below(self, node: int) -> Iterator[int]:
        """Give a node and all nodes that it is made of, operands first, each as often as it is used."""
        spec = self.nodes[node]
        for operand in spec.operands:
            if operand >= 0:
                yield from self.below(operand)
        yield node


class _RuleBuilder:
    """Adds one rule to a graph."""

    def __init__(self, graph: Graph, rule: IntervalRule) -> None:
        self._graph = graph
        self._rule = rule
        self._policy = rule.policy or ConsumptionPolicy()
        self._relations: dict[str, Relation] = {relation.name: relation for relation in rule.relations}
        self._conditions = Conditions(rule.relations)
        self.members: list[int] = []
        self.seats: dict[tuple[int, int], Seat] = {}

    def head(self) -> int:
        built = self._build(self._rule.pattern, UNLIMITED)
        root = self._graph.nodes[built.node]
        coder = self._coder(built.names)
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

    def _coder(self, names: Sequence[str]) -> Coder:
        places = {name: place for place, name in enumerate(names)}
        return Coder(places, self._graph.texts, self._graph.functions)

    def _build(self, pattern: IntervalPattern, reach: int) -> _Built:
        layers: list[Lasting | Where] = []
        inner = pattern
        while isinstance(inner, Lasting | Where):
            layers.append(inner)
            if isinstance(inner, Lasting) and not self._policy.onesided:
                reach = min(reach, inner.duration)
            inner = inner.pattern
        layers.reverse()
        built = self._operator(inner, layers, reach)
        if not layers:
            return built
        conditions, names, sure = self._layers(layers, built)
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
                one, other = self._build(left, reach), self._build(right, reach)
                built = self._combined(OperatorCode[operator.name], one, other, layers, reach)
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
        arguments, names = self._arguments(atom)
        spec = NodeSpec(NodeKind.ATOM, len(names), (atom.type,), atom.type, arguments)
        return _Built(self._graph.node(spec), names, frozenset(names))

    def _arguments(self, atom: Atom) -> tuple[tuple[ArgumentSpec, ...], tuple[str, ...]]:
        names: list[str] = []
        specs: list[ArgumentSpec] = []
        known = self._graph.schema.get(atom.type)
        if known is not None and len(known.attributes) != len(atom.arguments):
            return (ArgumentSpec(0, ArgumentKind.NEVER),), ()
        for place, argument in enumerate(atom.arguments):
            match argument:
                case Anything():
                    pass
                case Constant(value=value):
                    specs.append(ArgumentSpec(place, ArgumentKind.CONSTANT, self._graph.texts.constant(value)))
                case Parameter(name=name):
                    if name in names:
                        specs.append(ArgumentSpec(place, ArgumentKind.AGAIN, variable=names.index(name)))
                    else:
                        specs.append(ArgumentSpec(place, ArgumentKind.BIND))
                        names.append(name)
                case _:
                    assert_never(argument)
        return tuple(specs), tuple(names)

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
        self, operator: OperatorCode, left: _Built, right: _Built, layers: Sequence[Lasting | Where], reach: int
    ) -> _Built:
        spec, built = self._pair(left, right)
        spec = replace(
            spec,
            operator=operator,
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

    # Conditions. Under a restricting policy an operator looks at the windows and conditions around it to find a
    # partner; under the unrestricted one they are asked afterwards.

    def _guard(self, layers: Sequence[Lasting | Where], built: _Built) -> tuple[ConditionSpec, ...]:
        if ChoiceCode[self._policy.choice.name] is ChoiceCode.UNRESTRICTED or not layers:
            return ()
        return self._layers(layers, built)[0]

    def _screen(self, layers: Sequence[Lasting | Where], left: _Built, right: _Built) -> Screen | None:
        """Give the first comparison of something of the one operand with something of the other, if there is one."""
        if ChoiceCode[self._policy.choice.name] is ChoiceCode.UNRESTRICTED:
            return None
        for layer in layers:
            for condition in layer.conditions if isinstance(layer, Where) else ():
                if isinstance(condition, Holds) and isinstance(condition.constraint, Comparison):
                    for smaller, larger in _orders(condition.constraint):
                        for one, other, downward in ((smaller, larger, False), (larger, smaller, True)):
                            if _reads_only(one, left.names) and _reads_only(other, right.names):
                                codes = self._coder(left.names).value(one), self._coder(right.names).value(other)
                                return Screen(*codes, downward)
        return None

    def _layers(
        self, layers: Sequence[Lasting | Where], built: _Built
    ) -> tuple[tuple[ConditionSpec, ...], tuple[str, ...], frozenset[str]]:
        names, sure = list(built.names), set(built.sure)
        specs: list[ConditionSpec] = []
        for layer in layers:
            if isinstance(layer, Lasting):
                kind = ConditionKind.EXACTLY if layer.exact else ConditionKind.WITHIN
                specs.append(ConditionSpec(kind, number=layer.duration))
            else:
                for condition in layer.conditions:
                    if isinstance(condition, Aggregated):
                        specs += self._aggregated(condition, names, sure)
                    else:
                        specs.append(self._condition(condition, names, sure))
        return tuple(specs), tuple(names), frozenset(sure)

    def _condition(self, condition: _Plain, names: list[str], sure: set[str]) -> ConditionSpec:
        coder = self._coder(names)
        match condition:
            case Holds(constraint=constraint):
                return ConditionSpec(ConditionKind.TEST, code=coder.test(constraint))
            case Member() if condition.gives is not None and condition.gives not in sure:
                return self._listed(condition, condition.gives, names, sure)
            case Member(value=value, options=options):
                return ConditionSpec(ConditionKind.TEST, code=coder.member(value, options))
            case Bind(variable=variable, value=value):
                if variable in names:
                    return ConditionSpec(ConditionKind.TEST, code=coder.equality(variable, value))
                code = coder.value(value)
                return ConditionSpec(ConditionKind.SET, _bind(variable, names, sure), code)
            case Known(relation=relation):
                return self._known(self._relations[relation], condition, names, sure)
            case Unknown() | AnyOf() | NoneOf():
                return self._asked(condition, names, coder)
            case _:
                assert_never(condition)

    def _asked(self, condition: Unknown | AnyOf | NoneOf, names: list[str], coder: Coder) -> ConditionSpec:
        """Ask Python for the truth of a condition that binds nothing; it depends on values of variables alone."""
        used = {node.name for node in walk(condition) if isinstance(node, Parameter)}
        used |= {node.variable for node in walk(condition) if isinstance(node, Bind)}
        if any(isinstance(node, Aggregated) for node in walk(condition)):
            raise unsupported(IntervalConstruct.AGGREGATES_INSIDE, condition.span)
        read = tuple(name for name in names if name in used)
        function = self._graph.functions.condition(condition, self._conditions, read)
        return ConditionSpec(ConditionKind.TEST, code=coder.call(function, read, condition.span))

    def _listed(self, condition: Member, variable: str, names: list[str], sure: set[str]) -> ConditionSpec:
        """Give the condition that gives a variable each value of a list."""
        values = distinct(option.value for option in condition.options if isinstance(option, Constant))
        rows = tuple((value,) for value in values)
        known = Known("", (Parameter(variable),), condition.span)
        return self._known(Relation("", 1, rows), known, names, sure)

    def _known(self, relation: Relation, condition: Known, names: list[str], sure: set[str]) -> ConditionSpec:
        arguments = condition.arguments
        rows = tuple(row for row in relation.rows if unify(arguments, row, {}) is not None)
        places = {a.name: place for place, a in reversed([*enumerate(arguments)]) if isinstance(a, Parameter)}
        places = dict(sorted(places.items(), key=lambda item: item[1]))
        if any(name in names and name not in sure for name in places):
            raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
        keys = tuple((place, names.index(name)) for name, place in places.items() if name in names)
        binds = tuple((place, _bind(name, names, sure)) for name, place in places.items() if name not in names)
        spec = NodeSpec(NodeKind.MEMBERS, variables=relation.arity, type=f"\0relation {relation.name}")
        return ConditionSpec(ConditionKind.KNOWN, keys=keys, binds=binds, rows=rows, node=self._graph.node(spec))

    def _aggregated(self, condition: Aggregated, names: list[str], sure: set[str]) -> list[ConditionSpec]:
        """Give the condition that computes an aggregate; its members are kept in a table of their own."""
        arguments, free = self._arguments(condition.atom)
        if any(name in names and name not in sure for name in free):
            raise unsupported(IntervalConstruct.PARTLY_BOUND, condition.span)
        keys = tuple((place, names.index(name)) for place, name in enumerate(free) if name in names)
        atom = NodeSpec(NodeKind.ATOM, len(free), (condition.atom.type,), condition.atom.type, arguments)
        members = NodeSpec(NodeKind.MEMBERS, left=self._graph.node(atom), keys=keys, reach=condition.window)
        number = self._graph.node(members)
        self.members.append(number)
        result = len(names)
        unbound = [(place, name) for place, name in enumerate(free) if name not in names]
        binds = tuple((place, result + 1 + at) for at, (place, _) in enumerate(unbound))
        coder = self._coder([*names, "", *(name for _, name in unbound)])
        spec = ConditionSpec(
            ConditionKind.AGGREGATE,
            result,
            () if condition.value is None else coder.value(condition.value),
            condition.window,
            keys,
            binds,
            node=number,
            function=condition.function,
        )
        self._graph.deepest = max(self._graph.deepest, result + 1 + len(binds))
        if condition.variable not in names:
            _bind(condition.variable, names, sure)
            return [spec]
        same = self._coder([*names, ""]).equality(condition.variable, Parameter(""))
        return [spec, ConditionSpec(ConditionKind.TEST, code=same)]


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


def _orders(comparison: Comparison) -> Iterator[tuple[Expression, Expression]]:
    """Give what a comparison puts in order, the smaller or equal before the larger."""
    for place, operator in enumerate(comparison.operators):
        left, right = comparison.operands[place : place + 2]
        if operator in ("<", "<="):
            yield left, right
        elif operator in (">", ">="):
            yield right, left


def _reads_only(expression: Expression, names: Sequence[str]) -> bool:
    """Tell whether an expression is arithmetic of variables that have these names."""
    nodes = list(walk(expression))
    used = {node.name for node in nodes if isinstance(node, Parameter)}
    plain = all(isinstance(node, Constant | Parameter | Arithmetic | Negative) for node in nodes)
    return plain and bool(used) and used <= set(names)


def _bind(name: str, names: list[str], sure: set[str]) -> int:
    names.append(name)
    sure.add(name)
    return len(names) - 1
