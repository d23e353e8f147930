"""The packages and their imports as a drawing in layers: whoever imports stands above what it imports.

Run as a script it writes the drawing into docs/images; a test sees to it that it is up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from blocks import ROOT
from package_graph import Graph, levels, package_graph, reduced, top_of

from cepheus.explain.svg import Canvas, document

FILE = ROOT / "docs" / "images" / "architecture.svg"

_ROW, _HEIGHT = 60, 32
_GAP, _LANE = 18, 14
_PADDING = 14
_HEAD = 26  # room above the packages of a group, for its name
_MARGIN = 24
_TOP = 64
_CHARACTER = 7.9
_CLASSES = {"core": "column", "kernel": "column", "formats": "column", "runtime": "accept-box"} | dict.fromkeys(
    ("api", "cli", "explain", "demo"), "aggregate"
)


@dataclass(eq=False, slots=True)
class _Spot:
    """A package in a row of the drawing or, if it has no name, a place where a line passes through the row."""

    row: int
    package: str | None = None
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return _LANE if self.package is None else max(78.0, len(_name(self.package)) * _CHARACTER + 26)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Rows of spots, the topmost first, and the lines between them, each from spot to spot."""

    rows: list[list[_Spot]]
    lines: list[list[_Spot]]


def picture(graph: Graph) -> str:
    """Draw packages and imports; the text of an SVG file."""
    layout = lay_out(graph)
    spots = [spot for row in layout.rows for spot in row if spot.package is not None]
    groups = {
        group: [spot for spot in spots if _group(spot) == group] for group in sorted(filter(None, map(_group, spots)))
    }
    body = Canvas()
    for members in groups.values():
        _draw_group(body, members)
    for line in layout.lines:
        _draw_line(body, line)
    for spot in spots:
        _draw_package(body, spot)
    for top, members in groups.items():
        _name_group(body, top, members, layout)
    whole = Canvas()
    whole.text(0, 8, "The packages of Cepheus", "title")
    whole.text(0, 32, "An arrow leads from a package to one that it imports;", "caption")
    whole.text(0, 50, "what a way over others implies is left out.", "caption")
    whole.place(body, 0, _TOP)
    page = Canvas()
    page.box((0.5, 0.5, whole.width + 2 * _MARGIN, whole.height + 2 * _MARGIN), "page", 10)
    page.place(whole, _MARGIN, _MARGIN)
    return document(page, "The packages of Cepheus and what they import")


# ---- Where packages stand ------------------------------------------------------------------------------------------


def lay_out(graph: Graph) -> _Layout:
    """Set every package into a row and a place in it, and find ways for the lines between them."""
    rows_of = _rows(graph)
    last = max(rows_of.values())
    rows: list[list[_Spot]] = [[] for _ in range(last + 1)]
    spots = {package: _Spot(row, package) for package, row in rows_of.items()}
    for spot in spots.values():
        rows[spot.row].append(spot)
    lines = []
    for package, imported in reduced(graph).items():
        for other in sorted(imported):
            way = [spots[package]]
            for between in range(spots[package].row + 1, spots[other].row):
                way.append(_Spot(between))
                rows[between].append(way[-1])
            lines.append([*way, spots[other]])
    layout = _Layout(rows, lines)
    _order(layout)
    _place(layout)
    y = float(_HEAD)
    for number, row in enumerate(layout.rows):
        y += _GAP * _begins_group(layout.rows, number)
        for spot in row:
            spot.y = y
        y += _ROW
    return layout


def _begins_group(rows: Sequence[Sequence[_Spot]], number: int) -> bool:
    """Whether another group of packages begins with a row, or ends above it."""
    above, here = ({_group(spot) for spot in row} for row in (rows[max(number - 1, 0)], rows[number]))
    return above - {None} != here - {None}


def _group(spot: _Spot) -> str | None:
    """The group that a package is drawn in: that of a folder which is taken apart."""
    return top_of(spot.package) if spot.package and "/" in spot.package else None


def _rows(graph: Graph) -> dict[str, int]:
    """The row of every package: those of one layer stand together, what is imported below what imports it."""
    tops: dict[str, set[str]] = {}
    inner: dict[str, dict[str, frozenset[str]]] = {}
    for package, imported in graph.items():
        top = top_of(package)
        tops.setdefault(top, set()).update(top_of(other) for other in imported if top_of(other) != top)
        inner.setdefault(top, {})[package] = frozenset(other for other in imported if top_of(other) == top)
    heights = {top: levels(packages) for top, packages in inner.items()}
    bases: dict[int, int] = {}
    floor = 0
    layers = levels({top: frozenset(below) for top, below in tops.items()})
    for layer in range(max(layers.values()) + 1):
        bases[layer] = floor
        floor += max(max(heights[top].values()) + 1 for top in layers if layers[top] == layer)
    return {
        package: floor - 1 - bases[layers[top_of(package)]] - heights[top_of(package)][package] for package in graph
    }


def _neighbours(layout: _Layout) -> tuple[dict[_Spot, list[_Spot]], dict[_Spot, list[_Spot]]]:
    above: dict[_Spot, list[_Spot]] = {spot: [] for row in layout.rows for spot in row}
    below: dict[_Spot, list[_Spot]] = {spot: [] for row in layout.rows for spot in row}
    for line in layout.lines:
        for upper, lower in pairwise(line):
            above[lower].append(upper)
            below[upper].append(lower)
    return above, below


def _order(layout: _Layout) -> None:
    """Order each row by where its neighbours stand, up and down by turns, and keep the order with fewest crossings."""
    above, below = _neighbours(layout)
    alone = _alone(layout)
    for row in layout.rows:
        row.sort(key=alone.__contains__)
    best = [list(row) for row in layout.rows]
    fewest = _crossings(layout.rows, below)
    for turn in range(40):
        near = above if turn % 2 == 0 else below
        for row in layout.rows if turn % 2 == 0 else reversed(layout.rows):
            places = {spot: place for other in layout.rows for place, spot in enumerate(other)}
            wanted = {spot: (spot in alone, mean(places[other] for other in near[spot] or [spot])) for spot in row}
            row.sort(key=wanted.__getitem__)
        crossings = _crossings(layout.rows, below)
        if crossings < fewest:
            fewest, best = crossings, [list(row) for row in layout.rows]
    layout.rows[:] = best


def _alone(layout: _Layout) -> set[_Spot]:
    """The packages without a group, in rows where others have one: they stand to the right of those."""
    rows = [row for row in layout.rows if any(_group(spot) for spot in row)]
    return {spot for row in rows for spot in row if spot.package and not _group(spot)}


def _crossings(rows: Sequence[Sequence[_Spot]], below: Mapping[_Spot, Iterable[_Spot]]) -> int:
    count = 0
    for upper, lower in pairwise(rows):
        places = {spot: place for place, spot in enumerate(lower)}
        ends = [(place, places[other]) for place, spot in enumerate(upper) for other in below[spot]]
        count += sum(
            (one[0] - two[0]) * (one[1] - two[1]) < 0 for index, one in enumerate(ends) for two in ends[:index]
        )
    return count


def _place(layout: _Layout) -> None:
    """Move every spot near to its neighbours without changing the order of a row, so that lines are straight."""
    above, below = _neighbours(layout)
    for row in layout.rows:
        _set(row, [(500.0, 1.0)] * len(row))
    for turn in range(400):
        edge = _right_of_groups(layout) if turn > 300 else {}
        for row in layout.rows if turn % 2 == 0 else reversed(layout.rows):
            wanted = []
            for spot in row:
                near = [(other.x, _pull(spot, other)) for other in (*above[spot], *below[spot])] or [(spot.x, 1.0)]
                pull = sum(strength for _, strength in near)
                x = sum(x * strength for x, strength in near) / pull
                wanted.append((max(x, edge.get(spot, x)), pull))
            _set(row, wanted)
    for spot, least in _right_of_groups(layout).items():
        row = layout.rows[spot.row]
        shift = least - spot.x
        for other in row[row.index(spot) :] if shift > 0 else ():
            other.x += shift
    _straighten(layout)
    left = min(spot.x - spot.width / 2 for row in layout.rows for spot in row) - _PADDING
    for row in layout.rows:
        for spot in row:
            spot.x = round(spot.x - left, 1)


def _straighten(layout: _Layout) -> None:
    """Let a line go straight down through as many rows as there is room for at one place."""
    room = {}
    for row in layout.rows:
        for place, spot in enumerate(row):
            left = row[place - 1].x + (row[place - 1].width + spot.width) / 2 + _GAP / 2 if place else -1e9
            following = row[place + 1] if place + 1 < len(row) else None
            right = 1e9 if following is None else following.x - (following.width + spot.width) / 2 - _GAP / 2
            room[spot] = (left, right)
    for line in sorted(layout.lines, key=len, reverse=True):
        run: list[_Spot] = []
        low, high = -1e9, 1e9
        for spot in line[1:-1]:
            left, right = room[spot]
            if max(low, left) > min(high, right):
                run, low, high = [], -1e9, 1e9
            run.append(spot)
            low, high = max(low, left), min(high, right)
            x = min(max(mean(one.x for one in run), low), high)
            for one in run:
                one.x = x


def _pull(one: _Spot, two: _Spot) -> float:
    """How strongly two neighbours draw each other into one line: places that a line only passes through, the most."""
    return (1.0, 4.0, 16.0)[(one.package is None) + (two.package is None)]


def _right_of_groups(layout: _Layout) -> dict[_Spot, float]:
    """How far to the right a package without a group must stand, next to the groups whose rows it shares."""
    groups: dict[str, list[_Spot]] = {}
    for row in layout.rows:
        for spot in row:
            if group := _group(spot):
                groups.setdefault(group, []).append(spot)
    edges: dict[_Spot, float] = {}
    for members in groups.values():
        right = max(spot.x + spot.width / 2 for spot in members) + _PADDING + _GAP
        for number in range(min(spot.row for spot in members), max(spot.row for spot in members) + 1):
            for spot in layout.rows[number]:
                if spot.package and not _group(spot):
                    edges[spot] = max(edges.get(spot, 0.0), right + spot.width / 2)
    return edges


def _set(row: Sequence[_Spot], wanted: Sequence[tuple[float, float]]) -> None:
    """Set spots as near as possible to where they are wanted, in order and with room between them.

    Least squares under an order: neighbours that would meet are pooled and set around the mean of their wishes, each
    wish with its weight.
    """
    offsets = [0.0]
    for one, two in pairwise(row):
        offsets.append(offsets[-1] + one.width / 2 + two.width / 2 + _GAP)
    pools: list[tuple[float, float, int]] = []
    for (wish, weight), offset in zip(wanted, offsets, strict=True):
        pools.append((wish - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (first, light, many), (second, heavy, more) = pools[-2:]
            pools[-2:] = [((first * light + second * heavy) / (light + heavy), light + heavy, many + more)]
    values = [value for value, _, many in pools for _ in range(many)]
    for spot, value, offset in zip(row, values, offsets, strict=True):
        spot.x = value + offset


# ---- How they are drawn --------------------------------------------------------------------------------------------


def _name(package: str) -> str:
    return package.rsplit("/", maxsplit=1)[-1]


def _draw_group(canvas: Canvas, members: Sequence[_Spot]) -> None:
    left, upper, right, lower = _area(members)
    canvas.box((left, upper, right - left, lower - upper), "card")


def _area(members: Sequence[_Spot]) -> tuple[float, float, float, float]:
    return (
        min(spot.x - spot.width / 2 for spot in members) - _PADDING,
        min(spot.y for spot in members) - _HEAD,
        max(spot.x + spot.width / 2 for spot in members) + _PADDING,
        max(spot.y for spot in members) + _HEIGHT + 10,
    )


def _name_group(canvas: Canvas, top: str, members: Sequence[_Spot], layout: _Layout) -> None:
    """Write the name of a group into its upper edge, at the first place from the left where no line comes in."""
    left, upper, right, _ = _area(members)
    width = len(top) * _CHARACTER
    row = layout.rows[min(spot.row for spot in members)]
    entered = {line[-1] for line in layout.lines}
    taken = [spot.x for spot in row if spot.package is None or spot in entered]
    free = (x for x in range(round(left) + 10, round(right - width), 4) if all(_apart(x, width, at) for at in taken))
    canvas.text(next(free, left + 10), upper + 16, top, "quiet")


def _apart(x: float, width: float, line: float) -> bool:
    return line < x - 8 or line > x + width + 8


def _draw_package(canvas: Canvas, spot: _Spot) -> None:
    assert spot.package is not None
    css = _CLASSES.get(top_of(spot.package), "label-box")
    canvas.box((spot.x - spot.width / 2, spot.y, spot.width, _HEIGHT), css, 6)
    canvas.text(spot.x, spot.y + 21, _name(spot.package), "type", "middle")


def _draw_line(canvas: Canvas, line: Sequence[_Spot]) -> None:
    """Draw a line from the lower edge of a package, through the rows between, to the upper edge of another."""
    first, *_, last = line
    x, y = first.x, first.y + _HEIGHT
    steps = [f"M{x:g} {y:g}"]
    for spot in line[1:]:
        target = spot.y - (10 if spot is last else 0)
        middle = (y + target) / 2
        steps.append(f"C{x:g} {middle:g} {spot.x:g} {middle:g} {spot.x:g} {target:g}")
        x, y = spot.x, target
        if spot is not last:
            y += _HEIGHT
            steps.append(f"V{y:g}")
    canvas.path(" ".join(steps), "line")
    tip = last.y - 1
    canvas.path(f"M{x:g} {tip:g} L{x - 4.5:g} {tip - 9:g} L{x + 4.5:g} {tip - 9:g} Z", "head")


def write() -> None:
    """Write the drawing into the pictures of the documentation."""
    FILE.write_text(picture(package_graph()), encoding="utf-8")


if __name__ == "__main__":
    write()
