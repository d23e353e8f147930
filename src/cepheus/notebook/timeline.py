"""Events over time as a picture: a lane for each type from outside, above them what was found."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from cepheus.core.batch import EventBatch, IntArray
from cepheus.core.time import DAY, HOUR, MINUTE, SECOND, WEEK, format_duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MARKS = 20_000
"""A lane with more events than this is drawn as a band of how many there are in each of many stretches of time."""

_MARKS = ("#c2255c", "#e2711d", "#7c3aed", "#0f766e", "#1d6fb8")
_QUIET, _GRID, _READING = "#64748b", "#e2e8f0", "#7d93ab"
_STEPS = (SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, DAY, WEEK)
_STRETCHES = 600


@dataclass(frozen=True, slots=True)
class Timeline:
    """A picture of events over time; notebooks show it, ``save`` writes it to a PNG, SVG or PDF file."""

    figure: Figure

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to a file, whose ending says the format."""
        self.figure.savefig(path, dpi=150)

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.figure.savefig(written, format="png", dpi=110)
        return written.getvalue()


def draw_timeline(sources: Sequence[EventBatch], found: EventBatch, title: str = "") -> Timeline:
    """Draw the events from outside, a lane for each of their types, and what was found in them."""
    from matplotlib.figure import Figure

    outside = _by_type(sources)
    made = _by_type([found])
    lanes = [*((name, times, True) for name, times in made.items()), *((n, t, False) for n, t in outside.items())]
    figure = Figure(figsize=(11, 1.1 + 0.36 * max(len(lanes), 1)), layout="constrained", facecolor="white")
    axes = figure.subplots()
    for row, (_, times, composite) in enumerate(reversed(lanes)):
        _draw_lane(axes, row, times, _MARKS[(len(lanes) - 1 - row) % len(_MARKS)] if composite else None)
    labels = [f"{name} ({len(times):,})" for name, times, _ in reversed(lanes)]
    axes.set_yticks(range(len(lanes)), labels)
    axes.set_ylim(-0.6, max(len(lanes) - 0.4, 0.6))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    if title:
        axes.set_title(title, loc="left")
    if lanes:
        _time_axis(axes, np.concatenate([times for _, times, _ in lanes]))
    return Timeline(figure)


def _by_type(batches: Sequence[EventBatch]) -> dict[str, IntArray]:
    found: dict[str, list[IntArray]] = {}
    for batch in batches:
        for code, name in enumerate(batch.types):
            times = batch.times[batch.codes == code]
            if len(times):
                found.setdefault(name, []).append(times)
    return {name: np.concatenate(parts) for name, parts in sorted(found.items())}


def _draw_lane(axes: Axes, row: int, times: IntArray, mark: str | None) -> None:
    axes.axhline(row, color=_GRID, linewidth=0.8, zorder=1)
    if mark is not None:
        axes.scatter(times / SECOND, np.full(len(times), row), s=28, marker="D", color=mark, linewidths=0, zorder=3)
    elif len(times) <= MOST_MARKS:
        axes.vlines(times / SECOND, row - 0.3, row + 0.3, color=_READING, linewidth=0.7, rasterized=True)
    else:
        counts, edges = np.histogram(times / SECOND, bins=_STRETCHES)
        heights = 0.6 * counts / max(counts.max(), 1)
        axes.bar(edges[:-1], heights, np.diff(edges), bottom=row - 0.3, align="edge", color=_READING, linewidth=0)


def _time_axis(axes: Axes, times: IntArray) -> None:
    first, last = int(times.min()), int(times.max())
    margin = max((last - first) // 60, 1)
    step = next((step for step in _STEPS if (last - first) // step <= 10), None)
    axes.set_xlim((first - margin) / SECOND, (last + margin) / SECOND)
    if step is None or last == first:
        axes.set_xlabel(f"from {_moment(first)} for {format_duration(max(last - first, 0))}", color=_QUIET)
        return
    ticks = range(first - first % step, last + step, step)
    form = "%d %b" if step >= DAY else "%H:%M" if step >= MINUTE else "%H:%M:%S"
    axes.set_xticks([tick / SECOND for tick in ticks], [f"{_utc(tick):{form}}" for tick in ticks])
    axes.set_xlim((first - margin) / SECOND, (last + margin) / SECOND)
    axes.set_xlabel(f"{_moment(first)}, UTC", color=_QUIET)


def _utc(time: int) -> datetime:
    return datetime.fromtimestamp(time // SECOND, UTC)


def _moment(time: int) -> str:
    return f"{_utc(time):%d %B %Y}".lstrip("0")
