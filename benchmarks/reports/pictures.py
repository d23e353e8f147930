"""How pictures look, and SVG files of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType  # newer than the oldest Matplotlib that will do

    from benchmarks.reports.section import Section

_INK, _QUIET, _GRID = "#1f2a37", "#64748b", "#e2e8f0"
COLOURS = {
    "columns": "#1d6fb8",
    "automata": "#e2711d",
    "device": "#7c3aed",
    "ours": "#1d6fb8",
    "polars": "#0f766e",
    "duckdb": "#eab308",
}
SERIES = ("#1d6fb8", "#e2711d", "#0f766e", "#eab308")
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


def draw_pictures(section: Section, folder: Path) -> list[Path]:
    """Draw what a section shows; give the files written into the folder."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(_STYLE):
        return [_save(picture.draw(), folder / picture.name) for picture in section.pictures]


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    path.write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()), encoding="utf-8")
    return path


def axes_of(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure of a size in inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def from_zero(axes: Axes) -> None:
    """Let the vertical axis begin at zero and end a little above what is drawn, also if that is a level line."""
    axes.set_ylim(0, 1.08 * axes.dataLim.ymax)
