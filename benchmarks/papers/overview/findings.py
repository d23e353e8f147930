"""What the overview chapter says of its figures, and whether our measurements confirm it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.papers.overview.figure6 import Figure6Point
from benchmarks.papers.overview.figure7 import Figure7Point
from benchmarks.reports.numbers import microseconds

GROWN = 2.0
"""From this factor on a cost counts as grown."""


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
    findings.append(
        Finding(
            "From 1333 events a state on, a GPU is faster than the CPU.",
            "not measured",
            "there is no GPU version; the figures here are of one CPU core",
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
