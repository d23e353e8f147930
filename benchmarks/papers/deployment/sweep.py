"""Runs many simulations, one after the other, in several processes or as a Spark job, and gives means over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from benchmarks.papers.deployment.figures import FigurePlan
from cepheus.runtime.network.protocol.strategy import Filter, Options, Order, Strategy
from cepheus.runtime.network.simulation.experiment import Outcome, run_plan
from cepheus.runtime.network.simulation.scenario import Scenario, draw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Two-sided 95% quantiles of Student's distribution, for 1, 2, .. degrees of freedom."""


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
    """The simulations that a figure takes; ``exact`` with exact filters and order, otherwise as the papers."""
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
    return Result(job, run_plan(draw(job.scenario, job.seed)).outcome)


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
    """Run simulations as a Spark job, one a task.

    What travels is made of the installed package alone: where tasks run, this one need not be.
    """
    jobs = list(jobs)
    context: Any = spark.sparkContext
    drawn = context.parallelize([(job.scenario, job.seed) for job in jobs], max(1, len(jobs)))
    outcomes: list[Outcome] = drawn.map(lambda pair: run_plan(draw(*pair)).outcome).collect()
    return [Result(job, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]


def _words(job: Job, number: int, total: int) -> str:
    return f"figure {job.figure}: {number} of {total}, {job.strategy.value}, x = {job.x:g}, seed {job.seed}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over so many runs, one a seed, and half the width of its 95% confidence interval (0 with a single run)."""

    mean: float
    margin: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if not self.margin else f"{self.mean:.1f} ± {self.margin:.1f}"


@dataclass(frozen=True, slots=True)
class Curves:
    """What a figure shows: for each strategy and x the traffic (notifications, awakenings per second) and the delay.

    A delay is estimated from the runs in which composite events arose; where there was none in any, there is no delay.
    """

    figure: str
    xs: tuple[float, ...]
    strategies: tuple[Strategy, ...]
    traffic: dict[tuple[Strategy, float], Estimate]
    delay: dict[tuple[Strategy, float], Estimate]
    speed: dict[Strategy, float]

    def of(self, strategy: Strategy, x: float | None = None) -> float:
        """The mean traffic of a strategy at an x, or over all."""
        if x is not None:
            return self.traffic[strategy, x].mean
        return mean(self.traffic[strategy, each].mean for each in self.xs)

    def delays_of(self, *strategies: Strategy) -> list[tuple[float, ...]]:
        """The mean delays of some strategies at each x at which all of them have one."""
        found = [[self.delay.get((strategy, x)) for strategy in strategies] for x in self.xs]
        return [tuple(each.mean for each in at_x if each is not None) for at_x in found if None not in at_x]

    def delay_words(self, strategy: Strategy, x: float) -> str:
        """Write the delay of a strategy at an x, and over how many runs it is taken if some had none."""
        delay, runs = self.delay.get((strategy, x)), self.traffic[strategy, x].runs
        if delay is None:
            return "n/a"
        return f"{delay} ms" if delay.runs == runs else f"{delay} ms ({delay.runs} of {runs} runs)"


def estimate(values: Sequence[float]) -> Estimate:
    """The mean and its margin.

    >>> str(estimate([10.0, 12.0, 14.0]))
    '12.0 ± 5.0'
    """
    if len(values) < 2:
        return Estimate(values[0], 0.0, 1)
    quantile = _QUANTILES[len(values) - 2] if len(values) - 2 < len(_QUANTILES) else 1.96
    return Estimate(mean(values), quantile * stdev(values) / math.sqrt(len(values)), len(values))


def curves(results: Sequence[Result]) -> Curves:
    """Put the results of one figure together."""

    def over_seeds(what: Callable[[Outcome], float | None]) -> dict[tuple[Strategy, float], Estimate]:
        found: dict[tuple[Strategy, float], list[float]] = {}
        for result in results:
            value = what(result.outcome)
            if value is not None:
                found.setdefault((result.job.strategy, result.job.x), []).append(value)
        return {key: estimate(values) for key, values in found.items()}

    strategies = tuple(dict.fromkeys(result.job.strategy for result in results))
    return Curves(
        figure=results[0].job.figure,
        xs=tuple(dict.fromkeys(result.job.x for result in results)),
        strategies=strategies,
        traffic=over_seeds(lambda outcome: outcome.traffic),
        delay=over_seeds(lambda outcome: outcome.delay),
        speed={s: mean(r.outcome.speed for r in results if r.job.strategy is s) for s in strategies},
    )
