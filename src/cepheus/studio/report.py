"""A report as one HTML file: the rules, their drawing, a timeline, what was found and why. It holds no script."""

from __future__ import annotations

from html import escape

from cepheus.core.display import events_table, page, shown
from cepheus.core.time import format_time
from cepheus.explain.asked import asked_of
from cepheus.explain.reasons import reasons
from cepheus.notebook.html import reasons_list, source_code
from cepheus.studio.editing import drawn
from cepheus.studio.lanes import Lane, picture
from cepheus.studio.workspace import Loaded, Ran, Workspace, counts_of

_WIDTH, _LANE, _NAMES = 1100, 26, 190
_MOST_TREES = 10
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1180px; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid #8884 }
pre { background: #f4f6f8; padding: 1rem; border-radius: 8px; overflow-x: auto }
svg { max-width: 100%; height: auto } .made { fill: #c2410c } .given { fill: #2563a8 } .lane { font-size: 12px }
@media (prefers-color-scheme: dark) {
  body { background: #12171d; color: #dde4ec } pre { background: #1b222b } text { fill: #dde4ec }
}
"""


def report(workspace: Workspace, title: str, start: int, end: int, notes: str) -> str:
    """The report on the last run, with the timeline between two times in microseconds, and what a person notes."""
    ran, loaded = workspace.require_run(), workspace.require_events()
    counts = ", ".join(f"{count:,} {name}" for name, count in counts_of(ran.found).items()) or "nothing"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(loaded.name)}: {len(loaded.batch):,} events, found {escape(counts)}.</p>",
        f"<p>{escape(notes)}</p>" if notes.strip() else "",
        f"<h2>Timeline</h2><p>{format_time(start)} to {format_time(end)}</p>{_timeline(ran, loaded, start, end)}",
        f"<h2>Found</h2>{page(events_table(ran.found, 'composite event'))}",
        f"<h2>Why</h2>{_trees(ran)}",
        f"<h2>Rules</h2>{source_code(ran.text, 'tesla')}",
        f"<h2>Drawing</h2>{drawn(ran.program.rules)}",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def _timeline(ran: Ran, loaded: Loaded, start: int, end: int) -> str:
    lanes: list[Lane] = [*ran.lanes.lanes({}), *loaded.lanes.lanes({})]
    span = max(end - start, 1)
    shapes = []
    for place, lane in enumerate(picture(lanes, start, end, _WIDTH)):
        y = place * _LANE + 4
        css = "made" if lane["found"] else "given"
        shapes.append(f'<text class="lane" x="0" y="{y + 15}">{escape(lane["name"])} ({lane["count"]:,})</text>')
        if "times" in lane:
            for time in lane["times"]:
                x = _NAMES + (time - start) / span * _WIDTH
                shapes.append(f'<rect class="{css}" x="{x:.1f}" y="{y}" width="2" height="{_LANE - 8}"/>')
            continue
        most, wide = max(lane["bins"]), _WIDTH / len(lane["bins"])
        for index, count in enumerate(lane["bins"]):
            if count:
                height = max(1.0, count / most * (_LANE - 8))
                x, top = _NAMES + index * wide, y + _LANE - 8 - height
                shapes.append(
                    f'<rect class="{css}" x="{x:.1f}" y="{top:.1f}" width="{wide:.2f}" height="{height:.1f}"/>'
                )
    height = len(lanes) * _LANE + 8
    label = f"Events over time in {len(lanes)} lanes"
    return f'<svg role="img" aria-label="{label}" viewBox="0 0 {_NAMES + _WIDTH + 8} {height}">{"".join(shapes)}</svg>'


def _trees(ran: Ran) -> str:
    asked = asked_of(ran.program.rules.all_rules)
    told = []
    for event in ran.found.slice(0, min(_MOST_TREES, len(ran.found))).to_events():
        known = {each.id: each for each in ran.found._needed(event) if each.id is not None}
        told.append(reasons_list(reasons(event, known, asked)))
    more = len(ran.found) - _MOST_TREES
    rest = f"<p>and {shown(more)} more</p>" if more > 0 else ""
    return page(*told) + rest
