"""Rules that are run together: a graph of goals that they share, and the tables in which its goals wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cepheus.core.schema import Schema
from cepheus.plan.interval.binarise import add_rule
from cepheus.plan.interval.flatten import PlacedGraph, Since
from cepheus.plan.interval.graph import ConditionSpec, Graph, NodeSpec
from cepheus.plan.interval.layout import ROW_HEADER
from cepheus.plan.interval.program import ConditionKind
from cepheus.plan.interval.python_calls import FunctionTable
from cepheus.plan.interval.tables import TableSpec, index_by, table_specs, width_of
from cepheus.plan.interval.values import Texts
from cepheus.rules.interval.model import Atom, Choice, IntervalRule
from cepheus.rules.walk import walk


@dataclass(frozen=True, slots=True)
class GoalTable:
    """A goal table: its number, the node that its rows wait at, and which operand of that they are matches of."""

    table: int
    node: int
    operand: int


@dataclass(slots=True)
class Group:
    """Rules that were deployed together and of which none feeds another."""

    rules: dict[str, IntervalRule]
    placed: PlacedGraph

    def goal_tables(self, rule: str | None = None) -> Iterator[GoalTable]:
        """Walk through the tables in use, of all rules or of one, in an order that depends on nothing but the rules."""
        seen: set[int] = set()
        graph = self.placed.graph
        for name in self.rules if rule is None else (rule,):
            for node in (*graph.below(graph.heads[name]), *graph.members[name]):
                for operand, table in enumerate(self.placed.tables.get(node, ())):
                    if table >= 0 and table not in seen:
                        seen.add(table)
                        yield GoalTable(table, node, operand)

    def remove(self, name: str) -> set[int]:
        """Take a rule out and return the tables that nothing uses any more."""
        before = {each.table for each in self.goal_tables()} | set(self.facts().values())
        graph = self.placed.graph
        del self.rules[name], graph.heads[name], graph.members[name], graph.seats[name]
        after = {each.table for each in self.goal_tables()} | set(self.facts().values())
        return before - after

    def facts(self) -> dict[ConditionSpec, int]:
        """The tables of background knowledge that are in use."""
        graph = self.placed.graph
        used = {node for head in graph.heads.values() for node in graph.below(head)}
        conditions = {condition for node in used for condition in graph.nodes[node].conditions}
        return {condition: table for condition, table in self.placed.facts.items() if condition in conditions}

    def operand(self, table: GoalTable) -> NodeSpec:
        """The node whose matches wait in a table."""
        graph = self.placed.graph
        return graph.nodes[graph.nodes[table.node].operands[table.operand]]


@dataclass(slots=True)
class TableRegistry:
    """Numbers of goal tables; what is given back is used again by tables with rows of the same width."""

    specs: list[TableSpec] = field(default_factory=list)
    free: set[int] = field(default_factory=set)

    def take(self, spec: TableSpec) -> int:
        """Return the number of a new table."""
        for number in sorted(self.free):
            if self.specs[number].width == spec.width:
                self.free.discard(number)
                self.specs[number] = spec
                return number
        self.specs.append(spec)
        return len(self.specs) - 1


def make_group(
    rules: Sequence[IntervalRule],
    schema: Schema,
    texts: Texts,
    functions: FunctionTable,
    tables: TableRegistry,
    since: Since,
) -> Group:
    """Build the graph of rules and give it tables; UnsupportedError if it has something that the kernel lacks."""
    graph = Graph(texts, functions, schema)
    for rule in rules:
        add_rule(graph, rule)
    restricting = any(rule.policy is not None and rule.policy.choice is not Choice.UNRESTRICTED for rule in rules)
    placed = PlacedGraph(graph, rules[0].decided_late, restricting, since)
    for number, spec in enumerate(graph.nodes):
        specs = table_specs(graph, number)
        if any(specs):
            left, right, negated = (-1 if table is None else tables.take(table) for table in specs)
            placed.tables[number] = (left, right, negated)
        for condition in spec.conditions:
            if condition.kind is ConditionKind.KNOWN and condition not in placed.facts:
                width = ROW_HEADER + width_of(graph.nodes[condition.node])
                placed.facts[condition] = tables.take(TableSpec(width, index=index_by(condition.keys)))
    return Group({str(rule.name): rule for rule in rules}, placed)


def split_rules(rules: Sequence[IntervalRule], others: Sequence[IntervalRule]) -> list[list[IntervalRule]]:
    """Divide rules, in their order, into those that can be run together.

    Rules can if no event that one of them makes, or that other rules make of it, concerns another: then it makes no
    difference whether what one made goes everywhere before or after the next is run.
    """
    every = [*others, *rules]
    groups: list[list[IntervalRule]] = []
    for rule in rules:
        last = groups[-1] if groups else None
        if last is None or rule.decided_late or last[0].decided_late or feed_one_another([*last, rule], every):
            groups.append([rule])
        else:
            last.append(rule)
    return groups


def feed_one_another(rules: Sequence[IntervalRule], every: Sequence[IntervalRule]) -> bool:
    """Whether an event that one of some rules makes, or that any rules make of it, concerns one of them."""
    made = {rule.head.name for rule in rules}
    while True:
        more = {rule.head.name for rule in every if types_read(rule) & made} - made
        if not more:
            break
        made |= more
    return any(types_read(rule) & made for rule in rules)


def types_read(rule: IntervalRule) -> set[str]:
    """The types of events that a rule looks at."""
    return {node.type for node in walk(rule.pattern) if isinstance(node, Atom)}
