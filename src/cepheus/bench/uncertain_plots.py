"""Figures 6 to 9 and 11 of the paper on uncertainty, drawn."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from cepheus.bench.uncertain_accuracy import AccuracyCurve
from cepheus.bench.uncertain_overhead import OverheadPoint


def draw_costs(points: Sequence[OverheadPoint]) -> Figure:
    """Draw figures 6 to 9: the cost of an event against the share of uncertain ones."""
    names = list(dict.fromkeys(point.operator for point in points))
    figure = Figure(figsize=(9, 5.4), facecolor="white", layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for panel, name in zip(panels, names, strict=False):
        for part in dict.fromkeys(point.part for point in points if point.operator == name):
            line = [point for point in points if (point.operator, point.part) == (name, part)]
            label = "" if line[0].figure == 6 else f"{part:.0%}"
            panel.plot([100 * p.share for p in line], [p.batch_microseconds for p in line], marker="o", label=label)
        panel.set_title(name)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("uncertain events, %")
        panel.set_ylabel("CPU us per event")
        if name != "selection":
            panel.legend(frameon=False, title="of the first type")
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return figure


def draw_accuracy(curves: Sequence[AccuracyCurve]) -> Figure:
    """Draw figure 11: accuracy against the threshold, and true against false positives."""
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
