"""Canonical layout for rule text, comments kept."""

from __future__ import annotations

from typing import assert_never

from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.language.tesla.build import Statement
from cepheus.language.tesla.comments import belongs, lay_out, start_of
from cepheus.language.tesla.grammar import grammar
from cepheus.language.tesla.parse import parse
from cepheus.language.tesla.print import format_declaration, format_error, format_rule
from cepheus.language.tesla.reformat_belief import is_inside, reformat_belief
from cepheus.language.tesla.statements import statements
from cepheus.rules.belief.model import Belief
from cepheus.rules.model import ErrorDeclaration, Rule


def reformat(text: str, name: str = "<rules>") -> str:
    """Lay out rule text canonically, statements in the order in which they stand.

    Comments before a statement stay above it, those inside it or behind it on its last line move above it, and
    those at the end of the text stay there; in a network the same goes for each node. Empty lines between comments
    are kept, one at most. Reformatting the result changes nothing.

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
    nodes: list[Statement] = [*rules.declarations, *rules.errors, *rules.rules, *rules.beliefs]
    nodes.sort(key=lambda node: node.span.start if node.span else 0)
    comments = scan.comments
    taken = 0
    output = ""
    was_declaration = False
    cut = statements(scan.tokens)
    for place, (statement, node) in enumerate(zip(cut, nodes, strict=True)):
        following = start_of(cut[place + 1][0]) if place + 1 < len(cut) else len(text)
        first = taken
        while taken < len(comments) and belongs(comments[taken], statement, following, text):
            taken += 1
        above, inside = comments[first:taken], []
        if isinstance(node, Belief):
            inside = [comment for comment in above if is_inside(comment, statement)]
            above = [comment for comment in above if not is_inside(comment, statement)]
        is_declaration = isinstance(node, EventType | ErrorDeclaration)
        if output:
            output += "\n" if is_declaration and was_declaration and not above else "\n\n"
        output += lay_out(above, start_of(statement[0]), text)
        output += reformat_belief(node, statement, inside, text) if isinstance(node, Belief) else _statement(node)
        was_declaration = is_declaration
    if taken < len(comments):
        output += ("\n\n" if output else "") + lay_out(comments[taken:], None, text).rstrip("\n")
    return output + "\n" if output else ""


def _statement(node: EventType | ErrorDeclaration | Rule) -> str:
    match node:
        case EventType():
            return format_declaration(node)
        case Rule():
            return format_rule(node)
        case ErrorDeclaration():
            return format_error(node)
        case _:
            assert_never(node)
