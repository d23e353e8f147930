"""Canonical layout for rule text, comments kept."""

from __future__ import annotations

from typing import assert_never

from lark import Token

from cepheus.core.schema import EventType
from cepheus.core.source import Source
from cepheus.language.common.tokens import comments_of, lay_out, start_of
from cepheus.language.tesla.build import Statement
from cepheus.language.tesla.parse import grammar, parse
from cepheus.language.tesla.print import (
    INDENT,
    format_declaration,
    format_error,
    format_node,
    format_observation,
    format_rule,
    format_ties,
)
from cepheus.language.tesla.scan import statements
from cepheus.rules.belief.model import Belief, Node, Observation
from cepheus.rules.model import ErrorDeclaration, Rule, Ties


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
    said = () if rules.ties is None else (rules.ties,)
    nodes: list[Statement] = [*said, *rules.declarations, *rules.errors, *rules.rules, *rules.beliefs]
    nodes.sort(key=lambda node: node.span.start if node.span else 0)
    output = ""
    was_declaration = False
    cut = statements(scan.tokens)
    *belonging, last = comments_of(cut, scan.comments, len(text), text)
    for statement, node, comments in zip(cut, nodes, belonging, strict=True):
        above, inside = comments, list[Token]()
        if isinstance(node, Belief):
            inside = [comment for comment in comments if _is_inside(comment, statement)]
            above = [comment for comment in comments if not _is_inside(comment, statement)]
        is_declaration = isinstance(node, EventType | ErrorDeclaration | Ties)
        if output:
            output += "\n" if is_declaration and was_declaration and not above else "\n\n"
        output += lay_out(above, start_of(statement[0]), text)
        output += _belief(node, statement, inside, text) if isinstance(node, Belief) else _statement(node)
        was_declaration = is_declaration
    if last:
        output += ("\n\n" if output else "") + lay_out(last, None, text).rstrip("\n")
    return output + "\n" if output else ""


def _statement(node: EventType | ErrorDeclaration | Ties | Rule) -> str:
    match node:
        case EventType():
            return format_declaration(node)
        case Rule():
            return format_rule(node)
        case ErrorDeclaration():
            return format_error(node)
        case Ties():
            return format_ties(node)
        case _:
            assert_never(node)


def _belief(belief: Belief, statement: list[Token], comments: list[Token], text: str) -> str:
    """Write a network of which the text and the comments between its braces are given."""
    items: list[Node | Observation] = [*belief.nodes, *belief.observations]
    items.sort(key=lambda item: item.span.start if item.span else 0)
    cut = _cut(statement)
    closing = next(token for token in reversed(statement) if token.type == "RBRACE")
    nodes, observations = "", ""
    *belonging, last = comments_of(cut, comments, start_of(closing), text)
    for tokens, item, above in zip(cut, items, belonging, strict=True):
        written = lay_out(above, start_of(tokens[0]), text)
        if isinstance(item, Node):
            nodes += f"{written}{format_node(item)}\n"
        else:
            observations += f"{written}{format_observation(item)}\n"
    end = lay_out(last, None, text)
    inner = "".join(f"{INDENT}{line}\n" if line else "\n" for line in f"{nodes}{observations}{end}".splitlines())
    return f"network {belief.rule} {{\n{inner}}}"


def _is_inside(comment: Token, statement: list[Token]) -> bool:
    """Whether a comment stands between the braces of a network."""
    braces = [token for token in statement if token.type in ("LBRACE", "RBRACE")]
    return start_of(braces[0]) < start_of(comment) < start_of(braces[-1])


def _cut(statement: list[Token]) -> list[list[Token]]:
    """Cut the tokens between the braces into nodes and observations."""
    found: list[list[Token]] = []
    for token in statement[3:]:
        if token.type in ("NODE", "OBSERVE"):
            found.append([])
        if found:
            found[-1].append(token)
    if found:  # the last one has the brace that closes the network, and perhaps a semicolon
        end = max(place for place, token in enumerate(found[-1]) if token.type == "RBRACE")
        del found[-1][end:]
    return found
