"""``cepheus.review``: do rules that are in use still hold, which of their numbers have moved, what would be changed.

Every rule that tells the target is scored on stretches of the history with as many occurrences each. Where the last
ones are worse than those before, or simply not perfect, its numbers are set anew on the recent stretches: hundreds of
values of all its thresholds and windows are tried at once by the engine. What is better there is proposed only if it is
better on the last occurrences as well, which took no part in that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.time import format_time
from cepheus.language.tesla.print import format_rule
from cepheus.learning.evaluate import Score, firings, score
from cepheus.learning.history import History, Ints
from cepheus.learning.knobs import Knob, best_value, knobs
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.past import Say, Span, look_back
from cepheus.learning.terminators import Ending, find_endings
from cepheus.rules.expressions import EventPattern, Within
from cepheus.rules.model import Rule, RuleSet
from cepheus.rules.walk import walk

STRETCHES, FEWEST = 8, 10
"""So many stretches, with so many occurrences each at least."""

WORSE = 0.05
"""A rule that loses so much F1 no longer holds, unless chance explains it."""

CHANCE = 2.0
"""So many standard errors of the last stretch are taken for chance: with few occurrences F1 goes up and down."""

BETTER = 0.01
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """How a rule did in a stretch of time."""

    begin: int
    end: int
    occurrences: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Moved:
    """A number that fits better when it is set otherwise: F1 on the last occurrences before and after."""

    words: str
    old: str
    new: str
    before: float
    after: float

    def __str__(self) -> str:
        return f"{self.words}: {self.new} in place of {self.old} (F1 {self.before:.3f} to {self.after:.3f})"


@dataclass(frozen=True)
class ReviewedRule:
    """A rule, how it did stretch by stretch, what has moved, and the rule with that changed."""

    rule: Rule
    stretches: tuple[Stretch, ...]
    moved: tuple[Moved, ...]
    changed: Rule

    @property
    def holds(self) -> bool:
        """Whether it tells anything, and does no worse lately than it did before: by ``WORSE``, and by more than chance
        explains.
        """
        *earlier, last = self.stretches
        if self._never:
            return False
        known = sum(each.occurrences for each in earlier)
        if not known or not last.occurrences:
            return True
        before = sum(each.f1 * each.occurrences for each in earlier) / known
        return last.f1 >= before - max(WORSE, CHANCE * math.sqrt(before * (1 - before) / last.occurrences))

    @property
    def _never(self) -> bool:
        """Whether it found nothing at all, though there was something."""
        return all(each.f1 == 0 for each in self.stretches) and any(each.occurrences for each in self.stretches)

    @property
    def verdict(self) -> str:
        """In a sentence."""
        last = self.stretches[-1]
        if self._never:
            return "does not hold: it tells none of the occurrences, lately or before"
        if not self.holds:
            best = max(self.stretches, key=lambda each: each.f1)
            since = next(
                each
                for place, each in enumerate(self.stretches)
                if all(later.f1 < best.f1 - WORSE for later in self.stretches[place:])
            )  # the last one at least: it is worse than all before are on average
            return (
                f"no longer holds: F1 was {best.f1:.3f} from {format_time(best.begin)} on, "
                f"and is {last.f1:.3f} since {format_time(since.begin)}"
            )
        return f"holds: F1 {last.f1:.3f} lately (precision {last.precision:.3f}, recall {last.recall:.3f})"


@dataclass(frozen=True)
class Review:
    """What ``cepheus.review`` gives: print it, or write ``text``, the rules as they would be changed, to a file."""

    rules: RuleSet
    reviewed: tuple[ReviewedRule, ...]

    @property
    def holds(self) -> bool:
        """Whether all rules do no worse lately than they did before."""
        return all(each.holds for each in self.reviewed)

    @cached_property
    def changed(self) -> RuleSet:
        """All rules, those with numbers that have moved changed."""
        new = {each.rule.name: each.changed for each in self.reviewed}
        return replace(self.rules, rules=tuple(new.get(each.name, each) for each in self.rules.rules))

    @property
    def text(self) -> str:
        """The changed rules as a file."""
        from cepheus.language.tesla.print import format_rules

        notes = [f"-- {each.rule.name}: {moved}\n" for each in self.reviewed for moved in each.moved]
        return "".join(notes) + format_rules(self.changed)

    def __str__(self) -> str:
        return "\n".join(line for each in self.reviewed for line in _told(each))


def _since_start(rule: Rule) -> bool:
    return any(isinstance(node, Within) and node.since_start for node in walk(rule))


def _told(reviewed: ReviewedRule) -> Iterator[str]:
    yield f"rule {reviewed.rule.name}: {reviewed.verdict}"
    for each in reviewed.stretches:
        yield (
            f"  {format_time(each.begin)} to {format_time(each.end)}: {each.occurrences} occurrences, "
            f"precision {each.precision:.3f}, recall {each.recall:.3f}, F1 {each.f1:.3f}"
        )
    if reviewed.moved:
        yield "  would be changed:"
        for moved in reviewed.moved:
            yield f"    {moved}"
        yield from (f"    {line}" for line in format_rule(reviewed.changed).splitlines())
    else:
        yield "  no number would do better if it were set otherwise"


def review_rules(
    rules: RuleSet,
    history: History,
    occurrences: Occurrences,
    *,
    slack: int | None = None,
    seed: int = 1,
    say: Say = lambda _what, _best: None,
) -> Review:
    """Review the rules that tell the target of the occurrences."""
    chosen = [rule for rule in rules.rules if rule.composite.name == occurrences.target]
    if not chosen:
        names = sorted({rule.composite.name for rule in rules.rules})
        hint = did_you_mean(occurrences.target, names) or f"they define {', '.join(names) or 'nothing'}"
        raise OptionError.of("review", f"no rule of TESLA defines '{occurrences.target}'", hint=hint)
    events = history.only(set(history.types) - {occurrences.target})
    others = tuple(rule for rule in rules.rules if rule.composite.name != occurrences.target)
    return Review(
        rules, tuple(_Reviewing(rule, others, events, occurrences, slack, seed, say).run() for rule in chosen)
    )


@dataclass(slots=True)
class _Reviewing:
    rule: Rule
    others: tuple[Rule, ...]
    history: History
    occurrences: Occurrences
    slack: int | None
    seed: int
    say: Say

    def run(self) -> ReviewedRule:
        self._check()
        ending = self._ending()
        stretches = list(self._stretches(ending))
        recent = self._recent(stretches)
        split = self.occurrences.between(recent[0], recent[1]).split_at(0.7)
        changed, moved = self._set_anew(ending, (recent[0], split), (split, recent[1]))
        return ReviewedRule(self.rule, tuple(stretches), tuple(moved), changed)

    def _check(self) -> None:
        name, pattern = self.rule.name, self.rule.pattern
        if pattern.timer is not None or pattern.terminator.type not in self.history.types:
            what = (
                "a timer" if pattern.timer is not None else f"'{pattern.terminator.type}', of which there are no events"
            )
            raise OptionError.of(
                "review",
                f"rule '{name}' is decided by {what}: nothing in the history tells when it should",
                hint="review the rules that events of the history decide",
            )
        if self.rule.min_probability is not None:
            raise OptionError.of(
                "review",
                f"rule '{name}' has a minimal probability, which depends on more than its numbers",
                hint="cepheus calibrate tells how far probabilities can be believed",
            )

    def _ending(self) -> Ending:
        terminator = self.rule.pattern.terminator.type
        rng = np.random.default_rng(self.seed)
        met = find_endings(self.history.only([terminator]), self.occurrences, rng, self.slack)
        return met[0] if met else Ending(terminator, self.slack or 0, self.slack or 0, (), 0.0)

    def _stretches(self, ending: Ending) -> Iterator[Stretch]:
        count = len(self.occurrences)
        many = min(STRETCHES, max(count // FEWEST, 1))
        edges = [self.history.span[0]]
        edges += [int(self.occurrences.ends[count * number // many]) for number in range(1, many)]
        edges.append(self.history.span[1] + 1)
        edges = sorted(set(edges))
        whole = self._scores([self.rule], ending, (edges[0], edges[-1]))[0]
        times = self._times(whole)
        for begin, end in pairwise(edges):
            own = np.flatnonzero((self.occurrences.ends >= begin) & (self.occurrences.ends < end))
            recall = float(np.isin(own, whole.found).mean()) if len(own) else 0.0
            right = int(((times[0] >= begin) & (times[0] < end)).sum())
            alarms = int(((times[1] >= begin) & (times[1] < end)).sum())
            precision = right / (right + alarms) if right else 0.0
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
            yield Stretch(begin, end - 1, len(own), precision, recall, f1)

    def _times(self, found: Score) -> tuple[Ints, Ints]:
        return self.history.batch.times[found.right], found.alarm_times

    def _recent(self, stretches: Sequence[Stretch]) -> Span:
        """The last stretches, as far back as they are like the last one; two at least."""
        first = max(len(stretches) - 2, 0)
        while first > 0 and abs(stretches[first - 1].f1 - stretches[-1].f1) <= 2 * WORSE:
            first -= 1
        return stretches[first].begin, stretches[-1].end + 1

    # ---- Setting numbers anew ---------------------------------------------------------------------------------------

    def _set_anew(self, ending: Ending, learned: Span, tested: Span) -> tuple[Rule, list[Moved]]:
        rule, moved = self.rule, []
        best = self._f1([rule], ending, learned)[0]
        if not len(self.occurrences.between(*learned)) or not len(self.occurrences.between(*tested)):
            return rule, []
        for number in range(ROUNDS):
            self.say(f"{self.rule.name}: other numbers, round {number + 1}", best)
            step = self._best_step(rule, ending, learned, best)
            if step is None:
                break
            knob, value, made, f1 = step
            before, after = self._f1([rule, made], ending, tested)
            if f1 < best + BETTER or after < before + BETTER:
                break
            moved.append(Moved(knob.words, knob.told(knob.value), knob.told(value), before, after))
            rule, best = made, f1
        return rule, moved

    def _best_step(self, rule: Rule, ending: Ending, span: Span, now: float) -> tuple[Knob, float, Rule, float] | None:
        """The number that is worth most when it is set otherwise: first roughly, then more finely around the best."""
        own = knobs(rule, self.history)
        tried: dict[int, list[tuple[float, float]]] = {place: [(knob.value, now)] for place, knob in enumerate(own)}
        self._try(rule, own, dict.fromkeys(tried), tried, ending, span)
        if not tried:
            return None
        best = max(tried, key=lambda place: best_value(tried[place], 0.0)[1])
        for _ in range(2):
            _, _, low, high = best_value(tried[best], 0.0)
            self._try(rule, own, {best: (low, high)}, tried, ending, span)
        value, f1, _, _ = best_value(tried[best], 0.0)
        good = [each for each, score in tried[best] if score >= f1 - 1e-9]
        rounded = own[best].rounded(min(good), max(good))
        made = [own[best].turned(rule, each) for each in (value, rounded)]
        scores = self._f1(made, ending, span)
        chosen = 1 if scores[1] >= scores[0] - 1e-9 else 0
        return own[best], (value, rounded)[chosen], made[chosen], scores[chosen]

    def _try(
        self,
        rule: Rule,
        own: Sequence[Knob],
        near: dict[int, tuple[float, float] | None],
        tried: dict[int, list[tuple[float, float]]],
        ending: Ending,
        span: Span,
    ) -> None:
        """Run a rule with other values of some of its numbers, all in one engine."""
        many = [(place, value) for place, edges in near.items() for value in own[place].values(self.history, edges)]
        scores = self._f1([own[place].turned(rule, value) for place, value in many], ending, span)
        for (place, value), f1 in zip(many, scores, strict=True):
            tried[place].append((value, f1))

    def _f1(self, rules: Sequence[Rule], ending: Ending, span: Span) -> list[float]:
        return [each.f1 for each in self._scores(rules, ending, span)]

    def _scores(self, rules: Sequence[Rule], ending: Ending, span: Span) -> list[Score]:
        before = span[0] - self.history.span[0]
        if not any(each.consuming or _since_start(each) for each in (self.rule, *self.others)):
            reach = max(map(look_back, (*rules, *self.others)), default=0) * (1 + len(self.others))
            before = min(before, reach)  # else what is known depends on all that came before
        own = self.occurrences.between(*span)
        rows = firings(rules, self.history, span, before, self._support())
        return [score(fired, self.history, ending, own) for fired in rows]

    def _support(self) -> tuple[Rule, ...]:
        """The rules that make what the rule looks at."""
        used, wanted = [], {node.type for node in walk(self.rule) if isinstance(node, EventPattern)}
        while more := [rule for rule in self.others if rule.composite.name in wanted and rule not in used]:
            used += more
            wanted |= {node.type for rule in more for node in walk(rule) if isinstance(node, EventPattern)}
        return tuple(used)
