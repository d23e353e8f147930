"""Ours and the best baseline: tables, what must be reached, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.peers.compare import PeerRow
from benchmarks.peers.contender import BEST
from benchmarks.reports.pictures import COLOURS, axes_of
from benchmarks.reports.section import Bar, Part, Picture, Section, Table, amount, judge, seconds
from benchmarks.workloads.questions import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def peer_section(rows: Sequence[PeerRow], *, judged: bool) -> Section:
    """Report on the same questions to all."""
    bars = judge(peer_bars(rows), judged=judged)
    shares = judge(share_bars(rows), judged=judged)
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
            "The limit is the loop that an expert would write for one question and nothing else, compiled like our "
            "kernel: it has no rules, ids, provenance or state, and its sums are rounded "
            "(`benchmarks/peers/by_hand.py`). The share tells how fast we are for each that it is.",
            *(f"Missing: {words}." for words in missing),
        ),
        (_peer_table(rows, bars), _limit_table(rows), _baseline_table(rows)),
        (*bars, *shares),
        (Picture("bench-peers.svg", "Events per second of CPU time, ours and the baselines'", lambda: _drawn(rows)),),
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


def _limit_table(rows: Sequence[PeerRow]) -> Table:
    columns = ("<workload", "<types", "ours, CPU", "the limit, CPU", "share", "least")
    cells = [
        (
            row.workload,
            row.coding.value,
            seconds(row.whole.cpu),
            seconds(row.limit.cpu),
            f"{row.share:.2f}",
            "" if row.least_share is None else f"{row.least_share:g}",
        )
        for row in rows
        if row.limit is not None
    ]
    return Table("Ours and the limit", columns, tuple(cells))


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


def peer_bars(rows: Sequence[PeerRow]) -> list[Bar]:
    """Judge the workloads by CPU time."""
    return [
        Bar(f"{row.workload}, {row.coding.value} types", f"at least {_required(row)}", _reached(row), row.met)
        for row in rows
    ]


def share_bars(rows: Sequence[PeerRow]) -> list[Bar]:
    """Judge how near we come to loops written by hand."""
    return [
        Bar(
            f"{row.workload}, {row.coding.value} types, share of the limit",
            f"at least {row.least_share:g}",
            "no limit" if row.share is None else f"{row.share:.2f}",
            None if row.share is None else row.share >= row.least_share,
        )
        for row in rows
        if row.least_share is not None
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


def _drawn(rows: Sequence[PeerRow]) -> Figure:
    """Dots for each question, on a scale that has no zero: ours, and the best formulation of each baseline."""
    figure, axes = axes_of(8, 1 + 0.4 * len(rows))
    places: dict[str, list[int]] = {}
    rates: dict[str, list[float]] = {}
    for place, row in enumerate(rows):
        fastest = {"ours": row.events / row.whole.cpu}
        for each in row.baselines:
            fastest[each.name] = max(fastest.get(each.name, 0.0), row.events / each.timing.cpu)
        for name, rate in fastest.items():
            places.setdefault(name, []).append(place)
            rates.setdefault(name, []).append(rate / 1e6)
    for name, values in rates.items():
        size = 70 if name == "ours" else 40
        axes.scatter(values, places[name], s=size, color=COLOURS[name], label=name, zorder=3)
    axes.set_yticks(range(len(rows)), [f"{row.workload}, {row.coding.value}" for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("million events per second of CPU time, one thread")
    axes.legend(frameon=False)
    return figure
