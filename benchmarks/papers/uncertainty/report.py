"""What was measured of uncertainty, as tables and requirements."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.uncertainty.accuracy import AccuracyCurve
from benchmarks.papers.uncertainty.bayes import REQUIRED_NODES, Figure12Point
from benchmarks.papers.uncertainty.certain import MOST, PlainPoint
from benchmarks.papers.uncertainty.overhead import OPERATORS, OverheadPoint, overheads
from benchmarks.papers.uncertainty.plots import draw_accuracy, draw_costs, draw_networks, draw_singly
from benchmarks.reports.section import Bar, Part, Picture, Section, Table, judge, microseconds

MOST_EVALUATION = 500.0
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


def certain_section(points: Sequence[PlainPoint], *, judged: bool) -> Section:
    """Report on certain events."""
    return Section(
        Part.CERTAIN,
        "Certain events in an engine that is ready for uncertain ones",
        (CERTAIN_TEXT,),
        (Table("Certain events", PLAIN_COLUMNS, plain_cells(points)),),
        judge(certain_bars(points), judged=judged),
    )


def uncertain_section(points: Sequence[OverheadPoint], *, judged: bool) -> Section:
    """Report on the cost of uncertain events."""
    return Section(
        Part.UNCERTAIN,
        "Uncertain events (figures 6 to 9 of the paper on uncertainty)",
        UNCERTAIN_TEXT,
        (
            Table("Cost per event", COST_COLUMNS, cost_cells(points)),
            Table("Memory", MEMORY_COLUMNS, memory_cells(points)),
        ),
        judge(uncertain_bars(points), judged=judged),
        (
            Picture(
                "bench-uncertain.svg",
                "CPU time per event in batches against the share of uncertain events",
                lambda: draw_costs(points),
            ),
            Picture(
                "bench-uncertain-singly.svg",
                "Mean and 99th percentile of the time of a single event",
                lambda: draw_singly(points),
            ),
        ),
    )


def accuracy_section(curves: Sequence[AccuracyCurve], *, judged: bool) -> Section:
    """Report on how often the engine is right."""
    return Section(
        Part.ACCURACY,
        "Accuracy (figure 11 of the paper on uncertainty)",
        (ACCURACY_TEXT,),
        (Table("Accuracy", ACCURACY_COLUMNS, accuracy_cells(curves)),),
        judge(accuracy_bars(curves), judged=judged),
        (
            Picture(
                "bench-accuracy.svg",
                "Accuracy against the threshold, and true against false positives",
                lambda: draw_accuracy(curves),
            ),
        ),
    )


def bayes_section(points: Sequence[Figure12Point], *, judged: bool) -> Section:
    """Report on the evaluation of networks."""
    cells = tuple(
        (
            str(point.added),
            str(point.largest),
            f"{microseconds(point.edited.mean)}",
            f"{microseconds(point.edited.p99)}",
            f"{microseconds(point.evaluated.mean)} ± {microseconds(point.margin)}",
            microseconds(point.renewed.mean),
            microseconds(point.first.mean),
            "not there" if point.pyagrum is None else microseconds(point.pyagrum.mean),
        )
        for point in points
    )
    columns = (
        "added nodes",
        "largest table",
        "edit and evaluation: mean us",
        "p99 us",
        "evaluation: mean us",
        "all tables changed: mean us",
        "first: mean us",
        "pyAgrum: mean us",
    )
    return Section(
        Part.BAYES,
        "Evaluating networks (figure 12)",
        (
            "The network of the paper's rule R1 with nodes added, each a cause of one or two others, none of which has "
            "more than three causes; random tables throughout. An edit gives one node another table, through the "
            "checks; the evaluation that follows takes up only what the table reaches. Of the evaluation alone the "
            "99% confidence interval of the mean is given, as in the paper. pyAgrum is timed with a new inference "
            "each time, as it does not notice that a table has changed; both find the same. Times are CPU time.",
        ),
        (Table("Time to evaluate a network", columns, cells),),
        judge(network_bars(points), judged=judged),
        (
            Picture(
                "bench-figure12.svg",
                "Time to evaluate a network against the nodes added to it",
                lambda: draw_networks(points),
            ),
        ),
    )


def plain_cells(points: Sequence[PlainPoint]) -> tuple[tuple[str, ...], ...]:
    """The rows of the table of certain events."""
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
    """The rows of the table of costs."""
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
    """The rows of the table of memory: combinations, where few events are of the first type."""
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
    """The rows of the table of accuracies."""
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


def network_bars(points: Sequence[Figure12Point]) -> list[Bar]:
    """Judge the evaluation of networks by CPU time."""
    return [
        Bar(
            f"editing a table of a network with {point.added} added nodes and evaluating it, on average",
            f"under {MOST_EVALUATION / 1000:g} ms",
            f"{point.edited.mean / 1000:.3f} ms",
            point.edited.mean < MOST_EVALUATION,
        )
        for point in points
        if point.added == REQUIRED_NODES
    ]
