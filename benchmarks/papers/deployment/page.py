"""Writes the page of the experiments: each figure, our curves drawn, and the papers' sentences beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.papers.claims.judging import Interval
from benchmarks.papers.claims.model import Samples
from benchmarks.papers.claims.page import verdict_table
from benchmarks.papers.deployment.command import Reading, judged
from benchmarks.papers.deployment.figures import FIGURES, FULL, FigurePlan, base_of
from benchmarks.papers.deployment.sweep import Curves, curves
from cepheus.core.errors import OptionError
from cepheus.runtime.network.protocol.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType  # newer than the oldest Matplotlib that will do

NAME = "network-experiments.md"
_MARK = "<!-- figure: {} -->"
_BEGIN = "<!-- figures -->"
_STYLE: dict[RcKeyType, object] = {
    "font.size": 12,  # to be read on a phone, too
    "svg.hashsalt": "cepheus",  # the same picture gives the same file
}
_COLOURS = {
    Strategy.CENTR: "#64748b",
    Strategy.ST: "#1d6fb8",
    Strategy.ST_PP: "#60a5fa",
    Strategy.MT: "#e2711d",
    Strategy.MT_PP: "#fbbf24",
}


def write_page(docs: Path, figures: Sequence[str], samples: Samples) -> list[Path]:
    """Put figures into the page, in place of earlier runs of the same; give the files written."""
    page = docs / NAME
    if not page.exists():
        raise OptionError.of("file", f"there is no '{page}'", hint="name the folder of the documentation with --docs")
    head, _, body = page.read_text(encoding="utf-8").partition(_BEGIN)
    pieces = re.split(r"<!-- figure: (\w+) -->\n", body)[1:]
    sections = dict(zip(pieces[::2], pieces[1::2], strict=True))
    written = []
    for name in figures:
        found = curves(FIGURES[name], FULL, samples)
        if not found.traffic:  # nothing of it has been run
            sections.pop(name, None)
            continue
        written.append(draw_figure(FIGURES[name], found, docs / "images" / f"deployment-{name}.svg"))
        sections[name] = _section(found, samples)
    ordered = [f"{_MARK.format(name)}\n{sections[name].strip()}\n" for name in FIGURES if name in sections]
    page.write_text("\n".join([f"{head}{_BEGIN}\n", *ordered]), encoding="utf-8")
    return [page, *written]


def _section(found: Curves, samples: Samples) -> str:
    plan = FIGURES[found.figure]
    title = plan.title if found.figure == "rules" else f"Figure {found.figure}: {plan.title.lower()}"
    lines = [f"## {title}", "", f"![{plan.title}: delay and traffic](images/deployment-{found.figure}.svg)", ""]
    lines += [*_table(found), "", *verdict_table(judged(found.figure, Reading(), samples))]
    command = f"cepheus bench deployment --figure {found.figure} --seeds {found.seeds}"
    lines += ["", f"*Run with `{command}`.*"]
    other = curves(plan, base_of(exponential=True), samples)
    if other.traffic and found.figure != "rules":
        lines += ["", "With exponential rates:", "", *_table(other), ""]
        lines += verdict_table(judged(found.figure, Reading(exponential=True), samples))
        lines += [
            "",
            f"*Run with `cepheus bench deployment --figure {found.figure} --exponential --seeds {other.seeds}`.*",
        ]
    return "\n".join(lines)


def _table(found: Curves) -> list[str]:
    """Traffic and delay of every strategy at every point."""
    plan = FIGURES[found.figure]
    names = [strategy.value for strategy in found.strategies]
    lines = [f"| {plan.axis or 'traffic, delay'} | {' | '.join(names)} |", f"|--:|{'--:|' * len(names)}"]
    for x in found.xs:
        cells = [f"{found.traffic_words(s, x)}, {found.delay_words(s, x)}" for s in found.strategies]
        lines.append(f"| {f'{x:g}' if plan.axis else ''} | {' | '.join(cells)} |")
    return lines


def draw_figure(plan: FigurePlan, found: Curves, path: Path) -> Path:
    """Draw a figure into an SVG file: traffic and delay over what is varied, with confidence intervals.

    A point is hollow if it stands for fewer runs than there are seeds, and missing if it stands for none.
    """
    with mpl.rc_context(_STYLE):
        drawing = Figure(figsize=(8.4, 3.9), layout="constrained")
        left, right = drawing.subplots(1, 2)
        _panel(left, plan, found, found.delay, "delay (ms)")
        _panel(right, plan, found, found.traffic, "traffic (messages/s)")
        if len(found.xs) > 1:
            lines, names = right.get_legend_handles_labels()
            drawing.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
        drawing.suptitle(f"{plan.title}", fontsize=13)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.savefig(path, metadata={"Date": None})
    return path


def _panel(
    axes: Axes, plan: FigurePlan, shown: Curves, values: dict[tuple[Strategy, float], Interval], label: str
) -> None:
    axes.set_ylabel(label)
    axes.grid(visible=True, color="#e2e8f0")
    axes.set_axisbelow(True)
    if len(shown.xs) == 1:
        (x,) = shown.xs
        found = [(strategy, values[strategy, x]) for strategy in shown.strategies if (strategy, x) in values]
        axes.bar(
            [strategy.value for strategy, _ in found],
            [estimate.mean for _, estimate in found],
            yerr=[estimate.high - estimate.mean for _, estimate in found],
            color=[_COLOURS[strategy] for strategy, _ in found],
        )
        return
    for strategy in shown.strategies:
        found_at = {x: values[strategy, x] for x in shown.xs if (strategy, x) in values}
        axes.errorbar(
            list(found_at),
            [estimate.mean for estimate in found_at.values()],
            yerr=[estimate.high - estimate.mean for estimate in found_at.values()],
            color=_COLOURS[strategy],
            label=strategy.value,
            marker="o",
            markersize=3,
            capsize=2,
        )
        few = {x: at.mean for x, at in found_at.items() if at.runs < shown.traffic[strategy, x].runs}
        colour = _COLOURS[strategy]
        axes.plot([*few], [*few.values()], "o", color=colour, markerfacecolor="white", markersize=5, zorder=3)
    axes.set_xlabel(plan.axis)
    axes.set_ylim(bottom=0)
    if plan.logarithmic:
        axes.set_xscale("log")
