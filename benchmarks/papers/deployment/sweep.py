"""Runs many simulations, in several processes or as a Spark job; what is known is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.papers.claims.judging import Interval, interval_of
from benchmarks.papers.claims.model import Samples
from benchmarks.papers.deployment.figures import FigurePlan, words_of
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.experiment import Outcome, run_plan
from cepheus.runtime.network.simulation.scenario import Scenario, draw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Job:
    """One simulation: a scenario, strategy included, and a seed."""

    scenario: Scenario
    seed: int

    @property
    def strategy(self) -> Strategy:
        """Which strategy the processors follow."""
        return self.scenario.options.strategy


@dataclass(frozen=True, slots=True)
class Result:
    """A job and what came out."""

    job: Job
    outcome: Outcome


def name_of(measure: str, scenario: Scenario) -> str:
    """The name of a sample of simulations: what was measured, the strategy and what the scenario differs in.

    >>> from benchmarks.papers.deployment.figures import FULL, rules
    >>> name_of("traffic", rules(FULL, 25))
    'traffic ST rules=25'
    """
    return f"{measure} {scenario.options.strategy.value} {words_of(scenario)}"


def with_strategy(scenario: Scenario, strategy: Strategy) -> Scenario:
    """The same scenario for another strategy."""
    return replace(scenario, options=replace(scenario.options, strategy=strategy))


def jobs_of(figure: FigurePlan, base: Scenario, seeds: Sequence[int]) -> list[Job]:
    """The simulations that a figure takes, all strategies of a point and seed one after the other."""
    return [
        Job(with_strategy(figure.vary(base, x), strategy), seed)
        for seed in seeds
        for x in figure.values
        for strategy in figure.strategies
    ]


def missing(jobs: Iterable[Job], known: Samples) -> list[Job]:
    """The simulations of which nothing is known, each once."""
    return [job for job in dict.fromkeys(jobs) if job.seed not in known.get(name_of("traffic", job.scenario), {})]


def add(samples: dict[str, dict[int, float]], result: Result) -> None:
    """Add what came out: the mean delay if there is one; messages, composite events and events published per second."""
    scenario, seed, outcome = result.job.scenario, result.job.seed, result.outcome
    seconds = scenario.duration / 1_000_000
    figures = {"traffic": outcome.traffic, "composites": outcome.composites / seconds, "delay": outcome.delay}
    if result.job.strategy is Strategy.CENTR:
        figures["published"] = outcome.published / seconds
    for measure, value in figures.items():
        if value is not None:
            samples.setdefault(name_of(measure, scenario), {})[seed] = value


def run_job(job: Job) -> Result:
    """Run one simulation."""
    return Result(job, run_plan(draw(job.scenario, job.seed)).outcome)


def run_jobs(jobs: Sequence[Job], workers: int, say: Callable[[str], None]) -> Iterator[Result]:
    """Run simulations in so many processes; results come as they are ready, in the order of the jobs."""
    if workers < 2:
        for number, job in enumerate(jobs, 1):
            say(_words(job, number, len(jobs)))
            yield run_job(job)
        return
    with ProcessPoolExecutor(workers) as pool:
        for number, result in enumerate(pool.map(run_job, jobs), 1):
            say(_words(result.job, number, len(jobs)))
            yield result


def run_on_spark(jobs: Sequence[Job], spark: SparkSession) -> list[Result]:
    """Run simulations as a Spark job, one a task.

    What travels is made of the installed package alone: where tasks run, this one need not be.
    """
    context: Any = spark.sparkContext
    drawn = context.parallelize([(job.scenario, job.seed) for job in jobs], max(1, len(jobs)))
    outcomes: list[Outcome] = drawn.map(lambda pair: run_plan(draw(*pair)).outcome).collect()
    return [Result(job, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]


def _words(job: Job, number: int, total: int) -> str:
    return f"{number} of {total}: {job.strategy.value}, {words_of(job.scenario)}, seed {job.seed}"


@dataclass(frozen=True, slots=True)
class Curves:
    """What a figure shows: for each strategy and x the traffic (notifications, awakenings per second) and the delay.

    A delay is taken over the runs in which composite events arose; where there was none in any, there is no delay.
    """

    figure: str
    xs: tuple[float, ...]
    strategies: tuple[Strategy, ...]
    traffic: dict[tuple[Strategy, float], Interval]
    delay: dict[tuple[Strategy, float], Interval]

    @property
    def seeds(self) -> int:
        """Over how many seeds the figure was run, at the point that has the fewest."""
        return min((each.runs for each in self.traffic.values()), default=0)

    def traffic_words(self, strategy: Strategy, x: float) -> str:
        """Write the traffic of a strategy at an x."""
        found = self.traffic.get((strategy, x))
        return "not run" if found is None else f"{_interval(found)}/s"

    def delay_words(self, strategy: Strategy, x: float) -> str:
        """Write the delay of a strategy at an x, and over how many runs it is taken if some had none."""
        delay, traffic = self.delay.get((strategy, x)), self.traffic.get((strategy, x))
        if delay is None:
            return "n/a"
        few = traffic is not None and delay.runs < traffic.runs
        return f"{_interval(delay)} ms" + (f" ({delay.runs} of {traffic.runs} runs)" if few and traffic else "")


def _interval(found: Interval) -> str:
    digits = 0 if found.mean >= 100 else 1
    half = found.high - found.mean
    return f"{found.mean:.{digits}f}" if found.runs < 2 else f"{found.mean:.{digits}f} ± {half:.{digits}f}"


def curves(figure: FigurePlan, base: Scenario, samples: Samples) -> Curves:
    """Put the results of one figure together."""

    def over_seeds(measure: str) -> dict[tuple[Strategy, float], Interval]:
        found: dict[tuple[Strategy, float], Interval] = {}
        for x in figure.values:
            for strategy in figure.strategies:
                values = samples.get(name_of(measure, with_strategy(figure.vary(base, x), strategy)), {})
                interval = interval_of(list(values.values()), counted=True)
                if interval is not None:
                    found[strategy, x] = interval
        return found

    return Curves(figure.name, figure.values, figure.strategies, over_seeds("traffic"), over_seeds("delay"))
