"""What a run has found, to be looked at: a table, the reasons of each composite event, a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.display import events_table, page
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.event import Event, EventId
from cepheus.rules.model import AnyRule
from cepheus.runtime.embedded.detect import Detected

if TYPE_CHECKING:
    from cepheus.notebook.timeline import Timeline
    from cepheus.notebook.why import Why


@dataclass(frozen=True, slots=True, eq=False)
class Found(Detected):
    """The composite events of a finite input, with what there is to see of them.

    ``sources`` are the events that they were found in, if these were given in memory; events in files are not kept.
    """

    sources: Sequence[EventBatch] = field(default=(), repr=False)
    rules: Sequence[AnyRule] = field(default=(), repr=False)

    @classmethod
    def among(cls, found: Detected, sources: Sequence[EventBatch], rules: Sequence[AnyRule]) -> Found:
        """What was found among some events by some rules."""
        counted = {"ties": found.ties, "skipped": found.skipped, "late": found.late}
        return cls.around(found, found.unit, **counted, sources=sources, rules=rules)

    def why(self, which: int | str = 0) -> Why:
        """The events that a composite event was made of, and what else its rule asked for.

        ``which`` counts the composite events from 0, from the end by -1, or is the id of one.
        """
        from cepheus.notebook.why import Why  # what explains rules takes a while to import

        event = self._chosen(which)
        known = {each.id: each for each in self._needed(event) if each.id is not None}
        return Why.of(event, known, self.rules)

    def timeline(self, title: str = "") -> Timeline:
        """A picture of all events over time, what was found above them."""
        from cepheus.notebook.timeline import draw_timeline

        return draw_timeline(self.sources, self, title)

    def _repr_html_(self) -> str:
        return page(events_table(self, "composite event"))

    def _chosen(self, which: int | str) -> Event:
        count = len(self)
        if isinstance(which, int):
            if not -count <= which < count:
                hint = f"there are {count}: count from 0" if count else "the rules have found nothing"
                raise OptionError.of("why", f"there is no composite event {which}", hint=hint)
            place = which % count
            return self.slice(place, place + 1).to_events()[0]
        ids = list(self.ids or ())
        if which not in ids:
            raise OptionError.of(
                "why", f"there is no composite event '{which}'", hint=did_you_mean(which, map(str, ids))
            )
        place = ids.index(which)
        return self.slice(place, place + 1).to_events()[0]

    def _needed(self, event: Event) -> list[Event]:
        """The event, and all events that it was made of, directly or not, as far as they are at hand."""
        known: list[Event] = [event]
        wanted: set[EventId] = set(event.made_of)
        asked: set[EventId] = set()
        while wanted - asked:
            asked |= wanted
            for batch in (self, *self.sources):
                known += _with_ids(batch, wanted)
            wanted = {part for each in known for part in each.made_of} - asked
        return known


def _with_ids(batch: EventBatch, wanted: set[EventId]) -> list[Event]:
    if batch.ids is None:
        return []
    if isinstance(batch.ids, np.ndarray):
        numbers = [each for each in wanted if isinstance(each, int)]
        rows = np.flatnonzero(np.isin(batch.ids, numbers))
    else:
        rows = np.array([row for row, each in enumerate(batch.ids) if each in wanted], np.int64)
    return batch.take(rows).to_events() if len(rows) else []
