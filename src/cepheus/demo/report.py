"""What the demo shows: what was found in each staged incident and why, as text and as a picture over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from cepheus.core.display import shown
from cepheus.core.event import Event, EventId
from cepheus.core.time import DAY, HOUR, MINUTE, SECOND
from cepheus.core.values import Value, as_float
from cepheus.demo.scenario import Incident, Lane, Scenario, Stream
from cepheus.explain.asked import Asked
from cepheus.explain.reasons import reasons, reasons_tree

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType  # newer than the oldest Matplotlib that will do


def incident_table(stream: Stream, found: Sequence[Event]) -> Table:
    """For each staged incident, what was found and whether that is what should be found."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("staged", "from", "to", "found", ""):
        table.add_column(heading)
    for incident in stream.incidents:
        table.add_row(incident.title, clock(incident.start), clock(incident.end), *_verdict(incident, found))
    stray = [event for event in found if not any(_during(incident, event) for incident in stream.incidents)]
    table.add_row("all the rest", "", "", _counted(stray), _mark(not stray))
    return table


def found_table(scenario: Scenario, found: Sequence[Event]) -> Table:
    """List the composite events by rule: how many, where, the first and the last."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("rule", "composite event", "times", "first", "last", scenario.place):
        table.add_column(heading, justify="right" if heading == "times" else "left")
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in found:
        groups.setdefault((event.rule or "", event.type), []).append(event)
    for (rule, kind), events in sorted(groups.items()):
        places = _in_order({event.attributes.get(scenario.place) for event in events})
        table.add_row(
            rule,
            Text(kind, "bold cyan"),
            str(len(events)),
            clock(events[0].time),
            clock(events[-1].time),
            ", ".join(places),
        )
    return table


def why(event: Event, known: Mapping[EventId, Event], asked: Asked) -> Tree:
    """Show what a composite event was made of, down to the primitive events, and what else had to hold."""
    return reasons_tree(reasons(event, known, asked), clock)


def first_of_each(found: Sequence[Event]) -> list[Event]:
    """Choose the composite events to explain: the first of each type, in order of time."""
    chosen: dict[str, Event] = {}
    for event in found:
        chosen.setdefault(event.type, event)
    return list(chosen.values())


def known_events(stream: Stream, found: Sequence[Event]) -> dict[EventId, Event]:
    """All events by what provenance calls them: primitive ones by position, composite ones by id."""
    known: dict[EventId, Event] = dict(enumerate(stream.events))
    known.update((event.id, event) for event in found if event.id is not None)
    return known


def clock(time: int) -> str:
    """Write a time of day.

    >>> clock(3_661_000_000)
    '01:01:01'
    """
    return f"{datetime.fromtimestamp(time // SECOND, UTC):%H:%M:%S}"


def _in_order(places: set[Value | None]) -> list[str]:
    """Sort places, as texts: numbers by size, names by alphabet."""
    numbers = sorted(place for place in places if isinstance(place, int | float))
    return [*map(shown, numbers), *sorted(place for place in places if isinstance(place, str))]


def _during(incident: Incident, event: Event) -> bool:
    return incident.start <= event.time <= incident.end


def _verdict(incident: Incident, found: Sequence[Event]) -> tuple[str, Text]:
    inside = [event for event in found if _during(incident, event)]
    return _counted(inside), _mark({event.type for event in inside} == set(incident.finds))


def _counted(events: Sequence[Event]) -> str:
    counts = Counter(event.type for event in events)
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())) or "nothing"


def _mark(right: bool) -> Text:
    return Text("as it should be", "green") if right else Text("not as it should be", "bold red")


_INK, _QUIET, _GRID = "#1f2a37", "#64748b", "#e2e8f0"
_READING, _BEYOND, _LIMIT = "#9db2c8", "#e2711d", "#0f766e"
_TROUBLE, _DECOY = "#fde2dc", "#e6edf5"
_STEPS = (15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 12 * HOUR)  # between labels of the time axis
_MARKS = ("#c2255c", "#e2711d", "#7c3aed", "#0f766e", "#1d6fb8")
_STYLE: dict[RcKeyType, object] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _QUIET,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
    "svg.hashsalt": "cepheus",  # the same picture gives the same file
}


def draw_timeline(scenario: Scenario, stream: Stream, found: Sequence[Event], folder: Path) -> tuple[Path, Path]:
    """Draw a scenario's events and what was found in them; give the PNG and SVG files written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{scenario.name}-timeline.png", folder / f"{scenario.name}-timeline.svg"
    with mpl.rc_context(_STYLE):
        figure = _figure(scenario, stream, found)
        figure.savefig(png, dpi=150, metadata={"Software": None})
        figure.savefig(svg, dpi=150, metadata={"Date": None, "Creator": None})
    return png, svg


def _figure(scenario: Scenario, stream: Stream, found: Sequence[Event]) -> Figure:
    kinds = sorted({event.type for event in found})
    heights = [lane.height for lane in scenario.lanes] + [0.34 * max(len(kinds), 1) + 0.2]
    layout = ConstrainedLayoutEngine(h_pad=0.03, hspace=0.02, rect=(0.005, 0.01, 0.985, 0.98))
    figure = Figure(figsize=(12, 1.9 + sum(heights)), facecolor="white", layout=layout)
    figure.suptitle(scenario.title, x=0.012, ha="left", fontsize=15, fontweight="bold")
    rows: list[Axes] = list(figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights}))
    for axes, lane in zip(rows, scenario.lanes, strict=False):
        _draw_lane(axes, lane, [event for event in stream.events if event.type == lane.type])
    _draw_found(rows[-1], kinds, found)
    for axes in rows:
        _shade(axes, stream.incidents)
        axes.set_facecolor("white")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0)
    _name_incidents(rows[0], stream.incidents)
    _time_axis(rows[-1], stream)
    return figure


def _moments(events: Sequence[Event]) -> NDArray[np.float64]:
    return np.array([_moment(event.time) for event in events])


def _moment(time: int) -> float:
    """Convert a time to days since the epoch, the unit of the time axis."""
    return time / DAY


def _draw_lane(axes: Axes, lane: Lane, events: Sequence[Event]) -> None:
    axes.set_ylabel(lane.label, rotation=90, labelpad=8)
    if lane.attribute is None:
        _draw_rows(axes, lane, events)
        return
    moments = _moments(events)
    values = np.array([as_float(event.attributes[lane.attribute] or 0) for event in events])
    beyond = np.zeros(len(values), bool)
    if lane.threshold is not None:
        falling = np.median(values) > lane.threshold
        beyond = values <= lane.threshold if falling else values > lane.threshold
        axes.axhline(lane.threshold, color=_LIMIT, linewidth=1, linestyle=(0, (5, 3)), zorder=3)
    axes.scatter(moments[~beyond], values[~beyond], s=1.6, color=_READING, linewidths=0, rasterized=True)
    axes.scatter(moments[beyond], values[beyond], s=9, color=_BEYOND, linewidths=0, zorder=4)
    axes.grid(axis="y", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _draw_rows(axes: Axes, lane: Lane, events: Sequence[Event]) -> None:
    """Draw a tick per event, one row for each place, so that a place where nothing happens shows as a gap."""
    places = sorted({str(event.attributes[lane.rows]) for event in events}) if lane.rows else [""]
    for row, place in enumerate(places):
        here = [event for event in events if not lane.rows or str(event.attributes[lane.rows]) == place]
        low = len(places) - 1 - row
        axes.vlines(_moments(here), low + 0.12, low + 0.88, color=_READING, linewidth=0.8, rasterized=True)
    axes.set_ylim(0, len(places))
    few = 1 < len(places) <= 8
    axes.set_yticks([len(places) - 0.5 - row for row in range(len(places))] if few else [], places if few else [])


def _draw_found(axes: Axes, kinds: Sequence[str], found: Sequence[Event]) -> None:
    labels = []
    for row, kind in enumerate(kinds):
        moments = _moments([event for event in found if event.type == kind])
        y = len(kinds) - 1 - row
        axes.axhline(y, color=_GRID, linewidth=0.8, zorder=1)
        colour = _MARKS[row % len(_MARKS)]
        axes.scatter(moments, np.full(len(moments), y), s=30, marker="D", color=colour, linewidths=0, zorder=3)
        labels.append(f"{kind} ({len(moments)})")
    axes.set_ylim(-0.6, max(len(kinds) - 0.4, 0.6))
    axes.set_yticks(range(len(kinds)), [*reversed(labels)])
    axes.tick_params(axis="y", labelcolor=_INK)


def _shade(axes: Axes, incidents: Sequence[Incident]) -> None:
    for incident in incidents:
        colour = _TROUBLE if incident.finds else _DECOY
        axes.axvspan(_moment(incident.start), _moment(incident.end), color=colour, linewidth=0, zorder=0)


def _name_incidents(axes: Axes, incidents: Sequence[Incident]) -> None:
    for incident in incidents:
        middle = (_moment(incident.start) + _moment(incident.end)) / 2
        suffix = "" if incident.finds else "\n(no trouble)"
        axes.annotate(
            incident.title + suffix, (middle, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 6),
            textcoords="offset points", ha="center", va="bottom", fontsize=9,
            color="#b4232a" if incident.finds else _QUIET,
        )  # fmt: skip


def _time_axis(axes: Axes, stream: Stream) -> None:
    first, last = stream.events[0].time, stream.events[-1].time
    step = next((step for step in _STEPS if (last - first) // step <= 12), DAY)
    ticks = range(first - first % step + step, last, step)
    axes.set_xticks([_moment(tick) for tick in ticks], [f"{_utc(tick):%H:%M}" for tick in ticks])
    axes.set_xlim(_moment(first), _moment(last))
    axes.set_xlabel(f"{_utc(first):%d %B %Y}, UTC".lstrip("0"))


def _utc(time: int) -> datetime:
    return datetime.fromtimestamp(time // SECOND, UTC)
