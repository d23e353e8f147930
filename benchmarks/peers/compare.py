"""Ours beside DuckDB and Polars on the same questions: the same Arrow table, one thread each, equal answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.measuring.timing import Say, Timing, best
from benchmarks.peers.by_hand import LOOPS
from benchmarks.peers.contender import BEST, LIMIT, OURS, Answer, Job, describe, formulations
from benchmarks.peers.worker import Worker
from benchmarks.workloads.questions import WORKLOADS, Requirement, Unit, Workload
from benchmarks.workloads.streams import Coding
from cepheus.core.errors import CepheusError, OptionError, did_you_mean

BASELINES = ("polars", "duckdb")
QUICK_RULES = 100
_ROUNDS_OF_OTHERS = 2  # formulations that are not the best are slow, and nothing is judged by them


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline's best times on a question; ``how`` says in words what it does."""

    name: str
    formulation: str
    how: str
    timing: Timing


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One question on one stream: what was found, how long we took and how long the others did.

    ``whole`` is the time from Arrow table to result columns, ``feed`` that of the engine alone. ``missing`` says which
    baselines could not be run. ``limit`` is the time of a loop written by hand, where there is one.
    """

    workload: str
    coding: Coding
    events: int
    composites: int
    whole: Timing
    feed: Timing
    baselines: tuple[Baseline, ...]
    requirement: Requirement
    missing: tuple[str, ...] = ()
    limit: Timing | None = None
    least_share: float | None = None

    @property
    def best_baseline(self) -> Baseline | None:
        """The baseline that needs the least CPU time."""
        return min(self.baselines, key=lambda each: each.timing.cpu, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the best baseline we are, by CPU time."""
        baseline = self.best_baseline
        return None if baseline is None else baseline.timing.cpu / self.whole.cpu

    @property
    def share(self) -> float | None:
        """How fast we are for each that the loop by hand is, by CPU time."""
        return None if self.limit is None else self.limit.cpu / self.whole.cpu

    @property
    def met(self) -> bool | None:
        """Whether what is required is reached; None if there was nothing to compare with."""
        match self.requirement.unit:
            case Unit.RATIO:
                return None if self.ratio is None else self.ratio >= self.requirement.least
            case Unit.EVENTS:
                return self.events / self.whole.cpu >= self.requirement.least
            case Unit.COMPOSITES:
                return self.composites / self.whole.cpu >= self.requirement.least


def peers(names: Sequence[str], repeat: int, say: Say, *, quick: bool = False) -> list[PeerRow]:
    """Measure the named workloads (all if none is named): the best of so many rounds, in which all take turns."""
    workloads = [_workload(name) for name in names] or list(WORKLOADS.values())
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker()) for name in (OURS, LIMIT, *BASELINES)}
        return [
            _measure(_Question(workload, coding, quick), repeat, workers, say)
            for workload in workloads
            for coding in workload.codings
        ]


def _workload(name: str) -> Workload:
    if name not in WORKLOADS:
        hint = did_you_mean(name, WORKLOADS) or f"the workloads are {', '.join(WORKLOADS)}"
        raise OptionError.of("workload", f"there is no workload '{name}'", hint=hint)
    return WORKLOADS[name]


@dataclass(frozen=True, slots=True)
class _Question:
    """A workload on a stream of a certain size and coding."""

    workload: Workload
    coding: Coding
    quick: bool

    @property
    def size(self) -> int:
        return self.workload.quick if self.quick else self.workload.size

    @property
    def rule_count(self) -> int:
        return QUICK_RULES if self.quick else 1000

    def job(self, contender: str, formulation: str = BEST) -> Job:
        return Job(contender, self.workload.name, self.size, self.coding, formulation, self.rule_count)


def _measure(question: _Question, repeat: int, workers: Mapping[str, Worker], say: Say) -> PeerRow:
    say(f"{question.workload.name}, {question.coding.value} types")
    missing = []
    ready = {}
    for name, worker in workers.items():
        if name == LIMIT and question.workload.name not in LOOPS:
            continue
        try:
            worker.prepare(question.job(name))
            ready[name] = worker
        except OptionError as error:
            if name == OURS:
                raise
            missing.append(error.diagnostics[0].message)
    for worker in ready.values():
        worker.run()  # the first run also compiles, loads and makes room
    answers: dict[str, list[Answer]] = {name: [] for name in ready}
    for _ in range(repeat):
        for name, worker in ready.items():
            answers[name].append(worker.run())
    ours, by_hand = answers.pop(OURS), answers.pop(LIMIT, [])
    _check_count(question, ours[0])
    limit = _baseline(question.job(LIMIT), ours[0], by_hand).timing if by_hand else None
    found = [_baseline(question.job(name), ours[0], theirs) for name, theirs in answers.items()]
    found += _others(question, min(repeat, _ROUNDS_OF_OTHERS), ready, ours[0], say)
    return PeerRow(
        workload=question.workload.name,
        coding=question.coding,
        events=question.size,
        composites=ours[0].count,
        whole=best(answer.whole for answer in ours),
        feed=best(answer.feed for answer in ours),
        baselines=tuple(found),
        requirement=question.workload.required(question.coding),
        missing=tuple(missing),
        limit=limit,
        least_share=question.workload.share if question.coding is Coding.DICTIONARY else None,
    )


def _others(question: _Question, rounds: int, ready: Mapping[str, Worker], ours: Answer, say: Say) -> list[Baseline]:
    """Measure the formulations that are not the best, on one coding only."""
    found: list[Baseline] = []
    if question.coding is not Coding.DICTIONARY:
        return found
    for name in [name for name in ready if name in BASELINES]:
        for formulation in formulations(name, question.workload.name)[1:]:
            job = question.job(name, formulation)
            say(f"{question.workload.name}, {name}: {describe(job)}")
            ready[name].prepare(job)
            found.append(_baseline(job, ours, [ready[name].run() for _ in range(rounds)]))
    return found


def _baseline(job: Job, ours: Answer, theirs: Sequence[Answer]) -> Baseline:
    for answer in theirs:
        if not answer.agrees(ours):
            raise CepheusError.of(
                "measurement",
                f"{job.workload}: {job.contender} found {answer.count} composite events that add up to "
                f"{dict(answer.sums)}, we {ours.count} that add up to {dict(ours.sums)}",
            )
    return Baseline(job.contender, job.formulation, describe(job), best(answer.whole for answer in theirs))


def _check_count(question: _Question, answer: Answer) -> None:
    expected = question.workload.expected(question.size, question.rule_count)
    if expected is not None and answer.count != expected:
        raise CepheusError.of(
            "measurement",
            f"{question.workload.name}: {answer.count} composite events in {question.size} events, {expected} expected",
        )
