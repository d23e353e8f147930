"""Figures 6 to 9 and 11 of the paper on uncertainty, on next to no events."""

from __future__ import annotations

import pytest

from benchmarks.papers.uncertainty.accuracy import accuracy
from benchmarks.papers.uncertainty.certain import plainness
from benchmarks.papers.uncertainty.overhead import OPERATORS, QUICK, Scale, overhead, overheads, rules, stream
from benchmarks.papers.uncertainty.report import (
    accuracy_bars,
    accuracy_cells,
    certain_bars,
    cost_cells,
    memory_cells,
    plain_cells,
    uncertain_bars,
)
from cepheus.language.tesla import parse

TINY = Scale(constants=2, events=100, singly=5, shares=(0.0, 1.0), parts=(0.5,))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_workloads_are_those_of_the_paper(operator: object) -> None:
    found = parse(rules(operator, 100))  # type: ignore[arg-type]
    assert len(found.rules) == 1000
    events = stream(operator, 500, 0.1, 0.5)  # type: ignore[arg-type]
    assert {name.rsplit("_", 1)[0] for name in events.types} == set(operator.types)  # type: ignore[attr-defined]
    assert 150 < int((events.errors["value"].kinds > 0).sum()) < 350  # type: ignore[attr-defined]


def test_costs_and_accuracies_are_measured() -> None:
    points = overhead(1, lambda _: None, TINY)
    assert len(points) == 2 * len(OPERATORS)
    assert set(overheads(points)) == {(operator.name, 0.5) for operator in OPERATORS}
    by_share = {(point.operator, point.share): point.composites for point in points}
    assert all(by_share[operator.name, 0.0] == by_share[operator.name, 1.0] for operator in OPERATORS)
    curves = accuracy(lambda _: None, 600, 11)
    for curve in curves:
        assert curve.at(0.5) == curve.plain_accuracy
        assert min(curve.accuracy) > 0.8
        assert list(curve.true_positives) == sorted(curve.true_positives, reverse=True)
    plain = plainness(1, lambda _: None, TINY)
    assert len(certain_bars(plain)) == 2 * len(OPERATORS)
    assert len(uncertain_bars(points)) == len(OPERATORS)
    assert len(accuracy_bars(curves)) == len(curves)
    assert len(plain_cells(plain)) == len(OPERATORS)
    assert len(cost_cells(points)) == len(points)
    assert [cells[0] for cells in memory_cells(points)] == ["combination, last", "combination, each"]
    assert len(accuracy_cells(curves)) == 4


def test_the_quick_scale_is_small() -> None:
    assert QUICK.events < 1000
