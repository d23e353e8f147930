"""Learning by intersection, the approach of iCEP, as a yardstick: what all positive traces have in common is the rule.

This is our own reading of the approach that its authors describe (a learner for each aspect; a rule has every
constraint that all positive traces satisfy; negative traces are not looked at), not their program. A type is relevant
if all positive traces have it in the window. If the window is unknown, it is where the number of relevant types first
stays the same. A bound of an attribute is the least that all traces reach. Relevant types come in the order that they
have in all traces. What no positive trace has is negated, if a trace at random would have it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cepheus.learning.bindings import Bindings, extremes, joined
from cepheus.learning.drafts import Absence, Bound, Condition, Draft, Link, Place, Summary, aggregated, attributes_of
from cepheus.learning.history import Floats, History, Ints, TypeEvents
from cepheus.learning.learners.order import chained
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.traces import TERMINATOR

STEPS = 24
"""So many windows are looked at if it is unknown, each a third longer than the one before."""

USUAL = 0.02
"""A bound that this share of all events violates says something."""

EXPECTED = 0.6
"""What this share of traces at random has, and no positive one, is negated."""


def by_intersection(history: History, occurrences: Occurrences, window: int | None) -> Draft | None:
    """What all positive traces have in common, as a rule; None if that is nothing."""
    terminator = _last_type(history, occurrences)
    if terminator is None:
        return None
    ends = occurrences.ends
    if window is None:
        window = _window(history, terminator, ends)
    own = history.types[terminator]
    draft = Draft(terminator, tuple(_bounds(history, terminator, _rows_at(own, ends))))
    for name in _relevant(history, terminator, ends, window):
        rows = _before(history.types[name], ends, window)
        draft = draft.with_part(Place(name, name, window, TERMINATOR, tuple(_bounds(history, name, rows))))
    draft = _linked(history, draft, ends)
    draft = _ordered(history, draft, ends)
    for absence in _absences(history, draft, ends, window):
        draft = draft.with_part(absence)
    for summary in _summaries(history, ends, window):
        draft = draft.with_part(summary)
    return draft


def _last_type(history: History, occurrences: Occurrences) -> str | None:
    """The type that most occurrences have at their very end."""
    shares = {name: float(np.isin(occurrences.ends, events.times).mean()) for name, events in history.types.items()}
    best = max(shares, key=lambda name: shares[name], default=None)
    return best if best is not None and shares[best] > 0.5 else None


def _rows_at(events: TypeEvents, ends: Ints) -> Bindings:
    place = np.searchsorted(events.times, ends)
    hit = (place < len(events)) & (events.times[np.minimum(place, len(events) - 1)] == ends)
    return Bindings(np.flatnonzero(hit), {"": place[hit]})


def _before(events: TypeEvents, ends: Ints, window: int) -> Bindings:
    """All events of a type in the window before each end."""
    return joined(Bindings(np.arange(len(ends)), {}), "", events, ends, window)


def _window(history: History, terminator: str, ends: Ints) -> int:
    """The first window that a longer one adds no relevant type to."""
    first, last = history.span
    shortest = max((last - first) // max(len(history.batch), 1), 1)
    windows = [round(shortest * (4 / 3) ** step) for step in range(STEPS)]
    counts = [len(list(_relevant(history, terminator, ends, window))) for window in windows]
    for place in range(1, len(windows) - 1):
        if counts[place] > 0 and counts[place] == counts[place - 1] == counts[place + 1]:
            return windows[place - 1]
    return windows[-1]


def _relevant(history: History, terminator: str, ends: Ints, window: int) -> Iterator[str]:
    for name, events in history.types.items():
        if name != terminator:
            place = np.searchsorted(events.times, ends)
            found = (place > 0) & (ends - events.times[np.maximum(place - 1, 0)] <= window)
            if found.all():
                yield name


def _bounds(history: History, name: str, rows: Bindings) -> Iterator[Condition]:
    """Bounds that every trace has an event within, if they say anything."""
    for column in attributes_of(history, name):
        if not column.is_number or not len(rows):
            continue
        values = column.values[rows.events[""]]
        least = float(extremes(rows, values, highest=True).min())
        most = float(extremes(rows, values, highest=False).max())
        if np.mean(column.values < least) > USUAL:
            yield Bound(column.name, ">", float(np.nextafter(least, -np.inf)))
        elif np.mean(column.values > most) > USUAL:
            yield Bound(column.name, "<", float(np.nextafter(most, np.inf)))


def _linked(history: History, draft: Draft, ends: Ints) -> Draft:
    """Parameters: attributes that an event of each trace shares with the terminator."""
    own = _rows_at(history.types[draft.terminator], ends)
    if len(own) < len(ends):
        return draft
    for place in draft.places:
        rows = _before(history.types[place.type], ends, place.within)
        for column in attributes_of(history, place.type):
            other = history.types[draft.terminator].columns.get(column.name)
            if other is None or not column.recurs:
                continue
            equal = column.values[rows.events[""]] == other.values[own.events[""]][rows.trace]
            if len(np.unique(rows.trace[equal])) == len(ends):
                link = Link(column.name, "=", TERMINATOR, column.name)
                draft = draft.with_condition(place.name, link)
    return draft


def _ordered(history: History, draft: Draft, ends: Ints) -> Draft:
    """One event before another, where that is so in all traces whichever of their events are taken."""
    for earlier in draft.places:
        for later in draft.places:
            if earlier.reference != TERMINATOR or earlier.name in (later.reference, later.name):
                continue
            first = _times(history, earlier, ends, highest=True)
            if bool((first < _times(history, later, ends, highest=False)).all()):
                draft = chained(draft, earlier, later)
                break
    return draft


def _times(history: History, place: Place, ends: Ints, *, highest: bool) -> Floats:
    events = history.types[place.type]
    rows = _before(events, ends, place.within)
    return extremes(rows, events.times[rows.events[""]].astype(np.float64), highest=highest)


def _absences(history: History, draft: Draft, ends: Ints, window: int) -> Iterator[Absence]:
    """Bounds of a type within which no positive trace has an event, and most traces at random have one."""
    taken = {draft.terminator, *(place.type for place in draft.places)}
    anywhere = np.linspace(*history.span, 400).astype(np.int64)
    for name, events in history.types.items():
        if name in taken:
            continue
        usual = _before(events, anywhere, window)
        if len(usual.traces) < EXPECTED * len(anywhere):
            continue
        rows = _before(events, ends, window)
        if not len(rows):
            yield Absence(name, window)
            continue
        for column in (each for each in attributes_of(history, name) if each.is_number):
            values, others = column.values[rows.events[""]], column.values[usual.events[""]]
            for operator, edge, beyond in (
                (">", float(values.max()), others > values.max()),
                ("<", float(values.min()), others < values.min()),
            ):
                if len(np.unique(usual.trace[beyond])) >= EXPECTED * len(anywhere):
                    yield Absence(name, window, TERMINATOR, (Bound(column.name, operator, edge),))


def _summaries(history: History, ends: Ints, window: int) -> Iterator[Summary]:
    """Bounds of averages that all positive traces keep, and traces at random do not."""
    anywhere = np.linspace(*history.span, 400).astype(np.int64)
    for name, events in history.types.items():
        for column in (each for each in attributes_of(history, name) if each.is_number):
            own, usual = (
                aggregated("Avg", rows.trace, column.values[rows.events[""]], len(moments))
                for moments in (ends, anywhere)
                for rows in [_before(events, moments, window)]
            )
            if np.isnan(own).any():
                continue
            if np.nanmean(usual < own.min()) > 0.25:
                yield Summary("Avg", name, column.name, window, ">", float(np.nextafter(own.min(), -np.inf)))
            elif np.nanmean(usual > own.max()) > 0.25:
                yield Summary("Avg", name, column.name, window, "<", float(np.nextafter(own.max(), np.inf)))
