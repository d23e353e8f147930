"""What was measured of uncertainty, as tables and requirements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheus.bench.bars import Bar
from cepheus.bench.numbers import microseconds
from cepheus.bench.uncertain_accuracy import AccuracyCurve
from cepheus.bench.uncertain_overhead import OPERATORS, OverheadPoint, overheads
from cepheus.bench.uncertain_plain import MOST, PlainPoint

TEXT = (
    "1000 rules of each kind as in section 6.1 of the paper: 10 event types, 100 constants, windows of 5 min, errors "
    "N(0, 1) on every number of an uncertain event. The paper does not state its rate of events; here it is one a "
    "second. Rules have min probability 0.5001, so that about as many composite events come out whatever the share of "
    "uncertain events. With no uncertain event the engine is the plain one. Batches of 250 events are measured in CPU "
    "time; single events on the wall clock, up to their composite events as Python objects.",
    "The table of certain events compares the plain engine with the one that watches out for uncertain events, which "
    "take turns over the same events; the shortest time of each round counts.",
    "For accuracy, events with true values are the oracle; the same events with measurement errors go to the plain "
    "engine and, with the distributions of the errors, to the one that knows of uncertainty. A composite event is "
    "accepted if its probability (and that of what it was made of) reaches the threshold.",
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
    "bytes held",
)
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
_MOST_OFF = 0.005


@dataclass(frozen=True, slots=True)
class UncertainMeasured:
    """Costs of certain events, of uncertain ones, and accuracies."""

    plain: tuple[PlainPoint, ...]
    overhead: tuple[OverheadPoint, ...]
    accuracy: tuple[AccuracyCurve, ...]


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
            f"{point.bytes_held:,}",
        )
        for point in points
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


def uncertain_bars(measured: UncertainMeasured) -> list[Bar]:
    """Judge overheads and accuracies."""
    most = {operator.name: operator.most for operator in OPERATORS}
    bars = [
        Bar(
            f"{point.operator}: no event uncertain, {how}",
            f"within {MOST:.0%} of the plain engine",
            f"{overhead:+.1%}",
            overhead <= MOST,
        )
        for point in measured.plain
        for how, overhead in (("in batches", point.batch_overhead), ("one by one", point.single_overhead))
    ]
    bars += [
        Bar(
            f"{operator}{'' if operator == 'selection' else f', {part:.0%} of the first type'}: all events uncertain",
            f"under {most[operator]:.0%} more than none",
            f"{overhead:+.0%}",
            overhead < most[operator],
        )
        for (operator, part), overhead in overheads(measured.overhead).items()
    ]
    for curve in measured.accuracy:
        same = curve.at(0.5) == curve.plain_accuracy
        greatest = max(curve.accuracy) - curve.at(0.5) <= _MOST_OFF
        bars.append(
            Bar(
                f"accuracy, {curve.scenario}",
                "greatest at 0.5, where it is that of the plain engine",
                f"{curve.at(0.5):.4f} at 0.5, {curve.plain_accuracy:.4f} plain, best {max(curve.accuracy):.4f}",
                same and greatest,
            )
        )
    return bars
