"""What grows, and how much: tables, what must be reached, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.growth.deadlines import Pending
from benchmarks.growth.footprint import Footprint
from benchmarks.growth.scaling import Scaling
from benchmarks.growth.startup import Startup
from benchmarks.growth.threads import IN_ONE_WINDOW, KEYLESS
from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.reports.pictures import COLOURS, axes_of, from_zero
from benchmarks.reports.section import Bar, Part, Picture, Section, Table, amount, judge, microseconds, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FOR_MANY_RULES = 1.4
MOST_DEPLOYMENT = 1.0
MOST_P50, MOST_P99 = 20.0, 100.0
MOST_GROWTH = 0.05
LEAST_OF_THREADS = 1.5
SPREAD = ("F-last", "F-each", "F-avg", "S3-last", KEYLESS, IN_ONE_WINDOW)
MOST_PER_STORED = 100.0
LEAST_WITH_TIMERS, MOST_SNAPSHOT = 1 / 3, 2.0
MOST_STARTUP, MOST_FIRST_EVER, MOST_DEMO = 3.0, 15.0, 90.0


def growth_section(
    scaling: Scaling, footprint: Footprint, startup: Startup, pending: Pending, *, judged: bool
) -> Section:
    """Report on rules, single events, memory, start-up and deadlines."""
    bars = judge(
        [
            *scaling_bars(scaling),
            *thread_bars(scaling),
            *footprint_bars(footprint),
            *startup_bars(startup),
            *deadline_bars(pending),
        ],
        judged=judged,
    )
    tables = [_rules_table(scaling), _steps_table(scaling, startup), _memory_table(footprint), _threads_table(scaling)]
    return Section(
        Part.SCALING,
        "Growth: rules, single events, memory, start-up",
        (
            "Rules are sequences of three with last-within unless said otherwise. With ten times as many rules there "
            "are ten times as many types (or values) that tell them apart, each as much rarer, and windows are as much "
            f"longer: an event does the same work. A stored event stands in {footprint.entries:.1f} positions of rules "
            "on average; its bytes are the growth of resident memory while windows fill and no terminator comes.",
        ),
        tuple(tables),
        bars,
        (
            Picture(
                "bench-memory.svg", "Resident memory as events pass through S3-each", lambda: _draw_memory(footprint)
            ),
        ),
    )


def deadline_bars(pending: Pending) -> list[Bar]:
    """What rules with timers must reach."""
    both = pending.saved + pending.restored
    return [
        Bar(
            f"{pending.deadlines:,} pending deadlines: throughput as a part of that of the same rule that looks back",
            f"at least {LEAST_WITH_TIMERS:.2f}",
            f"{pending.ratio:.2f}",
            pending.ratio >= LEAST_WITH_TIMERS,
        ),
        Bar(
            f"{pending.deadlines:,} pending deadlines: a snapshot and its restoring",
            f"at most {MOST_SNAPSHOT:.0f} s",
            seconds(both),
            both <= MOST_SNAPSHOT,
        ),
    ]


def _rules_table(scaling: Scaling) -> Table:
    cells = tuple(
        (
            row.told_by,
            f"{count:,}",
            microseconds(cost),
            f"{composites:.2f}",
        )
        for row in scaling.rules
        for count, cost, composites in (
            (row.few, row.few_microseconds, row.few_composites),
            (row.many, row.many_microseconds, row.many_composites),
        )
    )
    return Table(
        "Rules there are, of which an event concerns 10",
        ("<told by", "rules", "CPU us per event", "composite events per event"),
        cells,
    )


def _steps_table(scaling: Scaling, startup: Startup) -> Table:
    latency, deployed = scaling.latency, scaling.deployment
    cells = [
        (f"deploying {deployed.rules:,} rules in memory, up to the next event", seconds(deployed.engine.wall)),
        (f"deploying {deployed.rules:,} rules as text, up to the next event", seconds(deployed.text.wall)),
        (f"single event with {deployed.rules:,} rules: mean", f"{latency.mean:.1f} us"),
        (f"single event with {deployed.rules:,} rules: p50", f"{latency.p50:.1f} us"),
        (f"single event with {deployed.rules:,} rules: p99", f"{latency.p99:.1f} us"),
        ("composite events per single event", f"{scaling.latency_composites:.2f}"),
        ("fresh process: import", seconds(startup.imports)),
        (f"fresh process: compile {startup.rules:,} rules", seconds(startup.rules_compiled)),
        ("fresh process: engine and first event", seconds(startup.first_event)),
        ("fresh process: from start to end", seconds(startup.whole)),
    ]
    if startup.first_ever is not None:
        cells.append(
            ("fresh process that has to compile the kernel: engine and first event", seconds(startup.first_ever))
        )
    if startup.demo is not None:
        cells.append(("make demo in a fresh clone, from setting up to its end", seconds(startup.demo)))
    return Table("Deployment, single events, start-up", ("<what", "time"), tuple(cells))


def _memory_table(footprint: Footprint) -> Table:
    cells = [(f"{passed:,} events through S3-each", f"{size / MEBIBYTE:.1f} MiB") for passed, size in footprint.flow]
    cells.append((f"composite events of all {footprint.flow[-1][0]:,}", f"{footprint.composites:,}"))
    cells.append((f"per stored event, of {footprint.stored:,}", f"{footprint.per_stored:.0f} bytes"))
    return Table("Memory", ("<after", "resident memory"), tuple(cells))


def _threads_table(scaling: Scaling) -> Table:
    cells = tuple(
        (
            row.workload,
            str(row.threads),
            f"{row.composites:,}",
            seconds(row.timing.wall),
            seconds(row.timing.cpu),
            amount(row.events / row.timing.wall),
            f"{row.speedup:.2f}x",
        )
        for row in scaling.threads
    )
    columns = ("<workload", "threads", "composite events", "wall", "CPU", "events/s of wall", "as fast as one")
    return Table("Threads", columns, cells)


def thread_bars(scaling: Scaling) -> list[Bar]:
    """Judge what two threads are worth."""
    return [
        Bar(
            f"{row.workload}, {row.threads} threads against one",
            f"at least {LEAST_OF_THREADS}x by the wall clock",
            f"{row.speedup:.2f}x",
            row.speedup >= LEAST_OF_THREADS,
        )
        for row in scaling.threads
        if row.threads > 1 and row.workload in SPREAD
    ]


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
                "the first event in such a process if the kernel is still to be compiled",
                f"under {MOST_FIRST_EVER:g} s",
                seconds(startup.first_ever),
                startup.first_ever < MOST_FIRST_EVER,
            )
        )
    if startup.demo is not None:
        bars.append(
            Bar(
                "make demo as the first command in a fresh clone",
                f"under {MOST_DEMO:g} s",
                seconds(startup.demo),
                startup.demo < MOST_DEMO,
            )
        )
    return bars


def _draw_memory(footprint: Footprint) -> Figure:
    figure, axes = axes_of(7, 3.2)
    axes.plot(
        [passed / 1e6 for passed, _ in footprint.flow],
        [size / MEBIBYTE for _, size in footprint.flow],
        marker="o",
        color=COLOURS["columns"],
    )
    from_zero(axes)
    axes.set_xlabel("million events")
    axes.set_ylabel("resident memory, MiB")
    return figure
