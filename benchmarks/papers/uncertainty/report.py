"""What was measured of uncertainty, as tables and requirements."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.uncertainty.accuracy import AccuracyCurve
from benchmarks.papers.uncertainty.certain import MOST, PlainPoint
from benchmarks.papers.uncertainty.overhead import OPERATORS, OverheadPoint, overheads
from benchmarks.reports.bars import Bar
from benchmarks.reports.numbers import microseconds

CERTAIN_TEXT = (
    "The rules of the next section over certain events, in batches of 250 and one by one. An engine that is ready for "
    "uncertain events hands certain ones to a plain engine. The two are fed by turns, the plain one directly: it is "
    "the same object, so that nothing differs but the look at what comes. Of each batch and each single event the "
    "shortest time of many runs counts."
)
UNCERTAIN_TEXT = (
    "1000 rules of each kind as in section 6.1 of the paper: 10 event types, 100 constants, windows of 5 min, errors "
    "N(0, 1) on every number of an uncertain event. The paper does not state its rate of events; here it is one a "
    "second. Rules have min probability 0.5001, so that about as many composite events come out whatever the share of "
    "uncertain events. With no uncertain event the engine is the plain one. Batches of 250 events are measured in CPU "
    "time, the shortest of each batch in several runs, the shares of uncertain events by turns; single events on the "
    "wall clock, up to their composite events as Python objects. Rules are written anew when an attribute of a type is "
    "found to be uncertain for the first time, which takes the time of a deployment; that is not measured here.",
    "Memory is that of the arrays with stored events, as in section 6.1.5 for combinations where nearly all events are "
    "stored. Here an event takes more room with the errors of its attributes: their kind and two numbers each.",
)
ACCURACY_TEXT = (
    "Events with true values are the oracle; the same events with measurement errors go to the plain "
    "engine and, with the distributions of the errors, to the one that knows of uncertainty. A composite event is "
    "accepted if its probability (and that of what it was made of) reaches the threshold. As events are drawn, so is "
    "the place of the maximum: it counts as 0.5 if accuracy there is lower by no more than chance explains."
)
COST_COLUMNS = (
    "figure",
    "<rules",
    "first type",
    "uncertain",
    "composite events",
    "batch: CPU us per event",
    "single: mean us",
    "single: p99 us",
)
MEMORY_COLUMNS = ("<rules", "first type", "none uncertain: bytes", "all uncertain: bytes", "more")
PLAIN_COLUMNS = (
    "<rules",
    "batch: plain us",
    "batch: ready us",
    "more",
    "single: plain us",
    "single: ready us",
    "more",
)
ACCURACY_COLUMNS = ("<scenario", "plain engine", "at 0.5", "best", "at threshold", "least")
_LEAST = 0.8
_MOST_OFF = 0.005
"""What the paper reports for all scenarios and thresholds."""


def plain_cells(points: Sequence[PlainPoint]) -> tuple[tuple[str, ...], ...]:
    """Give the rows of the table of certain events."""
    return tuple(
        (
            point.operator,
            f"{point.batch_plain:.3f}",
            f"{point.batch_ready:.3f}",
            f"{point.batch_overhead:+.1%}",
            f"{point.single_plain:.2f}",
            f"{point.single_ready:.2f}",
            f"{point.single_overhead:+.1%}",
        )
        for point in points
    )


def cost_cells(points: Sequence[OverheadPoint]) -> tuple[tuple[str, ...], ...]:
    """Give the rows of the table of costs."""
    return tuple(
        (
            str(point.figure),
            point.operator,
            f"{point.part:.0%}" if point.figure > 6 else "",
            f"{point.share:.0%}",
            f"{point.composites:,}",
            microseconds(point.batch_microseconds),
            microseconds(point.singly.mean),
            microseconds(point.singly.p99),
        )
        for point in points
    )


def memory_cells(points: Sequence[OverheadPoint]) -> tuple[tuple[str, ...], ...]:
    """Give the rows of the table of memory: combinations, where few events are of the first type."""
    held = {(point.operator, point.part, point.share): point.bytes_held for point in points if point.figure == 7}
    least = min((part for _, part, _ in held), default=0.0)
    return tuple(
        (
            operator,
            f"{part:.0%}",
            f"{none:,}",
            f"{held[operator, part, 1.0]:,}",
            f"{held[operator, part, 1.0] / none - 1:+.0%}",
        )
        for (operator, part, share), none in held.items()
        if share == 0.0 and part == least
    )


def accuracy_cells(curves: Sequence[AccuracyCurve]) -> tuple[tuple[str, ...], ...]:
    """Give the rows of the table of accuracies."""
    return tuple(
        (
            curve.scenario,
            f"{curve.plain_accuracy:.4f}",
            f"{curve.at(0.5):.4f}",
            f"{max(curve.accuracy):.4f}",
            f"{curve.best_threshold:.2f}",
            f"{min(curve.accuracy):.4f}",
        )
        for curve in curves
    )


def certain_bars(points: Sequence[PlainPoint]) -> list[Bar]:
    """Judge the cost of certain events."""
    return [
        Bar(
            f"{point.operator}: no event uncertain, {how}",
            f"within {MOST:.0%} of the plain engine",
            f"{overhead:+.1%}",
            overhead <= MOST,
        )
        for point in points
        for how, overhead in (("in batches", point.batch_overhead), ("one by one", point.single_overhead))
    ]


def uncertain_bars(points: Sequence[OverheadPoint]) -> list[Bar]:
    """Judge the cost of uncertain events."""
    most = {operator.name: operator.most for operator in OPERATORS}
    return [
        Bar(
            f"{operator}{'' if operator == 'selection' else f', {part:.0%} of the first type'}: all events uncertain",
            f"under {most[operator]:.0%} more than none",
            f"{overhead:+.0%}",
            overhead < most[operator],
        )
        for (operator, part), overhead in overheads(points).items()
    ]


def accuracy_bars(curves: Sequence[AccuracyCurve]) -> list[Bar]:
    """Judge accuracies."""
    return [
        Bar(
            f"accuracy, {curve.scenario}",
            "greatest at 0.5, up to chance, where it is that of the plain engine; above 0.8 everywhere",
            f"{curve.at(0.5):.4f} at 0.5, {curve.plain_accuracy:.4f} plain, "
            f"best {max(curve.accuracy):.4f} at {curve.best_threshold:.2f}, least {min(curve.accuracy):.4f}",
            curve.at(0.5) == curve.plain_accuracy
            and max(curve.accuracy) - curve.at(0.5) <= min(curve.by_chance, _MOST_OFF)
            and min(curve.accuracy) > _LEAST,
        )
        for curve in curves
    ]
