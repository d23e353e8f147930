"""Rules as one SVG drawing: for each its automaton and its columns."""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.time import format_duration
from cepheus.explain.automaton import automaton
from cepheus.explain.columns import columns
from cepheus.explain.interval import goal_graph
from cepheus.explain.rule_parts import RuleParts
from cepheus.explain.svg import Canvas, document
from cepheus.rules.interval.model import IntervalRule

_MARGIN = 24
_GAP = 18
_TOP = 50  # below the title
_WIDTH = 1240  # drawings that fit stand side by side


def draw(rules: Sequence[RuleParts], intervals: Sequence[IntervalRule] = ()) -> str:
    """Draw rules one below the other and give the text of the SVG file.

    The first drawing of a rule is its automaton (how matches grow as events arrive), the second its columns (what is
    kept until the terminator arrives). Interval rules share goals and are drawn together.
    """
    pictures = [_rule(rule) for rule in rules] + ([goal_graph(intervals)] if intervals else [])
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
    names = [*(rule.name for rule in rules), *(str(rule.name) for rule in intervals)]
    return document(page, f"Rules {', '.join(names)}" if names else "No rules")


def _rule(rule: RuleParts) -> Canvas:
    canvas = Canvas()
    canvas.text(0, 16, f"{rule.name}: {rule.composite}", "title")
    reach = f"looks back at most {format_duration(rule.reach)} from each {rule.terminator.name}"
    canvas.text(0, 37, reach if rule.reach else f"looks at {rule.terminator.name} alone", "caption")
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
