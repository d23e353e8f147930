"""What the ETALIS paper says of its stock ticker, section 7."""

from __future__ import annotations

from benchmarks.papers.claims.model import STEADY, Claim, Level, Paper, Part, Ratio, Region
from benchmarks.papers.etalis.stock_ticker import POLICIES, PRINTED

_COMMAND = "cepheus bench etalis --write-docs"


def etalis_claims() -> list[Claim]:
    """All of them."""
    return [
        Claim(
            Paper.ETALIS,
            "7, figure 3",
            "With 50,000 ticks 37,000 events per second are reached under YAP (30,000 under SWI Prolog).",
            "our events per second",
            Region("at least 37,000", low=37_000.0),
            tuple(Part(policy, Level(f"ticks per second, {policy}, 50000 events")) for policy in POLICIES),
            _COMMAND,
        ),
        Claim(
            Paper.ETALIS,
            "7, figure 3",
            "The prototype is faster than Esper 3.1 and Drools 5.0.",
            "events per second",
            STEADY,
            (),
            _COMMAND,
            "no registry of Python packages has them; the paper's own figures stand on the page of measurements",
        ),
        Claim(
            Paper.ETALIS,
            "7, figure 4",
            "Memory is almost constant while events pass.",
            "resident memory, rules as printed, after 100,000 events to after 10,000",
            STEADY,
            _first_to_last("resident bytes"),
            _COMMAND,
        ),
        Claim(
            Paper.ETALIS,
            "7, figure 4",
            "Irrelevant events are removed as soon as they are consumed.",
            "goals that wait, after 100,000 events to after 10,000",
            STEADY,
            _first_to_last("goals that wait"),
            _COMMAND,
        ),
    ]


def _first_to_last(measure: str) -> tuple[Part, ...]:
    """How a measure of the printed rules changes while events pass; it is counted, so one run is enough."""
    return tuple(
        Part(
            policy,
            Ratio(f"{measure}, {policy}, as printed: last", f"{measure}, {policy}, as printed: first", counted=True),
        )
        for policy in PRINTED
    )
