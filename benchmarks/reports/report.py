"""What was measured as text and tables, for the terminal and the documentation alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.papers.etalis import report as stock_report
from benchmarks.papers.etalis.stock_ticker import StockMeasured
from benchmarks.papers.overview.figure6 import Figure6Point
from benchmarks.papers.overview.figure7 import Figure7Point
from benchmarks.papers.overview.findings import Finding, figure6_findings, figure7_findings
from benchmarks.papers.uncertainty import report as uncertain_report
from benchmarks.papers.uncertainty.accuracy import AccuracyCurve
from benchmarks.papers.uncertainty.bayes import Figure12Point
from benchmarks.papers.uncertainty.certain import PlainPoint
from benchmarks.papers.uncertainty.overhead import OverheadPoint
from benchmarks.peers.compare import PeerRow
from benchmarks.peers.contender import BEST
from benchmarks.reports.bars import Bar, footprint_bars, network_bars, peer_bars, scaling_bars, startup_bars
from benchmarks.reports.numbers import amount, microseconds, seconds
from benchmarks.spark import stream_report
from benchmarks.spark.bars import spark_bars
from benchmarks.spark.measure import SparkMeasured
from benchmarks.spark.stream import StreamMeasured
from benchmarks.spark.tables import COLUMNS, TEXT, spark_cells
from benchmarks.suite import Growth, Measured, Part


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts under a title; columns whose name begins with ``<`` hold words, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report; ``pictures`` are file names with what they show."""

    part: Part
    title: str
    text: tuple[str, ...]
    tables: tuple[Table, ...]
    bars: tuple[Bar, ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()


def sections(measured: Measured) -> list[Section]:
    """Give a section for each part that was measured."""
    found = []
    if measured.peers is not None:
        found.append(_peers(measured.peers, judged=measured.judged))
    if measured.figure6 is not None:
        found.append(_figure6(measured.figure6))
    if measured.figure7 is not None:
        found.append(_figure7(measured.figure7))
    if measured.growth is not None:
        found.append(_growth(measured.growth, judged=measured.judged))
    if measured.certain is not None:
        found.append(_certain(measured.certain, judged=measured.judged))
    if measured.uncertain is not None:
        found.append(_uncertain(measured.uncertain, judged=measured.judged))
    if measured.accuracy is not None:
        found.append(_accuracy(measured.accuracy, judged=measured.judged))
    if measured.figure12 is not None:
        found.append(_figure12(measured.figure12, judged=measured.judged))
    if measured.spark is not None:
        found.append(_spark(measured.spark, judged=measured.judged))
    if measured.stream is not None:
        found.append(_stream(measured.stream, judged=measured.judged))
    if measured.stock is not None:
        found.append(_stock(measured.stock, judged=measured.judged))
    return found


def _stock(measured: StockMeasured, *, judged: bool) -> Section:
    return Section(
        Part.ETALIS,
        "The stock ticker of the ETALIS paper",
        stock_report.TEXT,
        (
            Table("Rates, by CPU time", stock_report.RATE_COLUMNS, stock_report.rate_cells(measured)),
            Table("Memory while events pass", stock_report.MEMORY_COLUMNS, stock_report.memory_cells(measured)),
        ),
        _judge(stock_report.stock_bars(measured), judged=judged),
        (
            ("bench-stock-rates.svg", "Events per second against the length of the stream, by policy"),
            ("bench-stock-memory.svg", "Memory against the events that have passed, by policy"),
        ),
    )


def _stream(measured: StreamMeasured, *, judged: bool) -> Section:
    return Section(
        Part.STREAMING,
        "A streaming query on Spark under load",
        (stream_report.TEXT,),
        (Table("A steady stream", stream_report.COLUMNS, stream_report.stream_cells(measured)),),
        _judge(stream_report.stream_bars(measured), judged=judged),
    )


def bar_table(bars: Sequence[Bar]) -> Table:
    """Give requirements as a table."""
    return Table(
        "What must be reached",
        ("<what", "<required", "<measured", "<verdict"),
        tuple((bar.what, bar.required, bar.measured, bar.verdict) for bar in bars),
    )


def _judge(bars: Sequence[Bar], *, judged: bool) -> tuple[Bar, ...]:
    """Give requirements as they are, or without a verdict where too little was measured for one."""
    return tuple(bar if judged else replace(bar, met=None) for bar in bars)


def _peers(rows: Sequence[PeerRow], *, judged: bool) -> Section:
    bars = _judge(peer_bars(rows), judged=judged)
    missing = tuple(dict.fromkeys(words for row in rows for words in row.missing))
    return Section(
        Part.PEERS,
        "The same questions to DuckDB and Polars",
        (
            "Every contender is a process of its own on one thread, takes the same Arrow table in memory and gives "
            "the columns of its result (time, area and temp; rule and time for S3). Contenders take turns; the best of "
            "all rounds counts. Times are CPU time, from the Arrow table to the result: ours includes turning the "
            "table into events, checking them against the rules' types and feeding them; the engine is made and rules "
            "are deployed before. Counts and sums of all columns are compared. The column of event types is "
            "dictionary-coded or plain strings, times and areas are int64, values float64.",
            *(f"Missing: {words}." for words in missing),
        ),
        (_peer_table(rows, bars), _baseline_table(rows)),
        bars,
        (("bench-peers.svg", "Events per second of CPU time, ours and the baselines'"),),
    )


def _peer_table(rows: Sequence[PeerRow], bars: Sequence[Bar]) -> Table:
    columns = (
        "<workload",
        "<types",
        "events",
        "composite events",
        "ours, events/s",
        "engine alone, events/s",
        "<best baseline",
        "its events/s",
        "ratio",
        "<required",
        "<verdict",
    )
    cells = []
    for row, bar in zip(rows, bars, strict=True):
        baseline = row.best_baseline
        cells.append(
            (
                row.workload,
                row.coding.value,
                f"{row.events:,}",
                f"{row.composites:,}",
                amount(row.events / row.whole.cpu),
                amount(row.events / row.feed.cpu),
                "none" if baseline is None else baseline.name,
                "" if baseline is None else amount(row.events / baseline.timing.cpu),
                "" if row.ratio is None else f"{row.ratio:.2f}",
                str(row.requirement),
                bar.verdict,
            )
        )
    return Table("Ours and the best baseline", columns, tuple(cells))


def _baseline_table(rows: Sequence[PeerRow]) -> Table:
    cells = []
    for row in rows:
        ours = ("ours", "the rule, as it reads")
        everyone = [(*ours, row.whole)] + [
            (each.name, each.how if each.formulation == BEST else f"{each.how} ({each.formulation})", each.timing)
            for each in row.baselines
        ]
        cells += [
            (
                row.workload,
                row.coding.value,
                name,
                how,
                amount(row.events / timing.cpu),
                seconds(timing.cpu),
                seconds(timing.wall),
            )
            for name, how, timing in everyone
        ]
    columns = ("<workload", "<types", "<who", "<how", "events/s of CPU", "CPU", "wall")
    return Table("Everyone", columns, tuple(cells))


def _finding_table(findings: Sequence[Finding]) -> Table:
    return Table(
        "What the chapter says",
        ("<statement", "<here", "<because"),
        tuple((finding.statement, finding.verdict, finding.evidence) for finding in findings),
    )


def _figure6(points: Sequence[Figure6Point]) -> Section:
    cells = tuple(
        (
            f"{point.selection}-within",
            str(point.length),
            point.engine,
            f"{point.composites_per_event:.1f}",
            microseconds(point.singly.mean),
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
        ),
        (Table("Cost per event", columns, cells), _finding_table(figure6_findings(points))),
        pictures=(("bench-figure6.svg", "CPU time per event in a batch against the length of sequences"),),
    )


def _figure7(points: Sequence[Figure7Point]) -> Section:
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
    )
    return Section(
        Part.FIGURE7,
        "Cost against window size (figure 7)",
        (
            "One rule, a sequence of three events of equally frequent types. Where events are compared, each must "
            "be close in value to its successor, so close that about two of each state fit whatever the window: the "
            "engine has to consider all of them, and each-within stays small. This is one core of a CPU; there is "
            "no GPU version to compare with.",
        ),
        (Table("Cost per event", columns, cells), _finding_table(figure7_findings(points))),
        pictures=(("bench-figure7.svg", "CPU time per event in a batch against events per state"),),
    )


def _figure12(points: Sequence[Figure12Point], *, judged: bool) -> Section:
    cells = tuple(
        (
            str(point.added),
            str(point.largest),
            f"{microseconds(point.edited.mean)}",
            f"{microseconds(point.edited.p99)}",
            f"{microseconds(point.evaluated.mean)} ± {microseconds(point.margin)}",
            microseconds(point.renewed.mean),
            microseconds(point.first.mean),
            "not there" if point.pyagrum is None else microseconds(point.pyagrum.mean),
        )
        for point in points
    )
    columns = (
        "added nodes",
        "largest table",
        "edit and evaluation: mean us",
        "p99 us",
        "evaluation: mean us",
        "all tables changed: mean us",
        "first: mean us",
        "pyAgrum: mean us",
    )
    return Section(
        Part.BAYES,
        "Evaluating networks (figure 12)",
        (
            "The network of the paper's rule R1 with nodes added, each a cause of one or two others, none of which has "
            "more than three causes; random tables throughout. An edit gives one node another table, through the "
            "checks; the evaluation that follows takes up only what the table reaches. Of the evaluation alone the "
            "99% confidence interval of the mean is given, as in the paper. pyAgrum is timed with a new inference "
            "each time, as it does not notice that a table has changed; both find the same. Times are CPU time.",
        ),
        (Table("Time to evaluate a network", columns, cells),),
        _judge(network_bars(points), judged=judged),
        (("bench-figure12.svg", "Time to evaluate a network against the nodes added to it"),),
    )


def _certain(points: Sequence[PlainPoint], *, judged: bool) -> Section:
    return Section(
        Part.CERTAIN,
        "Certain events in an engine that is ready for uncertain ones",
        (uncertain_report.CERTAIN_TEXT,),
        (Table("Certain events", uncertain_report.PLAIN_COLUMNS, uncertain_report.plain_cells(points)),),
        _judge(uncertain_report.certain_bars(points), judged=judged),
    )


def _uncertain(points: Sequence[OverheadPoint], *, judged: bool) -> Section:
    return Section(
        Part.UNCERTAIN,
        "Uncertain events (figures 6 to 9 of the paper on uncertainty)",
        uncertain_report.UNCERTAIN_TEXT,
        (
            Table("Cost per event", uncertain_report.COST_COLUMNS, uncertain_report.cost_cells(points)),
            Table("Memory", uncertain_report.MEMORY_COLUMNS, uncertain_report.memory_cells(points)),
        ),
        _judge(uncertain_report.uncertain_bars(points), judged=judged),
        (
            ("bench-uncertain.svg", "CPU time per event in batches against the share of uncertain events"),
            ("bench-uncertain-singly.svg", "Mean and 99th percentile of the time of a single event"),
        ),
    )


def _accuracy(curves: Sequence[AccuracyCurve], *, judged: bool) -> Section:
    return Section(
        Part.ACCURACY,
        "Accuracy (figure 11 of the paper on uncertainty)",
        (uncertain_report.ACCURACY_TEXT,),
        (Table("Accuracy", uncertain_report.ACCURACY_COLUMNS, uncertain_report.accuracy_cells(curves)),),
        _judge(uncertain_report.accuracy_bars(curves), judged=judged),
        (("bench-accuracy.svg", "Accuracy against the threshold, and true against false positives"),),
    )


def _spark(measured: SparkMeasured, *, judged: bool) -> Section:
    return Section(
        Part.SPARK,
        "On Spark, beside Spark SQL",
        (TEXT,),
        (Table("Ours and Spark's own", COLUMNS, spark_cells(measured)),),
        _judge(spark_bars(measured), judged=judged),
    )


def _growth(growth: Growth, *, judged: bool) -> Section:
    scaling, footprint, startup = growth.scaling, growth.footprint, growth.startup
    bars = _judge(
        [*scaling_bars(scaling), *footprint_bars(footprint), *startup_bars(startup)],
        judged=judged,
    )
    tables = [_rules_table(growth), _steps_table(growth), _memory_table(growth), _threads_table(growth)]
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
        (("bench-memory.svg", "Resident memory as events pass through S3-each"),),
    )


def _rules_table(growth: Growth) -> Table:
    cells = tuple(
        (
            row.told_by,
            f"{count:,}",
            microseconds(cost),
            f"{composites:.2f}",
        )
        for row in growth.scaling.rules
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


def _steps_table(growth: Growth) -> Table:
    scaling, startup = growth.scaling, growth.startup
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
        cells.append(("fresh process that has to compile the kernel", seconds(startup.first_ever)))
    return Table("Deployment, single events, start-up", ("<what", "time"), tuple(cells))


def _memory_table(growth: Growth) -> Table:
    footprint = growth.footprint
    cells = [(f"{passed:,} events through S3-each", f"{size / MEBIBYTE:.1f} MiB") for passed, size in footprint.flow]
    cells.append((f"composite events of all {footprint.flow[-1][0]:,}", f"{footprint.composites:,}"))
    cells.append((f"per stored event, of {footprint.stored:,}", f"{footprint.per_stored:.0f} bytes"))
    return Table("Memory", ("<after", "resident memory"), tuple(cells))


def _threads_table(growth: Growth) -> Table:
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
        for row in growth.scaling.threads
    )
    columns = ("<workload", "threads", "composite events", "wall", "CPU", "events/s of wall", "as fast as one")
    return Table("Threads", columns, cells)
