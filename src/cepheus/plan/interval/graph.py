"""The graph of goals of rules that are run together: nodes with two inputs each, what is alike only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from cepheus.core.schema import Schema
from cepheus.plan.interval.coder import Coder
from cepheus.plan.interval.functions import FunctionTable
from cepheus.plan.interval.program import ArgumentKind
from cepheus.plan.interval.progress import Seat
from cepheus.plan.interval.specs import ArgumentSpec, NodeSpec
from cepheus.plan.interval.values import Texts
from cepheus.rules.expressions import Constant, Parameter
from cepheus.rules.interval.model import Anything, Atom, ListPattern


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
        """Describe the arguments of an atom, and give the names of the variables that they bind."""
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
