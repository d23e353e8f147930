"""A rule file as an editor has it, finished or not: what is wrong with it, and what its names mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from typing import assert_never

from lark import Token

from cepheus.core.errors import CepheusError, Diagnostic
from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.editor.row_symbols import sql_occurrences
from cepheus.editor.symbols import Occurrence, SymbolKind, etalis_occurrences, tesla_occurrences
from cepheus.language import etalis, tesla
from cepheus.language.etalis.scan import scan as scan_etalis
from cepheus.language.tesla.parse import grammar as tesla_grammar
from cepheus.rules.check import Checked, check
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.rule_sources import ETALIS_EXTENSION, SQL_EXTENSION, is_etalis, is_sql


class Language(Enum):
    """The language of a rule file."""

    TESLA = "tesla"
    ETALIS = "etalis"
    SQL = "sql"


def language_of(name: str, text: str) -> Language:
    """The language of a file by its name or, where that says nothing, by its text.

    >>> language_of("a.etalis", "").value, language_of("untitled", "p(X) <- q(X).").value
    ('etalis', 'etalis')
    """
    suffix = PurePath(name).suffix.lower()
    if suffix == SQL_EXTENSION or (suffix == "" and is_sql(text)):
        return Language.SQL
    if suffix == ETALIS_EXTENSION:
        return Language.ETALIS
    return Language.ETALIS if suffix == "" and text.strip() and is_etalis(text) else Language.TESLA


@dataclass(frozen=True)
class Analysis:
    """What is known of one text.

    ``rules`` are the statements that could be read, ``checked`` is None where there are errors. ``findings`` are what
    is wrong or strange, in text order. SQL has no ``tokens``: its pieces are those of ``row_text``.
    """

    source: Source
    language: Language
    tokens: list[Token] = field(repr=False)
    rules: RuleSet = field(repr=False)
    findings: tuple[Diagnostic, ...]
    occurrences: list[Occurrence] = field(repr=False)
    checked: Checked | None = field(repr=False, default=None)

    def types(self) -> dict[str, EventType]:
        """The types of events with the attributes that are known, by name: declared, defined or only used."""
        found: dict[str, EventType] = {}
        known: Iterable[EventType] = () if self.checked is None else self.checked.inputs.values()
        composites = [rule.composite for rule in self.rules.all_rules]
        for event_type in (*self.rules.declarations, *composites, *known):
            found.setdefault(event_type.name, event_type)
        return found

    def attributes(self, event_type: str) -> dict[str, str]:
        """The attributes of a type, each with what is said of it: ``value: double``."""
        declared = self.types().get(event_type)
        found = {each.name: str(each) for each in declared.attributes} if declared is not None else {}
        for occurrence in self.occurrences:
            symbol = occurrence.symbol
            if symbol.kind is SymbolKind.ATTRIBUTE and symbol.within == event_type:
                found.setdefault(symbol.name, symbol.name)
        return found

    def at(self, offset: int) -> Occurrence | None:
        """The name that stands at an offset, the place just behind it included."""
        for occurrence in self.occurrences:
            if occurrence.span.start <= offset <= occurrence.span.end:
                return occurrence
        return None


def analyse(text: str, name: str, language: Language | None = None) -> Analysis:
    """Read and check a text; nothing is raised for what is wrong with it.

    >>> found = analyse("define Fire() from Smoke() where heat = 1", "fire.tesla")
    >>> [finding.code for finding in found.findings], found.occurrences[1].symbol.name
    (['unknown-attribute'], 'Smoke')
    """
    source = Source(name, text)
    spoken = language or language_of(name, text)
    match spoken:
        case Language.TESLA:
            rules, mistakes = tesla.read(text, name)
            with tesla_grammar().lock:
                tokens = tesla_grammar().scanner.scan(source).tokens
            occurrences = tesla_occurrences(rules, source, tokens)
        case Language.ETALIS:
            rules, mistakes = etalis.read(text, name)
            statements = scan_etalis(source).statements
            tokens = [token for statement in statements for token in statement]
            occurrences = etalis_occurrences(rules, source, statements)
        case Language.SQL:
            if not is_sql(text):  # SQL of others, which says nothing to Cepheus
                return Analysis(source, spoken, [], RuleSet(), (), [])
            from cepheus.language import sql  # the library that reads SQL takes a while to import

            rules, mistakes = sql.read(text, name)
            tokens, occurrences = [], sql_occurrences(source)
        case _:
            assert_never(spoken)
    checked, found = (None, list(mistakes)) if mistakes else _checked(rules)
    return Analysis(source, spoken, tokens, rules, _in_order(found), occurrences, checked)


def _checked(rules: RuleSet) -> tuple[Checked | None, list[Diagnostic]]:
    try:
        checked = check(rules)
    except CepheusError as error:
        return None, list(error.diagnostics)
    return checked, list(checked.warnings)


def _in_order(findings: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.span.start if finding.span else 0))
