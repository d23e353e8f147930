"""Groups of factors in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from cepheus.rules.check.findings import text_of
from cepheus.uncertainty.joint import Judged
from cepheus.uncertainty.trials import Condition, Few, HasValue, Occurrence, Part
from cepheus.uncertainty.verdict import Factor, Reason


def factor_of(
    judged: Judged, called: Callable[[str], str], details: Mapping[str, Sequence[tuple[str, float]]]
) -> Factor:
    """A group of factors in words; ``called`` names aggregates, ``details`` are those of negations by their text."""
    reasons = {_reason(part) for part in judged.parts}
    reason = reasons.pop() if len(reasons) == 1 else Reason.JOINT
    texts = list(dict.fromkeys(_text(part, called) for part in judged.parts))
    found = [detail for text in texts for detail in details.get(text, ())]
    return Factor(reason, " and ".join(texts), judged.estimate, tuple(found))


def _reason(part: Part) -> Reason:
    match part:
        case Condition():
            return Reason.CONSTRAINT
        case Occurrence():
            return Reason.EVENT
        case Few(rivals=rivals):
            return Reason.CHOICE if rivals else Reason.NEGATION
        case HasValue():
            return Reason.AGGREGATE
        case _:
            assert_never(part)


def _text(part: Part, called: Callable[[str], str]) -> str:
    match part:
        case Condition(constraint=constraint):
            return text_of(constraint)
        case Occurrence(text=text) | Few(text=text):
            return text
        case HasValue(aggregate=name):
            return f"{called(name)} is defined"
        case _:
            assert_never(part)
