"""TESLA text to rules."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from threading import RLock
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from cepheus.core.errors import Diagnostic
from cepheus.core.garbage_collector import collector_at_rest
from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.language.common.tokens import MAX_ERRORS, ScannedTokens, raise_in_order
from cepheus.language.tesla.build import Builder
from cepheus.language.tesla.scan import Scanner, statements
from cepheus.language.tesla.syntax_errors import explain
from cepheus.rules.belief.model import Belief
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import ErrorDeclaration, Pattern, Rule, RuleSet, Ties


class Grammar:
    """Scanner, parser and builder of one grammar.

    The builder works on one source at a time, so whoever uses the parser holds the lock.
    """

    def __init__(self, text: str) -> None:
        self.lock = RLock()
        self.builder = Builder()
        self.parser = Lark(
            text,
            parser="lalr",
            lexer=ScannedTokens,
            transformer=self.builder,
            start=["statement", "partial_rule", "subscription"],
        )
        for rule in self.parser.rules:
            # Lark leaves tokens as names here; plain strings make every reduction a quicker dictionary lookup.
            rule.origin.name = str(rule.origin.name)
        self.scanner = Scanner(self.parser.terminals, self.parser.ignore_tokens)


@cache
def grammar() -> Grammar:
    """The TESLA grammar; the first call takes about a tenth of a second."""
    return Grammar(files(__package__).joinpath("grammar.lark").read_text("utf-8"))


def parse(text: str, name: str = "<rules>") -> RuleSet:
    """Read rules, declarations and networks; ``name`` is what messages call the text, such as its file name.

    All mistakes of the text are reported at once.

    >>> rules = parse("define Fire(area: string) from Smoke() where area=Smoke.area; event Smoke(area: string)")
    >>> rules.rules[0].composite.name, rules.declarations[0].name
    ('Fire', 'Smoke')
    >>> parse("define Fire() from Smoke(), Temp()")
    Traceback (most recent call last):
    ...
    cepheus.core.errors.RuleError: <rules>:1:27: error[syntax]: found ',', expected 'and', where, consuming, ...
    """
    rules, errors = read(text, name)
    raise_in_order(errors)
    return rules


def read(text: str, name: str = "<rules>") -> tuple[RuleSet, list[Diagnostic]]:
    """Read what can be read of a text that may be unfinished: the statements without a mistake, and all mistakes.

    >>> rules, errors = read("event Smoke(area: string); define Fire() from")
    >>> rules.declarations[0].name, len(rules.rules), len(errors)
    ('Smoke', 0, 1)
    """
    rules: list[Rule] = []
    declarations: list[EventType] = []
    beliefs: list[Belief] = []
    errors: list[ErrorDeclaration] = []
    ties: Ties | None = None
    with grammar().lock, collector_at_rest():
        reading = _Reading(Source(name, text))
        for statement in statements(reading.tokens):
            node = reading.read("statement", statement)
            if isinstance(node, Rule):
                rules.append(node)
            elif isinstance(node, EventType):
                declarations.append(node)
            elif isinstance(node, Belief):
                beliefs.append(node)
            elif isinstance(node, ErrorDeclaration):
                errors.append(node)
            elif isinstance(node, Ties):
                if ties is not None:
                    reading.errors.append(_ties_again(node))
                ties = node
            if len(reading.errors) >= MAX_ERRORS:
                break
        mistakes = list(reading.errors)
    if ties is not None and ties.ordered:
        rules = [replace(rule, ordered=True) for rule in rules]
    return RuleSet(tuple(declarations), tuple(rules), tuple(beliefs), errors=tuple(errors), ties=ties), mistakes


def _ties_again(again: Ties) -> Diagnostic:
    """The mistake of saying twice what is made of simultaneous events."""
    return Diagnostic("ties", "ties are spoken of before", again.span, "it is for the whole file: write it once")


def parse_pattern(text: str, name: str = "<pattern>") -> Pattern:
    """Read a pattern alone, such as that of a partial rule.

    >>> len(parse_pattern("A() and last B() within 5 min from A").items)
    1
    """
    pattern = _parse_one("partial_rule", text, name)
    assert isinstance(pattern, Pattern)
    return pattern


def parse_event_pattern(text: str, name: str = "<event>") -> EventPattern:
    """Read one event with its constraints, such as a subscription.

    >>> parse_event_pattern("Temp(area='A1', value>=12)").type
    'Temp'
    """
    event = _parse_one("subscription", text, name)
    assert isinstance(event, EventPattern)
    return event


def _parse_one(start: str, text: str, name: str) -> object:
    with grammar().lock:
        reading = _Reading(Source(name, text))
        node = reading.read(start, reading.tokens)
        reading.finish()
    return node


class _Reading:
    """One text on its way through the parser, and the mistakes found in it; made and used under the lock."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.grammar: Grammar = grammar()
        scan = self.grammar.scanner.scan(source)
        self.tokens = scan.tokens
        self.lexical_errors = scan.errors
        self.grammar.builder.begin(source)
        self.grammar.builder.errors += self.lexical_errors

    @property
    def errors(self) -> list[Diagnostic]:
        """All mistakes found so far."""
        return self.grammar.builder.errors

    def read(self, start: str, tokens: list[Token]) -> Any:
        """Parse tokens as one construct; None if there is a syntax error, which is then noted."""
        try:
            # Lark declares text as its input but takes whatever its lexer understands; ours takes tokens.
            source: Any = tokens
            return self.grammar.parser.parse(source, start=start)
        except UnexpectedToken as error:
            if not self._reported(tokens):
                self.errors.append(explain(self.source, tokens, error))
            return None

    def _reported(self, tokens: list[Token]) -> bool:
        """Whether a character was left out of these tokens: a syntax error is then only its consequence."""
        start, end = (tokens[0].start_pos, tokens[-1].end_pos) if tokens else (0, len(self.source.text))
        assert start is not None
        assert end is not None
        return any(error.span and start <= error.span.start <= end + 1 for error in self.lexical_errors)

    def finish(self) -> None:
        """Raise what was found, in text order."""
        raise_in_order(self.errors)
