"""``cepheus bench learning``: hidden rules learned from labelled streams, scored on fresh ones.

The sweeps are over the number of types and of positive traces, noise, knowledge of the window, constraints, parameters,
negations and aggregates. The numbers of each scenario are our own (``generator.Scenario``).
"""

from __future__ import annotations

import statistics
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.learning.generator import TARGET, Case, Scenario, draw
from benchmarks.reports.section import Bar, Table, bar_table
from cepheus.core.time import SECOND
from cepheus.learning.evaluate import all_together, firings, score
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.learn import Settings, learn_history
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.terminators import Ending

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT = Scenario()
SWEEPS: dict[str, tuple[Scenario, ...]] = {
    "default": (DEFAULT,),
    "event types": tuple(replace(DEFAULT, types=types) for types in (10, 50, 100)),
    "positive traces": tuple(replace(DEFAULT, positives=count) for count in (100, 300)),
    "noise": tuple(replace(DEFAULT, noise=noise) for noise in (0.05, 0.1)),
    "window known": (replace(DEFAULT, window_known=True),),
    "constraints": (replace(DEFAULT, constraints=2),),
    "parameters": (replace(DEFAULT, parameters=1),),
    "negations": (replace(DEFAULT, negations=1, events=2),),
    "aggregates": (replace(DEFAULT, aggregates=1, events=2),),
}
LEAST_F1 = 0.95
MOST_SECONDS = 120.0
QUICK = {"default": (replace(DEFAULT, length=20_000, positives=200, types=6, events=2),)}


@dataclass(frozen=True, slots=True)
class Result:
    """What was learned of one hidden rule: precision and recall on a fresh stream, and the seconds that it took."""

    precision: float
    recall: float
    seconds: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        together = self.precision + self.recall
        return 2 * self.precision * self.recall / together if together else 0.0


def run(case: Case, seed: int = 1, budget: float = MOST_SECONDS) -> Result:
    """Learn from the labels of a case, and score what was learned on its fresh stream."""
    started = clock.perf_counter()
    history = History.of(case.history)
    window = round(case.scenario.window * SECOND) if case.scenario.window_known else None
    outcome = learn_history(
        history, Occurrences.among(history, TARGET), Hints(window=window), Settings(seed=seed, budget=budget)
    )
    seconds = clock.perf_counter() - started
    if not outcome.significant:
        return Result(0.0, 0.0, seconds)
    fresh = History.of(case.fresh)
    truth = Occurrences.among(fresh, TARGET)
    events = fresh.only(set(fresh.types) - {TARGET})
    rules = [each.rule(outcome.history, TARGET, "learned") for each in outcome.candidates]
    rows = firings(rules, events, (fresh.span[0], fresh.span[1] + 1), 0)
    scores = [
        score(fired, events, Ending(each.ending.type, 0, 0, (), 1.0), truth)
        for fired, each in zip(rows, outcome.candidates, strict=True)
    ]
    together = all_together(scores, len(truth))
    return Result(together.precision, together.recall, seconds)


def bench_learning(console: Console, *, repeat: int, quick: bool, say: Callable[[str], None]) -> None:
    """Run the sweeps, so many hidden rules for each point, and show them."""
    from benchmarks.reports.terminal import show_table

    rows: list[tuple[str, ...]] = []
    bars: list[Bar] = []
    for name, scenarios in (QUICK if quick else SWEEPS).items():
        for scenario in scenarios:
            say(f"{name}: {_value(name, scenario)}")
            results = [run(draw(scenario, 100 + number), number + 1) for number in range(1 if quick else repeat)]
            rows.append(_row(name, scenario, results))
            if name == "default":
                bars += _bars(results, judged=not quick)
    show_table(Table("Hidden rules, learned and scored on fresh streams", _COLUMNS, tuple(rows)), console)
    show_table(bar_table(bars), console)


_COLUMNS = ("<sweep", "<value", "precision", "recall", "F1, median", "F1, worst", "seconds")


def _row(name: str, scenario: Scenario, results: Sequence[Result]) -> tuple[str, ...]:
    values = [each.f1 for each in results]
    return (
        name,
        _value(name, scenario),
        f"{statistics.mean(each.precision for each in results):.3f}",
        f"{statistics.mean(each.recall for each in results):.3f}",
        f"{statistics.median(values):.3f}",
        f"{min(values):.3f}",
        f"{statistics.mean(each.seconds for each in results):.1f}",
    )


def _value(name: str, scenario: Scenario) -> str:
    shown = {
        "event types": scenario.types,
        "positive traces": scenario.positives,
        "noise": f"{scenario.noise:.0%}",
        "constraints": scenario.constraints,
        "parameters": scenario.parameters,
        "negations": scenario.negations,
        "aggregates": scenario.aggregates,
    }
    return str(shown.get(name, f"{scenario.length:,} events"))


def _bars(results: Sequence[Result], *, judged: bool) -> list[Bar]:
    median = statistics.median(each.f1 for each in results)
    longest = max(each.seconds for each in results)
    return [
        Bar("default scenario, F1", f"at least {LEAST_F1}", f"{median:.3f}", median >= LEAST_F1 if judged else None),
        Bar(
            "default scenario, time",
            f"at most {MOST_SECONDS:.0f} s",
            f"{longest:.0f} s",
            longest <= MOST_SECONDS if judged else None,
        ),
    ]
