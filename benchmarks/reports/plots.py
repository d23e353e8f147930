"""Pictures of what was measured, as SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.growth.footprint import Footprint
from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.papers.etalis.stock_ticker import StockMeasured
from benchmarks.papers.overview.figure6 import Figure6Point
from benchmarks.papers.overview.figure7 import Figure7Point
from benchmarks.papers.uncertainty.bayes import Figure12Point
from benchmarks.papers.uncertainty.plots import draw_accuracy, draw_costs, draw_singly
from benchmarks.peers.compare import PeerRow
from benchmarks.suite import Measured

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType  # newer than the oldest Matplotlib that will do

_INK, _QUIET, _GRID = "#1f2a37", "#64748b", "#e2e8f0"
_COLOURS = {
    "columns": "#1d6fb8",
    "automata": "#e2711d",
    "ours": "#1d6fb8",
    "polars": "#0f766e",
    "duckdb": "#eab308",
}
_SERIES = ("#1d6fb8", "#e2711d", "#0f766e", "#eab308")
_LINES = {"each": "-", "last": "--"}
_STYLE: dict[RcKeyType, object] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _QUIET,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
    "svg.hashsalt": "cepheus",  # the same picture gives the same file
}


def draw(measured: Measured, folder: Path) -> list[Path]:
    """Draw every part that was measured; give the files written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(_STYLE):
        if measured.peers is not None:
            written.append(_save(_peers(measured.peers), folder / "bench-peers.svg"))
        if measured.figure6 is not None:
            written.append(_save(_figure6(measured.figure6), folder / "bench-figure6.svg"))
        if measured.figure7 is not None:
            written.append(_save(_figure7(measured.figure7), folder / "bench-figure7.svg"))
        if measured.growth is not None:
            written.append(_save(_memory(measured.growth.footprint), folder / "bench-memory.svg"))
        if measured.uncertain is not None:
            written.append(_save(draw_costs(measured.uncertain), folder / "bench-uncertain.svg"))
            written.append(_save(draw_singly(measured.uncertain), folder / "bench-uncertain-singly.svg"))
        if measured.accuracy is not None:
            written.append(_save(draw_accuracy(measured.accuracy), folder / "bench-accuracy.svg"))
        if measured.figure12 is not None:
            written.append(_save(_figure12(measured.figure12), folder / "bench-figure12.svg"))
        if measured.stock is not None:
            written.append(_save(_stock_rates(measured.stock), folder / "bench-stock-rates.svg"))
            written.append(_save(_stock_memory(measured.stock), folder / "bench-stock-memory.svg"))
    return written


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    path.write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()), encoding="utf-8")
    return path


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _peers(rows: Sequence[PeerRow]) -> Figure:
    """Dots for each question, on a scale that has no zero: ours, and the best formulation of each baseline."""
    figure, axes = _axes(8, 1 + 0.4 * len(rows))
    places: dict[str, list[int]] = {}
    rates: dict[str, list[float]] = {}
    for place, row in enumerate(rows):
        fastest = {"ours": row.events / row.whole.cpu}
        for each in row.baselines:
            fastest[each.name] = max(fastest.get(each.name, 0.0), row.events / each.timing.cpu)
        for name, rate in fastest.items():
            places.setdefault(name, []).append(place)
            rates.setdefault(name, []).append(rate / 1e6)
    for name, values in rates.items():
        size = 70 if name == "ours" else 40
        axes.scatter(values, places[name], s=size, color=_COLOURS[name], label=name, zorder=3)
    axes.set_yticks(range(len(rows)), [f"{row.workload}, {row.coding.value}" for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("million events per second of CPU time, one thread")
    axes.legend(frameon=False)
    return figure


def _figure6(points: Sequence[Figure6Point]) -> Figure:
    figure, axes = _axes(7, 4)
    for engine, selection in dict.fromkeys((point.engine, point.selection) for point in points):
        line = [point for point in points if (point.engine, point.selection) == (engine, selection)]
        axes.plot(
            [point.length for point in line],
            [point.batch_microseconds for point in line],
            _LINES[selection],
            color=_COLOURS[engine],
            marker="o",
            label=f"{engine}, {selection}-within",
        )
    axes.set_xticks(sorted({point.length for point in points}))
    axes.set_xlabel("length of sequences")
    axes.set_ylabel("CPU time per event, microseconds")
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return figure


def _figure7(points: Sequence[Figure7Point]) -> Figure:
    figure, axes = _axes(7, 4.4)
    for engine, selection, compared in dict.fromkeys((p.engine, p.selection, p.compared) for p in points):
        line = [p for p in points if (p.engine, p.selection, p.compared) == (engine, selection, compared)]
        axes.plot(
            [point.per_state for point in line],
            [point.batch_microseconds for point in line],
            _LINES[selection] if compared else ":",
            color=_COLOURS[engine],
            marker="o",
            markersize=4,
            label=f"{engine}, {selection}-within" + ("" if compared else ", not compared"),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("events per state in the window")
    axes.set_ylabel("CPU time per event, microseconds")
    axes.legend(frameon=False)
    return figure


def _from_zero(axes: Axes) -> None:
    """Let the vertical axis begin at zero and end a little above what is drawn, also if that is a level line."""
    axes.set_ylim(0, 1.08 * axes.dataLim.ymax)


def _figure12(points: Sequence[Figure12Point]) -> Figure:
    figure, axes = _axes(7, 3.6)
    added = [point.added for point in points]
    times = {
        "one table edited, evaluation": ([point.evaluated.mean for point in points], "columns", "-"),
        "the edit included": ([point.edited.mean for point in points], "columns", "--"),
        "all tables changed": ([point.renewed.mean for point in points], "polars", "-"),
    }
    if all(point.pyagrum is not None for point in points):
        times["pyAgrum"] = ([point.pyagrum.mean for point in points if point.pyagrum is not None], "automata", "-")
    for label, (means, colour, line) in times.items():
        axes.plot(added, [mean / 1000 for mean in means], line, color=_COLOURS[colour], marker="o", ms=4, label=label)
    _from_zero(axes)
    axes.set_xlabel("added nodes")
    axes.set_ylabel("milliseconds")
    axes.legend(frameon=False)
    return figure


def _memory(footprint: Footprint) -> Figure:
    figure, axes = _axes(7, 3.2)
    axes.plot(
        [passed / 1e6 for passed, _ in footprint.flow],
        [size / MEBIBYTE for _, size in footprint.flow],
        marker="o",
        color=_COLOURS["columns"],
    )
    _from_zero(axes)
    axes.set_xlabel("million events")
    axes.set_ylabel("resident memory, MiB")
    return figure


def _stock_rates(measured: StockMeasured) -> Figure:
    figure, axes = _axes(7, 4)
    for policy, colour in zip(dict.fromkeys(point.policy for point in measured.points), _SERIES, strict=False):
        line = [point for point in measured.points if point.policy == policy]
        rates = [point.events / point.cpu / 1000 for point in line]
        axes.plot([point.events for point in line], rates, color=colour, marker="o", ms=4, label=policy)
    _from_zero(axes)
    axes.set_xlabel("events in the stream")
    axes.set_ylabel("thousand events per second of CPU time")
    axes.legend(frameon=False)
    return figure


def _stock_memory(measured: StockMeasured) -> Figure:
    figure, axes = _axes(7, 3.2)
    for flow, colour in zip(measured.flows, _SERIES, strict=False):
        passed = [events / 1e6 for events, _ in flow.flow]
        memory = [resident / MEBIBYTE for _, resident in flow.flow]
        axes.plot(passed, memory, color=colour, marker="o", ms=4, label=flow.policy)
    _from_zero(axes)
    axes.set_xlabel("million events passed")
    axes.set_ylabel("MiB")
    axes.legend(frameon=False)
    return figure
