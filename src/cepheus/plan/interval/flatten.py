"""From graphs to the flat program: nodes, plans and steps as rows of integer tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from cepheus.core.event import text_digest
from cepheus.core.time import MIN_TIME
from cepheus.kernel.instructions import Op
from cepheus.kernel.program import InstructionField, Words
from cepheus.plan.interval.graph import ConditionSpec, Graph, NodeSpec
from cepheus.plan.interval.layout import RECORD_HEADER
from cepheus.plan.interval.program import (
    ArgumentField,
    ChoiceCode,
    ConditionField,
    ConditionKind,
    LateField,
    LinkField,
    NodeField,
    NodeKind,
    PlanField,
    RuleField,
    StepField,
    TableField,
    TypeField,
)
from cepheus.plan.interval.tables import TableSpec, outlives, tag_words, width_of


def guard_reads(graph: Graph, spec: NodeSpec) -> list[tuple[int, int]] | None:
    """The variables of a pair that the conditions around it read, each with its place in an operand.

    A place is twice that of the left operand, or that and one of the right. None if the conditions must have all.
    """
    if spec.shared or spec.negated >= 0 or any(condition.keys for condition in spec.conditions):
        return None
    known = graph.nodes[spec.left].variables if spec.left >= 0 else 0
    code = [instruction for condition in spec.conditions for instruction in condition.code]
    used = sorted({a for op, a, _ in code if op == Op.VARIABLE and a < known + len(spec.fresh)})
    return [(k, 2 * k if k < known else 2 * spec.fresh[k - known] + 1) for k in used]


@dataclass(slots=True)
class FlatProgram:
    """All tables of the program, each named like its place in the context; the kernel only reads them.

    ``facts`` gives, by table of background knowledge, a condition that looks into it.
    """

    types: Words
    plans: Words
    steps: Words
    nodes: Words
    links: Words
    arguments: Words
    conditions: Words
    code: Words
    rules: Words
    late: Words
    tables: Words
    strata: int
    record_width: int
    deepest: int
    most_conditions: int
    facts: dict[int, int]

    def arrays(self) -> dict[str, Words]:
        """The tables by name."""
        return {each.name: found for each in fields(self) if isinstance(found := getattr(self, each.name), np.ndarray)}


@dataclass(frozen=True, slots=True)
class Since:
    """When rules were deployed: the time of the engine, and how many events of that instant had come before."""

    time: int = MIN_TIME
    missed: int = 0


@dataclass(slots=True)
class PlacedGraph:
    """A graph with the numbers of its tables: by node, those of the operands; by condition, that of its rows."""

    graph: Graph
    stratum: int
    restricting: bool
    since: Since = Since()
    tables: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    facts: dict[ConditionSpec, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TypeEntry:
    """A type of event in the kernel: its number, and how many arguments it has."""

    number: int
    arity: int


Row = tuple[int, ...]


class Flattener:
    """Writes graphs as one program; rules are numbered in the order in which they are given.

    Events of the types ``instants`` may be taken for instants until one of them lasts.
    """

    def __init__(
        self, types: dict[str, TypeEntry], tables: Sequence[TableSpec], instants: Collection[str] = ()
    ) -> None:
        self._types = types
        self._instants = instants
        self._tables = tables
        self._nodes: list[Row] = [(0,) * NodeField.row_units()]  # address 0 stands for no node
        self._links: list[Row] = []
        self._arguments: list[Row] = []
        self._conditions: list[Row] = []
        self._code: list[Row] = []
        self._steps: list[Row] = []
        self._plans: list[Row] = []
        self._rules: list[Row] = []
        self._rule_numbers: dict[str, int] = {}
        self._most_conditions = 0
        self._facts: dict[int, int] = {}

    def flatten(self, graphs: Sequence[PlacedGraph], rules: Mapping[str, int]) -> FlatProgram:
        """Write the program of graphs, in the order of their rules, each with the limit of its own that it has or 0."""
        self._rule_numbers = {name: number for number, name in enumerate(rules)}
        heads: dict[str, str] = {}
        first_nodes: list[int] = []
        for placed in graphs:
            first_nodes.append(len(self._nodes))
            owners = placed.graph.owners()
            for number in range(len(placed.graph.nodes)):
                self._add_node(placed, number, first_nodes[-1], self._rule_numbers.get(owners.get(number, ""), 0))
            heads |= {name: placed.graph.nodes[head].type for name, head in placed.graph.heads.items()}
        for name, limit in rules.items():
            event_type = heads[name]
            number, seed = self._types[event_type].number, _signed(text_digest(event_type))
            self._rules.append(RuleField.row(type=number, seed=seed, limit=limit))
        strata = 1 + max((placed.stratum for placed in graphs), default=0)
        types = self._types_by_stratum(strata, graphs, first_nodes)
        late = LateField.zeros(strata)
        for stratum in range(1, strata):
            begin = len(self._plans)
            for placed, first in zip(graphs, first_nodes, strict=True):
                if placed.stratum == stratum:
                    self._add_plan(placed, first, None, set(placed.graph.heads.values()))
            late[stratum] = LateField.row(plans=begin, plans_end=len(self._plans))
        widest = max((entry.arity for entry in self._types.values()), default=0)
        tables = [TableField.row(width=t.width, reach=t.reach, length=t.length, index=t.index) for t in self._tables]
        return FlatProgram(
            types=types,
            plans=PlanField.array(self._plans, least=1),
            steps=StepField.array(self._steps, least=1),
            nodes=NodeField.array(self._nodes),
            links=LinkField.array(self._links, least=1),
            arguments=ArgumentField.array(self._arguments, least=1),
            conditions=ConditionField.array(self._conditions, least=1),
            code=InstructionField.array(self._code, least=1),
            rules=RuleField.array(self._rules, least=1),
            late=late,
            tables=TableField.array(tables, least=1),
            strata=strata,
            record_width=RECORD_HEADER + tag_words(widest) + widest,
            deepest=max((spec.variables for p in graphs for spec in p.graph.nodes), default=0)
            + max((p.graph.deepest for p in graphs), default=0),
            most_conditions=self._most_conditions,
            facts=self._facts,
        )

    def _types_by_stratum(self, strata: int, graphs: Sequence[PlacedGraph], first_nodes: Sequence[int]) -> Words:
        """Types in each stratum, one stratum after the other, and the plans of each."""
        types = TypeField.zeros(strata * len(self._types))
        inputs = 0
        for name, entry in self._types.items():
            for stratum in range(strata):
                begin = len(self._plans)
                self._plans_of_type(name, stratum, graphs, first_nodes)
                types[stratum * len(self._types) + entry.number] = TypeField.row(
                    plans=begin,
                    plans_end=len(self._plans),
                    arity=entry.arity,
                    tag_words=tag_words(entry.arity),
                    inputs=inputs,
                )
            inputs += entry.arity
        return types

    def _pairs(self, pairs: Iterable[tuple[int, int]]) -> int:
        first = len(self._links)
        self._links += [LinkField.row(one=one, other=other) for one, other in pairs]
        return first

    def _add_code(self, code: Iterable[tuple[int, int, int]]) -> int:
        first = len(self._code)
        self._code += [InstructionField.row(op=op, a=a, b=b) for op, a, b in code]
        return first

    def _add_node(self, placed: PlacedGraph, number: int, first: int, rule: int) -> None:
        spec = placed.graph.nodes[number]
        policy = spec.policy
        entry = self._types.get(spec.type)
        left, right, negated = (-1 if operand < 0 else first + operand for operand in spec.operands)
        left_table, right_table, negated_table = placed.tables.get(number, (-1, -1, -1))
        reads = guard_reads(placed.graph, spec)
        screen = spec.screen
        guard, guard_end = self._add_conditions(placed, spec.conditions, first)
        begin, end = self._content(spec, guard, guard_end)
        self._nodes.append(
            NodeField.row(
                kind=spec.kind,
                variables=spec.variables,
                tag_words=tag_words(spec.variables),
                parts=len(spec.parts),
                width=width_of(spec),
                type=-1 if entry is None else entry.number,
                begin=begin,
                end=end,
                left=left,
                right=right,
                negated=negated,
                left_table=left_table,
                right_table=right_table,
                negated_table=negated_table,
                operator=spec.operator,
                choice=policy.choice,
                once=policy.once,
                renewing=policy.renewing,
                preference=policy.preference,
                left_attribute=policy.left_attribute,
                right_attribute=policy.right_attribute,
                keys=self._pairs(spec.keys),
                key_count=len(spec.keys),
                shared=self._pairs(spec.shared),
                shared_count=len(spec.shared),
                fresh=self._pairs((place, 0) for place in spec.fresh),
                fresh_count=len(spec.fresh),
                guard=guard,
                guard_end=guard_end,
                negated_keys=self._pairs(spec.negated_keys),
                negated_key_count=len(spec.negated_keys),
                negated_shared=self._pairs(spec.negated_shared),
                negated_shared_count=len(spec.negated_shared),
                rule=rule,
                record_tags=0 if entry is None else tag_words(entry.arity),
                final=spec.final,
                reads=-1 if reads is None else self._pairs(reads),
                read_count=0 if reads is None else len(reads),
                once_each=policy.choice is ChoiceCode.UNRESTRICTED and spec.kind is NodeKind.COMBINED,
                left_screen=-1 if screen is None else self._add_code(screen.left),
                right_screen=-1 if screen is None else self._add_code(screen.right),
                screen_downward=screen is not None and screen.downward,
                outlives=outlives(spec, self._instants),
                awaits=self._types[spec.awaits].number if spec.awaits else -1,
                repeats=_repeats(spec, entry),
                onesided=policy.onesided,
            )
        )

    def _content(self, spec: NodeSpec, guard: int, guard_end: int) -> tuple[int, int]:
        """Where what a node is made of begins and ends: arguments, values of attributes, or else its conditions."""
        if spec.kind is NodeKind.ATOM:
            begin = len(self._arguments)
            for argument in spec.arguments:
                tag, word = argument.value
                self._arguments.append(
                    ArgumentField.row(place=argument.place, kind=argument.kind, tag=tag, word=word or argument.variable)
                )
            return begin, len(self._arguments)
        if spec.kind is NodeKind.HEAD:
            starts = [self._add_code(code) for code in spec.values]
            begin = self._pairs((start, 0) for start in starts)
            return begin, begin + len(starts)
        return guard, guard_end

    def _add_conditions(self, placed: PlacedGraph, specs: Sequence[ConditionSpec], first: int) -> tuple[int, int]:
        begin = len(self._conditions)
        self._most_conditions = max(self._most_conditions, len(specs))
        for spec in specs:
            node, table, function = first + spec.node, 0, 0
            if spec.kind is ConditionKind.KNOWN:
                table = placed.facts[spec]
                self._facts[table] = len(self._conditions)
            elif spec.kind is ConditionKind.AGGREGATE:
                table, _, _ = placed.tables[spec.node]
                node = first + placed.graph.nodes[spec.node].left
                function = spec.function
            self._conditions.append(
                ConditionField.row(
                    kind=spec.kind,
                    variable=spec.variable,
                    code=self._add_code(spec.code) if spec.code else -1,
                    number=spec.number,
                    table=table,
                    keys=self._pairs(spec.keys),
                    key_count=len(spec.keys),
                    binds=self._pairs(spec.binds),
                    bind_count=len(spec.binds),
                    function=function,
                    node=node,
                )
            )
        return begin, len(self._conditions)

    def _plans_of_type(
        self, name: str, stratum: int, graphs: Sequence[PlacedGraph], first_nodes: Sequence[int]
    ) -> None:
        """Add the plans of a type: first those that keep what is aggregated, then those of rules, in their order."""
        for placed, first in zip(graphs, first_nodes, strict=True):
            members = {node for rule in placed.graph.heads for node in placed.graph.members[rule]}
            self._add_plan(placed, first, name, members)
        for placed, first in zip(graphs, first_nodes, strict=True):
            if placed.stratum == stratum:
                self._add_plan(placed, first, name, set(placed.graph.heads.values()))

    def _add_plan(self, placed: PlacedGraph, first: int, event_type: str | None, ends: set[int]) -> None:
        """Add the plan of a type of event, or of all types together, up to the end nodes, if it concerns any."""
        nodes = placed.graph.nodes
        wanted = {node for end in ends for node in placed.graph.below(end)}
        concerned: list[int] = []
        for number, spec in enumerate(nodes):
            is_atom = spec.kind is NodeKind.ATOM and event_type in (None, spec.type)
            if number in wanted and (is_atom or any(operand in concerned for operand in spec.operands)):
                concerned.append(number)
        atoms = [number for number in concerned if nodes[number].kind is NodeKind.ATOM]
        if not atoms:
            return
        order = atoms + [number for number in concerned if nodes[number].kind is not NodeKind.ATOM]
        places = {number: place for place, number in enumerate(order)}
        begin = len(self._steps)
        for place, number in enumerate(order):
            left, right, negated = (place - places[k] if k in places else 0 for k in nodes[number].operands)
            self._steps.append(StepField.row(node=first + number, left=left, right=right, negated=negated))
        tables = [table for number in order for table in placed.tables.get(number, ()) if table >= 0]
        widest = max((self._tables[table].width for table in tables), default=0)
        self._plans.append(
            PlanField.row(
                steps=begin,
                steps_end=len(self._steps),
                atoms_end=begin + len(atoms),
                together=not placed.restricting,
                tables=len(tables),
                widest=widest,
                since=placed.since.time,
                missed=placed.since.missed,
            )
        )


def _repeats(spec: NodeSpec, entry: TypeEntry | None) -> bool:
    """Whether different events of an instant can give equal matches: an atom that reads them whole does not."""
    whole = entry is not None and len({argument.place for argument in spec.arguments}) == entry.arity
    return spec.kind is not NodeKind.ATOM or not whole


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word
