"""Rules that were found, while learning goes on."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.learning.drafts import Draft
from cepheus.learning.evaluate import Score
from cepheus.learning.history import History
from cepheus.learning.terminators import Ending
from cepheus.learning.writing import Outputs, write_rule
from cepheus.rules.model import Rule


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
