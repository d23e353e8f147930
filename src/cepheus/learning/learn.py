"""Learning from beginning to end: split, cut, search, tune, test."""

from __future__ import annotations

import math
import os
import time as clock
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

import numpy as np

from cepheus.core.errors import OptionError
from cepheus.learning.candidates import Candidate
from cepheus.learning.drafts import Draft, bind, column_at
from cepheus.learning.evaluate import Score, all_together
from cepheus.learning.hints import Hints
from cepheus.learning.history import History, Ints
from cepheus.learning.leaks import check_hints, refuse_leaks
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.past import MemoryPast, Past, Say
from cepheus.learning.resuming import Progress
from cepheus.learning.search import Effort, search
from cepheus.learning.significance import LEVEL
from cepheus.learning.state import State, Task, places_of
from cepheus.learning.terminators import MOST_LOOKED_AT, Ending, find_endings, labels_early
from cepheus.learning.traces import TERMINATOR
from cepheus.learning.tuning import tuned
from cepheus.learning.writing import write_rule
from cepheus.rules.model import Rule

REACH = 400
"""Without a hint rules look back as far as so many events of all types reach, on average."""

CARES = (8.0, 2.5)
"""What losing an occurrence costs the search: first much, for one rule that explains all, then less, for several."""

GOOD = 0.97
SETTLED = 0.8
"""A rule this good that the next attempt does not better is taken: what it misses may well be wrong labels."""

NEARER = 10
"""Where nothing good is found, rules are looked for that look back only so much less far."""


def check_seed(seed: int) -> None:
    """Refuse what no draw of numbers can begin with."""
    if seed < 0:
        raise OptionError.of("learn-option", f"the seed is {seed}", hint="any whole number from 0 on will do")


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
            if not given > 0:
                raise OptionError.of("learn-option", f"{name} is {given}: it must be greater than 0")
        check_seed(self.seed)
        if self.alarm_cost is not None and not 0 < self.alarm_cost < math.inf:
            raise OptionError.of("learn-option", f"a false alarm costs {self.alarm_cost}: it must be more than 0")
        if self.slack is not None and self.slack < 0:
            raise OptionError.of("learn-option", "the slack is negative", hint="write a duration such as 10s, or 0")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was learned: rules, best first, with what each finds in held-out history, and what all find together.

    ``significant`` tells whether that is more than chance; if not, nothing was found.
    """

    past: Past
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
    def history(self) -> History:
        """The events in memory."""
        return self.past.history

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

    past: Past
    occurrences: Occurrences
    hints: Hints
    settings: Settings
    say: Say = lambda _what, _best: None
    resume: str | os.PathLike[str] | None = None
    progress: Progress = field(default_factory=Progress)
    considered: int = 0
    best: float = 0.0

    def run(self) -> Outcome:
        """Learn rules from the earlier part of history and test them on the later part."""
        started = clock.monotonic()
        if not self.past.history.types:
            raise OptionError.of("learn-target", "the history has no events besides the occurrences")
        self.progress = Progress.at(self.resume, self._search())
        rng = np.random.default_rng(self.settings.seed)
        split = self.occurrences.split_at(1 - self.settings.held_out)
        until = started + self.settings.budget
        early = self.occurrences.between(-(2**62), split)
        candidates = self._cover(early, (self.past.span[0], split), until)
        candidates, tested, together, chance = self._test(candidates, split, rng)
        return Outcome(
            self.past,
            self.occurrences,
            split,
            tuple(candidates),
            tuple(tested),
            together,
            chance,
            clock.monotonic() - started,
            clock.monotonic() > until,
            self.considered,
            tuple(self._notes(early)),
        )

    def _notes(self, early: Occurrences) -> Iterator[str]:
        """What else should be known."""
        if self.settings.slack is None and self.past.reach is None and self.best < GOOD:
            said = labels_early(self.past.history, early, np.random.default_rng(self.settings.seed))
            if said is not None:
                yield said

    # ---- Learning -------------------------------------------------------------------------------------------------

    def _search(self) -> str:
        """What tells this search from all others."""
        given = replace(self.settings, budget=1.0)
        hints = {name: sorted(own) if isinstance(own, frozenset) else own for name, own in _fields(self.hints)}
        times = np.sort(np.concatenate([self.occurrences.begins, self.occurrences.ends]))
        labels = zlib.crc32(times.astype(np.int64).tobytes())
        counts = f"{self.past.count} events, {len(self.occurrences)} {self.occurrences.target} ({labels:08x})"
        return f"{counts}, {self.past.mark}, {self.past.span}, {given}, {hints}"

    def _cover(self, early: Occurrences, span: tuple[int, int], until: float) -> list[Candidate]:
        """Rules one after the other, each for the occurrences that those before it miss."""
        found: list[Candidate] = []
        missed = np.arange(len(early))
        while len(found) < self.settings.most_rules and len(missed) >= max(3, 0.05 * len(early)):
            made = self._one_rule(early, missed, span, until, len(found))
            if made is None or (found and not _adds(found, made, early)):
                break
            found.append(made)
            missed = np.setdiff1d(missed, made.trained.found)
            if clock.monotonic() > until:
                break
        return _telling_the_same(sorted(found, key=lambda each: -each.trained.f1), self.past.history)

    def _one_rule(
        self, early: Occurrences, missed: Ints, span: tuple[int, int], until: float, number: int
    ) -> Candidate | None:
        best: Candidate | None = None
        settled = False
        rng = np.random.default_rng([self.settings.seed, number])
        looked_at = early.take(self.past.look_at(early, missed))  # which may have more events in memory afterwards
        history, known = self.past.history, self.hints.terminator
        endings = find_endings(
            history if known is None else history.only([known]),
            looked_at,
            rng,
            self.settings.slack,
            moments=self.past.moments(rng, MOST_LOOKED_AT),
        )
        for place, (ending, horizon, care) in enumerate(self._attempts(endings)):
            if best is not None and (settled or clock.monotonic() > until or _quality(best, missed) >= GOOD):
                break
            attempt = f"{number}.{place}"
            if self.progress.knows(attempt):
                made = self.progress.recall(attempt, self.past.history)
            else:
                own = np.random.default_rng([self.settings.seed, number, place])
                made = self._attempt(early, missed, span, (ending, horizon, care), until, own)
                if clock.monotonic() <= until:  # or it was not brought to its end
                    self.progress.record(attempt, made, self.past.history)
            if made is not None and (best is None or _quality(made, missed) > _quality(best, missed) + 0.005):
                best = made
                self.best = max(self.best, best.trained.f1)
            elif best is not None:
                settled = _quality(best, missed) >= SETTLED
        return best

    def _attempts(self, endings: list[Ending]) -> Iterator[tuple[Ending, int, float]]:
        first, last = self.past.span
        horizon = horizon_of(self.past.span, self.past.count, self.hints)
        known = self.hints.window is not None or self.hints.longest is not None
        for care in CARES:
            for ending in endings:
                yield ending, horizon, care
            if not known:
                for ending in endings[:1]:  # a shorter look back has less to be misled by
                    yield ending, max(horizon // NEARER, 1), care
        if not known and self.past.reach is None:
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
        best: Candidate | None = None
        root: Draft | None = None
        for _ in range(2):
            traces = self.past.cut(ending, early, span, rng, None if best is None else best.trained)
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
            if made.trained.false_alarms <= 0.02 * max(len(made.trained.right), 1) or effort.over:
                break
            root = made.draft  # look at the mistakes, and go on
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
            for each in dict.fromkeys((frozenset[str](), depended)):  # the plainer one wins if both do the same
                rule = write_rule(state.draft, self.past.history, early.target, "tried", {}, each)
                tried.append((state, each, rule))
        self.considered += len(tried)
        rules = [rule for *_, rule in tried]
        scores = self.past.scores(rules, [task.traces.ending] * len(rules), early, span)
        best: Candidate | None = None
        for (state, each, _), result in zip(tried, scores, strict=True):
            if best is None or result.f1 > best.trained.f1 + 1e-9:
                outputs = find_outputs(state, task, early)
                best = Candidate(state.draft, task.traces.ending, outputs, each, result)
        return best

    # ---- Testing ----------------------------------------------------------------------------------------------------

    def _test(
        self, candidates: list[Candidate], split: int, rng: np.random.Generator
    ) -> tuple[list[Candidate], list[Score], Score | None, float]:
        """What rules find in held-out history, alone and together, and how likely that is by chance.

        Where several were learned, one that may be chance is left out, if another is not.
        """
        if not candidates:
            return [], [], None, 1.0
        later = self.occurrences.between(split, 2**62)
        span = (split, self.past.span[1] + 1)
        rules = [each.rule(self.past.history, later.target, "tested") for each in candidates]
        endings = [each.ending for each in candidates]
        tested = self.past.scores(rules, endings, later, span)
        chances = [
            self.past.chance(found, ending, later, span, rng) for found, ending in zip(tested, endings, strict=True)
        ]
        sure = [place for place, each in enumerate(chances) if each * len(chances) <= LEVEL]
        if sure:
            candidates, tested = [candidates[place] for place in sure], [tested[place] for place in sure]
        return candidates, tested, all_together(tested, len(later)), min(1.0, min(chances) * len(chances))


def _fields(hints: Hints) -> Iterator[tuple[str, object]]:
    return ((each.name, getattr(hints, each.name)) for each in fields(hints))


def horizon_of(span: tuple[int, int], count: int, hints: Hints) -> int:
    """How far rules may look back, in microseconds: as a hint says, or as far as ``REACH`` events do on average."""
    first, last = span
    usual = max(min(round(REACH * (last - first + 1) / max(count, 1)), (last - first) // 4), 1)
    return hints.window or hints.longest or usual


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
    return 2 * found / (found + candidate.trained.false_alarms + len(missed)) if found else 0.0


def _adds(found: list[Candidate], made: Candidate, early: Occurrences) -> bool:
    """Whether rules are better together with one more."""

    def together(several: list[Candidate]) -> float:
        hits = len(np.unique(np.concatenate([each.trained.found for each in several])))
        alarms = all_together([each.trained for each in several], len(early)).false_alarms
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
    history: History,
    occurrences: Occurrences,
    hints: Hints,
    settings: Settings,
    say: Say = lambda _what, _best: None,
    resume: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Learn rules that tell the occurrences from the history; nothing of the target's type may be in the history."""
    without = replace(history, types={k: v for k, v in history.types.items() if k != occurrences.target})
    check_hints(hints)
    hints.check(without)
    return Learning(MemoryPast(hints.apply(without)), occurrences, hints, settings, say, resume).run()


__all__ = ["TERMINATOR", "Candidate", "Learning", "Outcome", "Say", "Settings", "bind", "horizon_of", "learn_history"]
