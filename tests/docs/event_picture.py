"""The way of rules and events through the packages, up to composite events, as a drawing.

Run as a script it writes the drawing into docs/images; a test sees to it that it is up to date and names files that
exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blocks import ROOT

from cepheus.explain.svg import Canvas, document

FILE = ROOT / "docs" / "images" / "event-way.svg"


@dataclass(frozen=True, slots=True)
class Step:
    """A package on the way: what it makes of what comes in, and the file in which one best begins to read."""

    package: str
    makes: str
    file: str


RULES = (
    Step("language", "a model of the text", "language/tesla/parse.py"),
    Step("rules/check", "names, types, mistakes", "rules/check/check.py"),
    Step("rules", "steps in order", "rules/resolve.py"),
    Step("plan", "flat arrays", "plan/pattern/lower.py"),
)
"""The way of a rule: once, when it is deployed."""

EVENTS = (
    Step("formats", "typed columns", "formats/read.py"),
    Step("runtime", "a total order", "runtime/embedded/order.py"),
)
"""The way of an event, every time."""

ENGINE = Step("engine", "composite events", "engine/base/interface.py")
ANSWERS = Step("runtime", "answers, files, calls", "runtime/embedded/session.py")

_WIDTH, _HEIGHT, _GAP = 300, 54, 30
_LEFT, _TOP = 24, 70
_BETWEEN = 40
_STEP = _HEIGHT + _GAP


def picture() -> str:
    """Draw the two ways, which meet in the engine; the text of an SVG file."""
    canvas = Canvas()
    canvas.text(_LEFT, 32, "The way of an event", "title")
    bottom = _TOP + _GAP + len(RULES) * _STEP
    right = _LEFT + _WIDTH + _BETWEEN
    _lane(canvas, "rule text, once", RULES, (_LEFT, bottom), "deploy")
    _lane(canvas, "events, one at a time or a million", EVENTS, (right, bottom), "feed")
    whole = 2 * _WIDTH + _BETWEEN
    _box(canvas, ENGINE, (_LEFT, bottom, whole, _HEIGHT), "accept-box")
    end = bottom + _STEP
    middle = _LEFT + whole / 2
    _arrow(canvas, middle, end - _GAP, end)
    _box(canvas, ANSWERS, (middle - _WIDTH / 2, end, _WIDTH, _HEIGHT), "label-box")
    _again(canvas, _LEFT + whole, bottom)
    page = Canvas()
    page.box((0.5, 0.5, canvas.width + _LEFT, end + _HEIGHT + 24), "page", 10)
    page.place(canvas, 0, 0)
    return document(page, "The way of rules and events through the packages of Cepheus")


def _lane(canvas: Canvas, what: str, steps: Sequence[Step], foot: tuple[float, float], call: str) -> None:
    """Draw steps one below the other, down to where the engine begins, from what comes in at the top of the picture."""
    x, bottom = foot
    middle = x + _WIDTH / 2
    y = bottom - len(steps) * _STEP
    canvas.text(middle, _TOP, what, "type", "middle")
    _arrow(canvas, middle, _TOP + 8, y)
    for step in steps:
        _box(canvas, step, (x, y, _WIDTH, _HEIGHT), "label-box")
        y += _STEP
        _arrow(canvas, middle, y - _GAP, y)
    canvas.text(middle + 12, bottom - 10, call, "window-text")


def _again(canvas: Canvas, x: float, y: float) -> None:
    """What rules make may be read by other rules: a line from the engine back into it."""
    upper, lower = y + 14, y + _HEIGHT - 14
    canvas.path(f"M{x:g} {lower:g} h14 q6 0 6 -6 V{upper + 6:g} q0 -6 -6 -6 h-5", "line", x + 20)
    canvas.head(x + 1, upper, -1)
    for line, words in enumerate(("composite", "events", "are events")):
        canvas.text(x + 28, y + 13 + 18 * line, words, "caption")


def _box(canvas: Canvas, step: Step, area: tuple[float, float, float, float], css: str) -> None:
    x, y, width, height = area
    canvas.box(area, css)
    middle = y + height / 2
    canvas.text(x + width / 2, middle - 5, f"{step.package}: {step.makes}", "type", "middle")
    canvas.text(x + width / 2, middle + 16, step.file, "quiet", "middle")


def _arrow(canvas: Canvas, x: float, start: float, end: float) -> None:
    canvas.path(f"M{x:g} {start:g} V{end - 9:g}", "line")
    canvas.path(f"M{x:g} {end - 1:g} L{x - 5:g} {end - 10:g} L{x + 5:g} {end - 10:g} Z", "head")


def write() -> None:
    """Write the drawing into the pictures of the documentation."""
    FILE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    write()
