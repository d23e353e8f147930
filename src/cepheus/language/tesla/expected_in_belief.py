"""What the grammar allows next inside a network, in words that a writer of rules knows."""

from __future__ import annotations

from collections.abc import Sequence, Set

from lark import Token

_NAME_AFTER = {
    "NODE": "the name of a node",
    "GIVEN": "the name of a node",
    "OBSERVE": "the name of a node",
    "COLON": "a distribution such as N(20, 4)",
    "TILDE": "a distribution such as N(20, 4)",
}
_PHRASES: tuple[tuple[str, str], ...] = (
    ("STRING", "a time in quotes"),
    ("INTEGER", "a number"),
    ("LPAR", "'('"),
    ("COLON", "':'"),
    ("EQUALS", "'='"),
    ("COMPARATOR", "'<'"),
    ("TILDE", "'~' and a distribution"),
    ("COMMA", "','"),
    ("TO", "'to' and a time in quotes"),
    ("FROM", "from"),
    ("GIVEN", "given"),
    ("NODE", "node"),
    ("OBSERVE", "observe"),
    ("LBRACE", "'{'"),
    ("RPAR", "')'"),
    ("RBRACE", "'}'"),
    ("$END", "the end"),
)


def expected_in_belief(accepts: Set[str], before: Sequence[Token]) -> list[str]:
    """Say what the accepted terminals stand for, given the tokens before.

    >>> expected_in_belief({"COLON", "COMPARATOR"}, [])
    ["':'", "'<'"]
    """
    phrases = []
    if "NAME" in accepts:
        phrases.append(_name(before))
    return phrases + [phrase for terminal, phrase in _PHRASES if terminal in accepts]


def either(phrases: Sequence[str]) -> str:
    """Put what is expected in one phrase.

    >>> either(["'('", "'and'", "the end"])
    "'(', 'and' or the end"
    """
    if not phrases:
        return "something else"
    *head, last = phrases
    return f"{', '.join(head)} or {last}" if head else last


def _name(before: Sequence[Token]) -> str:
    kinds = [token.type for token in before]
    if kinds[-1] == "COMMA" and "GIVEN" in kinds and "LBRACE" not in kinds[_last(kinds, "GIVEN") :]:
        return _NAME_AFTER["GIVEN"]
    return _NAME_AFTER.get(kinds[-1], "the name of a state")


def _last(kinds: list[str], kind: str) -> int:
    return len(kinds) - 1 - kinds[::-1].index(kind)
