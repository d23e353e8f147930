"""Attributes that rules read, that nobody declares and that no event has: most often a slip of the pen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from cepheus.core.errors import Diagnostic, EventError, Place, Severity, did_you_mean
from cepheus.core.schema import RESERVED, Schema
from cepheus.core.time import warn
from cepheus.formats.attributes import TypedRows

Key = tuple[str, str]
"""An event type and its attribute."""

_MOST_NAMES = 8
_LOOKED_AT = 100
"""How many of the first calls are asked for the names that events have instead."""


class UnseenAttributes:
    """Watches for the attributes that events may lack and that only rules know.

    That an event has no such attribute is no fault: ``value > 99 or valeu > 45`` does without. That no event of the
    type ever had it is told at the end, as a CepheusWarning or, if ``strict``, as an EventError. With ``refuse`` all
    data has the same columns, so that it is an error as soon as they are known. What may lack is said in a declaration:
    ``event Temp(value: double, valeu: double?)``.

    >>> from cepheus.core.schema import Attribute, EventType
    >>> unseen = UnseenAttributes()
    >>> unseen.expect(Schema([EventType("Temp", (Attribute("valeu", None, optional=True, by_use=True),))]))
    >>> unseen.look_at("Temp", ["type", "time", "value"])
    >>> print(unseen.findings()[0].message, unseen.findings()[0].hint, sep="; ")
    no event of Temp has an attribute 'valeu'; did you mean 'value'?
    """

    def __init__(self, *, refuse: bool = False, strict: bool = False) -> None:
        self.refuse = refuse
        self._strict = strict
        self.missing: dict[str, list[str]] = {}
        self._known: set[Key] = set()
        self._names: dict[str, dict[str, None]] = {}
        self._looks = 0

    def expect(self, schema: Schema) -> None:
        """Take over what rules read from now on; what was seen of it before stays seen."""
        doubtful = {(each.name, a.name) for each in schema.values() for a in each.attributes if a.optional and a.by_use}
        missing = {(name, attribute) for name, names in self.missing.items() for attribute in names}
        self._set(key for key in doubtful if key in missing or (key not in self._known and not self._was_there(*key)))
        self._known |= doubtful

    def _was_there(self, event_type: str, name: str) -> bool:
        """Whether events are known to have had an attribute before anybody read it."""
        return name in self._names.get(event_type, ())

    def restore(self, missing: Iterable[Sequence[str]]) -> None:
        """Go on where only ``missing`` of what rules read had not been seen yet."""
        self._set(key for event_type, name in missing if (key := (event_type, name)) in self._known)

    def _set(self, missing: Iterable[Key]) -> None:
        self.missing = {}
        for event_type, name in sorted(missing):
            self.missing.setdefault(event_type, []).append(name)

    @property
    def keys(self) -> list[Key]:
        """What has not been seen yet."""
        return [(event_type, name) for event_type, names in self.missing.items() for name in names]

    def look_at(self, event_type: str, names: Collection[str]) -> None:
        """See an event, by the names of what it has."""
        self._seen(event_type, [name for name in self.missing.get(event_type, ()) if name in names])
        self._note(event_type, names)

    def look(self, events: TypedRows, place: Place | None = None, *, all_there: bool = False) -> None:
        """See events of several types; ``all_there`` says that the rest of the data has no other columns.

        Where events of several types share columns, an attribute is seen with the first value.
        """
        for code, event_type in enumerate(events.types):
            missing = self.missing.get(event_type)
            rows = events.of_type(code)
            if not missing or not (len(events.rows) if rows is None else rows.any()):
                continue
            names = events.rows.names()
            there = [name for name in missing if name in names]
            if rows is not None:
                present = {name: column.present() for name in there if (column := events.rows.column(name)) is not None}
                self._seen(event_type, [name for name, cells in present.items() if (cells & rows).any()])
            else:
                self._seen(event_type, there)
            self._note(event_type, names)
            if self.refuse and all_there and set(self.missing.get(event_type, ())).difference(names):
                raise EventError(replace(finding, place=place) for finding in self.findings([event_type]))

    def note_columns(self, names: Collection[str]) -> None:
        """Take note of all columns there are, of which some are not even read."""
        for event_type in self.missing:
            self._note(event_type, names)

    def _seen(self, event_type: str, names: list[str]) -> None:
        for name in names:
            self.missing[event_type].remove(name)
            if not self.missing[event_type]:
                del self.missing[event_type]

    def _note(self, event_type: str, names: Collection[str]) -> None:
        if event_type in self.missing and self._looks < _LOOKED_AT:
            self._looks += 1
            own = self._names.setdefault(event_type, {})
            own |= dict.fromkeys(str(name) for name in list(names)[:1000] if name not in RESERVED)

    def findings(self, among: Collection[str] | None = None) -> list[Diagnostic]:
        """What was never seen although events of the type were, of all types or of some."""
        return [
            Diagnostic(
                "unseen-attribute",
                f"no event of {event_type} has an attribute '{name}'",
                hint=did_you_mean(name, self._names[event_type]) or self._others(event_type, name),
            )
            for event_type, names in self.missing.items()
            if event_type in self._names and (among is None or event_type in among)
            for name in names
        ]

    def _others(self, event_type: str, name: str) -> str:
        there = list(self._names[event_type])
        has = f"there are {', '.join(map(repr, there[:_MOST_NAMES]))}; " if there else ""
        return f"{has}if events may lack it, declare it with its type and '?': event {event_type}(.., {name}: double?)"

    def tell(self) -> None:
        """Say at the end of the data what was never seen."""
        findings, self.missing = self.findings(), {}
        if findings and self._strict:
            raise EventError(findings)
        for finding in findings:
            warn(replace(finding, severity=Severity.WARNING))
