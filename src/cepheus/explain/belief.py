"""The network of a rule: a drawing with causes above effects and each node with its table, and a tree in words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from rich.text import Text
from rich.tree import Tree

from cepheus.explain.svg import LINE_HEIGHT, Canvas, document, spread, text_width
from cepheus.language.tesla import format_node
from cepheus.language.tesla.print import format_bands, format_value
from cepheus.rules.belief.model import Node, Row
from cepheus.rules.belief.periods import format_period
from cepheus.uncertainty.belief.belief import RuleBelief

_MARGIN = 24
_PADDING = 12
_GAP = 28
_BETWEEN_LAYERS = 56
_TOP = 52  # below the title
_MOST_ROWS = 12

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Card:
    """A node as it is drawn: its name, a caption, and the lines of its tables; a line of one cell is a caption, too."""

    name: str
    css: str
    caption: str
    lines: tuple[Cells, ...]

    @property
    def columns(self) -> list[float]:
        """The width of each column."""
        rows = [line for line in self.lines if len(line) > 1]
        count = max((len(row) for row in rows), default=0)
        return [max(text_width(row[place]) for row in rows if place < len(row)) + 16 for place in range(count)]

    @property
    def width(self) -> float:
        """The width of the card."""
        alone = [text_width(line[0]) for line in self.lines if len(line) == 1]
        words = (text_width(self.name), text_width(self.caption), sum(self.columns) - 16, *alone)
        return max(words) + 2 * _PADDING

    @property
    def height(self) -> float:
        """The height of the card."""
        return (len(self.lines) + 2) * LINE_HEIGHT + 2 * _PADDING


def draw_belief(belief: RuleBelief, at: int | None = None) -> str:
    """Draw a network and give the text of the SVG file; ``at`` is the time of what is said of a match.

    The composite event is green, events that a match observes are blue, what an expert added is white.
    """
    cards = {name: _card(belief, node, at) for name, node in belief.nodes.items()}
    layers = _layers(belief)
    page, body = Canvas(), Canvas()
    places = _places(layers, cards)
    for node in belief.nodes.values():
        for number, parent in enumerate(_from_left(node.parents, places), 1):
            x, y = places[node.name]
            arrival = x + cards[node.name].width * number / (len(node.parents) + 1)
            _edge(body, places[parent], cards[parent], (arrival, y))
    for name, card in cards.items():
        _draw(body, places[name], card)
    worth = f"{belief.composite} has probability {belief.probability(at):.4g} when all its parts are observed"
    title = Canvas()
    title.text(0, 16, f"Network of the rule {belief.rule.name}", "title")
    title.text(0, 37, worth, "caption")
    width = max(body.width, title.width) + 2 * _MARGIN
    page.box((0.5, 0.5, width, body.height + _TOP + 2 * _MARGIN), "page", 10)
    page.place(title, _MARGIN, _MARGIN)
    page.place(body, _MARGIN, _MARGIN + _TOP)
    return document(page, f"Network of the rule {belief.rule.name}")


def _card(belief: RuleBelief, node: Node, at: int | None) -> _Card:
    css = "column"
    if node.name == belief.composite:
        css = "accept-box"
    elif node.name in belief.observed:
        css = "label-box"
    if node.name in belief.observed:
        caption = f"observed: {belief.observed[node.name]}"
    else:
        chances = belief.posterior(node.name, at).items()
        caption = "in a match: " + ", ".join(f"{state} {chance:.3g}" for state, chance in chances)
    lines: list[Cells] = []
    if node.bands is not None:
        lines.append((format_bands(node.bands)[1:-1],))
    lines += _table(node, node.rows, belief.states[node.name])
    for season in node.seasons:
        start, end = format_period(season.period)
        lines.append((f"from {start} to {end}",))
        lines += _table(node, season.rows, belief.states[node.name])
    return _Card(node.name, css, caption, tuple(lines))


def _table(node: Node, rows: tuple[Row, ...], states: tuple[str, ...]) -> list[Cells]:
    numbers = node.bands is not None
    if not node.parents and numbers:
        return [(format_value(rows[0].value),)]
    lines: list[Cells] = [(*node.parents, *(("",) if numbers else states))]
    for row in rows[:_MOST_ROWS]:
        given = ("*" if state is None else state for state in row.given)
        if isinstance(row.value, tuple):
            chances = dict(row.value)
            lines.append((*given, *(f"{chances[state]:.4g}" for state in states)))
        else:
            lines.append((*given, format_value(row.value)))
    if len(rows) > _MOST_ROWS:
        lines.append((f"and {len(rows) - _MOST_ROWS} rows more",))
    return lines


def _layers(belief: RuleBelief) -> list[list[str]]:
    """Put each node below all its causes; within a layer, nodes stand below the middle of their causes."""
    depth: dict[str, int] = {}
    waiting = list(belief.nodes)
    while waiting:
        ready = [name for name in waiting if all(parent in depth for parent in belief.nodes[name].parents)]
        for name in ready:
            depth[name] = max((depth[parent] + 1 for parent in belief.nodes[name].parents), default=0)
        waiting = [name for name in waiting if name not in depth]
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in belief.nodes:
        layers[depth[name]].append(name)
    position: dict[str, float] = {}
    for layer in layers:
        middle = {name: _mean([position[parent] for parent in belief.nodes[name].parents]) for name in layer}
        layer.sort(key=lambda name: middle[name])
        position |= {name: place - len(layer) / 2 for place, name in enumerate(layer)}
    return layers


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _places(layers: list[list[str]], cards: dict[str, _Card]) -> dict[str, tuple[float, float]]:
    """The top left corner of each card; layers are centred above one another, the cards of one end together."""
    rows = [spread([cards[name].width for name in layer], _GAP) for layer in layers]
    widths = [centres[-1] + cards[layer[-1]].width / 2 for centres, layer in zip(rows, layers, strict=True)]
    heights = [max(cards[name].height for name in layer) + _BETWEEN_LAYERS for layer in layers]
    return {
        name: (
            centre - cards[name].width / 2 + (max(widths) - width) / 2,
            bottom - _BETWEEN_LAYERS - cards[name].height,
        )
        for layer, centres, width, bottom in zip(layers, rows, widths, accumulate(heights), strict=True)
        for name, centre in zip(layer, centres, strict=True)
    }


def _from_left(names: tuple[str, ...], places: dict[str, tuple[float, float]]) -> list[str]:
    return sorted(names, key=lambda name: places[name][0])


def _edge(canvas: Canvas, cause: tuple[float, float], card: _Card, arrival: tuple[float, float]) -> None:
    """Draw an arrow from the middle of a card's lower edge to a point on the upper edge of another."""
    x, y = cause[0] + card.width / 2, cause[1] + card.height
    end, top = arrival
    bend = max(24.0, (top - y) / 2)
    canvas.path(f"M{x:g} {y:g} C{x:g} {y + bend:g} {end:g} {top - 9 - bend:g} {end:g} {top - 9:g}", "line")
    canvas.path(f"M{end:g} {top:g} L{end - 5:g} {top - 9:g} L{end + 5:g} {top - 9:g} Z", "head")


def _draw(canvas: Canvas, place: tuple[float, float], card: _Card) -> None:
    x, y = place
    canvas.box((x, y, card.width, card.height), card.css, 8)
    left, base = x + _PADDING, y + _PADDING + 13
    canvas.text(left, base, card.name, "type")
    canvas.text(left, base + LINE_HEIGHT, card.caption, "quiet")
    columns = [0.0, *accumulate(card.columns)]
    heads = True
    for number, line in enumerate(card.lines, 2):
        for offset, cell in zip(columns, line, strict=False):
            canvas.text(left + offset, base + number * LINE_HEIGHT, cell, "quiet" if heads or len(line) == 1 else "")
        heads = len(line) == 1


_NAME, _RULE, _QUIET = "bold cyan", "green", "dim"


def belief_tree(belief: RuleBelief, at: int | None = None) -> Tree:
    """Make the tree of a network: its nodes as rule text has them, and how likely their states are in a match.

    Print it with Rich; on a pipe it comes out as plain text.
    """
    root = Tree(
        Text.assemble(
            "network of rule ",
            (str(belief.rule.name), "bold"),
            ": ",
            (belief.composite, _NAME),
            f" has probability {belief.probability(at):.6g} when all its parts are observed",
        ),
        guide_style=_QUIET,
    )
    added = {node.name for node in belief.added.nodes}
    for name, node in belief.nodes.items():
        branch = root.add(Text.assemble((name, _NAME), f"   {_role(belief, name)}"))
        text = Text(format_node(node), _RULE)
        if name not in added:
            text.append("   as the rule has it", _QUIET)
        branch.add(text)
        if name not in belief.observed:
            chances = belief.posterior(name, at)
            words = ", ".join(f"{state} {chance:.4g}" for state, chance in chances.items())
            branch.add(Text(f"in a match: {words}", _QUIET))
    return root


def _role(belief: RuleBelief, name: str) -> str:
    if name == belief.composite:
        return "the composite event"
    if name in belief.parts:
        return f"a part, observed: {belief.parts[name]}"
    if name in belief.observed:
        return f"added, observed: {belief.observed[name]}"
    return "added"
