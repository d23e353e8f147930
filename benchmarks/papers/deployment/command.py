"""``cepheus bench deployment``: the evaluation of the deployment strategies, in the simulator."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.papers.deployment.figures import FIGURES, FULL, QUICK, figure_of
from benchmarks.papers.deployment.statements import verdicts
from benchmarks.papers.deployment.sweep import Curves, Job, Result, curves, jobs_of, run_jobs, run_on_spark
from benchmarks.reports.terminal import telling
from cepheus.core.errors import OptionError
from cepheus.core.extras import how_to_install
from cepheus.core.time import parse_duration


def bench_deployment(
    figures: Sequence[str],
    seeds: int,
    duration: str | None,
    console: Console,
    docs: Path | None,
    *,
    quick: bool,
    exact: bool,
    spark: bool,
) -> None:
    """Run figures of the papers again and print them; with ``docs`` also put them into the documentation."""
    base = QUICK if quick else FULL
    if duration is not None:
        base = replace(base, duration=parse_duration(duration))
    chosen = [figure_of(name) for name in figures or FIGURES]
    command = _command(figures, seeds, duration, quick=quick, exact=exact)
    if quick:
        chosen = [replace(figure, vary=lambda scenario, _: scenario) for figure in chosen]
    for figure in chosen:
        results = _run(jobs_of(figure, base, seeds, exact=exact), spark=spark)
        found = curves(results)
        _show(found, console)
        if docs is not None:
            from benchmarks.papers.deployment.page import write_page  # Matplotlib takes a while to import

            for path in write_page(docs, [found], command):
                console.print(f"written: {path}", markup=False)


def _run(jobs: Sequence[Job], *, spark: bool) -> list[Result]:
    if spark:
        return run_on_spark(jobs, _session())
    with telling() as say:
        return list(run_jobs(jobs, min(len(jobs), os.cpu_count() or 1), say))


def _session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError.of("spark", "PySpark is not installed", hint=how_to_install("spark")) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.appName("cepheus bench deployment").getOrCreate()


def _show(found: Curves, console: Console) -> None:
    plan = FIGURES[found.figure]
    table = Table(title=f"Figure {found.figure}: {plan.title}", title_justify="left", title_style="bold")
    table.add_column(plan.axis or "scenario", justify="right")
    for strategy in found.strategies:
        table.add_column(strategy.value, justify="right")
    for x in found.xs:
        cells = [f"{found.traffic[s, x]}/s\n{found.delay_words(s, x)}" for s in found.strategies]
        table.add_row(f"{x:g}" if plan.axis else "default", *cells)
    console.print(table)
    marks = {True: "[green]confirmed[/]", False: "[red]not confirmed[/]", None: "[yellow]not judged[/]"}
    for words, confirmed, figures in verdicts(found):
        mark = marks[confirmed]
        console.print(f"  {mark}: {words} [dim]{figures}[/]")
    speeds = ", ".join(f"{strategy.value} {speed:.0f}x" for strategy, speed in found.speed.items())
    console.print(f"  [dim]faster than real time, per core: {speeds}[/]\n")


def _command(figures: Sequence[str], seeds: int, duration: str | None, *, quick: bool, exact: bool) -> str:
    words = ["cepheus bench deployment", *(f"--figure {name}" for name in figures), f"--seeds {seeds}"]
    words += [f"--duration '{duration}'"] if duration is not None else []
    words += ["--exact"] if exact else []
    return " ".join([*words, "--quick"] if quick else words)
