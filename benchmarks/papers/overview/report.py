"""Figures 6 and 7 in tables and pictures, what the overview chapter says of them, and whether ours confirm it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

from benchmarks.papers.overview.claims import samples_of
from benchmarks.papers.overview.figure6 import Figure6Point
from benchmarks.papers.overview.figure7 import Figure7Point, device_here
from benchmarks.reports.pictures import COLOURS, axes_of
from benchmarks.reports.section import Bar, Part, Picture, Section, Table, amount, microseconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROWN = 2.0
"""From this factor on a cost counts as grown."""
LARGE_STATE, LEAST_OF_DEVICE = 5_000, 0.8
_LINES = {"each": "-", "last": "--"}


def figure6_section(points: Sequence[Figure6Point]) -> Section:
    """Report on sequences that grow longer."""
    cells = tuple(
        (
            f"{point.selection}-within",
            str(point.length),
            point.engine,
            f"{point.composites_per_event:.1f}",
            microseconds(point.singly.mean),
            microseconds(point.for_objects),
            microseconds(point.singly.p99),
            microseconds(point.batch_microseconds),
            amount(1e6 / point.batch_microseconds),
        )
        for point in points
    )
    columns = (
        "<selection",
        "length",
        "<engine",
        "composite events per event",
        "single: mean us",
        "of that objects, us",
        "single: p99 us",
        "batch: CPU us per event",
        "batch: events/s",
    )
    return Section(
        Part.FIGURE6,
        "Automata and columns (figure 6)",
        (
            f"{points[0].rules:,} rules, each a sequence; every event concerns exactly 1% of them; windows of 15 s on "
            "average (uniform, 5 to 25 s) between neighbours. The chapter does not state its rate of events; here it "
            "is 100 a second. The time of a single event is on the wall clock and ends when its composite events are "
            "there as Python objects; that of a batch is CPU time and ends with columns. Windows are full before "
            "anything is timed.",
            "Where an event makes a hundred composite events and more, a single event costs what their Python objects "
            "cost (estimated by making objects of those of the batch), whatever the engine: there single events tell "
            "little of algorithms, and which engine comes out ahead may change from run to run. Batches tell.",
        ),
        (Table("Cost per event", columns, cells), _finding_table(figure6_findings(points))),
        pictures=(
            Picture(
                "bench-figure6.svg",
                "CPU time per event in a batch against the length of sequences",
                lambda: _draw_figure6(points),
            ),
        ),
        samples=samples_of(points),
    )


def figure7_section(points: Sequence[Figure7Point]) -> Section:
    """Report on windows that grow larger."""
    cells = tuple(
        (
            f"{point.selection}-within",
            "yes" if point.compared else "no",
            f"{point.per_state:,}",
            point.engine,
            f"{point.composites / point.events:.2f}",
            microseconds(point.singly.mean),
            microseconds(point.singly.p99),
            microseconds(point.batch_microseconds),
            microseconds(point.wall_microseconds),
        )
        for point in points
    )
    columns = (
        "<selection",
        "<compared",
        "events per state",
        "<engine",
        "composite events per event",
        "single: mean us",
        "single: p99 us",
        "batch: CPU us per event",
        "batch: wall us per event",
    )
    return Section(
        Part.FIGURE7,
        "Cost against window size (figure 7)",
        (
            "One rule, a sequence of three events of equally frequent types. Where events are compared, each must "
            "be close in value to its successor, so close that about two of each state fit whatever the window: the "
            "engine has to consider all of them, and each-within stays small. Columns and automata run on one core. "
            + _device_told(points),
        ),
        (Table("Cost per event", columns, cells), _finding_table(figure7_findings(points))),
        device_bars(points),
        pictures=(
            Picture(
                "bench-figure7.svg",
                "Time per event in a batch against events per state",
                lambda: _draw_figure7(points),
            ),
        ),
        samples=samples_of(points),
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement, whether it is confirmed here, and by what."""

    statement: str
    verdict: str
    evidence: str


def figure6_findings(points: Sequence[Figure6Point]) -> list[Finding]:
    """Compare with the statements on figure 6."""
    by_case = {(point.engine, point.selection, point.length): point for point in points}
    slowest = max(points, key=lambda point: point.singly.mean)
    findings = [
        Finding(
            "Both algorithms process events in less than a millisecond.",
            _confirmed([slowest.singly.mean < 1000]),
            f"the largest mean of single events is {microseconds(slowest.singly.mean)} us ({slowest.engine}, "
            f"{slowest.selection}-within, sequences of {slowest.length}, "
            f"{slowest.composites_per_event:.0f} composite events per event)",
        )
    ]
    factors = [
        by_case[engine, "each", length].batch_microseconds / point.batch_microseconds
        for (engine, selection, length), point in by_case.items()
        if selection == "last" and (engine, "each", length) in by_case
    ]
    if factors:
        findings.append(
            Finding(
                "each-within costs more than last-within.",
                _confirmed([factor > 1 for factor in factors]),
                f"{_range(factors)} times the cost per event fed in a batch",
            )
        )
    against = [
        by_case["automata", selection, length].batch_microseconds / point.batch_microseconds
        for (engine, selection, length), point in by_case.items()
        if engine == "columns" and ("automata", selection, length) in by_case
    ]
    if against:
        findings.append(
            Finding(
                "Automata are less efficient than columns.",
                _confirmed([factor > 1 for factor in against]),
                f"automata take {_range(against)} times the time of columns per event fed in a batch, "
                f"{geometric_mean(against):.2f} times on (geometric) average",
            )
        )
    return findings


def _device_told(points: Sequence[Figure7Point]) -> str:
    """What the device was, if one was measured."""
    device = next((point.device for point in points if point.device), "")
    if not device:
        return "No device was measured."
    found = device_here()
    crossover = "" if found is None else f" In use the engine leaves work to it {found.crossover}, as it has measured."
    return (
        f"The device is {device}, asked for everything, however little. PoCL runs kernels on the processor itself, "
        "on all of its cores: that shows that they are right, and the shape of their cost; it says nothing of GPUs."
        + crossover
    )


def figure7_findings(points: Sequence[Figure7Point]) -> list[Finding]:
    """Compare with the statements on figure 7."""
    findings = []
    for compared in (True, False):
        growths = []
        for engine, selection in dict.fromkeys((p.engine, p.selection) for p in points if p.compared == compared):
            line = [p for p in points if (p.engine, p.selection, p.compared) == (engine, selection, compared)]
            growths.append((line[-1].batch_microseconds / line[0].batch_microseconds, line))
        if growths:
            factors = [growth for growth, _ in growths]
            widest = [line[-1].per_state // line[0].per_state for _, line in growths]
            kind = "that are compared" if compared else "that any event fits (last-within)"
            findings.append(
                Finding(
                    f"On a CPU the cost grows with the window: states {kind}.",
                    _confirmed([factor > GROWN for factor in factors]),
                    f"windows {_range(widest)} times as large cost {_range(factors)} times as much",
                )
            )
    findings += _device_findings(points)
    findings.append(
        Finding(
            "From 1333 events a state on, a GPU is faster than the CPU.",
            "not measured",
            "there is no GPU here",
        )
    )
    return findings


def device_bars(points: Sequence[Figure7Point]) -> tuple[Bar, ...]:
    """Judge the device where it is meant to be of use, by the wall clock, against one thread of columns."""
    cost = {(p.engine, p.selection, p.per_state): p.wall_microseconds for p in points if p.compared}
    return tuple(
        Bar(
            f"the device with {LARGE_STATE:,} events a state, {selection}-within, against one thread of columns",
            f"at least {LEAST_OF_DEVICE}x as fast",
            f"{cost['columns', selection, LARGE_STATE] / cost['device', selection, LARGE_STATE]:.2f}x",
            cost["columns", selection, LARGE_STATE] >= LEAST_OF_DEVICE * cost["device", selection, LARGE_STATE],
        )
        for selection in ("each", "last")
        if {("device", selection, LARGE_STATE), ("columns", selection, LARGE_STATE)} <= cost.keys()
    )


def _device_findings(points: Sequence[Figure7Point]) -> list[Finding]:
    """From how many events a state on a device is faster than one thread of columns, batches on the wall clock."""
    findings = []
    cost = {(p.engine, p.selection, p.per_state): p.wall_microseconds for p in points if p.compared}
    for selection in ("each", "last"):
        sizes = sorted(size for engine, policy, size in cost if (engine, policy) == ("device", selection))
        faster = [size for size in sizes if cost["device", selection, size] < cost["columns", selection, size]]
        if not sizes:
            continue
        lasting = [size for size in faster if all(other in faster for other in sizes if other >= size)]
        shares = ", ".join(
            f"{cost['columns', selection, size] / cost['device', selection, size]:.2f} with {size:,}" for size in sizes
        )
        findings.append(
            Finding(
                f"A device pays only with many events a state ({selection}-within).",
                _confirmed([bool(lasting) and lasting[0] > sizes[0]]),
                (f"it is faster from {lasting[0]:,} events on" if lasting else "it is not faster")
                + f"; columns take, in times of the device, {shares}",
            )
        )
    return findings


def _confirmed(cases: Sequence[bool]) -> str:
    if all(cases):
        return "confirmed"
    return f"confirmed in {sum(cases)} of {len(cases)} cases" if any(cases) else "not confirmed"


def _range(factors: Sequence[float]) -> str:
    low, high = min(factors), max(factors)
    shown = [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in (low, high)]
    return shown[0] if shown[0] == shown[1] else f"{shown[0]} to {shown[1]}"


def _finding_table(findings: Sequence[Finding]) -> Table:
    return Table(
        "What the chapter says",
        ("<statement", "<here", "<because"),
        tuple((finding.statement, finding.verdict, finding.evidence) for finding in findings),
    )


def _draw_figure6(points: Sequence[Figure6Point]) -> Figure:
    figure, axes = axes_of(7, 4)
    for engine, selection in dict.fromkeys((point.engine, point.selection) for point in points):
        line = [point for point in points if (point.engine, point.selection) == (engine, selection)]
        axes.plot(
            [point.length for point in line],
            [point.batch_microseconds for point in line],
            _LINES[selection],
            color=COLOURS[engine],
            marker="o",
            label=f"{engine}, {selection}-within",
        )
    axes.set_xticks(sorted({point.length for point in points}))
    axes.set_xlabel("length of sequences")
    axes.set_ylabel("CPU time per event, microseconds")
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return figure


def _draw_figure7(points: Sequence[Figure7Point]) -> Figure:
    figure, axes = axes_of(7, 4.6)
    for engine, selection, compared in dict.fromkeys((p.engine, p.selection, p.compared) for p in points):
        line = [p for p in points if (p.engine, p.selection, p.compared) == (engine, selection, compared)]
        axes.plot(
            [point.per_state for point in line],
            [point.wall_microseconds for point in line],
            _LINES[selection] if compared else ":",
            color=COLOURS[engine],
            marker="o",
            markersize=4,
            label=f"{engine}, {selection}-within" + ("" if compared else ", not compared"),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("events per state in the window")
    axes.set_ylabel("time per event of a batch, microseconds (wall clock)")
    axes.legend(frameon=False)
    return figure
