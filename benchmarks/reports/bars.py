"""What must be reached, and whether it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.growth.footprint import Footprint
from benchmarks.growth.scaling import Scaling
from benchmarks.growth.startup import Startup
from benchmarks.papers.uncertainty.bayes import REQUIRED_NODES, Figure12Point
from benchmarks.peers.compare import PeerRow
from benchmarks.reports.numbers import amount, seconds
from benchmarks.workloads.questions import Unit

MOST_FOR_MANY_RULES = 1.5
MOST_DEPLOYMENT = 1.0
MOST_P50, MOST_P99 = 20.0, 100.0
MOST_GROWTH = 0.05
MOST_PER_STORED = 100.0
MOST_STARTUP, MOST_FIRST_EVER = 3.0, 60.0
MOST_EVALUATION = 500.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One requirement, in words; ``met`` is None if it could not be judged."""

    what: str
    required: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        """Whether it is met, in a word."""
        return "not judged" if self.met is None else "met" if self.met else "missed"


def peer_bars(rows: Sequence[PeerRow]) -> list[Bar]:
    """Judge the workloads by CPU time."""
    return [
        Bar(f"{row.workload}, {row.coding.value} types", f"at least {_required(row)}", _reached(row), row.met)
        for row in rows
    ]


def _required(row: PeerRow) -> str:
    return (
        f"{row.requirement.least:g}x the best baseline" if row.requirement.unit is Unit.RATIO else str(row.requirement)
    )


def _reached(row: PeerRow) -> str:
    match row.requirement.unit:
        case Unit.RATIO:
            return "no baseline" if row.ratio is None else f"{row.ratio:.2f}x"
        case Unit.EVENTS:
            return f"{amount(row.events / row.whole.cpu)} events/s"
        case Unit.COMPOSITES:
            return f"{amount(row.composites / row.whole.cpu)} composite events/s"


def scaling_bars(scaling: Scaling) -> list[Bar]:
    """Judge what grows with rules."""
    bars = [
        Bar(
            f"{row.many:,} rules against {row.few:,}, told by {row.told_by}, an event concerns 10",
            f"at most {MOST_FOR_MANY_RULES}x the time per event",
            f"{row.ratio:.2f}x",
            row.ratio <= MOST_FOR_MANY_RULES,
        )
        for row in scaling.rules
    ]
    deployed = scaling.deployment
    return [
        *bars,
        Bar(
            f"deploying {deployed.rules:,} rules, as text, into a running engine",
            f"under {MOST_DEPLOYMENT:g} s",
            seconds(deployed.text.wall),
            deployed.text.wall < MOST_DEPLOYMENT,
        ),
        Bar(
            f"single events with {deployed.rules:,} rules, p50",
            f"under {MOST_P50:g} us",
            f"{scaling.latency.p50:.1f} us",
            scaling.latency.p50 < MOST_P50,
        ),
        Bar(
            f"single events with {deployed.rules:,} rules, p99",
            f"under {MOST_P99:g} us",
            f"{scaling.latency.p99:.1f} us",
            scaling.latency.p99 < MOST_P99,
        ),
    ]


def footprint_bars(footprint: Footprint) -> list[Bar]:
    """Judge memory."""
    passed = footprint.flow[-1][0]
    return [
        Bar(
            f"S3-each, {passed:,} events through: resident memory, against after {footprint.flow[0][0]:,}",
            f"flat: at most {MOST_GROWTH:.0%} more",
            f"{footprint.growth:+.1%}",
            footprint.growth <= MOST_GROWTH,
        ),
        Bar(
            "bytes per stored event, without attributes",
            f"under {MOST_PER_STORED:g}",
            f"{footprint.per_stored:.0f}",
            footprint.per_stored < MOST_PER_STORED,
        ),
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


def startup_bars(startup: Startup) -> list[Bar]:
    """Judge start-up, by the wall clock."""
    bars = [
        Bar(
            f"import, compile {startup.rules:,} rules, first event, in a fresh process",
            f"under {MOST_STARTUP:g} s",
            seconds(startup.whole),
            startup.whole < MOST_STARTUP,
        )
    ]
    if startup.first_ever is not None:
        bars.append(
            Bar(
                "the same with the kernel still to be compiled",
                f"under {MOST_FIRST_EVER:g} s",
                seconds(startup.first_ever),
                startup.first_ever < MOST_FIRST_EVER,
            )
        )
    return bars
