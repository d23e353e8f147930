"""What people write from other languages, SQL, Python and Prolog above all, and what is written in ETALIS instead."""

from __future__ import annotations

from lark import Token

from cepheus.core.time import UNITS
from cepheus.language.common.literals import LiteralError, read_duration
from cepheus.rules.check.interval.variables import NO_NULL

_VALUES_END = frozenset({"NAME", "STRING", "NUMBER", "RPAR", "RSQB", "TRUE", "FALSE"})
_KEYWORDS = frozenset({"SEQ", "AND", "OR", "CNOT", "NOT", "WHERE", "RELATION", "TIMESTAMP", "IS", "IN", "WITHIN"})
_ASIDE = frozenset({"LPAR", "COMMA", "LSQB", "BAR"})
_CALLS = (
    dict.fromkeys(("matches", "regexp", "rlike", "regex"), "matches")
    | dict.fromkeys(("like", "ilike"), "starts_with")
    | dict.fromkeys(("startswith", "starts"), "starts_with")
    | dict.fromkeys(("endswith", "ends"), "ends_with")
    | {"contains": "contains"}
)


def hint_from_other_language(tokens: list[Token], place: int, accepts: frozenset[str]) -> str | None:
    """What to write instead of something from another language, if that can be recognised where the parser stopped."""
    token = tokens[min(place, len(tokens) - 1)]
    previous = tokens[place - 1] if place else None
    rest = tokens[place + 1 :]
    if previous is None:
        return None
    if token.type in _KEYWORDS and previous.type in _ASIDE and token.isalpha() and not token.islower():
        return f"'{token}' is a word of the language in any case: call the variable otherwise, such as {token}1"
    kinds = [before.type for before in tokens[:place]]
    in_where = "WHERE" in kinds
    if token.type == "COLON" and kinds.count("LPAR") > kinds.count("RPAR") and not in_where and "ARROW" in kinds:
        return "arguments go by their order and have no names: write the variable alone"
    if token.type in ("SEQ", "RELATION", "CNOT") and "ARROW" not in kinds:
        return "a rule over events is written with an arrow: head <- pattern"
    if kinds[:1] == ["NAME"] and tokens[0].lower() in ("define", "rule") and place == 1:
        return "rules of TESLA, define .. from .., stand in a file of their own that ends with .tesla"
    if in_where and previous.type in _VALUES_END and (found := _behind_a_value(tokens, place)):
        return found
    if previous.type in ("IS", "EQUALS") and (token.type == "NOT" or token.lower() == "null"):
        return NO_NULL
    if previous.type in ("EQUALS", "COMPARATOR") and token.type in ("COLON", "EQUALS", "COMPARATOR"):
        return "comparisons are =, !=, <, <=, > and >="
    if not in_where and "SEQ" in accepts:
        return _between_events(token, previous, rest)
    return None


def _behind_a_value(tokens: list[Token], place: int) -> str | None:
    """Recognise words and signs that other languages write between values."""
    token, previous, rest = tokens[place], tokens[place - 1], tokens[place + 1 :]
    word = token.lower()
    if previous.type == "NUMBER" and word in UNITS:
        try:
            length = read_duration(previous, token)
        except LiteralError:
            return None
        return f"units stand in windows alone: write the number, which is {length} if the other is in microseconds"
    if token.type == "NOT" and rest and rest[0].type == "IN":
        return f"write NOT {previous} in [..]"
    if token.type == "COMMA" and any(before.type == "IN" for before in tokens[max(0, place - 3) : place]):
        return "a list is written in brackets: X in [1, 2]"
    if word == "between" and len(rest) > 2:
        return f"write {rest[0]} <= {previous} <= {rest[2]}"
    if token.type in ("NAME", "RELATION") and word in _CALLS:
        text = next((following for following in rest[:2] if following.type == "STRING"), "'..'")
        if word in ("like", "ilike"):
            return f"write starts_with({previous}, '..'), ends_with, contains or matches({previous}, '..')"
        return f"write {_CALLS[word]}({previous}, {text})"
    if token.type == "STRING" and previous.type == "STRING" and previous.end_pos == token.start_pos:
        return "a quotation mark in a string is written \\'"
    if token.type == "COLON":
        return "write = to give a variable its value"
    return None


def _between_events(token: Token, previous: Token, rest: list[Token]) -> str | None:
    """Recognise what other languages write between events, or before them."""
    if token.type == "MINUS" and rest and rest[0] == ">":
        return "one event after the other is written a SEQ b"
    if token.type == "WITHIN":
        return "a window is written behind the pattern in parentheses: (p).20 s"
    if token.type == "NAME" and previous.type == "NAME":
        word = previous.lower()
        if word in ("every", "each", "all", "any"):
            return "leave it out: every event counts, as far as the policy allows"
        if word in ("last", "first"):
            return "leave it out: which events are taken is said by the policy, such as 'policy recent.'"
        if token.lower() in ("followed", "then", "before"):
            return "one event after the other is written a SEQ b"
    if token.type == "NAME" and token.lower() in ("followed", "then"):
        return "one event after the other is written a SEQ b"
    return None
