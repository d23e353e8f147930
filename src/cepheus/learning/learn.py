"""Learning from beginning to end: split, cut, search, tune, test."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cepheus.core.errors import OptionError
from cepheus.learning.drafts import Draft, bind, column_at
from cepheus.learning.evaluate import Score, firings, score
from cepheus.learning.hints import Hints
from cepheus.learning.history import History, Ints
from cepheus.learning.leaks import check_hints, refuse_leaks
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.search import Effort, search
from cepheus.learning.significance import LEVEL, p_value
from cepheus.learning.state import State, Task, places_of
from cepheus.learning.terminators import Ending, find_endings
from cepheus.learning.traces import TERMINATOR, claimed, cut
from cepheus.learning.tuning import tuned
from cepheus.learning.writing import Outputs, write_rule
from cepheus.rules.model import Rule

REACH = 400
"""Without a hint rules look back as far as so many events of all types reach, on average."""

CARES = (8.0, 2.5)
"""What losing an occurrence costs the search: first much, for one rule that explains all, then less, for several."""

GOOD = 0.97
Say = Callable[[str, float], None]
"""Told what is being tried, and the best F1 so far."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to learn. ``held_out`` is the later share of occurrences that rules are tested on, ``slack`` how far label
    times may be off, in microseconds (None: estimated), ``budget`` the seconds that the search may take.
    """

    held_out: float = 0.3
    slack: int | None = None
    most_rules: int = 3
    seed: int = 1
    budget: float = 300.0
    beam: int = 3
    penalty: float = 0.002
    alarm_cost: float | None = None

    def __post_init__(self) -> None:
        if not 0.05 <= self.held_out <= 0.8:
            raise OptionError.of("learn-option", f"{self.held_out} is not a share to hold out", hint="from 0.05 to 0.8")
        for name, given in (("budget", self.budget), ("most_rules", self.most_rules), ("beam", self.beam)):
            if given <= 0:
                raise OptionError.of("learn-option", f"{name} is {given}: it must be greater than 0")
        if self.alarm_cost is not None and self.alarm_cost <= 0:
            raise OptionError.of("learn-option", f"a false alarm costs {self.alarm_cost}: it must be more than 0")
        if self.slack is not None and self.slack < 0:
            raise OptionError.of("learn-option", "the slack is negative", hint="write a duration such as 10s, or 0")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft as a rule, and what it found while learning."""

    draft: Draft
    ending: Ending
    outputs: Outputs
    each: frozenset[str]
    trained: Score

    def rule(self, history: History, target: str, name: str) -> Rule:
        """The rule."""
        return write_rule(self.draft, history, target, name, self.outputs, self.each)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was learned: rules, best first, with what each finds in held-out history, and what all find together.

    ``significant`` tells whether that is more than chance; if not, nothing was found.
    """

    history: History
    occurrences: Occurrences
    split: int
    candidates: tuple[Candidate, ...]
    tested: tuple[Score, ...]
    together: Score | None
    p_value: float
    seconds: float
    out_of_time: bool = False
    considered: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def significant(self) -> bool:
        """Whether what the rules find cannot be chance."""
        return bool(self.candidates) and self.p_value <= LEVEL

    @property
    def later(self) -> Occurrences:
        """The occurrences that rules were tested on."""
        return self.occurrences.between(self.split, 2**62)


@dataclass(slots=True)
class Learning:
    """One run of learning: what it is given, and what it has found so far."""

    history: History
    occurrences: Occurrences
    hints: Hints
    settings: Settings
    say: Say = lambda _what, _best: None
    considered: int = 0
    best: float = 0.0

    def run(self) -> Outcome:
        """Learn rules from the earlier part of history and test them on the later part."""
        started = clock.monotonic()
        check_hints(self.hints)
        self.hints.check(self.history)
        self.history = self.hints.apply(self.history)
        if not self.history.types:
            raise OptionError.of("learn-target", "the history has no events besides the occurrences")
        rng = np.random.default_rng(self.settings.seed)
        split = self.occurrences.split_at(1 - self.settings.held_out)
        until = started + self.settings.budget
        early = self.occurrences.between(-(2**62), split)
        candidates = self._cover(early, (self.history.span[0], split), until, rng)
        tested, together, chance = self._test(candidates, split, rng)
        return Outcome(
            self.history,
            self.occurrences,
            split,
            tuple(candidates),
            tuple(tested),
            together,
            chance,
            clock.monotonic() - started,
            clock.monotonic() > until,
            self.considered,
        )

    # ---- Learning -------------------------------------------------------------------------------------------------

    def _cover(
        self, early: Occurrences, span: tuple[int, int], until: float, rng: np.random.Generator
    ) -> list[Candidate]:
        """Rules one after the other, each for the occurrences that those before it miss."""
        found: list[Candidate] = []
        missed = np.arange(len(early))
        while len(found) < self.settings.most_rules and len(missed) >= max(3, 0.05 * len(early)):
            made = self._one_rule(early, missed, span, until, rng)
            if made is None or (found and not _adds(found, made, early)):
                break
            found.append(made)
            missed = np.setdiff1d(missed, made.trained.found)
            if clock.monotonic() > until:
                break
        return _telling_the_same(sorted(found, key=lambda each: -each.trained.f1), self.history)

    def _one_rule(
        self, early: Occurrences, missed: Ints, span: tuple[int, int], until: float, rng: np.random.Generator
    ) -> Candidate | None:
        best: Candidate | None = None
        endings = find_endings(self.history, early.take(missed), rng, self.settings.slack)
        if self.hints.terminator is not None:
            endings = [each for each in endings if each.type == self.hints.terminator]
        for ending, horizon, care in self._attempts(endings):
            if best is not None and (clock.monotonic() > until or _quality(best, missed) >= GOOD):
                break
            made = self._attempt(early, missed, span, (ending, horizon, care), until, rng)
            if made is not None and (best is None or _quality(made, missed) > _quality(best, missed) + 0.005):
                best = made
                self.best = max(self.best, best.trained.f1)
        return best

    def _attempts(self, endings: list[Ending]) -> Iterator[tuple[Ending, int, float]]:
        first, last = self.history.span
        reach = round(REACH * (last - first + 1) / max(sum(map(len, self.history.types.values())), 1))
        horizon = self.hints.window or self.hints.longest or max(min(reach, (last - first) // 4), 1)
        for care in CARES:
            for ending in endings:
                yield ending, horizon, care
        if self.hints.window is None and self.hints.longest is None:
            for ending in endings[:1]:
                yield ending, min(4 * horizon, (last - first) // 4), CARES[0]

    def _attempt(
        self,
        early: Occurrences,
        missed: Ints,
        span: tuple[int, int],
        attempt: tuple[Ending, int, float],
        until: float,
        rng: np.random.Generator,
    ) -> Candidate | None:
        ending, horizon, care = attempt
        hard: Ints | None = None
        best: Candidate | None = None
        root: Draft | None = None
        for _ in range(2):
            traces = cut(self.history, ending, early, span, rng, hard=hard)
            if not traces.positive.any():
                return best
            wanted = np.isin(traces.occurrence, missed)
            task = Task(traces, self.hints, horizon, care, wanted, self.settings.penalty, self.settings.alarm_cost)
            empty = State.of(task, Draft(ending.type), traces.ends)
            if root is None:
                refuse_leaks(task, empty, early.target)
            effort = Effort(self.settings.beam, until=until)
            met = search(task, effort, self._told, root)
            states = [tuned(state, task) for state in met[:2]]
            made = self._evaluated(states, task, early, span)
            if made is None:
                return best
            if best is None or made.trained.f1 > best.trained.f1:
                best = made
            if len(made.trained.alarms) <= 0.02 * max(len(made.trained.right), 1) or effort.over:
                break
            hard = np.searchsorted(traces.terminators.rows, made.trained.alarms)  # look at the mistakes, and go on
            root = made.draft
        return best

    def _told(self, what: str, _: State | None) -> None:
        self.say(what, self.best)

    def _evaluated(
        self, states: list[State], task: Task, early: Occurrences, span: tuple[int, int]
    ) -> Candidate | None:
        """The best of several drafts, as rules on the whole earlier history."""
        tried: list[tuple[State, frozenset[str], Rule]] = []
        for state in states:
            names = frozenset(place.name for place in state.draft.places)
            depended = frozenset(name for name in names if _has_dependants(state.draft, name))
            for each in {frozenset(), depended}:
                rule = write_rule(state.draft, self.history, early.target, "tried", {}, each)
                tried.append((state, each, rule))
        self.considered += len(tried)
        rows = firings([rule for *_, rule in tried], self.history, span, 0)
        best: Candidate | None = None
        for (state, each, _), fired in zip(tried, rows, strict=True):
            result = score(fired, self.history, task.traces.ending, early)
            if best is None or result.f1 > best.trained.f1 + 1e-9:
                outputs = find_outputs(state, task, early)
                best = Candidate(state.draft, task.traces.ending, outputs, each, result)
        return best

    # ---- Testing ----------------------------------------------------------------------------------------------------

    def _test(
        self, candidates: list[Candidate], split: int, rng: np.random.Generator
    ) -> tuple[list[Score], Score | None, float]:
        """What rules find in held-out history, alone and together, and how likely that is by chance."""
        if not candidates:
            return [], None, 1.0
        later = self.occurrences.between(split, 2**62)
        span = (split, self.history.span[1] + 1)
        rules = [each.rule(self.history, later.target, "tested") for each in candidates]
        rows = firings(rules, self.history, span, split - self.history.span[0])
        tested = [score(fired, self.history, each.ending, later) for fired, each in zip(rows, candidates, strict=True)]
        chances = []
        for fired, each in zip(rows, candidates, strict=True):
            events = self.history.types[each.ending.type]
            inside = (events.times >= span[0]) & (events.times < span[1])
            labelled = np.zeros(len(events), np.bool_)
            labelled[claimed(events, each.ending, later)[1]] = True
            chances.append(p_value(np.isin(events.rows[inside], fired), labelled[inside], rng))
        found = np.unique(np.concatenate([each.found for each in tested]))
        together = Score(
            found,
            np.setdiff1d(np.arange(len(later)), found),
            np.unique(np.concatenate([each.right for each in tested])),
            np.unique(np.concatenate([each.alarms for each in tested])),
        )
        return tested, together, min(1.0, min(chances) * len(chances))


def _telling_the_same(candidates: list[Candidate], history: History) -> list[Candidate]:
    """Rules of one type must have the same attributes: those that all of them can tell, with the same type."""
    kinds = [
        {
            name: history.types[each.draft.type_of(place)].columns[own].type
            for name, (place, own) in each.outputs.items()
        }
        for each in candidates
    ]
    return [
        replace(
            each,
            outputs={name: way for name, way in each.outputs.items() if len({kind.get(name) for kind in kinds}) == 1},
        )
        for each in candidates
    ]


def _quality(candidate: Candidate, missed: Ints) -> float:
    """The F1 of a rule where only some occurrences are asked for."""
    found = len(np.intersect1d(candidate.trained.found, missed))
    return 2 * found / (found + len(candidate.trained.alarms) + len(missed)) if found else 0.0


def _adds(found: list[Candidate], made: Candidate, early: Occurrences) -> bool:
    """Whether rules are better together with one more."""

    def together(several: list[Candidate]) -> float:
        hits = len(np.unique(np.concatenate([each.trained.found for each in several])))
        alarms = len(np.unique(np.concatenate([each.trained.alarms for each in several])))
        return 2 * hits / (hits + alarms + len(early))

    return together([*found, made]) > together(found) + 0.01


def _has_dependants(draft: Draft, name: str) -> bool:
    return any(
        part.reference == name or any(getattr(each, "place", None) == name for each in part.conditions)
        for part in draft.parts
    )


def find_outputs(state: State, task: Task, occurrences: Occurrences) -> dict[str, tuple[str, str]]:
    """Where each attribute of the occurrences comes from: the place and attribute that has its value nearly always."""
    outputs: dict[str, tuple[str, str]] = {}
    last = _last_rows(state)
    traces = state.bindings.trace[last]
    positive = task.traces.positive[traces]
    if not positive.any():
        return outputs
    rows, numbers = last[positive], task.traces.occurrence[traces[positive]]
    for name, column in occurrences.columns.items():
        best: tuple[float, str, str] | None = None
        for place in places_of(state.draft):
            for other in task.history.types[state.draft.type_of(place)].columns.values():
                if column.comparable(other):
                    values = column_at(task.history, state.draft, state.bindings, place, other.name)[rows]
                    share = float(np.mean(values == column.values[numbers]))
                    if share >= 0.9 and (best is None or share > best[0] + 1e-9):
                        best = share, place, other.name
        if best is not None:
            outputs[name] = best[1], best[2]
    return outputs


def _last_rows(state: State) -> Ints:
    """The row of each trace with the latest events."""
    starts = state.bindings.starts
    return np.append(starts[1:], len(state.bindings)) - 1 if len(starts) else starts


def learn_history(
    history: History, occurrences: Occurrences, hints: Hints, settings: Settings, say: Say = lambda _what, _best: None
) -> Outcome:
    """Learn rules that tell the occurrences from the history; nothing of the target's type may be in the history."""
    without = replace(history, types={k: v for k, v in history.types.items() if k != occurrences.target})
    return Learning(without, occurrences, hints, settings, say).run()


__all__ = ["TERMINATOR", "Candidate", "Learning", "Outcome", "Settings", "bind", "learn_history"]
