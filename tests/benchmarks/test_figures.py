"""The papers' figures: the right number of composite events, and the statements judged by the measurements."""

from __future__ import annotations

import pytest

from benchmarks.measuring.timing import Spread
from benchmarks.papers.overview import figure6, figure7
from benchmarks.papers.overview.figure6 import Figure6Point, sequence_case
from benchmarks.papers.overview.figure7 import Figure7Point, device_here, window_case
from benchmarks.papers.overview.report import figure6_findings, figure7_findings
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch

SEQUENCES = figure6.Scale(rules=100, lengths=(2, 3), filling=150, together=100, singly=50)
WINDOWS = figure7.Scale(per_state=(10, 20), fed=60)


def by_reference(subject: Subject, events: EventBatch, filling: int) -> int:
    """Count the composite events that come after the filling."""
    engine = subject.engine("reference")
    engine.feed(events.slice(0, filling))
    return len(engine.feed(events.slice(filling, len(events))))


def test_figure_6_counts_what_the_reference_engine_finds() -> None:
    points = figure6.figure6(1, lambda _: None, SEQUENCES)
    assert [(point.selection, point.length, point.engine) for point in points] == [
        (selection, length, engine)
        for selection in ("each", "last")
        for length in (2, 3)
        for engine in ("columns", "automata")
    ]
    for point in points:
        subject, events = sequence_case(point.length, point.selection, SEQUENCES)
        assert len(events) == 300
        assert point.events == 150
        assert point.composites == by_reference(subject, events, 150) > 0


def test_figure_7_counts_what_the_reference_engine_finds() -> None:
    points = figure7.figure7(1, lambda _: None, WINDOWS)
    engines = [("columns", 3), ("automata", 3), *[("device", 2)] * (device_here() is not None)]
    assert len(points) == 2 * sum(cases for _, cases in engines)
    for point in points:
        subject, events = window_case(point.per_state, point.selection, 60, compared=point.compared)
        assert point.events == 120
        assert point.composites == by_reference(subject, events, len(events) - 120) > 0


def test_windows_are_full_before_anything_is_fed() -> None:
    _, events = window_case(50, "each", 30, compared=True)
    fed = events.slice(len(events) - 60, len(events))
    assert fed.times[0] == 301_000
    assert int((events.times >= fed.times[0] - 300_000).sum()) == len(events)
    third = events.types.index("Third")
    assert not (events.codes[: len(events) - 60] == third).any()


def test_automata_stop_where_they_would_take_too_long() -> None:
    scale = figure7.Scale(per_state=(10, 20), fed=30, automata_most=10)
    points = figure7.figure7(1, lambda _: None, scale)
    assert {point.per_state for point in points if point.engine == "automata"} == {10}
    assert {point.per_state for point in points if point.engine == "columns"} == {10, 20}


def sequence(engine: str, selection: str, batch: float, mean: float = 10.0) -> Figure6Point:
    return Figure6Point(engine, selection, 2, 1000, 100, 200, Spread(mean, mean, mean, mean), batch)


@pytest.mark.parametrize(
    ("columns", "automata", "mean", "verdicts"),
    [
        ((4.0, 1.0), (8.0, 2.0), 10.0, ["confirmed", "confirmed", "confirmed"]),
        ((1.0, 2.0), (0.5, 1.0), 2000.0, ["not confirmed", "not confirmed", "not confirmed"]),
        ((4.0, 1.0), (8.0, 0.5), 10.0, ["confirmed", "confirmed", "confirmed in 1 of 2 cases"]),
    ],
)
def test_statements_on_figure_6(
    columns: tuple[float, float], automata: tuple[float, float], mean: float, verdicts: list[str]
) -> None:
    points = [
        sequence(engine, selection, cost, mean)
        for engine, costs in (("columns", columns), ("automata", automata))
        for selection, cost in zip(("each", "last"), costs, strict=True)
    ]
    assert [finding.verdict for finding in figure6_findings(points)] == verdicts


def test_statements_on_automata_need_automata() -> None:
    assert len(figure6_findings([sequence("columns", "each", 2.0), sequence("columns", "last", 1.0)])) == 2


def test_statements_on_figure_7() -> None:
    def line(selection: str, compared: bool, *costs: float) -> list[Figure7Point]:
        return [
            Figure7Point("columns", selection, compared, 10 * 10**at, 100, 5, Spread(1, 1, 1, 1), cost)
            for at, cost in enumerate(costs)
        ]

    points = line("each", True, 1.0, 9.0) + line("last", True, 1.0, 4.0) + line("last", False, 1.0, 1.1)
    findings = figure7_findings(points)
    assert [finding.verdict for finding in findings] == ["confirmed", "not confirmed", "not measured"]
    assert findings[0].evidence == "windows 10 times as large cost 4 to 9 times as much"


def test_statements_on_devices() -> None:
    def line(engine: str, *walls: float) -> list[Figure7Point]:
        return [
            Figure7Point(engine, "each", True, 10 * 10**at, 100, 5, Spread(1, 1, 1, 1), wall, (), (2 * wall, wall), "D")
            for at, wall in enumerate(walls)
        ]

    def verdict(*device: float) -> tuple[str, str]:
        (_, found, _) = figure7_findings(line("columns", 1.0, 10.0, 100.0) + line("device", *device))
        return found.verdict, found.evidence

    assert verdict(5.0, 6.0, 7.0) == (
        "confirmed",
        "it is faster from 100 events on; columns take, in times of the device, 0.20 with 10, 1.67 with 100, "
        "14.29 with 1,000",
    )
    assert verdict(0.5, 6.0, 7.0)[0] == "not confirmed"
    assert verdict(5.0, 60.0, 700.0)[1].startswith("it is not faster")
    assert verdict(5.0, 6.0, 700.0)[1].startswith("it is not faster")
