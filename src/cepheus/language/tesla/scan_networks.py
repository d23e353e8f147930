"""The words of belief networks: which tokens of rules are words of the language only between their braces."""

from __future__ import annotations

from lark import Token

_WORDS = {"node": "NODE", "given": "GIVEN", "observe": "OBSERVE", "from": "FROM", "to": "TO"}
"""The words of a network and their terminals."""

_BEFORE_NAMES = frozenset({"NODE", "GIVEN", "OBSERVE", "COMMA", "COLON", "EQUALS", "COMPARATOR", "TILDE"})
_AFTER_NAMES = frozenset({"COMMA", "COLON", "EQUALS", "COMPARATOR"})


def classify_beliefs(tokens: list[Token]) -> None:
    """Name the tokens of networks: ``network``, ``node`` and so on are words of the language only there.

    In turn, the other words of the language are names there, so that a state may be called ``first`` or ``true``.
    """
    index = 0
    while index < len(tokens):
        if _begins(tokens, index):
            tokens[index].type = "NETWORK"
            index = _classify(tokens, index + 3)
        else:
            index += 1


def _begins(tokens: list[Token], index: int) -> bool:
    return (
        tokens[index].type == "NAME"
        and tokens[index].lower() == "network"
        and index + 2 < len(tokens)
        and _is_word(tokens[index + 1])
        and tokens[index + 2].type == "LBRACE"
    )


def _classify(tokens: list[Token], start: int) -> int:
    """Name the tokens between the braces; give the place behind the last of them.

    Braces that are never closed reach to the next rule, so that one mistake does not hide others.
    """
    depth = 1
    for index in range(start, len(tokens)):
        token = tokens[index]
        follower = tokens[index + 1] if index + 1 < len(tokens) else None
        depth += (token.type == "LBRACE") - (token.type == "RBRACE")
        if depth == 0:
            return index + 1
        if token.type == "SEMICOLON" or (token.type == "DEFINE" and follower is not None and _is_word(follower)):
            return index
        if _is_word(token):
            named = tokens[index - 1].type in _BEFORE_NAMES or (follower is not None and follower.type in _AFTER_NAMES)
            token.type = "NAME" if named else _WORDS.get(token.lower(), "NAME")
    return len(tokens)


def _is_word(token: Token) -> bool:
    return token[0].isalpha() or token[0] == "_"
