"""Queries over rows as trees in words, for terminals, and the automaton of their pattern as a drawing.

In the drawing there is a state for each place of a variable in the pattern. An arrow leads to what may take the next
row; where several do, numbers tell which is preferred. A state with a ring may end the match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.markup import escape
from rich.tree import Tree

from cepheus.core.source import Span
from cepheus.core.time import format_duration
from cepheus.explain.svg import LINE_HEIGHT, Canvas, feet, levels, spread, text_width
from cepheus.plan.rows.automaton import ACCEPT, ACCEPT_AT_END, LATER, Automaton, automaton
from cepheus.plan.rows.near import is_near
from cepheus.rules.rows.expressions import Operation, Operator, RowExpression
from cepheus.rules.rows.model import ALL_EVENTS, Named, RowQuery, RowRule, SkipKind
from cepheus.rules.rows.pattern import written
from cepheus.rules.rows.waiting import endless_wait

_RADIUS = 20
_LEVEL = 26
_MOST_STATES = 60
"""Larger automata are told of in words alone."""


def row_tree(rule: RowRule) -> Tree:
    """Return a query as a tree: its rows, its pattern, what is deterministic, kept and waited for, what it makes."""
    query = rule.query
    what = "events of all types" if query.source == ALL_EVENTS else f"events {query.source}"
    by = f", for each {' and '.join(query.partition)}" if query.partition else ""
    attributes = ", ".join(attribute.name for attribute in rule.composite.attributes)
    root = Tree(escape(f"{rule.name}: makes {rule.composite.name}({attributes}) of rows that follow one another"))
    root.add(escape(f"rows: {what}{by}, in the order of time"))
    pattern = root.add(escape(f"pattern: {written(query.pattern)}"))
    conditions = {each.variable: each.condition for each in query.definitions}
    for name in query.variables:
        pattern.add(escape(_variable(name, conditions.get(name))))
    root.add(escape(_choices(query)))
    root.add(escape(_kept(query)))
    root.add(escape(_waits(query)))
    target = f" {query.after.target}" if query.after.target else ""
    root.add(escape(f"then: the search goes on {_THEN[query.after.kind]}{target}"))
    measures = root.add("makes, at the time of the last row")
    for name in query.partition if query.select is None else ():
        measures.add(escape(f"{name}, of the partition"))
    for each in query.measures if query.select is None else query.select:
        measures.add(escape(f"{each.name} = {_named(each)}"))
    if query.where is not None:
        root.add(escape(f"if {_text(query.where)}"))
    return root


def conditions_text(rule: RowRule) -> list[str]:
    """What a query asks of the rows of a match, in words: their order, and the condition of each variable."""
    query = rule.query
    named = {each.variable: each.condition for each in query.definitions}
    asked = [f"{name}: {_text(named[name])}" for name in query.variables if name in named]
    return [f"rows that follow one another as {written(query.pattern)}", *asked]


_THEN = {
    SkipKind.PAST_LAST_ROW: "after the last row of a match",
    SkipKind.TO_NEXT_ROW: "with the row after the first of a match",
    SkipKind.TO_FIRST: "with the first row of",
    SkipKind.TO_LAST: "with the last row of",
}


def _variable(name: str, condition: RowExpression | None) -> str:
    if condition is None:
        return f"{name}: any row"
    seen = "" if is_near(condition, name) else "   (looks back at the match)"
    return f"{name}: {_text(condition)}{seen}"


def _text(expression: RowExpression) -> str:
    """An expression as it was written, closed where its place ends before its last parenthesis."""
    span: Span | None = expression.span
    if span is None:
        return "an expression of a stored rule"
    text, end = span.source.text, span.end
    while end < len(text) and text.count("(", span.start, end) > text.count(")", span.start, end):
        end += 1
    return " ".join(text[span.start : end].split())


_NAME = re.compile(r"\s+as\s+\S+$", re.IGNORECASE)


def _named(each: Named) -> str:
    """What a measure or a column of SELECT is, without its name."""
    return _text(each.expression) if each.span is None else _NAME.sub("", " ".join(each.span.text.split()))


def rivals(query: RowQuery) -> list[tuple[str, tuple[str, ...]]]:
    """The places at which more than one variable may take the next row: after which, and which.

    Variables that compare the same values in ways that exclude one another are no rivals.
    """
    made = automaton(query.pattern)
    conditions = {each.variable: each.condition for each in query.definitions}
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    for state, goals in enumerate(made.next_of):
        names = list(dict.fromkeys(_name(made, goal) for goal in goals if goal >= 0))
        apart = all(
            _exclude(conditions.get(one), conditions.get(other))
            for place, one in enumerate(names)
            for other in names[place + 1 :]
        )
        repeated = len([goal for goal in goals if goal >= 0]) > len(names)
        if not apart or repeated:
            found["the start" if state <= LATER else _name(made, state), tuple(names)] = None
    return list(found)


def _name(made: Automaton, state: int) -> str:
    return made.names[made.variable[state]]


_OPPOSITE = {
    Operator.LESS: {Operator.GREATER, Operator.GREATER_OR_EQUAL, Operator.EQUAL},
    Operator.GREATER: {Operator.LESS, Operator.LESS_OR_EQUAL, Operator.EQUAL},
    Operator.EQUAL: {Operator.LESS, Operator.GREATER, Operator.UNEQUAL},
    Operator.UNEQUAL: {Operator.EQUAL},
    Operator.LESS_OR_EQUAL: {Operator.GREATER},
    Operator.GREATER_OR_EQUAL: {Operator.LESS},
}


def _exclude(one: RowExpression | None, other: RowExpression | None) -> bool:
    """Whether two conditions compare the same values in ways that cannot both hold; false where that is not plain."""
    if not isinstance(one, Operation) or not isinstance(other, Operation):
        return False
    if Operator.AND in (one.operator, other.operator):
        parts = one.operands if one.operator is Operator.AND else other.operands
        rest = other if one.operator is Operator.AND else one
        return any(_exclude(part, rest) for part in parts)
    return one.operands == other.operands and other.operator in _OPPOSITE.get(one.operator, ())


def _choices(query: RowQuery) -> str:
    found = rivals(query)
    if not found:
        return "deterministic: no row can be taken in two ways"
    after, names = found[0]
    return f"not deterministic: after {after} a row may be taken by {' or '.join(names)}; the first that leads on wins"


def _kept(query: RowQuery) -> str:
    far = [each.variable for each in query.definitions if not is_near(each.condition, each.variable)]
    rows = "the rows from the first on that an open match may have"
    if far:
        return f"kept for each partition: {rows}, and of each open match what conditions of {', '.join(far)} look at"
    return f"kept for each partition: {rows}, and the state of each open match"


def _waits(query: RowQuery) -> str:
    wait = endless_wait(query)
    if wait is None and query.within is not None:
        return f"waits: a match is decided at the latest {format_duration(query.within)} after its first row"
    if wait is None:
        return "waits: never, a match is decided with its row"
    bound = "WITHIN bounds that" if wait.within_helps else "WITHIN does not bound that"
    return f"waits: at {written(wait.part)}, on a stream for ever if its partition gets no further row; {bound}"


@dataclass(frozen=True, slots=True)
class _Arrow:
    start: int
    end: int
    rank: str


def row_automaton(rule: RowRule) -> Canvas:
    """Draw the automaton of a query's pattern, and write down the conditions below it."""
    canvas = Canvas()
    query = rule.query
    canvas.text(0, 16, f"{rule.name}: {written(query.pattern)}", "title")
    canvas.text(0, 37, _choices(query), "caption")
    made = automaton(query.pattern)
    y = 60.0
    if len(made) <= _MOST_STATES:
        picture = _states(made)
        canvas.place(picture, 0, y)
        y += picture.height + 18
    for each in query.definitions:
        canvas.text(0, y, f"{each.variable}: {_text(each.condition)}", "")
        y += LINE_HEIGHT
    canvas.text(0, y + 6, _waits(query), "caption")
    return canvas


def _states(made: Automaton) -> Canvas:
    """The states in the order of the pattern; the start, which ``^`` may split in two, is drawn once."""
    canvas = Canvas()
    places = {state: state - LATER for state in range(LATER, len(made))}
    arrows: dict[tuple[int, int], _Arrow] = {}
    for state in range(len(made)):
        goals = [goal for goal in made.next_of[state] if goal >= 0]
        for rank, goal in enumerate(goals, start=1):
            start = places.get(state, 0)
            label = str(rank) if len(goals) > 1 else ""
            arrows.setdefault((start, places[goal]), _Arrow(start, places[goal], label))
    labels = ["", *(_name(made, state) for state in range(LATER + 1, len(made)))]
    widths = [max(2.0 * _RADIUS, text_width(label) + 16) for label in labels]
    centres = spread(widths, 56)
    forward = [each for each in arrows.values() if each.end > each.start + 1]
    backward = [each for each in arrows.values() if each.end < each.start]
    above = levels([(centres[each.start], centres[each.end]) for each in forward])
    below = levels([(centres[each.end], centres[each.start]) for each in backward])
    base = 56.0 + _LEVEL * (max(above, default=-1) + 1)
    for each, level in zip(forward, above, strict=True):
        inset = feet(level, above)
        _arc(canvas, (centres[each.start] + inset, centres[each.end] - inset), base, -(50 + _LEVEL * level), each.rank)
    for each, level in zip(backward, below, strict=True):
        inset = feet(level, below)
        _arc(canvas, (centres[each.start] - inset, centres[each.end] + inset), base, 34 + _LEVEL * level, each.rank)
    for each in arrows.values():
        if each.end == each.start + 1:
            left = centres[each.start] + widths[each.start] / 2
            right = centres[each.end] - widths[each.end] / 2 - 3
            canvas.path(f"M{left:g} {base:g} H{right - 8:g}", "line")
            canvas.head(right, base, 1)
            canvas.text((left + right) / 2 - 4, base - 6, each.rank, "quiet")
        elif each.end == each.start:
            _loop(canvas, centres[each.start], base, each.rank)
    for place, (label, x, width) in enumerate(zip(labels, centres, widths, strict=True)):
        following = made.next_of[place + LATER]
        ends = ACCEPT in following or ACCEPT_AT_END in following
        area = (x - width / 2, base - _RADIUS, width, 2.0 * _RADIUS)
        canvas.box(area, "state accept" if ends else "state" if place else "state start", _RADIUS)
        if ends:
            inner = (area[0] + 4, area[1] + 4, width - 8, area[3] - 8)
            canvas.box(inner, "accept-ring", _RADIUS - 4)
        canvas.text(x, base + 5, label, "type", "middle")
    return canvas


def _arc(canvas: Canvas, ends: tuple[float, float], base: float, height: float, rank: str) -> None:
    """An arrow over or under other states."""
    start, end = ends
    foot = base - _RADIUS if height < 0 else base + _RADIUS
    top = base + height
    tip = foot + (-3 if height < 0 else 3)
    canvas.path(f"M{start:g} {foot:g} V{top:g} H{end:g} V{tip:g}", "line", max(ends), max(top, foot))
    wing = -6 if height < 0 else 6
    canvas.path(f"M{end - 4:g} {tip + wing:g} L{end:g} {tip:g} L{end + 4:g} {tip + wing:g}", "line")
    canvas.text((start + end) / 2, top - 4, rank, "quiet", "middle")


def _loop(canvas: Canvas, x: float, base: float, rank: str) -> None:
    top = base - _RADIUS
    canvas.path(f"M{x + 8:g} {top:g} c10 -26 -26 -26 -16 -3", "line")
    canvas.path(f"M{x - 12:g} {top - 8:g} L{x - 8:g} {top - 2:g} L{x - 2:g} {top - 7:g}", "line")
    canvas.text(x + 12, top - 14, rank, "quiet")
