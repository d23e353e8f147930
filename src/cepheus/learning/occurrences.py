"""What is to be explained: the known occurrences, as intervals of time with attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.schema import RESERVED
from cepheus.core.time import format_time
from cepheus.formats.intervals import START
from cepheus.learning.history import Column, History, Ints

FEWEST = 5
"""With fewer occurrences there is nothing to learn from and nothing to test it on."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Known occurrences in order of their ends; one that is an instant begins where it ends.

    ``columns`` are their attributes: keys, or values that a rule should tell.
    """

    target: str
    begins: Ints
    ends: Ints
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def among(cls, history: History, target: str) -> Occurrences:
        """The events of a type; the type must be there, and often enough."""
        events = history.types.get(target)
        if events is None:
            hint = (
                did_you_mean(target, history.types)
                or f"it has {', '.join(sorted(history.types)[:20]) or 'none at all'}"
            )
            raise OptionError.of(
                "learn-target", f"the history has no event of type '{target}' to learn from", hint=hint
            )
        starts = history.batch.starts
        begins = events.times if starts is None else np.minimum(starts[events.rows], events.times)
        columns = {name: column for name, column in events.columns.items() if name not in RESERVED}
        if starts is not None:  # files keep it as an attribute, too
            columns = {name: column for name, column in columns.items() if name != START}
        return cls(target, begins, events.times, columns)._enough()

    @classmethod
    def of(cls, batch: EventBatch, target: str, history: History) -> tuple[Occurrences, History]:
        """Occurrences that were given apart, and the history with the codes of their texts."""
        given = History.of(batch, history.texts)
        if not len(batch):
            raise OptionError.of("learn-target", f"there is no occurrence of '{target}' to learn from")
        made = cls.among(given, target)
        made.check_span(history.span)
        return made, replace(history, texts=given.texts, codes=given.codes)

    def check_span(self, span: tuple[int, int]) -> None:
        """Refuse occurrences of another time than the events that should explain them."""
        first, last = span
        inside = int(((self.ends >= first) & (self.begins <= last)).sum())
        if inside < min(FEWEST, len(self)):
            raise OptionError.of(
                "learn-few",
                f"of {len(self)} occurrences of '{self.target}' {inside or 'none'} "
                f"{'lies' if inside <= 1 else 'lie'} within the history",
                hint=f"events are from {format_time(first)} to {format_time(last)}, occurrences from "
                f"{format_time(int(self.begins.min()))} to {format_time(int(self.ends.max()))}: "
                "are their times in the same unit and time zone?",
            )

    def _enough(self) -> Occurrences:
        if len(self) < FEWEST:
            few = "only one occurrence" if len(self) == 1 else f"only {len(self)} occurrences"
            raise OptionError.of(
                "learn-few",
                f"there is {few} of '{self.target}' to learn from"
                if len(self) == 1
                else f"there are {few} of '{self.target}' to learn from",
                hint=f"a rule is learned from some and tested on later ones: give at least {FEWEST}, better 50",
            )
        return self

    def take(self, places: Ints) -> Occurrences:
        """Some of them."""
        columns = {name: replace(column, values=column.values[places]) for name, column in self.columns.items()}
        return replace(self, begins=self.begins[places], ends=self.ends[places], columns=columns)

    def between(self, first: int, last: int) -> Occurrences:
        """Those that end at ``first`` or later, and before ``last``."""
        return self.take(np.flatnonzero((self.ends >= first) & (self.ends < last)))

    def split_at(self, share: float) -> int:
        """A time before which that share of them ends, one of them at least on either side.

        It lies half way from the last of the earlier ones to the first of the later ones, so that what decides a later
        one comes after it, though labels are late.

        >>> ends = np.array([10, 20, 30, 50])
        >>> Occurrences("Fire", ends, ends, {}).split_at(0.75)
        40
        """
        place = min(max(round(share * len(self)), 1), len(self) - 1)
        at = int(self.ends[place])
        if at == int(self.ends[0]):
            later = self.ends[self.ends > at]
            if not len(later):
                message = f"all occurrences of '{self.target}' are at one time"
                hint = "a rule is tested on later ones than it is learned from"
                raise OptionError.of("learn-few", message, hint=hint)
            at = int(later[0])
        before = int(self.ends[self.ends < at][-1])
        begin = int(self.begins[self.ends >= at].min())
        return (before + begin + 1) // 2 if begin > before else at
