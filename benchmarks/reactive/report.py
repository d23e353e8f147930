"""What signals reach."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.reactive.speed import SIGNALS, Pace
from benchmarks.reports.section import Bar, Part, Section, Table, amount, judge

LEAST = 1e6


def reactive_section(paces: Sequence[Pace], *, judged: bool) -> Section:
    """Report on signals."""
    whole = paces[0]
    bars = [
        Bar(
            f"events a second through a graph of {SIGNALS} signals, in batches, on one core",
            f"at least {amount(LEAST)}",
            amount(whole.rate),
            whole.rate >= LEAST,
        )
    ]
    rows = [(pace.name, amount(pace.events), amount(pace.rate), f"{pace.changes:,}") for pace in paces]
    table = Table("Signals", ("<fed", "events", "events/s", "alarms told"), tuple(rows))
    return Section(
        Part.REACTIVE,
        "Reactive values",
        (
            f"A graph of {SIGNALS} signals over readings of temperature: latest values, a count and an average of the "
            "last second, what is computed from them, and a condition over it all, the alarm. Every event is a moment "
            "at which each signal is computed, and so is every time at which a reading leaves its window. Where the "
            "alarm is observed, a function of Python is called with each of its changes, which costs more than all the "
            "rest. Rates are by the time of the processor.",
        ),
        (table,),
        judge(bars, judged=judged),
    )
