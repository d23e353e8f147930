"""Runs many simulations: one after the other, in several processes, or as a Spark job, one simulation a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.papers.deployment.figures import FigurePlan
from cepheus.runtime.network.experiment import Outcome, run_scenario
from cepheus.runtime.network.scenario import Scenario
from cepheus.runtime.network.strategy import Filter, Options, Order, Strategy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Job:
    """One simulation: a point of a figure, a strategy and a seed."""

    figure: str
    x: float
    strategy: Strategy
    seed: int
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Result:
    """A job and what came out."""

    job: Job
    outcome: Outcome


def jobs_of(figure: FigurePlan, base: Scenario, seeds: int, *, exact: bool) -> list[Job]:
    """Give the simulations that a figure takes; ``exact`` with exact filters and order, otherwise as the papers."""
    options = base.options
    if not exact:
        options = replace(options, filter=Filter.AS_PRINTED, order=Order.ARRIVAL)
    return [
        Job(figure.name, x, strategy, seed, _scenario(figure, base, x, options, strategy))
        for x in figure.values
        for strategy in figure.strategies
        for seed in range(1, seeds + 1)
    ]


def _scenario(figure: FigurePlan, base: Scenario, x: float, options: Options, strategy: Strategy) -> Scenario:
    return replace(figure.vary(base, x), options=replace(options, strategy=strategy))


def run_job(job: Job) -> Result:
    """Run one simulation."""
    return Result(job, run_scenario(job.scenario, job.seed).outcome)


def run_jobs(jobs: Iterable[Job], workers: int, say: Callable[[str], None]) -> Iterator[Result]:
    """Run simulations in so many processes; results come as they are ready, in the order of the jobs."""
    jobs = list(jobs)
    if workers == 1:
        for number, job in enumerate(jobs, 1):
            say(_words(job, number, len(jobs)))
            yield run_job(job)
        return
    with ProcessPoolExecutor(workers) as pool:
        for number, result in enumerate(pool.map(run_job, jobs), 1):
            say(_words(result.job, number, len(jobs)))
            yield result


def run_on_spark(jobs: Iterable[Job], spark: SparkSession) -> list[Result]:
    """Run simulations as a Spark job, one a task."""
    jobs = list(jobs)
    context: Any = spark.sparkContext
    found: list[Result] = context.parallelize(jobs, max(1, len(jobs))).map(run_job).collect()
    return found


def _words(job: Job, number: int, total: int) -> str:
    return f"figure {job.figure}: {number} of {total}, {job.strategy.value}, x = {job.x:g}, seed {job.seed}"
