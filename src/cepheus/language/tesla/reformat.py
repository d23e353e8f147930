"""Canonical layout for rule text, comments kept."""

from __future__ import annotations

from lark import Token

from cepheus.core.source import Source
from cepheus.language.tesla.grammar import grammar
from cepheus.language.tesla.parse import parse
from cepheus.language.tesla.print import format_declaration, format_rule
from cepheus.language.tesla.statements import statements


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
    scan = grammar().scanner.scan(source)
    rules = parse(text, name)
    nodes = iter(sorted([*rules.declarations, *rules.rules], key=lambda node: node.span.start if node.span else 0))
    comments = scan.comments
    blocks: list[tuple[bool, str]] = []
    for statement, node in zip(statements(scan.tokens), nodes, strict=True):
        own = _comments_of(statement, comments, source)
        comments = comments[len(own) :]
        is_rule = statement[0].type != "EVENT"
        head = _comment_lines(own, statement[0], source)
        blocks.append((is_rule, head + (format_rule(node) if is_rule else format_declaration(node))))
    return ""


def _comments_of(statement: list[Token], comments: list[Token], source: Source) -> list[Token]:
    return []


def _comment_lines(comments: list[Token], statement: Token, source: Source) -> str:
    return ""
