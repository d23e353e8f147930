"""Partial rules: the part of a rule that one processor can decide for its father."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.plan.partial.anatomy import anatomy, consumed_types
from cepheus.rules.model import Pattern, Rule, Selection


@dataclass(frozen=True, slots=True)
class PartialRule:
    """A pattern without a composite event: events that cannot satisfy it need not be sent on.

    ``root`` says which part of the rule the pattern's terminator is: the name of a position, or ``#n`` for the n-th
    item of the whole pattern, a negation or an aggregate. ``origins`` gives for each item of ``pattern`` the item of
    the whole pattern that it was made from.
    """

    rule: Rule
    root: str
    pattern: Pattern
    origins: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What tells this partial rule from all others at one processor."""
        return f"{self.rule.name}/{self.root}"

    @property
    def selection(self) -> Selection | None:
        """How the rule chooses the pattern's terminator: None if that is the rule's own, or not chosen at all."""
        return anatomy(self.rule).selections.get(self.root)

    @property
    def keeps_all(self) -> bool:
        """Whether every event at the root must be sent, because the choice of several needs to count them."""
        return self.selection is not None and self.selection.count not in (None, 1)

    @property
    def joined(self) -> bool:
        """Whether other events, or what the rule has consumed, decide which events are candidates at the root."""
        shape = anatomy(self.rule)
        if shape.choice_needs.get(self.root):
            return True
        return self.selection is not None and self.selection.event.type in consumed_types(self.rule)
