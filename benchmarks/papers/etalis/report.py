"""The stock ticker in words and tables."""

from __future__ import annotations

from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.papers.etalis.stock_ticker import StockMeasured
from benchmarks.reports.bars import Bar
from benchmarks.reports.numbers import amount

LEAST_RATE = 500_000.0
MOST_GROWTH = 0.05
_JUDGED = ("recent", 50_000)

TEXT = (
    "Section 7 of the ETALIS paper: prices of two companies, and six rules of which four are made of the first two. "
    "The rules are those of the paper, with its printed condition; an event comes every second, and the window of ce4 "
    "is 20 seconds. Before anything is timed, the reference engine must find the same complex events in the beginning "
    "of the stream. The paper reports 30,000 to 37,000 events per second.",
    "Memory is that of a process that feeds ten million events, one batch of 10,000 after the other, through the same "
    "rules with a window of one minute around each.",
)
RATE_COLUMNS = ("<policy", "events", "events/s", "complex events/s", "<complex events", "goals that wait")
MEMORY_COLUMNS = ("<policy", "events passed", "MiB")


def rate_cells(measured: StockMeasured) -> tuple[tuple[str, ...], ...]:
    """Give the rows of the table of rates, by CPU time."""
    return tuple(
        (
            point.policy,
            f"{point.events:,}",
            amount(point.events / point.cpu),
            amount(sum(point.found.values()) / point.cpu),
            ", ".join(f"{name} {count:,}" for name, count in point.found.items()),
            f"{point.waiting:,}",
        )
        for point in measured.points
    )


def memory_cells(measured: StockMeasured) -> tuple[tuple[str, ...], ...]:
    """Give the rows of the table of memory."""
    return tuple(
        (flow.policy, f"{passed:,}", f"{resident / MEBIBYTE:.1f}")
        for flow in measured.flows
        for passed, resident in flow.flow
    )


def stock_bars(measured: StockMeasured) -> list[Bar]:
    """Judge rate and memory."""
    bars = [
        Bar(
            f"stock ticker, policy {point.policy}, {point.events:,} events",
            f"at least {amount(LEAST_RATE)} events/s",
            f"{amount(point.events / point.cpu)} events/s",
            point.events / point.cpu >= LEAST_RATE,
        )
        for point in measured.points
        if (point.policy, point.events) == _JUDGED
    ]
    bars += [
        Bar(
            f"stock ticker with windows, policy {flow.policy}, {flow.flow[-1][0]:,} events through: resident memory",
            f"flat: at most {MOST_GROWTH:.0%} more than after {flow.flow[0][0]:,}",
            f"{flow.growth:+.1%}",
            flow.growth <= MOST_GROWTH,
        )
        for flow in measured.flows
    ]
    return bars
