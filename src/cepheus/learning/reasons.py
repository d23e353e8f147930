"""Why each part of a learned rule is there: what the rule would be without it, on held-out history."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.time import format_duration
from cepheus.learning.drafts import Absence, Bound, Condition, Draft, Link, Part, Place
from cepheus.learning.history import History
from cepheus.learning.learn import Candidate, Outcome
from cepheus.learning.tuning import without_each
from cepheus.learning.writing import write_rule


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a rule, in words, and precision and recall of the rule without it."""

    part: str
    precision: float
    recall: float
    f1: float

    def sentence(self, precision: float, recall: float) -> str:
        """What is lost without the part.

        >>> Reason("value > 45.0", 0.25, 1.0, 0.4).sentence(1.0, 1.0)
        'value > 45.0: without it precision falls from 1.00 to 0.25'
        """
        lost = []
        if self.precision < precision - 0.005:
            lost.append(f"precision falls from {precision:.2f} to {self.precision:.2f}")
        if self.recall < recall - 0.005:
            lost.append(f"recall falls from {recall:.2f} to {self.recall:.2f}")
        if not lost:
            return f"{self.part}: it made a difference while learning, none in the later part of history"
        return f"{self.part}: without it {' and '.join(lost)}"


def reasons(outcome: Outcome, candidate: Candidate) -> list[Reason]:
    """A reason for every part of a rule, all evaluated in one run of the engine."""
    lighter = list(without_each(candidate.draft))
    rules = [
        write_rule(draft, outcome.history, outcome.occurrences.target, "lighter", {}, _still(candidate, draft))
        for _, draft in lighter
    ]
    span = (outcome.split, outcome.past.span[1] + 1)
    scores = outcome.past.scores(rules, [candidate.ending] * len(rules), outcome.later, span)
    found = []
    for (part, _), result in zip(lighter, scores, strict=True):
        words = described(part, outcome.history, candidate.draft)
        found.append(Reason(words, result.precision, result.recall, result.f1))
    return found


def _still(candidate: Candidate, draft: Draft) -> frozenset[str]:
    return candidate.each & {place.name for place in draft.places}


def described(part: Condition | Part, history: History, draft: Draft) -> str:
    """A part in a few words."""
    if isinstance(part, Bound):
        return f"{part.attribute} {part.operator} {_constant(part, history, draft)}"
    if isinstance(part, Link):
        other = f"{draft.terminator if part.place == '#' else part.place}.{part.other}"
        if part.operator == "near":
            return f"{part.attribute} within {part.value:g} of {other}"
        shift = f" {'+' if part.value > 0 else '-'} {abs(part.value):g}" if part.value else ""
        return f"{part.attribute} {part.operator} {other}{shift}"
    window = f"within {format_duration(part.within)}"
    if isinstance(part, Place):
        return f"an event {part.name} {window}"
    if isinstance(part, Absence):
        return f"no event {part.type} {window}"
    of = f" of {part.attribute}" if part.attribute else ""
    return f"{part.function}{of} of {part.type} {window} {part.operator} {part.value:g}"


def _constant(bound: Bound, history: History, draft: Draft) -> str:
    for event_type in (draft.terminator, *(part.type for part in draft.parts)):
        column = history.types[event_type].columns.get(bound.attribute)
        if column is not None and bound.operator == "=" and not column.is_number:
            return f"'{history.text(bound.value)}'" if column.type.value == "string" else str(bool(bound.value)).lower()
    return f"{bound.value:g}"
