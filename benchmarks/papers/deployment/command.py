"""``cepheus bench deployment``: the evaluation of the deployment strategies, in the simulator.

What has been simulated is kept (``benchmarks/papers/results/deployment.json``) and not simulated again, so that a long
run can be interrupted and goes on where it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.papers.claims.judging import Judgement, judge
from benchmarks.papers.claims.model import Claim, Samples
from benchmarks.papers.claims.page import COLOURS, findings_in_words
from benchmarks.papers.claims.store import load, save
from benchmarks.papers.deployment.claims import rule_deployment_claims, strategy_claims
from benchmarks.papers.deployment.figures import FIGURES, QUICK, FigurePlan, base_of, figure_of
from benchmarks.papers.deployment.sweep import (
    Curves,
    Job,
    Result,
    add,
    curves,
    jobs_of,
    missing,
    run_jobs,
    run_on_spark,
)
from benchmarks.reports.terminal import telling
from cepheus.core.errors import OptionError
from cepheus.core.extras import how_to_install
from cepheus.core.time import parse_duration
from cepheus.runtime.network.simulation.scenario import Scenario

KEPT = "deployment"


@dataclass(frozen=True, slots=True)
class Reading:
    """Which way to take what the papers leave open: see ``base_of``."""

    exponential: bool = False
    exact: bool = False
    ours: bool = False

    @property
    def base(self) -> Scenario:
        """The default scenario in this reading."""
        return base_of(exponential=self.exponential, exact=self.exact, ours=self.ours)

    def claims(self, figure: str) -> list[Claim]:
        """What the papers say of a figure; of what they did not run they say nothing."""
        if self.exact or self.ours:
            return []
        known = [*strategy_claims(exponential=self.exponential), *rule_deployment_claims()]
        command = f"cepheus bench deployment --figure {figure}{' --exponential' if self.exponential else ''}"
        return [claim for claim in known if claim.command == command]


def bench_deployment(
    figures: Sequence[str],
    seeds: int,
    duration: str | None,
    reading: Reading,
    console: Console,
    docs: Path | None,
    *,
    quick: bool,
    spark: bool,
) -> None:
    """Run figures of the papers again and print them; with ``docs`` also put them into the documentation."""
    base = QUICK if quick else reading.base
    if duration is not None:
        base = replace(base, duration=parse_duration(duration))
    chosen = [figure_of(name) for name in figures or FIGURES]
    if quick:
        chosen = [replace(figure, vary=lambda scenario, _: scenario) for figure in chosen]
    samples = {} if quick else load(KEPT)
    for result in _run(what_to_run(chosen, base, seeds, reading, samples), spark=spark):
        add(samples, result)
        if not quick:
            save(KEPT, samples)
    for figure in chosen:
        show(curves(figure, base, samples), judged(figure.name, reading, samples), console)
    if docs is not None:
        from benchmarks.papers.deployment.page import write_page  # Matplotlib takes a while to import

        for path in write_page(docs, [figure.name for figure in chosen], samples):
            console.print(f"written: {path}", markup=False)


def what_to_run(
    figures: Sequence[FigurePlan], base: Scenario, seeds: int, reading: Reading, samples: Samples
) -> list[Job]:
    """What is missing of figures, seed by seed: whoever stops early has all of them, each with fewer runs.

    Of one seed those figures come first that have most sentences without a verdict for each simulation they take.
    """

    def promise(figure: FigurePlan) -> float:
        open_ones = sum(not each.verdict.is_settled for each in judged(figure.name, reading, samples))
        return open_ones / len(jobs_of(figure, base, (1,)))

    ordered = sorted(figures, key=promise, reverse=True)
    return missing(
        [job for seed in range(1, seeds + 1) for figure in ordered for job in jobs_of(figure, base, (seed,))], samples
    )


def _run(jobs: Sequence[Job], *, spark: bool) -> Iterable[Result]:
    if spark and jobs:
        yield from run_on_spark(jobs, _session())
        return
    with telling() as say:
        yield from run_jobs(jobs, min(len(jobs), os.cpu_count() or 1), say)


def _session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError.of("spark", "PySpark is not installed", hint=how_to_install("spark")) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.appName("cepheus bench deployment").getOrCreate()


def show(found: Curves, judgements: Sequence[Judgement], console: Console) -> None:
    """Print a figure and what the papers say of it."""
    plan = FIGURES[found.figure]
    table = Table(title=f"Figure {found.figure}: {plan.title}", title_justify="left", title_style="bold")
    table.add_column(plan.axis or "scenario", justify="right")
    for strategy in found.strategies:
        table.add_column(strategy.value, justify="right")
    for x in found.xs:
        cells = [f"{found.traffic_words(s, x)}\n{found.delay_words(s, x)}" for s in found.strategies]
        table.add_row(f"{x:g}" if plan.axis else "default", *cells)
    console.print(table)
    for each in judgements:
        mark = f"[{COLOURS[each.verdict]}]{each.verdict.value}[/]"
        console.print(f"  {mark}: {each.claim.sentence} [dim]{findings_in_words(each)}[/]")
    console.print(f"  [dim]{found.seeds} seeds[/]\n")


def judged(figure: str, reading: Reading, samples: Samples) -> list[Judgement]:
    """What the papers say of a figure, judged."""
    return [judge(claim, samples) for claim in reading.claims(figure)]
