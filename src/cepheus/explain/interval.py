"""Interval rules as trees in words, for terminals, and as a drawing of their goals.

The drawing shows what the binarised patterns are made of, from events on the left to complex ones. Each box is a goal
with up to two inputs. What rules have in common is drawn once; dashed lines lead to what must not happen. Rules of
which one feeds another stand below each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from rich.markup import escape
from rich.tree import Tree

from cepheus.core.schema import Schema
from cepheus.core.time import format_duration, format_time
from cepheus.explain.svg import LINE_HEIGHT, Canvas, text_width
from cepheus.language.etalis.print import format_condition, format_expression, format_pattern
from cepheus.plan.interval.binarise import add_rule
from cepheus.plan.interval.graph import Graph
from cepheus.plan.interval.groups import split_rules
from cepheus.plan.interval.program import NodeKind
from cepheus.plan.interval.python_calls import FunctionTable
from cepheus.plan.interval.values import Texts
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Choice,
    Combined,
    ConsumptionPolicy,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Preference,
    TimePoint,
    Where,
)
from cepheus.rules.interval.operators import OPERATORS

_PREFERENCES: dict[Preference, str] = {
    Preference.ARRIVAL: "",
    Preference.SHORTER: ", the shorter of equals",
    Preference.LONGER: ", the longer of equals",
    Preference.GREATEST: ", of equals that with the greatest",
    Preference.LEAST: ", of equals that with the least",
}


def interval_tree(rule: IntervalRule) -> Tree:
    """Return a rule as a tree: what happens, how it is combined, what is made."""
    values = ", ".join(map(format_expression, rule.values))
    root = Tree(escape(f"{rule.name}: makes {rule.head.name}({values}) over the interval of"))
    _add(root, rule.pattern)
    root.add(escape(f"policy: {_policy(rule.policy or ConsumptionPolicy())}"))
    if rule.decided_late:
        root.add("decided when the instant is over: it looks at all that ends then")
    return root


def _add(tree: Tree, pattern: IntervalPattern) -> None:
    match pattern:
        case Atom():
            tree.add(escape(format_pattern(pattern)))
        case TimePoint(time=time):
            tree.add(escape(f"the time {format_time(time)}"))
        case Lasting(pattern=inner, duration=duration, exact=exact):
            _add(tree.add(escape(f"{'exactly' if exact else 'within'} {format_duration(duration)}")), inner)
        case Where(pattern=inner, conditions=conditions):
            branch = tree.add(escape("where " + ", ".join(map(format_condition, conditions))))
            _add(branch, inner)
        case Combined(operator=operator, left=left, right=right):
            branch = tree.add(f"{operator.value}: {OPERATORS[operator].phrase}")
            _add(branch, left)
            _add(branch, right)
        case Either(left=left, right=right):
            branch = tree.add("OR: either")
            _add(branch, left)
            _add(branch, right)
        case Absence(negated=negated, first=first, second=second):
            branch = tree.add("NOT: one after the other, and nothing in between of")
            _add(branch, negated)
            between = branch.add("between")
            _add(between, first)
            _add(between, second)
        case _:
            assert_never(pattern)


def _policy(policy: ConsumptionPolicy) -> str:
    if policy.choice is Choice.UNRESTRICTED:
        return "every combination"
    which = "the most recent partner" if policy.choice is Choice.RECENT else "the earliest partner"
    prefer = _PREFERENCES[policy.preference] + (f" {policy.attribute}" if policy.attribute else "")
    use = "each is used once" if policy.once else "which may be used again"
    renewing = "; a new event replaces one with the same values" if policy.renewing else ""
    onesided = "; an event waits only if nothing waits for it" if policy.onesided else ""
    return f"{which}{prefer}; {use}{renewing}{onesided}"


_GAP_ACROSS = 70
_GAP_DOWN = 16
_PADDING = 12
_BOXES = {NodeKind.ATOM: "label-box", NodeKind.HEAD: "accept-box", NodeKind.ABSENCE: "not"}


def goal_graph(rules: Sequence[IntervalRule]) -> Canvas:
    """Draw the goals of rules, those that are run together side by side."""
    canvas = Canvas()
    canvas.text(0, 16, "Goals", "title")
    y = 34.0
    for together in split_rules(rules, ()):
        graph = Graph(Texts(), FunctionTable(), Schema())
        for rule in together:
            add_rule(graph, rule)
        picture = _graph(graph)
        canvas.place(picture, 0, y)
        y += picture.height + 2 * _GAP_DOWN
    return canvas


def _graph(graph: Graph) -> Canvas:
    used = sorted({node for head in graph.heads.values() for node in graph.below(head)})
    depth: dict[int, int] = {}
    for node in used:
        below = [depth[operand] for operand in graph.nodes[node].operands if operand >= 0]
        depth[node] = 1 + max(below) if below else 0
    last = max(depth.values())
    for head in graph.heads.values():
        depth[head] = last
    columns = [[node for node in used if depth[node] == level] for level in range(last + 1)]
    canvas = Canvas()
    areas: dict[int, tuple[float, float, float, float]] = {}
    x = 0.0
    for column in columns:
        width = max((_width(graph, node) for node in column), default=0)
        y = 0.0
        for node in column:
            height = LINE_HEIGHT * len(graph.words[node]) + _PADDING
            areas[node] = (x, y, width, height)
            y += height + _GAP_DOWN
        x += width + _GAP_ACROSS
    for node in used:
        _draw(canvas, graph, node, areas)
    return canvas


def _width(graph: Graph, node: int) -> float:
    return max(text_width(line) for line in graph.words[node]) + 2 * _PADDING


def _draw(canvas: Canvas, graph: Graph, node: int, areas: dict[int, tuple[float, float, float, float]]) -> None:
    spec = graph.nodes[node]
    x, y, _, height = areas[node]
    for operand in (spec.left, spec.right, spec.negated):
        if operand >= 0:
            left, top, width, tall = areas[operand]
            start, middle = left + width, top + tall / 2
            end, target = x - 3, y + height / 2
            bend = (start + end) / 2
            css = "not-line" if operand == spec.negated else "line"
            canvas.path(f"M{start:g} {middle:g} C{bend:g} {middle:g} {bend:g} {target:g} {end - 8:g} {target:g}", css)
            canvas.head(end, target, 1)
    canvas.box(areas[node], _BOXES.get(spec.kind, "column"))
    for line, words in enumerate(graph.words[node]):
        canvas.text(x + _PADDING, y + 19 + LINE_HEIGHT * line, words, "type" if spec.kind is NodeKind.HEAD else "")
