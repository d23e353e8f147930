"""Canonical layout for a network, comments kept at their nodes."""

from __future__ import annotations

from lark import Token

from cepheus.language.tesla.comments import belongs, lay_out, start_of
from cepheus.language.tesla.print_beliefs import INDENT, format_node, format_observation
from cepheus.rules.belief.model import Belief, Node, Observation


def reformat_belief(belief: Belief, statement: list[Token], comments: list[Token], text: str) -> str:
    """Write a network of which the text and the comments between its braces are given."""
    items: list[Node | Observation] = [*belief.nodes, *belief.observations]
    items.sort(key=lambda item: item.span.start if item.span else 0)
    cut = _cut(statement)
    closing = next(token for token in reversed(statement) if token.type == "RBRACE")
    nodes, observations = "", ""
    taken = 0
    for place, (tokens, item) in enumerate(zip(cut, items, strict=True)):
        following = start_of(cut[place + 1][0]) if place + 1 < len(cut) else start_of(closing)
        first = taken
        while taken < len(comments) and belongs(comments[taken], tokens, following, text):
            taken += 1
        written = lay_out(comments[first:taken], start_of(tokens[0]), text)
        if isinstance(item, Node):
            nodes += f"{written}{format_node(item)}\n"
        else:
            observations += f"{written}{format_observation(item)}\n"
    last = lay_out(comments[taken:], None, text)
    inner = "".join(f"{INDENT}{line}\n" if line else "\n" for line in f"{nodes}{observations}{last}".splitlines())
    return f"network {belief.rule} {{\n{inner}}}"


def is_inside(comment: Token, statement: list[Token]) -> bool:
    """Tell whether a comment stands between the braces of a network."""
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
