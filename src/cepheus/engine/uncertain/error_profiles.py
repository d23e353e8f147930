"""What errors attributes have had so far, and whether the closed forms of the kernel can deal with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import (
    Biased,
    Distribution,
    Normal,
    Uniform,
)
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.event import Event
from cepheus.engine.uncertain.state import MOST_TERMS
from cepheus.kernel.program import StepKind
from cepheus.plan.pattern.bands import LoweredTerm
from cepheus.plan.pattern.constructs import Construct, unsupported
from cepheus.plan.pattern.lowered import LoweredRule
from cepheus.rules.aggregates import Form, aggregate_named
from cepheus.rules.expressions import AttributeRef, Parameter
from cepheus.rules.resolved import Compute, ResolvedRule
from cepheus.rules.walk import walk
from cepheus.uncertainty.laws import is_foreign, spreads

Key = tuple[str, str]
"""An event type and an attribute."""

_MOST_COMBINATIONS = 4096
_MOST_WIDTHS = 2


@dataclass(frozen=True, slots=True)
class Profile:
    """The worst there was: uniform parts and components of one error, and whether it is more than Normal.

    An error that is ``made`` comes from a list of members and is described only when it is given away. One that is
    ``foreign`` only Python knows.
    """

    widths: int = 0
    components: int = 1
    normal: bool = True
    listed: bool = False
    made: bool = False
    foreign: bool = False

    @property
    def plain_kinds(self) -> tuple[ErrorKind, ...]:
        """The kinds of plain distributions that ask no more than this."""
        return (ErrorKind.NORMAL,) if self.widths == 0 else (ErrorKind.NORMAL, ErrorKind.UNIFORM)

    def __or__(self, other: Profile) -> Profile:
        return Profile(
            max(self.widths, other.widths),
            max(self.components, other.components),
            self.normal and other.normal,
            self.listed or other.listed,
            self.made or other.made,
            self.foreign or other.foreign,
        )


def profile_of(error: Distribution) -> Profile:
    """What an error asks of the kernel; UnsupportedError if it has no closed form."""
    if isinstance(error, Biased):
        raise unsupported(Construct.UNCERTAIN_FORMS, None)
    if is_foreign(error):
        return Profile(0, 1, False, True, foreign=True)
    components = spreads(error).components
    widths = max((len(component.widths) for component in components), default=0)
    (kind,) = ErrorColumn.of([error]).kinds.tolist()
    return Profile(widths, len(components), kind == ErrorKind.NORMAL, kind == ErrorKind.OTHER)


def profiles_in(batch: EventBatch) -> dict[Key, Profile]:
    """The profiles of the errors of a batch, by event type and attribute."""
    found: dict[Key, Profile] = {}
    for name, errors in batch.errors.items():
        column = ErrorColumn.of(errors)
        pairs = batch.codes.astype(np.int64) * len(ErrorKind) + column.kinds
        for pair in np.unique(pairs).tolist():
            code, kind = divmod(pair, len(ErrorKind))
            if kind == ErrorKind.NONE:
                continue
            seen = [_PLAIN.get(kind)]
            if kind == ErrorKind.OTHER:
                places = np.unique(column.first[pairs == pair].astype(np.int64)).tolist()
                seen = [profile_of(column.others[place]) for place in places]
            key = (batch.types[code], name)
            for profile in seen:
                assert profile is not None
                found[key] = profile | found.get(key, profile)
    return found


class Familiar:
    """The kinds of Normal and Uniform errors that were seen before, by event type and attribute.

    Events that have no others ask nothing new of the engine, which is found out without a look at their profiles. Nor
    does the error of an attribute that no rule ``reads``.
    """

    def __init__(self, reads: Callable[[Key], bool]) -> None:
        self._reads = reads
        self._seen: set[tuple[str, str, int]] = set()
        self._passed: set[tuple[str, str, type]] = set()
        self._unseen: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, NDArray[np.bool_], int]]] = {}

    def learn(self, profiles: Mapping[Key, Profile]) -> None:
        """Note what was seen, and that it was accepted."""
        for key, profile in profiles.items():
            self._seen |= {(*key, kind) for kind in profile.plain_kinds}
        self._unseen.clear()

    def has_errors(self, event: Event) -> bool:
        """Whether an event has no errors but such as were seen before."""
        event_type = event.type
        for name, error in event.errors.items():
            shape = event_type, name, type(error)
            if shape not in self._passed:
                if (event_type, name, _KINDS.get(type(error))) not in self._seen and self._reads((event_type, name)):
                    return False
                self._passed.add(shape)
        return True

    def has_all(self, batch: EventBatch) -> bool:
        """Whether the events of a batch have no errors but such as were seen before."""
        shape = batch.types, tuple(batch.errors)
        unseen = self._unseen.get(shape)
        if unseen is None:
            unseen = self._unseen[shape] = self._find_unseen(*shape)
        for name, mask, common in unseen:
            kinds = ErrorColumn.of(batch.errors[name]).kinds
            if kinds.max(initial=0) > common and not mask[batch.codes, kinds].all():
                return False
        return True

    def _find_unseen(self, types: tuple[str, ...], names: tuple[str, ...]) -> list[tuple[str, NDArray[np.bool_], int]]:
        """The attributes that may have errors of kinds that were not seen before.

        With each, by type of a batch and kind of error, whether they were seen together; up to which kind all were.
        """
        found = []
        for name in names:
            mask = np.array([[self._passes(one, name, kind) for kind in ErrorKind] for one in types]).reshape(-1, 4)
            if not mask.all():
                found.append((name, mask, int(np.logical_and.accumulate(mask.all(axis=0)).sum()) - 1))
        return found

    def _passes(self, event_type: str, name: str, kind: ErrorKind) -> bool:
        return kind == ErrorKind.NONE or (event_type, name, kind) in self._seen or not self._reads((event_type, name))


_KINDS: dict[type, int] = {Normal: int(ErrorKind.NORMAL), Uniform: int(ErrorKind.UNIFORM)}
_PLAIN = {int(ErrorKind.NORMAL): Profile(), int(ErrorKind.UNIFORM): Profile(1, 1, False)}


def with_composites(
    profiles: Mapping[Key, Profile], rules: Iterable[ResolvedRule], doubtful: Set[str]
) -> dict[Key, Profile]:
    """Add the attributes of composite events that are computed from uncertain ones, whatever their number of turns.

    ``doubtful`` are the event types of which some may not have occurred.
    """
    found = dict(profiles)
    rules = list(rules)
    changed = True
    while changed:
        changed = False
        for rule in rules:
            types = {position.name: position.type for position in rule.positions}
            weighed = _weighed(rule, types, found, doubtful)
            for assignment in rule.assignments:
                seen = [found[key] for key in _sources(assignment.value, rule, types) if key in found]
                if any(isinstance(node, Parameter) and node.name in weighed for node in walk(assignment.value)):
                    seen.append(Profile(made=True))
                for source in seen:
                    target = (rule.composite.name, assignment.attribute)
                    merged = source | found.get(target, source)
                    if found.get(target) != merged:
                        found[target] = merged
                        changed = True
    return found


def _weighed(rule: ResolvedRule, types: Mapping[str, str], uncertain: Collection[Key], doubtful: Set[str]) -> set[str]:
    """The aggregates of a rule whose members are weighed, as some may not belong to them or all errors count."""
    found: set[str] = set()
    for step in rule.steps:
        if isinstance(step, Compute):
            read = {key for constraint in step.constraints for key in _read(constraint, step.type, types)}
            asked = {node.name for one in step.constraints for node in walk(one) if isinstance(node, Parameter)}
            unsure = step.type in doubtful or any(key in uncertain for key in read) or bool(asked & found)
            value = () if step.value is None else _read(step.value, step.type, types)
            if unsure or (aggregate_named(step.function).form.is_extreme and any(key in uncertain for key in value)):
                found.add(step.name)
    return found


def _read(node: object, own: str, types: Mapping[str, str]) -> Iterable[Key]:
    """The attributes that are read, an event without a name being of a type of its ``own``."""
    for child in walk(node):
        if isinstance(child, AttributeRef):
            yield (own if child.event is None else types[child.event]), child.name


def _sources(value: object, rule: ResolvedRule, types: Mapping[str, str]) -> Iterable[Key]:
    computed = {step.name: step for step in rule.steps if isinstance(step, Compute)}
    for node in walk(value):
        if isinstance(node, AttributeRef) and node.event is not None:
            yield types[node.event], node.name
        elif isinstance(node, Parameter) and node.name in computed:
            step = computed[node.name]
            if step.value is not None and aggregate_named(step.function).form is not Form.COUNT:
                yield from _read(step.value, step.type, types)


def require_closed(rule: LoweredRule, profiles: Mapping[Key, Profile]) -> None:
    """Refuse a rule that the errors seen so far lead beyond the closed forms."""
    span = rule.resolved.composite.span
    bands = [*rule.bands, *(band for step in (*rule.steps, *rule.absences) for band in step.bands)]
    for band in bands:
        seen = [_seen(term, profiles) for term in band.terms]
        combinations = math.prod(profile.components for profile in seen)
        if (
            any(profile.made for profile in seen)
            or sum(profile.foreign for profile in seen) > 1
            or sum(profile.widths for profile in seen) > _MOST_WIDTHS
            or combinations > _MOST_COMBINATIONS
            or len(seen) > MOST_TERMS
        ):
            raise unsupported(Construct.UNCERTAIN_FORMS, span)
        shared = rule.pivot is not None and any(term.source == rule.pivot.source for term in band.terms)
        if shared and any(profile.listed for profile in seen):
            raise unsupported(Construct.UNCERTAIN_FORMS, span)
    for output in rule.outputs:
        seen = [_seen(term, profiles) for term in output.error_terms]
        if any(profile.made for profile in seen):
            raise unsupported(Construct.UNCERTAIN_FORMS, span)
        if all(profile.normal for profile in seen):
            continue
        listed = any(profile.listed for profile in seen)
        if len(seen) > 1 or (listed and output.error_terms[0].coefficient != 1.0):
            raise unsupported(Construct.UNCERTAIN_FORMS, span)
    aggregates = [step for step in rule.resolved.steps if isinstance(step, Compute)]
    lowered = [step for step in rule.steps if step.kind is StepKind.COMPUTE]
    for step, row in zip(aggregates, lowered, strict=True):
        form = aggregate_named(step.function).form
        if isinstance(step.value, AttributeRef) and form is not Form.COUNT:
            profile = profiles.get((step.type, step.value.name), Profile())
            any_error = row.weighed and not form.is_sum
            if profile.made or profile.foreign or not (profile.normal or any_error) or profile.widths > _MOST_WIDTHS:
                raise unsupported(Construct.UNCERTAIN_FORMS, span)


def _seen(term: LoweredTerm, profiles: Mapping[Key, Profile]) -> Profile:
    return Profile() if term.source is None else profiles.get(term.source, Profile())
