"""``cepheus bench claims``: the papers' sentences, judged by the figures that were kept."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from benchmarks.papers.claims.judging import judge
from benchmarks.papers.claims.page import COLOURS, findings_in_words, write_claims
from benchmarks.papers.claims.register import groups
from benchmarks.papers.claims.store import load_all


def bench_claims(console: Console, docs: Path | None) -> None:
    """Print every claim with its verdict; with ``docs`` also write the page."""
    samples = load_all()
    for paper, reading, claims in groups():
        console.print(f"[bold]{paper.value}{f': {reading}' if reading else ''}[/]")
        for claim in claims:
            found = judge(claim, samples)
            mark = f"[{COLOURS[found.verdict]}]{found.verdict.value}[/]"
            console.print(f"  {mark}: {claim.sentence} [dim]{findings_in_words(found)}[/]")
    if docs is not None:
        console.print(f"written: {write_claims(docs, groups(), samples)}", markup=False)
