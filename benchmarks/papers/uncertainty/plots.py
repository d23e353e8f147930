"""Figures 6 to 9, 11 and 12 of the paper on uncertainty, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.papers.claims.model import Samples
from benchmarks.papers.uncertainty.accuracy import AccuracyCurve
from benchmarks.papers.uncertainty.bayes import Figure12Point
from benchmarks.papers.uncertainty.overhead import Case, Cost, name_of
from benchmarks.reports.pictures import COLOURS, axes_of, from_zero

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MIXTURES = ("#1d6fb8", "#e2711d", "#0f766e")


def draw_costs(costs: Sequence[Cost], samples: Samples) -> Figure:
    """Draw figures 6 to 9: mean (solid) and 99th percentile (dashed) of single events against the share uncertain."""
    from matplotlib.figure import Figure

    printed = [workload for workload in dict.fromkeys(cost.workload for cost in costs) if not workload.threshold]
    names = list(dict.fromkeys(workload.operator.name for workload in printed))
    figure = Figure(figsize=(9, 5.4), facecolor="white", layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    shares = {Case.PLAIN: 0, Case.HALF: 50, Case.ALL: 100}
    for panel, name in zip(panels, names, strict=False):
        own = [workload for workload in printed if workload.operator.name == name]
        for workload, colour in zip(own, _MIXTURES, strict=False):
            for style, measure in (("-", "mean"), ("--", "p99")):
                runs = [samples[name_of(measure, workload, case.value)].values() for case in shares]
                heights = [sum(each) / len(each) for each in runs]
                told = f"{workload.part:.0%}" if style == "-" else None
                panel.plot([*shares.values()], heights, style, marker="o", markersize=3, color=colour, label=told)
        panel.set_title(name)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("uncertain events, %")
        panel.set_ylabel("us: mean, p99 dashed")
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    lines = panels[len(names) - 1].get_legend_handles_labels()
    panels[-1].legend(*lines, frameon=False, loc="center", title="events of the first\ntype of the rules")
    return figure


def draw_accuracy(curves: Sequence[AccuracyCurve]) -> Figure:
    """Draw figure 11: accuracy against the threshold, and true against false positives."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.6 * len(curves)), facecolor="white", layout="constrained")
    panels = figure.subplots(len(curves), 2, squeeze=False)
    for (left, right), curve in zip(panels, curves, strict=True):
        left.plot(curve.thresholds, curve.accuracy, label="with uncertainty")
        left.axhline(curve.plain_accuracy, linestyle="--", color="#64748b", label="plain")
        left.set_title(curve.scenario)
        left.set_xlabel("threshold")
        left.set_ylabel("accuracy")
        left.legend(frameon=False)
        right.plot(curve.false_positives, curve.true_positives)
        right.plot([0, 1], [0, 1], linestyle=":", color="#64748b")
        right.plot(*reversed(curve.plain_rates), "o", color="#64748b")
        right.set_xlabel("rate of false positives")
        right.set_ylabel("rate of true positives")
    return figure


def draw_networks(points: Sequence[Figure12Point]) -> Figure:
    """Draw figure 12: the time to evaluate a network against the nodes added to it."""
    figure, axes = axes_of(7, 3.6)
    added = [point.added for point in points]
    times = {
        "one table edited, evaluation": ([point.evaluated.mean for point in points], "columns", "-"),
        "the edit included": ([point.edited.mean for point in points], "columns", "--"),
        "all tables drawn anew": ([point.renewed.mean for point in points], "polars", "-"),
    }
    if all(point.pyagrum is not None for point in points):
        times["pyAgrum"] = ([point.pyagrum.mean for point in points if point.pyagrum is not None], "automata", "-")
    for label, (means, colour, line) in times.items():
        axes.plot(added, [mean / 1000 for mean in means], line, color=COLOURS[colour], marker="o", ms=4, label=label)
    from_zero(axes)
    axes.set_xlabel("added nodes")
    axes.set_ylabel("milliseconds")
    axes.legend(frameon=False)
    return figure
