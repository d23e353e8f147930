"""``cepheus bench network``: a line of three processes on this machine."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.network.line import Load, Outcome

_MILLISECONDS = 1000.0
_SLOW, _LONGEST_DELAY = 5_000, 0.05
_ENOUGH = 50_000


def bench_network(console: Console, *, repeat: int, quick: bool) -> None:
    """Measure throughput and delay, and print them beside what must be reached.

    What must be reached is measured several times, with new processes each time: the machine has other things to do.
    """
    from rich.table import Table

    from benchmarks.network.line import measure_line

    title = "A line of three processes on loopback: of all runs the best, the middle one and the worst"
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in ("published", "pass", "events/s", "median delay", "99% within", "others", "wanted", ""):
        table.add_column(name, justify="right")
    for words, load, wanted in _loads(quick=quick):
        outcomes = [measure_line(load) for _ in range(1 if quick or wanted == "-" else repeat)]
        table.add_row(
            words,
            f"{load.passing:.0%}",
            spread(sorted((outcome.rate for outcome in outcomes), reverse=True), "{:,.0f}"),
            spread(sorted(outcome.delay(0.5) * _MILLISECONDS for outcome in outcomes), "{:.1f}", " ms"),
            spread(sorted(outcome.delay(0.99) * _MILLISECONDS for outcome in outcomes), "{:.1f}", " ms"),
            _others(outcomes),
            wanted,
            "" if wanted == "-" else verdict(outcomes),
        )
    console.print(table)


def _loads(*, quick: bool) -> list[tuple[str, Load, str]]:
    from benchmarks.network.line import Load

    seconds = 1.5 if quick else 15.0
    return [
        ("5,000 a second", Load(_SLOW, seconds, 0.1, 0.1), "99% < 50 ms"),
        ("60,000 a second", Load(60_000, seconds, 0.1, 0.002), "50,000 events/s"),
        ("as fast as they are taken", Load(None, seconds, 0.1, 0.002), "-"),
        ("as fast, selective", Load(None, seconds, 0.01, 0.002), "-"),
        ("as fast, nothing filtered", Load(None, seconds, 1.0, 0.002), "-"),
    ]


def spread(ordered: Sequence[float], form: str, unit: str = "") -> str:
    """Give the first, the middle and the last of ordered figures.

    >>> spread([19.62, 21.5, 33.0], "{:.1f}", " ms"), spread([5000.0], "{:,.0f}")
    ('19.6 / 21.5 / 33.0 ms', '5,000')
    """
    figures = ordered if len(ordered) == 1 else (ordered[0], median(ordered), ordered[-1])
    return " / ".join(form.format(figure) for figure in figures) + unit


def _others(outcomes: Sequence[Outcome]) -> str:
    shares = sorted(outcome.others * 100 for outcome in outcomes if outcome.others is not None)
    return spread(shares, "{:.0f}", "%") if shares else "-"


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Say in how many runs what was wanted was reached.

    A load is for something, a short delay or enough events; and nothing may pile up.
    """
    reached = sum(outcome.keeps_up and _reached(outcome) for outcome in outcomes)
    if reached == len(outcomes):
        return "met"
    return f"met in {reached} of {len(outcomes)} runs" if reached else "missed"


def _reached(outcome: Outcome) -> bool:
    return outcome.delay(0.99) < _LONGEST_DELAY if outcome.load.rate == _SLOW else outcome.rate >= _ENOUGH
