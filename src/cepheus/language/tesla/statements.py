"""Tokens to statements: where one rule or declaration ends and the next begins."""

from __future__ import annotations

from lark import Token

_TYPE_NAMES = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE"})


def statements(tokens: list[Token]) -> list[list[Token]]:
    """Cut tokens into statements, each with the semicolon that ends it, if any.

    A statement begins at ``rule NAME``, at ``event NAME`` and at ``define`` (unless a rule header stands before it).
    An attribute may be called ``rule`` or ``event``; no name follows it then.
    """
    found: list[list[Token]] = []
    current: list[Token] = []
    header = False
    previous = ""
    for index, token in enumerate(tokens):
        kind = token.type
        if kind == "DEFINE":
            starts = not header
            header = False
        elif kind in ("RULE", "EVENT"):
            follower = tokens[index + 1].type if index + 1 < len(tokens) else ""
            starts = follower in _TYPE_NAMES and previous != "DOT"
            if starts or not current:
                header = kind == "RULE"
        else:
            starts = False
        if starts and current:
            found.append(current)
            current = []
        current.append(token)
        if kind == "SEMICOLON":
            if len(current) > 1:
                found.append(current)
            current = []
            header = False
        previous = kind
    if current:
        found.append(current)
    return found
