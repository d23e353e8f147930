"""The graph of goals of rules that are run together: nodes with two inputs each, what is alike only once.

Nodes, their arguments, policies and conditions are described by numbers alone. Variables are places in a row, operands
are other nodes; so patterns that differ in the names of their variables alone have equal descriptions. Atoms become
nodes here: what stands in their arguments, and lists in these that are taken apart at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME
from cepheus.core.values import Value, ValueType
from cepheus.kernel.instructions import Code
from cepheus.language.etalis.print import format_pattern
from cepheus.plan.interval.coder import Coder
from cepheus.plan.interval.goal_texts import Seat
from cepheus.plan.interval.program import (
    ArgumentKind,
    ChoiceCode,
    ConditionKind,
    NodeKind,
    OperatorCode,
    PreferenceCode,
)
from cepheus.plan.interval.python_calls import FunctionTable
from cepheus.plan.interval.values import Tagged, Texts
from cepheus.rules.expressions import Constant, Expression, Parameter
from cepheus.rules.interval.lists import opened, steps
from cepheus.rules.interval.model import Anything, Atom, Bind, Fits, Holds, ListPattern
from cepheus.rules.walk import transform

UNLIMITED = MAX_TIME
"""How long a match may last where no window says."""

Pairs = tuple[tuple[int, int], ...]


def point_type(time: int) -> str:
    """The name of the type of event that stands for a point in time."""
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
    function: int = 0


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
    """A node: the shape of its matches, its operands, and what its kind needs to know.

    ``awaits`` is the type of events that its left operand waits for, if a later match stands in for earlier ones while
    all of them are instants.
    """

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
    awaits: str = ""
    reach: int = UNLIMITED
    values: tuple[Code, ...] = ()
    rule: str = ""

    @property
    def operands(self) -> tuple[int, int, int]:
        """The nodes that give it matches, -1 for none."""
        return self.left, self.right, self.negated


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

    def node(self, spec: NodeSpec) -> int:
        """The number of a node, a new one if none is like it."""
        if spec not in self._numbers:
            self._numbers[spec] = len(self.nodes)
            self.nodes.append(spec)
        return self._numbers[spec]

    def arguments(self, atom: Atom) -> tuple[tuple[ArgumentSpec, ...], tuple[str, ...]]:
        """Describe the arguments of an atom, and return the names of the variables that they bind."""
        names: list[str] = []
        specs: list[ArgumentSpec] = []
        known = self.schema.get(atom.type)
        if known is not None and len(known.attributes) != len(atom.arguments):
            return (ArgumentSpec(0, ArgumentKind.NEVER),), ()
        for place, argument in enumerate(atom.arguments):
            match argument:
                case Anything():
                    pass
                case Constant(value=value):
                    specs.append(ArgumentSpec(place, ArgumentKind.CONSTANT, self.texts.constant(value)))
                case Parameter(name=name):
                    if name in names:
                        specs.append(ArgumentSpec(place, ArgumentKind.AGAIN, variable=names.index(name)))
                    else:
                        specs.append(ArgumentSpec(place, ArgumentKind.BIND))
                        names.append(name)
                case ListPattern():
                    raise AssertionError("lists are taken apart by conditions around the atom")
                case _:
                    assert_never(argument)
        return tuple(specs), tuple(names)

    def coder(self, names: Sequence[str]) -> Coder:
        """Return a coder, which writes expressions over variables as code for the kernel."""
        places = {name: place for place, name in enumerate(names)}
        return Coder(places, self.texts, self.functions)

    def owners(self) -> dict[int, str]:
        """The first of the rules that use a node, by node."""
        return {node: rule for rule, head in reversed(self.heads.items()) for node in self.below(head)}

    def below(self, node: int) -> Iterator[int]:
        """Walk through a node and all nodes that it is made of, operands first, each as often as it is used."""
        spec = self.nodes[node]
        for operand in spec.operands:
            if operand >= 0:
                yield from self.below(operand)
        yield node


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
