"""Figures 6 to 9 and 11 of the paper on uncertainty, on next to no events."""

from __future__ import annotations

import pytest

from benchmarks.papers.uncertainty.accuracy import accuracy
from benchmarks.papers.uncertainty.certain import plainness
from benchmarks.papers.uncertainty.overhead import (
    NONE,
    OPERATORS,
    QUICK,
    Case,
    Scale,
    name_of,
    overhead,
    rules,
    samples_of,
    stream,
    workloads,
)
from benchmarks.papers.uncertainty.report import (
    accuracy_bars,
    accuracy_cells,
    accuracy_section,
    certain_bars,
    memory_bars,
    memory_cells,
    plain_cells,
    uncertain_bars,
    uncertain_section,
)
from cepheus.language.tesla import parse

TINY = Scale(constants=2, filling=10, singly=5, parts=(0.5,))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_workloads_are_those_of_the_paper(operator: object) -> None:
    found = parse(rules(operator, 100))  # type: ignore[arg-type]
    assert len(found.rules) == 1000
    events = stream(operator, 500, 0.1, 0.5)  # type: ignore[arg-type]
    assert {name.rsplit("_", 1)[0] for name in events.types} == set(operator.types)  # type: ignore[attr-defined]
    assert 150 < int((events.errors["value"].kinds > 0).sum()) < 350  # type: ignore[attr-defined]


def test_costs_are_measured() -> None:
    costs = overhead(2, lambda _: None, TINY)
    assert len(costs) == 2 * len(Case) * len(workloads(TINY)) == 2 * 4 * 2 * len(OPERATORS)
    made = {(cost.workload, cost.case, cost.run): cost.composites for cost in costs}
    for (workload, case, run), composites in made.items():
        if case is Case.READY:
            assert composites == made[workload, Case.PLAIN, run], "the same certain events in another engine"
    samples = samples_of(costs)
    for workload in workloads(TINY):
        for measure in ("mean", "p99", "batch"):
            none, plain = (samples[name_of(measure, workload, case)] for case in (NONE, Case.PLAIN.value))
            assert all(0 < none[run] <= plain[run] for run in (1, 2))
    assert len(uncertain_bars(costs, samples)) == len(workloads(TINY))
    assert [cells[0] for cells in memory_cells(costs)] == [
        "combination, last, 50% LowOxygen",
        "combination, each, 50% LowOxygen",
    ]
    assert [bar.met for bar in memory_bars(costs)] == [False, False], "errors take room"
    section = uncertain_section(costs, judged=False)
    assert len(section.tables[0].rows) == len(Case) * len(workloads(TINY))
    assert section.samples == samples


def test_accuracies_are_measured() -> None:
    curves = accuracy(lambda _: None, 2, 600, 11)
    assert len(curves) == 10
    for curve in curves:
        assert list(curve.true_positives) == sorted(curve.true_positives, reverse=True)
        if curve.scenario != "hierarchy":
            assert curve.at(0.5) == curve.plain_accuracy
        else:
            assert curve.wrongly > curve.missed, "what the first rule made is certain to the second"
    section = accuracy_section(curves, judged=True)
    assert len(accuracy_cells(curves, section.samples)) == 5
    bars = {bar.what: bar.met for bar in accuracy_bars(curves, section.samples)}
    assert len(bars) == 15, "accuracy, calibration as told and as put right"
    assert not bars["expected calibration error, as told, hierarchy"]


def test_certain_events_are_measured() -> None:
    plain = plainness(1, lambda _: None, (2, 100))
    assert len(certain_bars(plain)) == 2 * len(OPERATORS)
    assert len(plain_cells(plain)) == len(OPERATORS)


def test_the_quick_scale_is_small() -> None:
    assert QUICK.filling < 1000
