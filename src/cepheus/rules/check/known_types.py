"""The event types that a rule set knows, names that look like theirs, and mistakes in how it declares them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cepheus.core.errors import did_you_mean
from cepheus.core.schema import ID_FIELD, RESERVED, SPARE_ID_FIELD, TIME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.rules.check.findings import Findings, find_name, line_of
from cepheus.rules.check.type_slots import FAMILY, Family
from cepheus.rules.model import RuleSet
from cepheus.rules.timers import is_moment

_FEW = 64
_LONG = 64
_DIGITS = re.compile(r"\d+")


class SimilarNames:
    """Finds the known name that a wrong one was probably meant to be.

    Among few names the closest is searched; among many only those one slip away (a letter more, less, other, or two
    letters swapped) and those that differ in case, by an index that is built when first needed.

    >>> SimilarNames(["Temp", "Smoke"]).hint("Tmep")
    "did you mean 'Temp'?"
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._index: dict[str, list[str]] = {}

    def hint(self, name: str) -> str | None:
        """Return a hint that names a similar known name, if there is one."""
        candidates = self._names if len(self._names) <= _FEW else self._one_slip_away(name)
        return did_you_mean(name, candidates)

    def mistaken_for(self, name: str) -> str | None:
        """The known name that this one is a likely slip of, if any; names that differ in numbers are not."""
        bare = _DIGITS.sub("0", name)
        for candidate in self._one_slip_away(name):
            if candidate != name and _DIGITS.sub("0", candidate) != bare:
                return candidate
        return None

    def _one_slip_away(self, name: str) -> list[str]:
        if not self._index:
            for known in self._names:
                for key in _shortened(known):
                    self._index.setdefault(key, []).append(known)
        found = (known for key in _shortened(name) for known in self._index.get(key, ()))
        return list(dict.fromkeys(found))


def _shortened(name: str) -> Iterator[str]:
    """The name in lower case, whole and with each one of its letters left out."""
    folded = name.lower()
    yield folded
    if len(folded) > _LONG:  # so that absurd names cost no more than sensible ones
        return
    for position in range(len(folded)):
        yield folded[:position] + folded[position + 1 :]


_TIME = Attribute(TIME_ATTRIBUTE, ValueType.TIMESTAMP)


class KnownTypes:
    """Event types by name: declared in the rules, defined by a rule, or found in the data's schema.

    ``closed`` says that there are no others. ``conflicting`` are those that are given twice, with different attributes.
    """

    def __init__(
        self,
        declared: dict[str, EventType],
        composites: dict[str, EventType],
        data: Schema,
        *,
        closed: bool,
        conflicting: set[str],
    ) -> None:
        self.declared = declared
        self.composites = composites
        self.data = data
        self.closed = closed
        self.conflicting = conflicting
        self.similar = SimilarNames([*declared, *composites, *data])
        self.similar_composites = SimilarNames(composites)
        self._attributes: dict[str, dict[str, Attribute] | None] = {}

    def with_composites(self, composites: Mapping[str, EventType]) -> KnownTypes:
        """Return these types and more that rules define."""
        if not composites:
            return self
        together = {**self.composites, **composites}
        return KnownTypes(self.declared, together, self.data, closed=self.closed, conflicting=self.conflicting)

    def get(self, name: str) -> EventType | None:
        """Return a known type; what the rules say goes before what the data says."""
        return self.declared.get(name) or self.composites.get(name) or self.data.get(name)

    def attributes(self, type_name: str) -> dict[str, Attribute] | None:
        """The attributes of a type by name, the event's time included.

        None if they are not known: of a type that nothing declares, or that two places declare differently.
        """
        if type_name not in self._attributes:
            event_type = None if type_name in self.conflicting else self.get(type_name)
            found = None
            if event_type is not None:
                found = {attribute.name: attribute for attribute in event_type.attributes} | {TIME_ATTRIBUTE: _TIME}
            self._attributes[type_name] = found
        return self._attributes[type_name]

    def is_unknown(self, type_name: str) -> bool:
        """Whether a type is a mistake: not known although all types are."""
        return self.closed and self.get(type_name) is None

    def origin(self, type_name: str) -> str:
        """Say in one word how the type came to be known."""
        if type_name in self.declared:
            return "declared"
        return "defined" if type_name in self.composites else "in the data"


def known_types(rules: RuleSet, data: Schema | None, closed: bool | None, findings: Findings) -> KnownTypes:
    """Collect the types that rules and data know, reporting types and attributes that are given twice or reserved."""
    data = Schema() if data is None else data
    conflicts = _Conflicts(findings)
    declared: dict[str, EventType] = {}
    time_hint = "leave it out, and read the time of an event as EVENT.time"
    if rules.interval_rules and not rules.rules:  # which read no times
        time_hint = "leave it out, or give a time of the data's own another name"
    for event_type in rules.declarations:
        _type_name(event_type, findings)
        _attribute_names(event_type, findings, time_hint)
        first = declared.setdefault(event_type.name, event_type)
        if not _same(first, event_type):
            conflicts.report(event_type, "declared twice,", first, "keep one of the two declarations")
    composites: dict[str, EventType] = {}
    for event_type in (*(rule.composite for rule in rules.rules), *(rule.composite for rule in rules.row_rules)):
        _type_name(event_type, findings)
        _attribute_names(event_type, findings, time_hint)
        for attribute in event_type.attributes:
            if attribute.column is not None:
                message = f"'{attribute.name}' is made by the rule, so that no data has it under another name"
                hint = "leave 'from' out here; it stands in declarations of events that come from outside"
                findings.error("renamed-attribute", message, _place(attribute, event_type), hint)
        first = composites.setdefault(event_type.name, event_type)
        if not _same(first, event_type):
            hint = "give both definitions the same attributes, or one of them another name"
            conflicts.report(event_type, "defined twice,", first, hint)
        elif first is event_type:
            _agree_with_inputs(event_type, declared, data, conflicts)
    if closed is None:
        closed = bool(rules.declarations) or data.closed
    return KnownTypes(declared, composites, data, closed=closed, conflicting=conflicts.names)


class _Conflicts:
    """Reports types that are given twice and do not agree, and remembers them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.names: set[str] = set()

    def report(self, event_type: EventType, how: str, other: EventType, hint: str) -> None:
        """Report a type that is also known otherwise."""
        self.names.add(event_type.name)
        where = line_of(other.span, event_type.span)
        message = f"'{event_type.name}' is {how} with different attributes: {other} {where}".rstrip()
        span = find_name(event_type.span, event_type.name)
        self._findings.error("type-conflict", message, span, hint)


def _agree_with_inputs(
    composite: EventType, declared: dict[str, EventType], data: Schema, conflicts: _Conflicts
) -> None:
    """A type may come both from a rule and from outside, if it is the same type."""
    name = composite.name
    if name in declared:
        if not _same(declared[name], composite):
            hint = "make declaration and definition agree, or give one of them another name"
            conflicts.report(composite, "declared", declared[name], hint)
    elif name in data and not _alike(data[name], composite):
        conflicts.report(composite, "in the data", data[name], "give the composite type another name")


def _same(one: EventType, other: EventType) -> bool:
    return one is other or set(one.attributes) == set(other.attributes)


def _alike(one: EventType, other: EventType) -> bool:
    """Whether types have the same attributes as far as data shows: an int may stand for a double there."""
    return _families(one) == _families(other)


def _families(event_type: EventType) -> dict[str, Family | None]:
    return {attribute.name: attribute.type and FAMILY[attribute.type] for attribute in event_type.attributes}


def _type_name(event_type: EventType, findings: Findings) -> None:
    if is_moment(event_type.name):
        refuse_moment(event_type.name, event_type.span, findings)


def refuse_moment(name: str, span: Span | None, findings: Findings) -> None:
    """Report a type of events that is called like the moments of a timer."""
    message = f"no event type can be called '{name}': that is what the moments of a timer are called"
    findings.error("reserved-name", message, find_name(span, name), "give the type another name")


def _attribute_names(event_type: EventType, findings: Findings, time_hint: str) -> None:
    seen: set[str] = set()
    for attribute in event_type.attributes:
        if attribute.name == TIME_ATTRIBUTE:
            findings.error(
                "reserved-name",
                f"'{event_type.name}' cannot have an attribute 'time': every event has its own time",
                _place(attribute, event_type),
                time_hint,
            )
        elif attribute.name in RESERVED - {ID_FIELD}:
            findings.error(
                "reserved-name",
                f"'{attribute.name}' is the name of a field that every event has and cannot be an attribute",
                _place(attribute, event_type),
                f"choose another name, such as '{event_type.name.lower()}_{attribute.name}'",
            )
        elif attribute.name == SPARE_ID_FIELD and event_type.attribute(ID_FIELD) is not None:
            findings.error(
                "reserved-name",
                f"'{event_type.name}' cannot have both 'id' and 'event_id': files have its events' own ids under one",
                _place(attribute, event_type),
                "rename one of them",
            )
        elif attribute.name in seen:
            findings.error(
                "duplicate-attribute",
                f"'{event_type.name}' has two attributes called '{attribute.name}'",
                _place(attribute, event_type),
                "remove or rename one of them",
            )
        seen.add(attribute.name)


def _place(attribute: Attribute, event_type: EventType) -> Span | None:
    return find_name(attribute.span or event_type.span, attribute.name)
