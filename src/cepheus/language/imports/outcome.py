"""What comes of an import: rules that say exactly the same, or the construct that has no equivalent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cepheus.core.errors import CepheusError, Diagnostic, RuleError
from cepheus.core.schema import EventType
from cepheus.core.source import Source, Span
from cepheus.language.imports.attribute_types import AttributeTypes, MixedUseError
from cepheus.language.tesla import parse, reformat
from cepheus.rules.check import check


@dataclass(frozen=True, slots=True)
class Converted:
    """Rules as text, the types of events that they read, and whether events of one time must come in their order."""

    rules: tuple[str, ...]
    events: tuple[str, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome for one rule of another system: TESLA text that stands alone, or None and the reasons why not."""

    title: str
    text: str | None
    findings: tuple[Diagnostic, ...] = ()


class RefusedError(CepheusError):
    """A construct of another language that has no equivalent here, or that cannot be read."""


def no_equivalent(construct: str, reason: str, span: Span | None, hint: str | None = None) -> RefusedError:
    """Say which construct has no equivalent, where it stands and why."""
    return RefusedError.of("no-equivalent", f"{construct} has no equivalent: {reason}", span=span, hint=hint)


def not_readable(language: str, reason: str, span: Span | None) -> RefusedError:
    """Say that a file is not what it should be."""
    return RefusedError.of("import", f"this is not {language}: {reason}", span=span)


Conversion = Callable[[str, AttributeTypes], Converted]
"""Writes the rules that make events of a name, and tells what it learns of attributes."""


def refusing(refusal: RefusedError) -> Conversion:
    """A conversion that is known to be refused."""

    def convert(_name: str, _types: AttributeTypes) -> Converted:
        raise refusal

    return convert


class Importing:
    """Rules of other systems that become one file of TESLA, one after the other.

    They share what their uses tell of the types of attributes. Each is parsed, checked and printed alone, and so is the
    whole: what does not stand this test is given to nobody.
    """

    def __init__(self, declared: Iterable[EventType] = ()) -> None:
        self.types = AttributeTypes(declared)
        self.imported: list[Imported] = []
        self._names: set[str] = set()
        self._accepted: list[tuple[str, Conversion]] = []

    def add(self, title: str, place: Span, convert: Conversion) -> None:
        """Convert a rule, or note why it cannot be; ``place`` is for what concerns all of it."""
        name = self._free_name(event_name(title))
        types = self.types.copy()
        try:
            text = self._verified([convert(name, types)], types, name, place)
        except MixedUseError as problem:
            refusal = no_equivalent("this rule", f"{problem}, and an attribute has one type", place)
            self.imported.append(Imported(title, None, refusal.diagnostics))
        except RecursionError:
            refusal = no_equivalent("this rule", "it is nested too deep", place)
            self.imported.append(Imported(title, None, refusal.diagnostics))
        except RefusedError as refusal:
            self.imported.append(Imported(title, None, refusal.diagnostics))
        else:
            self.types = types
            self._names.add(name)
            self._accepted.append((name, convert))
            self.imported.append(Imported(title, text))

    def text(self) -> str:
        """All rules that were converted, as one file; the types of attributes are now known as well as they will be."""
        converted = [convert(name, self.types) for name, convert in self._accepted]
        return self._verified(converted, self.types, "imported rules", None) if converted else ""

    def _free_name(self, name: str) -> str:
        number, free = 2, name
        while free in self._names:
            free, number = f"{name}_{number}", number + 1
        return free

    def _verified(self, converted: list[Converted], types: AttributeTypes, name: str, place: Span | None) -> str:
        events = dict.fromkeys(event for one in converted for event in one.events)
        rules = dict.fromkeys(rule for one in converted for rule in one.rules)  # two may need the same helper
        ties = ["ties ordered"] if any(one.ordered for one in converted) else []
        text = ";\n".join([*ties, *types.declarations(events), *rules, ""])
        try:
            check(parse(text, name))
            printed = reformat(text, name)
            check(parse(printed, name))
        except RuleError as error:
            finding = error.diagnostics[0]
            message = f"this rule has no equivalent: {finding.message}"
            raise RefusedError([replace(finding, code="no-equivalent", message=message, span=place)]) from error
        return printed


def event_name(title: str) -> str:
    """A name for what a rule finds, made of the words of its title.

    >>> event_name("Brute force (external)"), event_name("2 logons")
    ('BruteForceExternal', 'Found2Logons')
    """
    words = re.findall(r"[A-Za-z0-9]+", title)
    joined = "".join(word[:1].upper() + word[1:] for word in words)[:80] or "Found"
    return joined if joined[0].isalpha() else f"Found{joined}"


def whole(source: Source) -> Span:
    """The first line of a text, as a place for what concerns all of it."""
    end = source.text.find("\n")
    return Span(source, 0, end if end >= 0 else len(source.text))
