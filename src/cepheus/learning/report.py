"""What was learned, for people: rules with their evidence, as a file, as text, as a drawing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cepheus.core.schema import EventType
from cepheus.core.time import format_duration, format_time
from cepheus.language.tesla.print import format_rule, format_rules
from cepheus.learning.declaring import declarations_for
from cepheus.learning.evaluate import Score
from cepheus.learning.leaks import PERFECT
from cepheus.learning.learn import Candidate, Outcome
from cepheus.learning.reasons import reasons
from cepheus.learning.significance import LEVEL, MOVES
from cepheus.rules.model import Rule, RuleSet

MOST_SHOWN = 10


@dataclass(frozen=True)
class LearnedRule:
    """One learned rule: its precision, recall and F1 on the held-out, later part of history, and why it is as it is."""

    rule: Rule
    outcome: Outcome
    candidate: Candidate
    tested: Score

    @property
    def precision(self) -> float:
        """The share of what it tells that is an occurrence."""
        return self.tested.precision

    @property
    def recall(self) -> float:
        """The share of occurrences that it tells."""
        return self.tested.recall

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return self.tested.f1

    @property
    def text(self) -> str:
        """The rule in TESLA."""
        return format_rule(self.rule)

    @property
    def missed(self) -> list[int]:
        """The times of occurrences in the held-out part that it misses, in microseconds."""
        found: list[int] = self.outcome.later.ends[self.tested.missed].tolist()
        return found

    @property
    def false_alarms(self) -> list[int]:
        """The times in the held-out part at which it gives a false alarm, in microseconds."""
        found: list[int] = self.tested.alarm_times.tolist()
        return found

    @cached_property
    def reasons(self) -> list[str]:
        """A sentence on each part: what is lost without it."""
        return [each.sentence(self.precision, self.recall) for each in reasons(self.outcome, self.candidate)]


@dataclass(frozen=True)
class Learned:
    """What ``cepheus.learn`` gives: ranked rules with their evidence, or none if nothing was found.

    Print it, write ``text`` to a ``.tesla`` file, compile ``rules``, draw it with ``svg``.
    """

    outcome: Outcome

    @cached_property
    def found(self) -> tuple[LearnedRule, ...]:
        """The rules, best first; none if what they find may be chance."""
        if not self.outcome.significant:
            return ()
        several = zip(self.outcome.candidates, self.outcome.tested, strict=True)
        target = self.outcome.occurrences.target
        made = [
            LearnedRule(each.rule(self.outcome.history, target, f"{target}{number}"), self.outcome, each, tested)
            for number, (each, tested) in enumerate(several, 1)
        ]
        return tuple(made)

    def __bool__(self) -> bool:
        return bool(self.found)

    @property
    def rules(self) -> RuleSet:
        """All rules, as ``cepheus.compile`` takes them."""
        return RuleSet(self._declarations, tuple(each.rule for each in self.found))

    @cached_property
    def _declarations(self) -> tuple[EventType, ...]:
        """The types of the history, where events lack what rules use; of one on Spark only some events are known."""
        if self.outcome.past.reach is not None:
            return ()
        rules = [each.rule for each in self.found]
        return declarations_for(rules, self.outcome.history, self.outcome.occurrences.target)

    @property
    def p_value(self) -> float:
        """How likely what was found would be by chance."""
        return self.outcome.p_value

    @property
    def f1(self) -> float:
        """The F1 of all rules together on the held-out part; 0 if nothing was found."""
        return self.outcome.together.f1 if self.found and self.outcome.together is not None else 0.0

    @property
    def slack(self) -> int:
        """How much later than their cause labels come, in microseconds, as given or as estimated."""
        return max((each.candidate.ending.late for each in self.found), default=0)

    @property
    def text(self) -> str:
        """The rules as a file that runs as it is, with the evidence in comments."""
        head = "".join(f"-- {line}\n" for line in self._summary())
        if self._declarations:
            head += "\n" + format_rules(RuleSet(self._declarations))
        return head + "".join(f"\n{self._commented(each)}\n" for each in self.found)

    def _commented(self, learned: LearnedRule) -> str:
        lines = [
            f"precision {learned.precision:.3f}, recall {learned.recall:.3f}, F1 {learned.f1:.3f} on held-out history: "
            f"{len(learned.tested.found)} found, {len(learned.missed)} missed, "
            f"{learned.tested.false_alarms} false alarms",
            *learned.reasons,
        ]
        comments = "".join(f"-- {' '.join(line.splitlines())}\n" for line in lines)
        return comments + format_rules(RuleSet(rules=(learned.rule,))).rstrip("\n")

    def _summary(self) -> list[str]:
        outcome = self.outcome
        target = outcome.occurrences.target
        early = len(outcome.occurrences) - len(outcome.later)
        told = [
            f"{len(outcome.occurrences)} occurrences of {target}: learned from {early}, "
            f"tested on the {len(outcome.later)} from {format_time(outcome.split)} on"
        ]
        if not self.found:
            return [*told, f"nothing found: {self._why_not()}", *outcome.notes]
        together = outcome.together
        if together is not None and len(self.found) > 1:
            told.append(
                f"all rules together: precision {together.precision:.3f}, recall {together.recall:.3f}, "
                f"F1 {together.f1:.3f}"
            )
        if any(each.candidate.ending.early for each in self.found):
            told.append(f"labels may be off by {format_duration(self.slack)} in either direction, as was said")
        elif self.slack:
            told.append(f"labels come up to {format_duration(self.slack)} after the event that decides")
        unknown = sorted(
            set(outcome.occurrences.columns) - {name for each in outcome.candidates for name in each.outputs}
        )
        if unknown:
            told.append(f"not told by the rules, for no event has it: {', '.join(unknown)}")
        told += outcome.notes
        for each in self.found:
            draft = each.candidate.draft
            if len(draft.conditions) == 1 and not draft.parts and each.f1 >= PERFECT:
                alone = f"{draft.terminator}.{draft.conditions[0].attribute}"
                told.append(f"{alone} alone tells it: is that known at once, and not filled in afterwards?")
        if any(each.candidate.each for each in self.found):
            told.append("some events are told more than once, for each way in which a rule matches: counted once here")
        told.append(f"by chance as good with probability {outcome.p_value:.3g} (labels moved {MOVES} times)")
        return told

    def _why_not(self) -> str:
        if self.outcome.out_of_time:
            return "the time budget ended the search before anything was found that cannot be chance"
        if not self.outcome.candidates:
            return "no rule is better than none"
        return f"what the best rule finds may be chance (p = {self.outcome.p_value:.2g}, more than {LEVEL:g})"

    def __str__(self) -> str:
        lines = self._summary()
        for each in self.found:
            lines += ["", each.text, *(f"  {reason}" for reason in each.reasons)]
            lines.append(f"  precision {each.precision:.3f}, recall {each.recall:.3f}, F1 {each.f1:.3f}")
            lines += [f"  missed: {format_time(time)}" for time in each.missed[:MOST_SHOWN]]
            lines += [f"  false alarm: {format_time(time)}" for time in each.false_alarms[:MOST_SHOWN]]
        return "\n".join(lines)

    def svg(self) -> str:
        """A drawing of the rules."""
        from cepheus.explain.draw import draw  # which takes a while to import
        from cepheus.explain.rule_parts import rule_parts

        return draw([rule_parts(each.rule) for each in self.found])

    def to_json(self) -> dict[str, Any]:
        """The evidence as a JSON object."""
        return {
            "target": self.outcome.occurrences.target,
            "occurrences": len(self.outcome.occurrences),
            "p_value": self.p_value,
            "f1": self.f1,
            "rules": [
                {
                    "text": each.text,
                    "precision": each.precision,
                    "recall": each.recall,
                    "f1": each.f1,
                    "missed": each.missed,
                    "false_alarms": each.false_alarms,
                    "reasons": each.reasons,
                }
                for each in self.found
            ],
        }
