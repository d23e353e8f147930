"""The stock ticker in words, tables and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.papers.etalis.stock_ticker import StockFlow, StockMeasured, samples_of
from benchmarks.reports.pictures import SERIES, axes_of, from_zero
from benchmarks.reports.section import Bar, Part, Picture, Section, Table, amount, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_RATE = 500_000.0
MOST_GROWTH = 0.05
_JUDGED = ("recent", 50_000)
TEXT = (
    "Section 7 of the ETALIS paper: prices of two companies, and six rules of which four are made of the first two. "
    "The rules are those of the paper, with its printed condition; an event comes every second, and the window of ce4 "
    "is 20 seconds. Before anything is timed, the reference engine must find the same complex events in the beginning "
    "of the stream. The paper reports at most 30,000 events per second under SWI Prolog and 37,000 under YAP, and less "
    "for Esper 3.1 and Drools 5.0: these are the paper's own figures, on its own machine. Neither these systems nor "
    "the original one come from the registry that our packages come from, so that none of them was run here.",
    "Memory, figure 4 of the paper: a process feeds 100,000 events, one batch of 10,000 after the other, through the "
    "rules as printed, of which only ce4 has a window. Beside it, ten million events through the same rules with a "
    "window of one minute around each.",
)
RATE_COLUMNS = ("<policy", "events", "events/s", "complex events/s", "<complex events", "goals that wait")
MEMORY_COLUMNS = ("<rules", "<policy", "events passed", "MiB", "goals that wait")


def stock_section(measured: StockMeasured, *, judged: bool) -> Section:
    """Report on rates and memory."""
    return Section(
        Part.ETALIS,
        "The stock ticker of the ETALIS paper",
        TEXT,
        (
            Table("Rates, by CPU time", RATE_COLUMNS, rate_cells(measured)),
            Table("Memory while events pass", MEMORY_COLUMNS, memory_cells(measured)),
        ),
        judge(stock_bars(measured), judged=judged),
        (
            Picture(
                "bench-stock-rates.svg",
                "Events per second against the length of the stream, by policy",
                lambda: _draw_rates(measured),
            ),
            Picture(
                "bench-stock-memory.svg",
                "Memory against the events that have passed, by policy, with windows",
                lambda: _draw_memory(measured),
            ),
        ),
        samples=samples_of(measured),
    )


def rate_cells(measured: StockMeasured) -> tuple[tuple[str, ...], ...]:
    """The rows of the table of rates, by CPU time."""
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
    """The rows of the table of memory."""
    return tuple(
        (_rules(flow), flow.policy, f"{passed:,}", f"{resident / MEBIBYTE:.1f}", f"{waiting:,}")
        for flow in measured.flows
        for passed, resident, waiting in flow.flow
    )


def _rules(flow: StockFlow) -> str:
    return "with windows" if flow.windows else "as printed"


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
            f"stock ticker {_rules(flow)}, policy {flow.policy}, {flow.flow[-1][0]:,} events through: resident memory",
            f"flat: at most {MOST_GROWTH:.0%} more than after {flow.flow[0][0]:,}",
            f"{flow.growth:+.1%}",
            flow.growth <= MOST_GROWTH,
        )
        for flow in measured.flows
    ]
    return bars


def _draw_rates(measured: StockMeasured) -> Figure:
    figure, axes = axes_of(7, 4)
    for policy, colour in zip(dict.fromkeys(point.policy for point in measured.points), SERIES, strict=False):
        line = [point for point in measured.points if point.policy == policy]
        rates = [point.events / point.cpu / 1000 for point in line]
        axes.plot([point.events for point in line], rates, color=colour, marker="o", ms=4, label=policy)
    from_zero(axes)
    axes.set_xlabel("events in the stream")
    axes.set_ylabel("thousand events per second of CPU time")
    axes.legend(frameon=False)
    return figure


def _draw_memory(measured: StockMeasured) -> Figure:
    figure, axes = axes_of(7, 3.2)
    for flow, colour in zip([flow for flow in measured.flows if flow.windows], SERIES, strict=False):
        passed = [events / 1e6 for events, _, _ in flow.flow]
        memory = [resident / MEBIBYTE for _, resident, _ in flow.flow]
        axes.plot(passed, memory, color=colour, marker="o", ms=4, label=flow.policy)
    from_zero(axes)
    axes.set_xlabel("million events passed")
    axes.set_ylabel("MiB")
    axes.legend(frameon=False)
    return figure
