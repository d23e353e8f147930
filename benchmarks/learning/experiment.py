"""``cepheus bench learning``: hidden rules learned from labelled streams, scored on fresh ones.

The sweeps are those of iCEP's evaluation: the number of types and of positive traces, noise, knowledge of the window,
events, constraints, parameters, negations and aggregates. The numbers of each scenario are our own
(``generator.Scenario``); beside ours stands what its approach, intersection, learns from the same streams. What was
measured is kept (``results.json``) and not measured again, so that a long run can be
interrupted and goes on where it was.
"""

from __future__ import annotations

import json
import math
import statistics
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scipy.special import stdtrit

from benchmarks.learning.generator import TARGET, Case, Scenario, draw, shuffled
from benchmarks.learning.intersection import by_intersection
from benchmarks.measuring.machine import this_machine
from benchmarks.reports.page import markdown
from benchmarks.reports.section import Bar, Table, bar_table
from cepheus.core.errors import OptionError
from cepheus.core.time import SECOND
from cepheus.learning.evaluate import all_together, firings, score
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.learn import Outcome, Settings, learn_history
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.terminators import Ending
from cepheus.learning.traces import TERMINATOR
from cepheus.learning.writing import write_rule
from cepheus.rules.model import Rule

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT = Scenario()
SWEPT = replace(DEFAULT, length=200_000, positives=400)
"""What the sweeps change one thing of; smaller than the default, so that many hidden rules can be drawn."""

SWEEPS: dict[str, tuple[Scenario, ...]] = {
    "default": (DEFAULT,),
    "event types": tuple(
        replace(SWEPT, types=types, rate=types / 25, length=8_000 * types) for types in (10, 25, 50, 100)
    ),
    "positive traces": tuple(replace(SWEPT, positives=count) for count in (50, 100, 200, 400)),
    "noise": tuple(replace(SWEPT, noise=noise) for noise in (0.0, 0.02, 0.05, 0.1, 0.2)),
    "window": tuple(
        replace(SWEPT, window=window, window_known=known) for window in (20.0, 60.0) for known in (True, False)
    ),
    "events": tuple(replace(SWEPT, events=events) for events in (1, 2, 3, 4)),
    "constraints": tuple(replace(SWEPT, constraints=constraints) for constraints in (0, 1, 2)),
    "parameters": tuple(replace(SWEPT, parameters=parameters, types=10, window=60.0) for parameters in (0, 1, 2)),
    "negations": tuple(replace(SWEPT, negations=negations, events=2) for negations in (0, 1, 2)),
    "aggregates": tuple(replace(SWEPT, aggregates=aggregates, events=2, window=60.0) for aggregates in (0, 1, 2)),
}
CHANCE = "chance"
UNLABELLED = replace(DEFAULT, length=20_000, positives=200)
"""What labels are shuffled in: a hundred searches that find nothing take long."""

CHANCE_RUNS = 100
MOST_FOUND = 0.05
LEAST_F1 = 0.95
MOST_SECONDS = 120.0
UNHURRIED = 3600.0
"""The seconds that a search of the sweeps may take: what it finds must not depend on what else the machine does."""

QUICK: dict[str, tuple[Scenario, ...]] = {
    "default": (replace(DEFAULT, length=20_000, positives=200, types=6, events=2),)
}
KEPT = Path(__file__).with_name("results.json")
PAGE = "learning-experiments.md"
MARK = "<!-- measured -->"

Samples = dict[str, dict[int, float]]


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
    return fresh_result(case, outcome, clock.perf_counter() - started)


def fresh_result(case: Case, outcome: Outcome, seconds: float) -> Result:
    """What was learned, scored on the fresh stream."""
    if not outcome.significant:
        return Result(0.0, 0.0, seconds)
    rules = [each.rule(outcome.history, TARGET, "learned") for each in outcome.candidates]
    return scored(case, rules, seconds)


def run_intersection(case: Case) -> Result:
    """What is learned by intersection alone, scored in the same way."""
    started = clock.perf_counter()
    history = History.of(case.history)
    window = round(case.scenario.window * SECOND) if case.scenario.window_known else None
    events = history.only(set(history.types) - {TARGET})
    draft = by_intersection(events, Occurrences.among(history, TARGET), window)
    seconds = clock.perf_counter() - started
    if draft is None:
        return Result(0.0, 0.0, seconds)
    every = frozenset(part.reference for part in draft.places) - {TERMINATOR}
    return scored(case, [write_rule(draft, events, TARGET, "learned", {}, every)], seconds)


def scored(case: Case, rules: Sequence[Rule], seconds: float) -> Result:
    """Precision and recall of rules on the fresh stream, whose labels are exact."""
    fresh = History.of(case.fresh)
    truth = Occurrences.among(fresh, TARGET)
    events = fresh.only(set(fresh.types) - {TARGET})
    rows = firings(rules, events, (fresh.span[0], fresh.span[1] + 1), 0)
    scores = [
        score(fired, events, Ending(rule.pattern.terminator.type, 0, 0, (), 1.0), truth)
        for fired, rule in zip(rows, rules, strict=True)
    ]
    together = all_together(scores, len(truth))
    return Result(together.precision, together.recall, seconds)


def bench_learning(
    console: Console,
    *,
    repeat: int,
    quick: bool,
    say: Callable[[str], None],
    only: Sequence[str] = (),
    docs: Path | None = None,
    more: Callable[[Samples], list[Bar]] = lambda _: [],
) -> None:
    """Run sweeps, so many hidden rules for each point, and show them; with ``docs`` also put them into the page.

    What else was measured, ``more`` judges.
    """
    from benchmarks.reports.terminal import show_table

    sweeps = QUICK if quick else SWEEPS
    unknown = sorted(set(only) - {*sweeps, CHANCE})
    if unknown:
        known = ", ".join([*sweeps, CHANCE])
        raise OptionError.of("figure", f"there is no sweep '{unknown[0]}'", hint=f"the sweeps are {known}")
    samples: Samples = {} if quick else load()
    for number in range(1, 2 if quick else repeat + 1):  # all points once, then all once more: it may be interrupted
        for name, scenario in points(sweeps):
            if (not only or name in only) and number not in samples.get(_key(name, scenario, "precision"), {}):
                say(f"{name}: {_value(name, scenario)}, rule {number} of {repeat}")
                _add(samples, name, scenario, number)
                if not quick:
                    samples = save(samples)
    if not quick and (not only or CHANCE in only):
        _measure_chance(samples, say)
    tables = tables_of(samples, sweeps, [] if quick else more(samples), judged=not quick)
    for table in tables:
        show_table(table, console)
    if docs is not None:
        path = docs / PAGE
        text, _, _ = path.read_text(encoding="utf-8").partition(MARK)
        parts = [f"## {table.title}\n\n{markdown(table)}" for table in tables]
        last = f"*Measured with `cepheus bench learning` on {this_machine()}.*"
        path.write_text("\n\n".join([text + MARK, *parts, last]) + "\n", encoding="utf-8")
        console.print(f"written: {path}", markup=False)


def load() -> Samples:
    """What has been measured, by what it is and the number of the run."""
    found = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return {name: {int(run): value for run, value in runs.items()} for name, runs in found.items()}


def save(samples: Samples) -> Samples:
    """Keep what has been measured, beside what others kept meanwhile; an interruption leaves the old or the new."""
    kept = load()
    samples = {name: {**kept.get(name, {}), **samples.get(name, {})} for name in {**kept, **samples}}
    lines = [f"  {json.dumps(name)}: {json.dumps(samples[name])}" for name in sorted(samples)]
    replacement = KEPT.with_suffix(".new")
    replacement.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    replacement.replace(KEPT)
    return samples


def points(sweeps: dict[str, tuple[Scenario, ...]]) -> Iterator[tuple[str, Scenario]]:
    """All points of sweeps."""
    return ((name, scenario) for name, scenarios in sweeps.items() for scenario in scenarios)


def _key(name: str, scenario: Scenario, measure: str) -> str:
    return f"learning, {name} {_value(name, scenario)}: {measure}"


def _add(samples: Samples, name: str, scenario: Scenario, number: int) -> None:
    """Learn one hidden rule, in both ways."""
    case = draw(scenario, 99 + number)
    begun = clock.process_time()
    ours = run(case, number, MOST_SECONDS if name == "default" else UNHURRIED)
    used = clock.process_time() - begun
    theirs = run_intersection(case)
    found = {
        "precision": ours.precision,
        "recall": ours.recall,
        "seconds": ours.seconds,
        "CPU seconds": used,
        "precision, intersection": theirs.precision,
        "recall, intersection": theirs.recall,
    }
    for measure, value in found.items():
        samples.setdefault(_key(name, scenario, measure), {})[number] = round(value, 6)


def _measure_chance(samples: Samples, say: Callable[[str], None]) -> None:
    """Learn from labels that mean nothing: in one half of the runs at any events, in the other at those of one type."""
    found = samples.setdefault(f"learning, {CHANCE}: found", {})
    for number in range(1, CHANCE_RUNS + 1):
        if number not in found:
            say(f"shuffled labels, {number} of {CHANCE_RUNS}")
            history = History.of(shuffled(UNLABELLED, 999 + number, of_one_type=number % 2 == 0))
            settings = Settings(seed=number, budget=MOST_SECONDS)
            outcome = learn_history(history, Occurrences.among(history, TARGET), Hints(), settings)
            found[number] = float(outcome.significant)
            save(samples)


def tables_of(
    samples: Samples, sweeps: dict[str, tuple[Scenario, ...]], more: Sequence[Bar] = (), *, judged: bool
) -> list[Table]:
    """What was measured, and whether it is what must be reached."""
    rows: list[tuple[str, ...]] = []
    bars: list[Bar] = []
    for name, scenario in points(sweeps):
        ours, theirs = (_results(samples, name, scenario, who) for who in ("", ", intersection"))
        if not ours:
            continue
        rows.append(_row(samples, name, scenario, ours, theirs))
        if name == "default":
            bars += _bars(ours, judged=judged)
        elif judged:
            bars.append(_beside(name, scenario, ours, theirs))
    runs = samples.get(f"learning, {CHANCE}: found", {})
    if runs:
        share, enough = statistics.mean(runs.values()), len(runs) >= CHANCE_RUNS
        bars.append(
            Bar(
                "shuffled labels, something found",
                f"in at most {MOST_FOUND:.0%} of {CHANCE_RUNS} runs",
                f"in {sum(runs.values()):.0f} of {len(runs)}",
                share <= MOST_FOUND if enough else None,
            )
        )
    return [
        bar_table([*bars, *more]),
        Table("Hidden rules, scored on fresh streams, beside what intersection alone learns", _COLUMNS, tuple(rows)),
    ]


def _results(samples: Samples, name: str, scenario: Scenario, who: str) -> list[Result]:
    precision, recall = (
        samples.get(_key(name, scenario, f"{measure}{who}"), {}) for measure in ("precision", "recall")
    )
    seconds = samples.get(_key(name, scenario, "seconds"), {})
    return [Result(precision[number], recall[number], seconds.get(number, 0.0)) for number in sorted(precision)]


_COLUMNS = (
    *("<sweep", "<value", "rules", "precision", "recall", "F1, median", "F1, worst", "F1, mean (95 %)", "CPU s"),
    *("precision, intersection", "recall, intersection", "F1, median, intersection", "F1, mean (95 %), intersection"),
)


def _row(
    samples: Samples, name: str, scenario: Scenario, ours: Sequence[Result], theirs: Sequence[Result]
) -> tuple[str, ...]:
    values = [each.f1 for each in ours]
    return (
        name,
        _value(name, scenario),
        f"{len(ours)}",
        f"{statistics.mean(each.precision for each in ours):.3f}",
        f"{statistics.mean(each.recall for each in ours):.3f}",
        f"{statistics.median(values):.3f}",
        f"{min(values):.3f}",
        _interval(values),
        f"{cpu:.0f}" if (cpu := _cpu(samples, name, scenario)) is not None else "",
        f"{statistics.mean(each.precision for each in theirs):.3f}",
        f"{statistics.mean(each.recall for each in theirs):.3f}",
        f"{statistics.median(each.f1 for each in theirs):.3f}",
        _interval([each.f1 for each in theirs]),
    )


def _cpu(samples: Samples, name: str, scenario: Scenario) -> float | None:
    used = samples.get(_key(name, scenario, "CPU seconds"), {})
    return statistics.mean(used.values()) if used else None


def _interval(values: Sequence[float]) -> str:
    """The mean, and where it lies with a confidence of 95 % (Student's distribution; F1 is from 0 to 1).

    >>> _interval([0.8, 0.9, 1.0]), _interval([0.5])
    ('0.900 (0.652 to 1.000)', '0.500')
    """
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    off = float(stdtrit(len(values) - 1, 0.975)) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:.3f} ({max(mean - off, 0.0):.3f} to {min(mean + off, 1.0):.3f})"


def _beside(name: str, scenario: Scenario, ours: Sequence[Result], theirs: Sequence[Result]) -> Bar:
    """Not below intersection anywhere, and above it with noise and where the window is unknown."""
    own, other = (statistics.median(each.f1 for each in results) for results in (ours, theirs))
    above = scenario.noise > 0 or (name == "window" and not scenario.window_known)
    wanted = f"{'above' if above else 'at least'} {other:.3f}"
    return Bar(f"{name}: {_value(name, scenario)}, F1", wanted, f"{own:.3f}", own > other if above else own >= other)


def _value(name: str, scenario: Scenario) -> str:
    shown = {
        "event types": scenario.types,
        "positive traces": scenario.positives,
        "noise": f"{scenario.noise:.0%}",
        "window": f"{scenario.window:g} s, {'known' if scenario.window_known else 'unknown'}",
        "events": scenario.events,
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
