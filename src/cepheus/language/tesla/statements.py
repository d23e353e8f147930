"""Tokens to statements: where one rule, declaration or network ends and the next begins."""

from __future__ import annotations

from lark import Token

_TYPE_NAMES = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE"})


def statements(tokens: list[Token]) -> list[list[Token]]:
    """Cut tokens into statements, each with the semicolon that ends it, if any.

    A statement begins at ``rule NAME``, at ``event NAME``, at ``define`` (unless a rule header stands before it), at
    ``error NAME.NAME ~``, at ``network NAME {`` and behind the brace that closes a network. An attribute may be called
    ``rule`` or ``event``; no name follows it then.
    """
    found: list[list[Token]] = []
    current: list[Token] = []
    header = closed = False
    braces = 0
    previous = ""
    for index, token in enumerate(tokens):
        kind = token.type
        if kind in ("NETWORK", "ERROR") or closed:
            starts = kind != "SEMICOLON"
            header = kind == "RULE"
        elif kind == "DEFINE":
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
        if starts:
            braces = 0
        current.append(token)
        braces += (kind == "LBRACE") - (kind == "RBRACE")
        closed = kind == "RBRACE" and braces == 0 and current[0].type == "NETWORK"
        if kind == "SEMICOLON":
            if len(current) > 1:
                found.append(current)
            current = []
            header = False
        previous = kind
    if current:
        found.append(current)
    return found
