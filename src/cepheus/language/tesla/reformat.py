"""Canonical layout for rule text, comments kept."""

from __future__ import annotations

from typing import assert_never

from lark import Token

from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.language.tesla.build import Statement
from cepheus.language.tesla.grammar import grammar
from cepheus.language.tesla.parse import parse
from cepheus.language.tesla.print import format_declaration, format_error, format_rule
from cepheus.language.tesla.print_networks import format_network
from cepheus.language.tesla.statements import statements
from cepheus.rules.model import ErrorDeclaration, Rule
from cepheus.rules.networks.model import Network


def reformat(text: str, name: str = "<rules>") -> str:
    """Lay out rule text canonically, statements in the order in which they stand.

    Comments before a statement stay above it, those inside it or behind it on its last line move above it, and
    those at the end of the text stay there. Empty lines between comments are kept, one at most. Reformatting the
    result changes nothing.

    >>> print(reformat("define A() from B  -- why\\n# the end"), end="")
    -- why
    define A()
    from   B()
    <BLANKLINE>
    # the end
    """
    source = Source(name, text)
    rules = parse(text, name)
    scan = grammar().scanner.scan(source)
    nodes: list[Statement] = [*rules.declarations, *rules.errors, *rules.rules, *rules.networks]
    nodes.sort(key=lambda node: node.span.start if node.span else 0)
    comments = scan.comments
    taken = 0
    output = ""
    was_declaration = False
    cut = statements(scan.tokens)
    for place, (statement, node) in enumerate(zip(cut, nodes, strict=True)):
        following = _start(cut[place + 1][0]) if place + 1 < len(cut) else len(text)
        first = taken
        while taken < len(comments) and belongs(comments[taken], statement, following, text):
            taken += 1
        above = comments[first:taken]
        is_declaration = isinstance(node, EventType | ErrorDeclaration)
        if output:
            output += "\n" if is_declaration and was_declaration and not above else "\n\n"
        output += lay_out(above, _start(statement[0]), text)
        output += _statement(node)
        was_declaration = is_declaration
    if taken < len(comments):
        output += ("\n\n" if output else "") + lay_out(comments[taken:], None, text).rstrip("\n")
    return output + "\n" if output else ""


def _statement(node: Statement) -> str:
    match node:
        case EventType():
            return format_declaration(node)
        case Rule():
            return format_rule(node)
        case ErrorDeclaration():
            return format_error(node)
        case Network():
            return format_network(node)
        case _:
            assert_never(node)


def belongs(comment: Token, statement: list[Token], following: int, text: str) -> bool:
    """Tell whether a comment stands before the end of a statement, or behind it on the same line."""
    end = statement[-1].end_pos
    assert end is not None
    start = _start(comment)
    return start < end or (start < following and text.find("\n", end, start) < 0)


def lay_out(comments: list[Token], statement: int | None, text: str) -> str:
    """Write comments each on its own line, with an empty line where the text has one before or between them."""
    output = ""
    for place, comment in enumerate(comments):
        output += "\n".join(line.rstrip() for line in comment.split("\n")) + "\n"
        following = _start(comments[place + 1]) if place + 1 < len(comments) else statement
        end = comment.end_pos
        assert end is not None
        # A comment from inside the statement has nothing to do with the empty lines around it.
        inside = statement is not None and end > statement
        if following is not None and not inside and _has_empty_line(text[end:following]):
            output += "\n"
    return output


def _has_empty_line(gap: str) -> bool:
    return gap.isspace() and gap.count("\n") > 1


def _start(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos
