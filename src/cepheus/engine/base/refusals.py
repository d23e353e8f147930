"""What engines refuse: rules of the other family, uncertain events where rules take them as certain, wrong factors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.errors import EventError, OptionError, UnsupportedError, did_you_mean
from cepheus.core.event import Event
from cepheus.rules.interval.model import Anything, Atom, IntervalRule
from cepheus.rules.model import AnyRule, Rule
from cepheus.rules.rows.model import RowRule
from cepheus.rules.walk import walk


def tesla_rules(rules: Sequence[AnyRule], engine: str) -> list[Rule]:
    """Take the rules as those of TESLA; UnsupportedError if one is of another family."""
    for rule in rules:
        if isinstance(rule, IntervalRule):
            raise _other_family(rule, engine, "interval rules of the ETALIS language")
        if isinstance(rule, RowRule):
            raise _other_family(rule, engine, "queries with MATCH_RECOGNIZE")
    return [rule for rule in rules if isinstance(rule, Rule)]


def require_ties(rules: Iterable[Rule], *, ordered: bool) -> None:
    """Refuse rules that make something else of simultaneous events than those that an engine runs."""
    for rule in rules:
        if rule.ordered != ordered:
            here, there = ("ordered", "apart") if rule.ordered else ("apart", "ordered")
            raise OptionError.of(
                "ties",
                f"rule '{rule.name}' has ties {here}, but the rules that run already have ties {there}",
                span=rule.span,
                hint=f"write ties {there} in its file, or start a session of its own for it",
            )


def interval_rules(rules: Sequence[AnyRule], engine: str) -> list[IntervalRule]:
    """Take the rules as interval rules; UnsupportedError if one is of another family."""
    for rule in rules:
        if isinstance(rule, RowRule):
            raise _other_family(rule, engine, "queries with MATCH_RECOGNIZE")
        if isinstance(rule, Rule):
            raise _other_family(rule, engine, "rules of TESLA")
    return [rule for rule in rules if isinstance(rule, IntervalRule)]


def _other_family(rule: AnyRule, engine: str, family: str) -> UnsupportedError:
    return UnsupportedError.of(
        "unsupported",
        f"the engine {engine} does not run {family}",
        span=rule.span,
        hint="start the session with a rule of that family, so that it has an engine for it",
    )


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


def refuse_uncertain(batch: EventBatch, reads: Reads, family: str = "rules of ETALIS") -> None:
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
            raise _doubtful(name, family)
        for attribute, errors in batch.errors.items():
            if attribute in read and (ErrorColumn.of(errors).kinds[rows] != ErrorKind.NONE).any():
                raise _off(name, attribute, family)


def refuse_uncertain_event(event: Event, reads: Reads) -> None:
    """Raise an EventError if an event from outside is uncertain in what rules read of it."""
    if (event.probability == 1.0 and not event.errors) or event.made_of or event.type not in reads:
        return
    if event.probability != 1.0 and event.rule is None:
        raise _doubtful(event.type)
    for attribute in event.errors.keys() & reads[event.type]:
        raise _off(event.type, attribute)


def _doubtful(event_type: str, family: str = "rules of ETALIS") -> EventError:
    message = f"{family} take events as certain, but an event {event_type} has a probability"
    return EventError.of("uncertain-event", message, hint=_HINT)


def _off(event_type: str, attribute: str, family: str = "rules of ETALIS") -> EventError:
    message = f"{family} take events as certain, but {event_type}.{attribute}, which they read, has an error"
    return EventError.of("uncertain-event", message, hint=_HINT)


def require_factor(factor: float) -> float:
    """Return the factor if it is a probability, else raise an OptionError.

    >>> require_factor(0.987)
    0.987
    """
    if not 0.0 <= factor <= 1.0:
        raise OptionError.of("factor", f"the factor {factor} is not a probability", hint="give a number from 0 to 1")
    return float(factor)


def no_such_rule(rule: str, deployed: Collection[str]) -> OptionError:
    """The error for the factor of a rule that is not deployed."""
    return OptionError.of("factor", f"no rule named '{rule}' is deployed", hint=did_you_mean(rule, deployed))
