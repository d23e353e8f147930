"""A small SVG canvas: shapes and texts with classes, where they go, a style for light and dark pages, no dependency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

TEXT_SIZE = 13
LINE_HEIGHT = 18
CHARACTER = TEXT_SIZE * 0.605
"""Width of one character of the fixed-width font, a little on the wide side: fonts differ."""

_STYLE = """
text { font: 13px ui-monospace, "DejaVu Sans Mono", "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  fill: #1f2a37; }
.title { font: 600 17px system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; }
.caption { font: 13px system-ui, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #64748b; }
.type { font-weight: 700; }
.quiet { fill: #64748b; }
.window-text { fill: #0f766e; }
.parameter-text { fill: #7c3aed; }
.not-text { fill: #b91c1c; }
.aggregate-text { fill: #b45309; }
.page { fill: #ffffff; stroke: #d7dee8; }
.card { fill: #f4f7fb; stroke: none; }
.line { stroke: #475569; stroke-width: 1.5; fill: none; }
.head { fill: #475569; stroke: none; }
.state, .column, .slot { fill: #ffffff; stroke: #475569; stroke-width: 1.5; }
.slot { stroke: #cbd5e1; stroke-width: 1; }
.start { fill: #e2e8f0; }
.accept { fill: #dcfce7; stroke: #15803d; }
.accept-ring { fill: none; stroke: #15803d; stroke-width: 1.5; }
.label-box { fill: #e8eef7; stroke: #475569; stroke-width: 1.5; }
.accept-box { fill: #dcfce7; stroke: #15803d; stroke-width: 1.5; }
.window { stroke: #0f766e; stroke-width: 1.5; fill: none; }
.window-head { fill: #0f766e; }
.parameter { stroke: #7c3aed; stroke-width: 1.5; stroke-dasharray: 5 4; fill: none; }
.not { stroke: #b91c1c; stroke-width: 1.5; fill: #fef2f2; }
.not-line { stroke: #b91c1c; stroke-width: 1.2; stroke-dasharray: 2 3; fill: none; }
.aggregate { stroke: #b45309; stroke-width: 1.5; fill: #fffbeb; }
.aggregate-line { stroke: #b45309; stroke-width: 1.2; stroke-dasharray: 2 3; fill: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e5eaf1; }
  .caption, .quiet { fill: #9aa8ba; }
  .window-text { fill: #5eead4; }
  .parameter-text { fill: #c4b5fd; }
  .not-text { fill: #fca5a5; }
  .aggregate-text { fill: #fcd34d; }
  .page { fill: #151b23; stroke: #313d4d; }
  .card { fill: #1c2430; }
  .line { stroke: #a3b1c2; }
  .head { fill: #a3b1c2; }
  .state, .column, .slot { fill: #151b23; stroke: #a3b1c2; }
  .slot { stroke: #3a4757; }
  .start { fill: #2b3645; }
  .accept, .accept-box { fill: #12351f; stroke: #4ade80; }
  .accept-ring { stroke: #4ade80; }
  .label-box { fill: #263140; stroke: #a3b1c2; }
  .window { stroke: #5eead4; }
  .window-head { fill: #5eead4; }
  .parameter { stroke: #c4b5fd; }
  .not { stroke: #f87171; fill: #3a1a1d; }
  .not-line { stroke: #f87171; }
  .aggregate { stroke: #fbbf24; fill: #33280f; }
  .aggregate-line { stroke: #fbbf24; }
}
"""


@dataclass(slots=True)
class Canvas:
    """Shapes drawn so far and the room they take; coordinates are pixels from the top left corner.

    >>> canvas = Canvas()
    >>> canvas.text(10, 20, "value < 5")
    >>> print(canvas.shapes[0])
    <text x="10" y="20">value &lt; 5</text>
    """

    shapes: list[str] = field(default_factory=list)
    width: float = 0
    height: float = 0

    def text(self, x: float, y: float, words: str, css: str = "", anchor: str = "start") -> None:
        """Write one line of text with its base line at ``y``."""
        length = text_width(words)
        right = {"start": x + length, "middle": x + length / 2, "end": x}[anchor]
        self._grow(right, y + 4)
        style = _attribute("class", css) + ("" if anchor == "start" else _attribute("text-anchor", anchor))
        self.shapes.append(f'<text x="{x:g}" y="{y:g}"{style}>{escape(_printable(words))}</text>')

    def box(self, area: tuple[float, float, float, float], css: str, radius: float = 8) -> None:
        """Draw a rectangle with round corners: left, top, width and height."""
        x, y, width, height = area
        self._grow(x + width, y + height)
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius:g}"{_attribute("class", css)}/>'
        )

    def circle(self, x: float, y: float, radius: float, css: str) -> None:
        """Draw a circle around a centre."""
        self._grow(x + radius, y + radius)
        self.shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}"{_attribute("class", css)}/>')

    def path(self, steps: str, css: str, right: float = 0, bottom: float = 0) -> None:
        """Draw a path given in SVG's own notation; ``right`` and ``bottom`` say how far it extends."""
        self._grow(right, bottom)
        self.shapes.append(f"<path d={quoteattr(steps)}{_attribute('class', css)}/>")

    def head(self, x: float, y: float, direction: int, css: str = "head") -> None:
        """Draw an arrow head whose tip is at the point, looking right (1) or left (-1)."""
        back = x - 9 * direction
        self.shapes.append(
            f'<path d="M{x:g} {y:g} L{back:g} {y - 5:g} L{back:g} {y + 5:g} Z"{_attribute("class", css)}/>'
        )

    def place(self, other: Canvas, x: float, y: float) -> None:
        """Put another canvas on this one."""
        self._grow(x + other.width, y + other.height)
        self.shapes.append(f'<g transform="translate({x:g} {y:g})">')
        self.shapes.extend(other.shapes)
        self.shapes.append("</g>")

    def _grow(self, right: float, bottom: float) -> None:
        self.width = max(self.width, right)
        self.height = max(self.height, bottom)


def text_width(words: str) -> float:
    """The room that a text takes, in pixels."""
    return len(words) * CHARACTER


def document(canvas: Canvas, title: str) -> str:
    """Make the complete SVG file of a canvas."""
    width, height = round(canvas.width) + 1, round(canvas.height) + 1
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(_printable(title))}</title>",
            f"<style>{_STYLE}</style>",
            *canvas.shapes,
            "</svg>",
            "",
        ]
    )


def _attribute(name: str, value: str) -> str:
    return f" {name}={quoteattr(value)}" if value else ""


def _printable(words: str) -> str:
    """Replace what XML does not allow in a text: control characters, lone surrogates, non-characters."""
    return "".join(char if _allowed(ord(char)) else "\ufffd" for char in words)


def _allowed(code: int) -> bool:
    return 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000


def spread(widths: Sequence[float], gap: float, spans: Sequence[tuple[int, int, float]] = ()) -> list[float]:
    """The centres of boxes set in a row; a span (from, to, room) asks for room between two centres.

    >>> spread([100, 100, 60], 20)
    [50.0, 170.0, 270.0]
    >>> spread([100, 100], 20, [(0, 1, 300)])
    [50.0, 350.0]
    """
    centres: list[float] = []
    edge = 0.0
    for index, width in enumerate(widths):
        centre = edge + width / 2
        for start, end, room in spans:
            if max(start, end) == index:
                centre = max(centre, centres[min(start, end)] + room)
        centres.append(centre)
        edge = centre + width / 2 + gap
    return centres


def levels(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Find for each span the lowest level at which it overlaps no other, short spans first.

    >>> levels([(0, 10), (10, 20), (0, 20)])
    [0, 0, 1]
    """
    taken: list[list[tuple[float, float]]] = []
    result = [0] * len(spans)
    for index in sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], i)):
        start, end = spans[index]
        level = 0
        while level < len(taken) and any(
            start < other_end and other_start < end for other_start, other_end in taken[level]
        ):
            level += 1
        if level == len(taken):
            taken.append([])
        taken[level].append((start, end))
        result[index] = level
    return result


def feet(level: int, all_levels: Sequence[int]) -> int:
    """How far inside its span a line sets its feet, so that lines that end at one place do not cross.

    >>> [feet(level, [0, 1, 2]) for level in (0, 1, 2)]
    [14, 9, 4]
    """
    return 4 + 5 * (max(all_levels) - level)
