"""ETALIS text to rules."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from threading import RLock

from lark import Lark, Token
from lark.exceptions import UnexpectedToken

from cepheus.core.errors import Diagnostic
from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.core.time import TimeUnit
from cepheus.language.common.tokens import MAX_ERRORS, ScannedTokens, raise_in_order, span_of
from cepheus.language.etalis.build import Builder, FileLimit, FilePolicy, FileUnit, Statement
from cepheus.language.etalis.scan import Scan, scan
from cepheus.language.etalis.syntax_errors import explain
from cepheus.rules.interval.model import Deduction, Fact, IntervalRule, Knowledge
from cepheus.rules.model import RuleSet


class Grammar:
    """Parser and builder; the builder works on one source at a time, so whoever uses the parser holds the lock."""

    def __init__(self, text: str) -> None:
        self.lock = RLock()
        self.builder = Builder()
        self.parser = Lark(text, parser="lalr", lexer=ScannedTokens, transformer=self.builder, start="statement")


@cache
def grammar() -> Grammar:
    """The grammar of the ETALIS language; the first call takes about a tenth of a second."""
    return Grammar(files(__package__).joinpath("grammar.lark").read_text("utf-8"))


def parse(text: str, name: str = "<rules>", unit: TimeUnit = TimeUnit.US) -> RuleSet:
    """Read rules, facts and declarations; ``name`` is what messages call the text, such as its file name.

    Numbers without a unit are in that of the text's ``unit`` statement or, if it has none, in ``unit``. All mistakes of
    the text are reported at once.

    >>> rules = parse("policy recent. pair(X) <- (a(X) SEQ b(X)).5 s.").interval_rules
    >>> rules[0].head.name, rules[0].pattern.duration, rules[0].policy.choice.value
    ('pair', 5000000, 'recent')
    >>> parse("pair(X) <- a(X) b(X).")
    Traceback (most recent call last):
    ...
    cepheus.core.errors.RuleError: <rules>:1:17: error[syntax]: found 'b', expected an operator such as SEQ, ...
    """
    rules, errors = read(text, name, unit)
    raise_in_order(errors)
    return rules


def read(text: str, name: str = "<rules>", unit: TimeUnit = TimeUnit.US) -> tuple[RuleSet, list[Diagnostic]]:
    """Read what can be read of a text that may be unfinished: the statements without a mistake, and all mistakes.

    >>> rules, errors = read("pair(X) <- a(X) SEQ b(X). more(X) <-")
    >>> len(rules.interval_rules), len(errors)
    (1, 1)
    """
    source = Source(name, text)
    statements, errors = _read_all(source, scan(source), unit)
    policy = next((statement.policy for statement in statements if isinstance(statement, FilePolicy)), None)
    rules: list[IntervalRule] = []
    facts: list[Fact] = []
    deductions: list[Deduction] = []
    declarations: list[EventType] = []
    most_facts: int | None = None
    for statement in statements:
        match statement:
            case IntervalRule():
                rules.append(statement if statement.policy else replace(statement, policy=policy))
            case Fact():
                facts.append(statement)
            case Deduction():
                deductions.append(statement)
            case EventType():
                declarations.append(statement)
            case FileLimit(facts=facts_allowed):
                most_facts = facts_allowed
            case FilePolicy() | FileUnit():
                pass
    rule_set = RuleSet(
        tuple(declarations),
        interval_rules=tuple(rules),
        knowledge=Knowledge(tuple(facts), tuple(deductions), most_facts=most_facts),
    )
    return rule_set, errors


def read_statements(source: Source, scanned: Scan, unit: TimeUnit | None) -> list[Statement]:
    """Read a text statement by statement; RuleError if there are mistakes.

    If ``unit`` is None and the text does not say one, numbers without a unit are kept as they are written.
    """
    found, errors = _read_all(source, scanned, unit)
    raise_in_order(errors)
    return found


def _read_all(source: Source, scanned: Scan, unit: TimeUnit | None) -> tuple[list[Statement], list[Diagnostic]]:
    found: list[Statement] = []
    with grammar().lock:
        builder = grammar().builder
        builder.begin(source, _unit(scanned) or (None if unit is None else unit.value))
        builder.errors += scanned.errors
        for tokens in scanned.statements:
            statement = _read(source, tokens, scanned.errors)
            if statement is not None:
                found.append(statement)
            if len(builder.errors) >= MAX_ERRORS:
                break
        errors = builder.errors
    return found, [*errors, *_repeated(found)]


def _read(source: Source, tokens: list[Token], lexical: list[Diagnostic]) -> Statement | None:
    builder = grammar().builder
    if tokens[-1].type != "END":
        last = span_of(source, tokens[-1])
        if not any(error.span and error.span.start >= last.start for error in lexical):
            hint = "end the statement with a full stop"
            if source.text[last.end :].lstrip(" \t").startswith("%"):
                hint += "; % begins a comment, and a remainder is mod(X, 2)"
            message = "the text ends in the middle of a statement"
            builder.errors.append(Diagnostic("syntax", message, last, hint))
        return None
    try:
        statement: Statement = grammar().parser.parse(tokens)  # type: ignore[assignment]  # built as it parses
    except UnexpectedToken as error:
        span = span_of(source, tokens[0], tokens[-1])
        if not any(found.span and span.start <= found.span.start <= span.end for found in lexical):
            builder.errors.append(explain(source, tokens, error))
        return None
    return statement


def _unit(scanned: Scan) -> str | None:
    """The unit of a text, which holds for all of it, wherever it is said."""
    for tokens in scanned.statements:
        if tokens[0].type == "UNIT" and len(tokens) > 1:
            return str(tokens[1])
    return None


def _repeated(statements: list[Statement]) -> list[Diagnostic]:
    errors = []
    for kind, word in ((FilePolicy, "policy"), (FileUnit, "unit"), (FileLimit, "limit")):
        said = [statement for statement in statements if isinstance(statement, kind)]
        errors += [
            Diagnostic("repeated", f"the {word} of this file is said twice", statement.span, "keep one of the two")
            for statement in said[1:]
        ]
    return errors
