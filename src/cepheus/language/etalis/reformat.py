"""Canonical layout for rule text, comments kept."""

from __future__ import annotations

from typing import assert_never

from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.language.common.tokens import comments_of, lay_out
from cepheus.language.etalis.build import FileLimit, FilePolicy, FileUnit, Statement
from cepheus.language.etalis.parse import read_statements
from cepheus.language.etalis.print import (
    format_declaration,
    format_deduction,
    format_fact,
    format_limit,
    format_policy_of_file,
    format_rule,
)
from cepheus.language.etalis.scan import scan
from cepheus.rules.interval.model import Deduction, Fact, IntervalRule

_SHORT = (Fact, EventType, FilePolicy, FileUnit, FileLimit, Deduction)


def reformat(text: str, name: str = "<rules>") -> str:
    """Lay out rule text canonically, statements in the order in which they stand.

    Comments before a statement stay above it, those inside it or behind it on its last line move above it, and
    those at the end of the text stay there. Durations are written with their units, but numbers without one stay bare
    in a text that does not say its ``unit``: only the command that runs it does. Reformatting the result changes
    nothing.

    >>> print(reformat("unit s. e<-(a seq b).60. % why"), end="")
    unit s.
    <BLANKLINE>
    % why
    e() <- (a() SEQ b()).1 min.
    >>> print(reformat("e<-(a seq b).60."), end="")
    e() <- (a() SEQ b()).60.
    """
    source = Source(name, text)
    scanned = scan(source)
    found = read_statements(source, scanned, None)
    output = ""
    before: Statement | None = None
    *belonging, last = comments_of(scanned.statements, scanned.comments, len(text), text)
    for tokens, statement, above in zip(scanned.statements, found, belonging, strict=True):
        if before is not None:
            alike = type(before) is type(statement) and isinstance(statement, _SHORT) and not above
            output += "\n" if alike else "\n\n"
        output += lay_out(above, tokens[0].start_pos, text) + _written(statement)
        before = statement
    if last:
        output += ("\n\n" if output else "") + lay_out(last, None, text).rstrip("\n")
    return output + "\n" if output else ""


def _written(statement: Statement) -> str:
    match statement:
        case IntervalRule():
            return format_rule(statement)
        case Fact():
            return format_fact(statement)
        case Deduction():
            return format_deduction(statement)
        case EventType():
            return format_declaration(statement)
        case FilePolicy(policy=policy):
            return format_policy_of_file(policy)
        case FileUnit(name=name):
            return f"unit {name.lower()}."
        case FileLimit(facts=facts):
            return format_limit(facts)
        case _:
            assert_never(statement)
