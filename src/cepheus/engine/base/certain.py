"""Uncertain events are refused by rules over intervals, which would take them for certain without a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.error_column import ErrorColumn, ErrorKind
from cepheus.core.errors import EventError
from cepheus.core.event import Event
from cepheus.rules.interval.model import Anything, Atom, IntervalRule
from cepheus.rules.walk import walk

_HINT = "let a rule of TESLA read it: what that makes counts as certain, and may feed rules of ETALIS"

Reads = dict[str, frozenset[str]]
"""For each type of events, the attributes that rules read."""


def reads_of(rules: Iterable[IntervalRule], names: Mapping[str, Sequence[str]]) -> Reads:
    """Collect what the patterns of rules read of events; an argument that may be anything is not read.

    ``names`` are those of the attributes of each type, in the order of arguments.
    """
    found: dict[str, frozenset[str]] = {}
    for rule in rules:
        for atom in walk(rule.pattern):
            if isinstance(atom, Atom):
                named = zip(atom.arguments, names.get(atom.type, ()), strict=False)
                read = {name for argument, name in named if not isinstance(argument, Anything)}
                found[atom.type] = found.get(atom.type, frozenset()) | read
    return found


def refuse_uncertain(batch: EventBatch, reads: Reads) -> None:
    """Raise an EventError if an event from outside is uncertain in what rules read of it.

    A composite event counts as certain wherever it is fed on.
    """
    if not batch.errors and batch.probabilities is None:
        return
    outside = np.ones(len(batch), np.bool_)
    if batch.provenance is not None:
        outside = np.array([not made_of for made_of in batch.provenance.made_of], np.bool_)
    for name, read in reads.items():
        if name not in batch.types:
            continue
        rows = outside & (batch.codes == batch.types.index(name))
        if batch.probabilities is not None and (batch.probabilities[rows] != 1.0).any():
            raise _doubtful(name)
        for attribute, errors in batch.errors.items():
            if attribute in read and (ErrorColumn.of(errors).kinds[rows] != ErrorKind.NONE).any():
                raise _off(name, attribute)


def refuse_uncertain_event(event: Event, reads: Reads) -> None:
    """Raise an EventError if an event from outside is uncertain in what rules read of it."""
    if (event.probability == 1.0 and not event.errors) or event.made_of or event.type not in reads:
        return
    if event.probability != 1.0 and event.rule is None:
        raise _doubtful(event.type)
    for attribute in event.errors.keys() & reads[event.type]:
        raise _off(event.type, attribute)


def _doubtful(event_type: str) -> EventError:
    message = f"rules of ETALIS take events as certain, but an event {event_type} has a probability"
    return EventError.of("uncertain-event", message, hint=_HINT)


def _off(event_type: str, attribute: str) -> EventError:
    message = f"rules of ETALIS take events as certain, but {event_type}.{attribute}, which they read, has an error"
    return EventError.of("uncertain-event", message, hint=_HINT)
