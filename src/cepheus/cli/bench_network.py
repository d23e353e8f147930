"""``cepheus bench network``: a line of three processes on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from cepheus.bench.network.line import Load, Outcome

_MILLISECONDS = 1000.0


def bench_network(console: Console, *, quick: bool) -> None:
    """Measure throughput and delay, and print them beside what must be reached."""
    from rich.table import Table

    from cepheus.bench.network.line import measure_line

    table = Table(title="A line of three processes on loopback", title_justify="left", title_style="bold")
    for name in ("published", "temperatures that pass", "events/s", "median delay", "99% within", "wanted", ""):
        table.add_column(name, justify="right")
    for words, load, wanted in _loads(quick=quick):
        outcome = measure_line(load)
        delays = [f"{outcome.delay(share) * _MILLISECONDS:.1f} ms" for share in (0.5, 0.99)]
        verdict = "" if wanted == "-" else "met" if _met(outcome) else "missed"
        table.add_row(words, f"{load.passing:.0%}", f"{outcome.rate:,.0f}", *delays, wanted, verdict)
    console.print(table)


def _loads(*, quick: bool) -> list[tuple[str, Load, str]]:
    from cepheus.bench.network.line import Load

    seconds = 1.5 if quick else 15.0
    return [
        ("5,000 a second", Load(5_000, seconds, 0.1, 0.1), "99% < 50 ms"),
        ("60,000 a second", Load(60_000, seconds, 0.1, 0.002), "50,000 events/s"),
        ("as fast as they are taken", Load(None, seconds, 0.1, 0.002), "-"),
        ("as fast, selective", Load(None, seconds, 0.01, 0.002), "-"),
        ("as fast, nothing filtered", Load(None, seconds, 1.0, 0.002), "-"),
    ]


def _met(outcome: Outcome) -> bool:
    """Tell whether nothing piled up, and what a load was for was reached: a short delay, or enough events."""
    reached = outcome.delay(0.99) < 0.05 if outcome.load.rate == 5_000 else outcome.rate >= 50_000
    return outcome.keeps_up and reached
