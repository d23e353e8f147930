"""Draws a simulated network: processors, links as thick as their traffic, the tree, sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping, Set

from cepheus.explain.svg import Canvas, document

_SIZE = 640
_MARGIN = 60


def draw_network(
    delays: Mapping[tuple[str, str], int],
    tree: Set[tuple[str, str]],
    traffic: Mapping[tuple[str, str], float],
    notes: Mapping[str, str],
    title: str,
) -> str:
    """The picture of a network as SVG.

    ``tree`` are the links of processing trees, ``traffic`` the messages per second of each direction of a link,
    ``notes`` what to write next to a processor.
    """
    import networkx

    graph = networkx.Graph()
    for (one, other), delay in sorted(delays.items()):
        graph.add_edge(one, other, weight=delay)
    places = networkx.kamada_kawai_layout(graph)
    canvas = Canvas()
    canvas.box((0, 0, _SIZE + 2 * _MARGIN, _SIZE + 2 * _MARGIN + 40), "page")
    canvas.text(20, 28, title, "title")
    canvas.text(20, 48, "thick links carry more messages; lines of trees are solid, others dotted", "caption")
    at = {name: (_MARGIN + (x + 1) / 2 * _SIZE, _MARGIN + 40 + (y + 1) / 2 * _SIZE) for name, (x, y) in places.items()}
    most = max((_both(traffic, link) for link in delays), default=0.0) or 1.0
    for link in sorted(delays):
        _link(canvas, at[link[0]], at[link[1]], _both(traffic, link), most, in_tree=bool({link, link[::-1]} & tree))
    for name in sorted(at):
        x, y = at[name]
        canvas.circle(x, y, 17, "state")
        canvas.text(x, y + 4, name, "type", anchor="middle")
        if name in notes:
            canvas.text(x, y + 32, notes[name], "caption", anchor="middle")
    return document(canvas, title)


def _both(traffic: Mapping[tuple[str, str], float], link: tuple[str, str]) -> float:
    return traffic.get(link, 0.0) + traffic.get(link[::-1], 0.0)


def _link(
    canvas: Canvas, one: tuple[float, float], other: tuple[float, float], rate: float, most: float, *, in_tree: bool
) -> None:
    (x1, y1), (x2, y2) = one, other
    width = 1 + 9 * rate / most
    dash = "" if in_tree else ' stroke-dasharray="3 5"'
    canvas.shapes.append(
        f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" class="line" '
        f'style="stroke-width: {width:.1f}"{dash}/>'
    )
    if rate:
        canvas.text((x1 + x2) / 2, (y1 + y2) / 2 - 4, f"{rate:.3g}/s", "quiet", anchor="middle")
