"""From graphs to the flat program: nodes, plans and steps as rows of integer tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheus.core.event import text_digest
from cepheus.core.time import MIN_TIME
from cepheus.kernel.instructions import Op
from cepheus.kernel.program import FunctionCode, Words
from cepheus.plan.interval.graph import Graph
from cepheus.plan.interval.layout import RECORD_HEADER
from cepheus.plan.interval.program import (
    ArgumentField,
    ChoiceCode,
    ConditionField,
    ConditionKind,
    LateField,
    NodeField,
    NodeKind,
    PlanField,
    RuleField,
    StepField,
    TableField,
    TypeField,
)
from cepheus.plan.interval.specs import ConditionSpec, NodeSpec
from cepheus.plan.interval.tables import TableSpec, outlives, tag_words, width_of

FUNCTION_CODES = {
    "Count": FunctionCode.COUNT,
    "Sum": FunctionCode.SUM,
    "Avg": FunctionCode.AVG,
    "Min": FunctionCode.MIN,
    "Max": FunctionCode.MAX,
    "Stddev": FunctionCode.STDDEV,
    "First": FunctionCode.FIRST,
    "Last": FunctionCode.LAST,
}
"""Aggregate functions as the kernel knows them."""


def guard_reads(graph: Graph, spec: NodeSpec) -> list[tuple[int, int]] | None:
    """Give the variables of a pair that the conditions around it read, each with its place in an operand.

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
    """All tables of the program; the kernel only reads them.

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


@dataclass(slots=True)
class _Rows:
    """Rows of a table in the making."""

    rows: list[list[int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: Iterable[int]) -> int:
        self.rows.append([int(word) for word in row])
        return len(self.rows) - 1

    def array(self, width: int) -> Words:
        return np.array(self.rows or [[0] * width], np.int64).reshape(-1, width)


class Flattener:
    """Writes graphs as one program; rules are numbered in the order in which they are given."""

    def __init__(self, types: dict[str, TypeEntry], tables: Sequence[TableSpec]) -> None:
        self._types = types
        self._tables = tables
        self._nodes, self._links, self._arguments = _Rows(), _Rows(), _Rows()
        self._conditions, self._code, self._steps, self._plans, self._rules = (
            _Rows(),
            _Rows(),
            _Rows(),
            _Rows(),
            _Rows(),
        )
        self._rule_numbers: dict[str, int] = {}
        self._most_conditions = 0
        self._facts: dict[int, int] = {}
        self._nodes.add([0] * len(NodeField))  # address 0 stands for no node

    def flatten(self, graphs: Sequence[PlacedGraph], rules: Mapping[str, int]) -> FlatProgram:
        """Give the program of graphs, in the order of their rules, each with the limit of its own that it has or 0."""
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
            self._rules.add([self._types[event_type].number, _signed(text_digest(event_type)), limit])
        strata = 1 + max((placed.stratum for placed in graphs), default=0)
        types = np.zeros((strata, len(self._types), len(TypeField)), np.int64)
        inputs = 0
        for name, entry in self._types.items():
            for stratum in range(strata):
                row = types[stratum, entry.number]
                row[TypeField.ARITY] = entry.arity
                row[TypeField.TAG_WORDS] = tag_words(entry.arity)
                row[TypeField.INPUTS] = inputs
                row[TypeField.PLANS] = len(self._plans)
                self._plans_of_type(name, stratum, graphs, first_nodes)
                row[TypeField.PLANS_END] = len(self._plans)
            inputs += entry.arity
        late = np.zeros((strata, len(LateField)), np.int64)
        for stratum in range(1, strata):
            late[stratum, LateField.PLANS] = len(self._plans)
            for placed, first in zip(graphs, first_nodes, strict=True):
                if placed.stratum == stratum:
                    self._add_plan(placed, first, None, set(placed.graph.heads.values()))
            late[stratum, LateField.PLANS_END] = len(self._plans)
        widest = max((entry.arity for entry in self._types.values()), default=0)
        rows = np.array([[t.width, t.reach, t.length, t.index] for t in self._tables] or [[0] * 4], np.int64)
        assert rows.shape[1] == len(TableField)
        return FlatProgram(
            types=types.reshape(-1, len(TypeField)),
            plans=self._plans.array(len(PlanField)),
            steps=self._steps.array(len(StepField)),
            nodes=self._nodes.array(len(NodeField)),
            links=self._links.array(2),
            arguments=self._arguments.array(len(ArgumentField)),
            conditions=self._conditions.array(len(ConditionField)),
            code=self._code.array(3),
            rules=self._rules.array(len(RuleField)),
            late=late,
            tables=rows,
            strata=strata,
            record_width=RECORD_HEADER + tag_words(widest) + widest,
            deepest=max((spec.variables for p in graphs for spec in p.graph.nodes), default=0)
            + max((p.graph.deepest for p in graphs), default=0),
            most_conditions=self._most_conditions,
            facts=self._facts,
        )

    def _pairs(self, pairs: Iterable[tuple[int, int]]) -> int:
        first = len(self._links)
        for pair in pairs:
            self._links.add(pair)
        return first

    def _add_code(self, code: Iterable[tuple[int, int, int]]) -> int:
        first = len(self._code)
        for instruction in code:
            self._code.add(instruction)
        return first

    def _add_node(self, placed: PlacedGraph, number: int, first: int, rule: int) -> None:
        spec = placed.graph.nodes[number]
        row = [0] * len(NodeField)
        row[NodeField.KIND] = spec.kind
        row[NodeField.RULE] = rule
        row[NodeField.VARIABLES] = spec.variables
        row[NodeField.TAG_WORDS] = tag_words(spec.variables)
        row[NodeField.PARTS] = len(spec.parts)
        row[NodeField.WIDTH] = width_of(spec)
        entry = self._types.get(spec.type)
        row[NodeField.TYPE] = -1 if entry is None else entry.number
        row[NodeField.RECORD_TAGS] = 0 if entry is None else tag_words(entry.arity)
        for place, operand in enumerate(spec.operands):
            row[NodeField.LEFT + place] = -1 if operand < 0 else first + operand
        for place, table in enumerate(placed.tables.get(number, (-1, -1, -1))):
            row[NodeField.LEFT_TABLE + place] = table
        row[NodeField.OPERATOR] = spec.operator
        policy = spec.policy
        row[NodeField.CHOICE], row[NodeField.ONCE], row[NodeField.RENEWING] = (
            policy.choice,
            policy.once,
            policy.renewing,
        )
        row[NodeField.ONESIDED] = policy.onesided
        row[NodeField.PREFERENCE] = policy.preference
        row[NodeField.LEFT_ATTRIBUTE], row[NodeField.RIGHT_ATTRIBUTE] = policy.left_attribute, policy.right_attribute
        row[NodeField.KEYS], row[NodeField.KEY_COUNT] = self._pairs(spec.keys), len(spec.keys)
        row[NodeField.SHARED], row[NodeField.SHARED_COUNT] = self._pairs(spec.shared), len(spec.shared)
        row[NodeField.FRESH], row[NodeField.FRESH_COUNT] = self._pairs((k, 0) for k in spec.fresh), len(spec.fresh)
        row[NodeField.NEGATED_KEYS] = self._pairs(spec.negated_keys)
        row[NodeField.NEGATED_KEY_COUNT] = len(spec.negated_keys)
        row[NodeField.NEGATED_SHARED] = self._pairs(spec.negated_shared)
        row[NodeField.NEGATED_SHARED_COUNT] = len(spec.negated_shared)
        row[NodeField.FINAL] = spec.final
        row[NodeField.OUTLIVES] = outlives(spec)
        row[NodeField.REPEATS] = _repeats(spec, entry)
        row[NodeField.LEFT_SCREEN] = row[NodeField.RIGHT_SCREEN] = -1
        if spec.screen is not None:
            row[NodeField.LEFT_SCREEN] = self._add_code(spec.screen.left)
            row[NodeField.RIGHT_SCREEN] = self._add_code(spec.screen.right)
            row[NodeField.SCREEN_DOWNWARD] = spec.screen.downward
        unrestricted = policy.choice is ChoiceCode.UNRESTRICTED
        row[NodeField.ONCE_EACH] = unrestricted and spec.kind is NodeKind.COMBINED
        reads = guard_reads(placed.graph, spec)
        row[NodeField.READS] = -1 if reads is None else self._pairs(reads)
        row[NodeField.READ_COUNT] = 0 if reads is None else len(reads)
        begin, end = self._add_conditions(placed, spec.conditions, first)
        row[NodeField.GUARD], row[NodeField.GUARD_END] = begin, end
        row[NodeField.BEGIN], row[NodeField.END] = begin, end
        if spec.kind is NodeKind.ATOM:
            row[NodeField.BEGIN] = len(self._arguments)
            for argument in spec.arguments:
                tag, word = argument.value
                self._arguments.add([argument.place, argument.kind, tag, word or argument.variable])
            row[NodeField.END] = len(self._arguments)
        elif spec.kind is NodeKind.HEAD:
            starts = [self._add_code(code) for code in spec.values]
            row[NodeField.BEGIN] = self._pairs((start, 0) for start in starts)
            row[NodeField.END] = row[NodeField.BEGIN] + len(starts)
        self._nodes.add(row)

    def _add_conditions(self, placed: PlacedGraph, specs: Sequence[ConditionSpec], first: int) -> tuple[int, int]:
        begin = len(self._conditions)
        self._most_conditions = max(self._most_conditions, len(specs))
        for spec in specs:
            row = [0] * len(ConditionField)
            row[ConditionField.KIND] = spec.kind
            row[ConditionField.VARIABLE] = spec.variable
            row[ConditionField.CODE] = self._add_code(spec.code) if spec.code else -1
            row[ConditionField.NUMBER] = spec.number
            row[ConditionField.NODE] = first + spec.node
            row[ConditionField.KEYS], row[ConditionField.KEY_COUNT] = self._pairs(spec.keys), len(spec.keys)
            row[ConditionField.BINDS], row[ConditionField.BIND_COUNT] = self._pairs(spec.binds), len(spec.binds)
            if spec.kind is ConditionKind.KNOWN:
                row[ConditionField.TABLE] = placed.facts[spec]
                self._facts[placed.facts[spec]] = len(self._conditions)
            elif spec.kind is ConditionKind.AGGREGATE:
                row[ConditionField.TABLE] = placed.tables[spec.node][0]
                row[ConditionField.NODE] = first + placed.graph.nodes[spec.node].left
                row[ConditionField.FUNCTION] = FUNCTION_CODES[spec.function]
            self._conditions.add(row)
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
            back = [place - places[k] if k in places else 0 for k in nodes[number].operands]
            self._steps.add([first + number, *back])
        tables = [table for number in order for table in placed.tables.get(number, ()) if table >= 0]
        widest = max((self._tables[table].width for table in tables), default=0)
        together = not placed.restricting
        since = placed.since
        room = len(tables), widest
        self._plans.add([begin, len(self._steps), begin + len(atoms), together, *room, since.time, since.missed])


def _repeats(spec: NodeSpec, entry: TypeEntry | None) -> bool:
    """Tell whether different events of an instant can give equal matches: an atom that reads them whole does not."""
    whole = entry is not None and len({argument.place for argument in spec.arguments}) == entry.arity
    return spec.kind is not NodeKind.ATOM or not whole


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word
