"""A report as one HTML file: the rules, their drawing, a timeline, what was found and why. It holds no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from pydantic import BaseModel, Field

from cepheus.core.display import events_table, page, shown
from cepheus.core.time import SECOND, format_time
from cepheus.explain.asked import asked_of
from cepheus.explain.reasons import reasons
from cepheus.explain.why_not import miss_text
from cepheus.notebook.html import reasons_list, source_code
from cepheus.runtime.embedded.rule_sources import is_etalis
from cepheus.studio.editing import drawn, language_of
from cepheus.studio.lanes import Lane, picture
from cepheus.studio.running import AskedNot, Time, asked_why_not
from cepheus.studio.workspace import Loaded, Ran, Workspace, counts_of

_WIDTH, _LANE, _NAMES = 1000, 26, 190
_MOST_LETTERS = 26
_MOST_TREES = 10
_MOST_LANES = 60
_STYLE = """
:root { --made: #c2410c; --given: #2563a8; --text: #1d2733; --quiet: #5d6b7a; --line: #8884; --card: #f4f6f8;
  --page: #fff }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1240px; padding: 0 1rem; color: var(--text);
  background: var(--page) }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--line) }
pre { background: var(--card); padding: 1rem; border-radius: 8px; overflow-x: auto } .notes { white-space: pre-wrap }
svg { max-width: 100%; height: auto } .made { fill: var(--made) } .given { fill: var(--given) }
.lane { font-size: 12px; fill: var(--text) } .axis { font-size: 11px; fill: var(--quiet) } .rule { stroke: var(--line) }
.curve { fill: none; stroke: var(--made); stroke-width: 2 } .leaf, details details { margin-left: 18px }
.quiet { color: var(--quiet) } .kind { font-weight: 600; color: var(--made) } .scroll { overflow-x: auto }
.held::before { content: "held " } .failed { color: #b4232a } .failed::before { content: "failed " }
table { border-collapse: collapse } td, th { padding: 2px 12px 2px 0; text-align: left }
@media (prefers-color-scheme: dark) {
  :root { --made: #fb923c; --given: #6aa8e0; --text: #dde4ec; --quiet: #93a2b2; --card: #1b222b; --page: #12171d }
  .failed { color: #f87171 } pre * { color: var(--text) !important }
}
@media print { details { break-inside: avoid } }
"""


class Reported(BaseModel):
    """What a report is to show: a stretch of time, what a person writes, and the question that is open on the page."""

    title: str = Field(default="Report", max_length=500)
    notes: str = Field(default="", max_length=100_000)
    start: Time
    end: Time
    keys: dict[str, str] = Field(default_factory=dict)
    why: int | None = Field(default=None, ge=0)
    why_not: AskedNot | None = None


def report(workspace: Workspace, given: Reported) -> str:
    """The report on the last run."""
    ran, loaded = workspace.require_run(), workspace.require_events()
    counts = ", ".join(f"{count:,} {name}" for name, count in counts_of(ran.found).items()) or "nothing"
    span = f"{format_time(given.start)} to {format_time(given.end)}"
    parts = [
        f"<h1>{escape(given.title)}</h1>",
        f"<p>{escape(loaded.name)}: {len(loaded.batch):,} events, found {escape(counts)}.</p>",
        f'<h2>Findings</h2><p class="notes">{escape(given.notes)}</p>' if given.notes.strip() else "",
        f"<h2>Timeline</h2><p>{span}</p>{_timeline(ran, loaded, given)}",
        _asked(workspace, ran, given),
        _swept(workspace, ran),
        f'<h2>Found</h2><div class="scroll">{page(events_table(ran.found, "composite event"))}</div>',
        f"<h2>Why</h2>{_trees(ran)}",
        f"<h2>Rules</h2>{source_code(ran.text, _lexer(ran.text))}",
        f"<h2>Drawing</h2>{drawn(ran.program.rules)}",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">'
        f"<title>{escape(given.title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def _lexer(text: str) -> str:
    return {"sql": "sql", "python": "python"}.get(language_of(text), "etalis" if is_etalis(text) else "tesla")


def _timeline(ran: Ran, loaded: Loaded, given: Reported) -> str:
    lanes: list[Lane] = [*ran.lanes.lanes(given.keys), *loaded.lanes.lanes(given.keys)]
    more = len(lanes) - _MOST_LANES
    start, end = given.start, max(given.end, given.start + 1)
    height = min(len(lanes), _MOST_LANES) * _LANE + 30
    shapes = list(_axis(start, end, height))
    for place, lane in enumerate(picture(lanes[:_MOST_LANES], start, end, _WIDTH)):
        y = place * _LANE + 24
        css = "made" if lane["found"] else "given"
        shapes.append(f'<text class="lane" x="0" y="{y + 15}">{escape(_short(lane))}</text>')
        shapes += _shapes(lane, css, y, start, end)
    label = f"Events over time in {len(lanes)} lanes"
    rest = f"<p>and {more} more lanes</p>" if more > 0 else ""
    box = f"0 0 {_NAMES + _WIDTH + 8} {height}"
    return f'<svg role="img" aria-label="{label}" viewBox="{box}">{"".join(shapes)}</svg>{rest}'


def _short(lane: Mapping[str, Any]) -> str:
    """The name of a lane and how many events it has here, as long as there is place."""
    count = f" ({lane['count']:,})"
    room = _MOST_LETTERS - len(count)
    return (lane["name"] if len(lane["name"]) <= room else f"{lane['name'][: room - 1]}…") + count


def _axis(start: int, end: int, height: int) -> Iterator[str]:
    """Five times, with lines."""
    for step in range(5):
        time = start + (end - start) * step // 4
        x = _NAMES + step * _WIDTH / 4
        anchor = ("start", "middle", "middle", "middle", "end")[step]
        shown_time = format_time(time).removesuffix("Z").replace("T", " ")
        shown_time = shown_time[: 19 if end - start >= 10 * SECOND else None]
        yield f'<text class="axis" x="{x:.1f}" y="12" text-anchor="{anchor}">{shown_time}</text>'
        yield f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{height}"/>'


def _shapes(lane: Mapping[str, Any], css: str, y: int, start: int, end: int) -> Iterator[str]:
    """The events of a lane one by one, or their counts as bars."""
    if "times" in lane:
        for time in lane["times"]:
            x = _NAMES + (time - start) / (end - start) * _WIDTH
            yield f'<rect class="{css}" x="{x:.1f}" y="{y}" width="2.5" height="{_LANE - 8}"/>'
        return
    most, wide = max(lane["bins"]), _WIDTH / len(lane["bins"])
    for index, count in enumerate(lane["bins"]):
        if count:
            high = max(1.0, count / most * (_LANE - 8))
            x, top = _NAMES + index * wide, y + _LANE - 8 - high
            yield f'<rect class="{css}" x="{x:.1f}" y="{top:.1f}" width="{wide:.2f}" height="{high:.1f}"/>'


def _asked(workspace: Workspace, ran: Ran, given: Reported) -> str:
    """The question that is open on the page, and its answer."""
    if given.why_not is not None:
        told = asked_why_not(workspace, given.why_not)
        parts = [
            f'<div class="leaf {part.outcome.value}"><code>{escape(part.part)}</code><div>{escape(part.says)}</div>'
            + "".join(f'<div class="leaf quiet">near miss: {escape(miss_text(miss))}</div>' for miss in part.misses)
            + "</div>"
            for part in told.parts
        ]
        nearest = f"<p><b>{escape(told.nearest)}</b></p>" if told.nearest else ""
        return f"<h2>Why not {escape(told.rule)}?</h2><p>{escape(told.headline())}</p>{nearest}{page(*parts)}"
    if given.why is not None and given.why < len(ran.found):
        return f"<h2>Why this one?</h2>{page(_tree(ran, given.why))}"
    return ""


def _swept(workspace: Workspace, ran: Ran) -> str:
    """The last sweep over a number of these rules, as a table and a curve."""
    if workspace.swept is None or workspace.swept[0] != ran.text:
        return ""
    found = workspace.swept[1]
    points = [(float(point.value), point.counts.get(found.composite, 0)) for point in found.points]
    low, high = points[0][0], points[-1][0]
    most = max(1, *(count for _, count in points))
    places = [(40 + (x - low) / max(high - low, 1e-12) * 640, 150 - count / most * 130) for x, count in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    ends = (
        f'<text class="axis" x="40" y="170">{escape(found.knob.shown(low))}</text>'
        f'<text class="axis" x="680" y="170" text-anchor="end">{escape(found.knob.shown(high))}</text>'
        f'<text class="axis" x="36" y="24" text-anchor="end">{most}</text>'
    )
    label = f"{found.composite} found by value of {found.knob.name}"
    curve = f'<polyline class="curve" points="{line}"/>{ends}'
    svg = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 700 180" width="700">{curve}</svg>'
    return f"<h2>What if: {escape(found.knob.name)}</h2>{svg}<pre>{escape(str(found))}</pre>"


def _tree(ran: Ran, row: int) -> str:
    (event,) = ran.found.slice(row, row + 1).to_events()
    known = {each.id: each for each in ran.found._needed(event) if each.id is not None}
    return reasons_list(reasons(event, known, asked_of(ran.program.rules.all_rules)))


def _trees(ran: Ran) -> str:
    told = [_tree(ran, row) for row in range(min(_MOST_TREES, len(ran.found)))]
    more = len(ran.found) - _MOST_TREES
    rest = f"<p>and {shown(more)} more</p>" if more > 0 else ""
    return page(*told) + rest
