"""Rules as one SVG drawing: for each its automaton and its columns.

There is a column per event, the terminator last with space for a single event; with a timer, the moment is the last.
A double arrow is a window: how far the events of a column may lie before those of another. A dashed line is a
constraint between the events of two columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.time import format_duration
from cepheus.explain.automaton import automaton
from cepheus.explain.interval import goal_graph
from cepheus.explain.rows import row_automaton
from cepheus.explain.rule_parts import Part, Role, RuleParts
from cepheus.explain.svg import LINE_HEIGHT, Canvas, document, feet, levels, spread, text_width
from cepheus.rules.expressions import Between, Within
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.rows.model import RowRule

_MARGIN = 24
_GAP = 18
_TOP = 50  # below the title
_WIDTH = 1240  # drawings that fit stand side by side


def draw(rules: Sequence[RuleParts], intervals: Sequence[IntervalRule] = (), queries: Sequence[RowRule] = ()) -> str:
    """Draw rules one below the other and give the text of the SVG file.

    The first drawing of a rule is its automaton (how matches grow as events arrive), the second its columns (what is
    kept until the terminator arrives or the moment comes). Interval rules share goals and are drawn together. Of a
    query over rows the automaton is drawn.
    """
    pictures = [_rule(rule) for rule in rules] + ([goal_graph(intervals)] if intervals else [])
    pictures += [row_automaton(query) for query in queries]
    width = max((picture.width for picture in pictures), default=0) + 2 * _MARGIN
    page = Canvas()
    y = float(_MARGIN)
    body = Canvas()
    for index, picture in enumerate(pictures):
        if index:
            body.path(f"M{_MARGIN} {y:g} H{width - _MARGIN:g}", "slot")
            y += _GAP + 8
        body.place(picture, _MARGIN, y)
        y += picture.height + _GAP
    page.box((0.5, 0.5, width, y + _MARGIN - _GAP), "page", 10)
    page.place(body, 0, 0)
    names = [*(rule.name for rule in rules), *(str(rule.name) for rule in intervals), *(str(q.name) for q in queries)]
    return document(page, f"Rules {', '.join(names)}" if names else "No rules")


def _rule(rule: RuleParts) -> Canvas:
    canvas = Canvas()
    canvas.text(0, 16, f"{rule.name}: {rule.composite}", "title")
    canvas.text(0, 37, rule.look, "caption")
    left, right = automaton(rule), columns(rule)
    side_by_side = left.width + right.width + 5 * _GAP <= _WIDTH
    height = max(left.height, right.height) if side_by_side else 0
    _card(canvas, "automaton", left, (0, _TOP), height)
    if side_by_side:
        _card(canvas, "columns", right, (left.width + 3 * _GAP, _TOP), height)
    else:
        _card(canvas, "columns", right, (0, canvas.height + _GAP), 0)
    return canvas


def _card(canvas: Canvas, caption: str, picture: Canvas, corner: tuple[float, float], height: float) -> None:
    x, y = corner
    area = (x, y, picture.width + 2 * _GAP, max(picture.height, height) + 2 * _GAP + 16)
    canvas.box(area, "card", 8)
    canvas.text(x + _GAP, y + 24, caption, "caption")
    canvas.place(picture, x + _GAP, y + _GAP + 18)


_SLOTS = 3
_SLOT_HEIGHT = 20
_LEVEL = 26
_BOX = {
    Role.MOMENT: "accept-box",
    Role.TERMINATOR: "label-box",  # of a rule with a timer
    Role.SELECTED: "label-box",
    Role.NEGATED: "not",
    Role.AGGREGATED: "aggregate",
    Role.COLLECTED: "label-box",
}
_HEAD = {
    Role.MOMENT: "type",
    Role.TERMINATOR: "type",
    Role.SELECTED: "type",
    Role.NEGATED: "type not-text",
    Role.AGGREGATED: "type aggregate-text",
    Role.COLLECTED: "type",
}


def columns(rule: RuleParts) -> Canvas:
    """Draw the columns of a rule, events that come first on the left."""
    canvas = Canvas()
    parts = tuple(reversed(rule.parts))
    place = {part.name: index for index, part in enumerate(parts)}
    labels = [_label(part) for part in parts]
    windows = [
        (place[part.name], max(place[name] for name in part.references), _window(part)) for part in parts if part.scope
    ]
    links = [
        (place[part.name], place[other], link.text) for part in parts for link in part.links for other in link.others
    ]
    rooms = [(start, end, text_width(text) + 40) for start, end, text in (*windows, *links)]
    widths = [max(96.0, max(text_width(words) for words, _ in label) + 24) for label in labels]
    centres = spread(widths, 44, rooms)
    window_levels = levels([(centres[a], centres[b]) for a, b, _ in windows])
    top = 14 + _LEVEL * (max(window_levels, default=-1) + 1)
    label_height = LINE_HEIGHT * max(map(len, labels)) + 12
    for part, label, x, width in zip(parts, labels, centres, widths, strict=True):
        _column(canvas, part, label, (x - width / 2, top, width, label_height))
    for (start, end, text), level in zip(windows, window_levels, strict=True):
        inset = feet(level, window_levels)
        ends = (centres[start] + inset, centres[end] - inset)
        _window_arrow(canvas, ends, top, top - 14 - _LEVEL * level, text)
    stack = top + label_height + 4
    spans = [(min(centres[a], centres[b]), max(centres[a], centres[b])) for a, b, _ in links]
    link_levels = levels(spans)
    for (left, right), level, (a, b, text) in zip(spans, link_levels, links, strict=True):
        inset = feet(level, link_levels)
        foot = [stack + _SLOT_HEIGHT * _slots(parts[index]) for index in sorted((a, b))]
        y = stack + _SLOT_HEIGHT * _SLOTS + 14 + 30 * level
        _link(canvas, (left + inset, foot[0]), (right - inset, foot[1]), y, text)
    return canvas


def _slots(part: Part) -> int:
    return _SLOTS if part.references else 1


def _label(part: Part) -> list[tuple[str, str]]:
    words = f"{part.policy} {part.type}{part.per}".strip() if part.role is not Role.AGGREGATED else part.type
    if part.role not in (Role.NEGATED, Role.AGGREGATED) and part.name != part.type:
        words += f" as {part.name}"
    lines = [(words, _HEAD[part.role])]
    if part.role is Role.AGGREGATED:
        named = f"{part.name} = " if part.name.startswith("$") else ""
        lines.append((f"{named}{part.policy}", "aggregate-text"))
    lines += [(text, "") for text in part.content]
    if part.role is not Role.AGGREGATED:
        lines += [(f"{name} := {attribute}", "parameter-text") for name, attribute in part.binds]
    if part.condition is not None:
        lines.append((part.condition, "aggregate-text"))
    if part.purpose is not None:
        lines.append((f"for {part.purpose}", "quiet"))
    if part.consumed:
        lines.append(("consumed", "quiet"))
    return lines


def _window(part: Part) -> str:
    match part.scope:
        case Within(since_start=True):
            return "since the start"
        case Within(duration=duration):
            exactly = "exactly " if part.role is Role.TERMINATOR else ""  # it sets the moment
            return f"{exactly}{format_duration(duration)}"
        case Between(first=first, second=second):
            return f"between {first} and {second}"
        case None:
            return ""


def _column(canvas: Canvas, part: Part, label: list[tuple[str, str]], area: tuple[float, float, float, float]) -> None:
    x, top, width, height = area
    canvas.box(area, _BOX[part.role] if part.references else "accept-box", 6)
    for index, (words, css) in enumerate(label):
        canvas.text(x + width / 2, top + 19 + LINE_HEIGHT * index, words, css, "middle")
    for slot in range(_slots(part)):
        canvas.box((x + 6, top + height + 6 + _SLOT_HEIGHT * slot, width - 12, _SLOT_HEIGHT - 4), "slot", 3)


def _window_arrow(canvas: Canvas, ends: tuple[float, float], top: float, y: float, text: str) -> None:
    left, right = ends
    canvas.path(f"M{left:g} {top:g} V{y - 6:g} M{right:g} {top:g} V{y - 6:g}", "window")
    canvas.path(f"M{left + 8:g} {y:g} H{right - 8:g}", "window")
    canvas.head(left, y, -1, "window-head")
    canvas.head(right, y, 1, "window-head")
    canvas.text((left + right) / 2, y - 5, text, "window-text", "middle")


def _link(canvas: Canvas, left: tuple[float, float], right: tuple[float, float], y: float, text: str) -> None:
    canvas.path(
        f"M{left[0]:g} {left[1]:g} V{y - 6:g} q0 6 6 6 H{right[0] - 6:g} q6 0 6 -6 V{right[1]:g}",
        "parameter",
        right[0],
        y,
    )
    canvas.text((left[0] + right[0]) / 2, y + 14, text, "parameter-text", "middle")
