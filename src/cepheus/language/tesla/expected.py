"""What the grammar allows next, in words that a writer of rules knows."""

from __future__ import annotations

from collections.abc import Set

from lark import Token

from cepheus.language.tesla.expected_in_belief import either, expected_in_belief

_WORDS = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "MIN", "EACH", "LAST", "FIRST", "EVENT", "RULE"})
_NAMES = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE"})
_OPERAND = _WORDS | _NAMES | {"STRING", "TRUE", "FALSE", "PARAMETER", "LPAR", "MINUS", "INTEGER", "FLOAT", "PERCENTAGE"}
_ARITHMETIC = frozenset({"PLUS", "MINUS", "STAR", "SLASH"})

_AN_EVENT = "an event such as Temp(value>45)"
_NAME_AFTER = {
    "RULE": "a name for the rule",
    "DEFINE": "the name of the composite event",
    "EVENT": "the name of an event type",
    "AS": "another name for the event",
    "COLON": "a type: int, double, string, bool or timestamp",
    "BETWEEN": "the name of an event",
    "ERROR": "the name of an event type",
    "TILDE": "a distribution such as N(0, 1)",
    "_AND": "the name of an event",
    "CONSUMING": "the name of an event of the pattern",
    "DOT": "the name of an attribute",
    "INTEGER": "a unit of time: us, ms, s, min, h, day or week",
    "FLOAT": "a unit of time: us, ms, s, min, h, day or week",
    "EACH": _AN_EVENT,
    "LAST": _AN_EVENT,
    "FIRST": _AN_EVENT,
    "COUNTED": _AN_EVENT,
    "NOT": _AN_EVENT,
    "": _AN_EVENT,
}

# Phrases for what is left, in the order in which they are listed.
_PHRASES: tuple[tuple[str, str], ...] = (
    ("DEFINE", "'define'"),
    ("FROM", "'from'"),
    ("PROBABILITY", "'probability'"),
    ("LPAR", "'('"),
    ("_AND", "'and'"),
    ("COMMA", "','"),
    ("RPAR", "')'"),
    ("WHERE", "where"),
    ("CONSUMING", "consuming"),
    ("MIN", "min probability"),
    ("COLON", "':' and a type"),
    ("DOT", "'.'"),
    ("TILDE", "'~' and a distribution"),
    ("AS", "as"),
    ("$END", "the end"),
)


def expected(accepts: Set[str], before: list[Token]) -> str:
    """Say what the accepted terminals stand for, given the tokens before.

    >>> expected({"RPAR", "COMMA", "_AND"}, [])
    "'and' or ')'"
    """
    if before and before[0].type == "NETWORK":
        return either(expected_in_belief(accepts, before))
    left = set(accepts)
    previous = before[-1].type if before else ""
    phrases = _starts(left, previous, before)
    if not phrases:
        phrases += _scopes(left)
        phrases += _operators(left, before)
    elif "RPAR" not in left:
        left.clear()
    if "_AND" in left:
        left.discard("COMMA")
    if len(left & {"RPAR", "_AND", "$END", "WITHIN", "FROM"}) or phrases:
        left -= {"DOT", "AS"}
    if "FROM" in left and any(token.type == "WITHIN" for token in before[-4:]):
        left.discard("FROM")
        phrases.append("'from' and the name of an earlier event")
    phrases += [phrase for terminal, phrase in _PHRASES if terminal in left]
    return either(phrases)


def _starts(left: set[str], previous: str, before: list[Token]) -> list[str]:
    """Name what may begin here: a statement, an item of the pattern, a value or a name."""
    if "EVENT" in left and "DEFINE" in left:
        left.clear()
        return ["a rule (define .. from ..) or a declaration (event ..)"]
    if "NOT" in left:
        left -= _OPERAND | {"NOT", "COUNTED"}
        return ["each, last, first or not with an event", "an aggregate such as Avg(..) > 30"]
    if {"STRING", "PARAMETER"} <= left:
        left -= _OPERAND
        event = previous == "LPAR" and len(before) > 1 and before[-2].type not in ("FUNCTION", "AGGREGATE")
        return ["a constraint such as value>45"] if event and "RPAR" in left else ["a value"]
    if "NAME" in left:
        left -= _WORDS | _NAMES
        return [_name_after(previous, before)]
    if {"LAST", "FIRST"} <= left:
        left -= {"LAST", "FIRST"}
        return ["'last' or 'first'"]
    if left == {"INTEGER", "FLOAT"}:
        left.clear()
        return ["a length of time such as 5 min"]
    return ["a time in quotes"] if left == {"STRING"} else []


def _name_after(previous: str, before: list[Token]) -> str:
    kinds = [token.type for token in before]
    if previous == "FROM":
        inside = "WITHIN" in kinds[-4:]
        return "the name of an earlier event" if inside else _AN_EVENT
    if previous == "LPAR" and len(kinds) > 1 and kinds[-2] == "AGGREGATE" and "FROM" in kinds:
        return _AN_EVENT
    if previous in ("LPAR", "COMMA") and "FROM" not in kinds:
        return "an attribute such as area: string"
    if "CONSUMING" in kinds:
        return _NAME_AFTER["CONSUMING"]
    if "WHERE" in kinds and previous != "DOT":
        return "an assignment such as area=Smoke.area"
    return _NAME_AFTER.get(previous, "a name")


def _scopes(left: set[str]) -> list[str]:
    if "WITHIN" not in left:
        return []
    interval = "BETWEEN" in left
    left -= {"WITHIN", "BETWEEN"}
    window = "a window (within 5 min from A)"
    return [window, "an interval (between A and B)"] if interval else [window]


def _operators(left: set[str], before: list[Token]) -> list[str]:
    left -= _ARITHMETIC
    if "COMPARATOR" in left:
        left -= {"COMPARATOR", "EQUALS"}
        # A chain may go on, but whoever has written one comparison rarely means a second.
        return [] if _is_compared(before) else ["a comparison such as = or <"]
    if "EQUALS" in left:
        left.discard("EQUALS")
        return ["'='"]
    return []


def _is_compared(before: list[Token]) -> bool:
    """Tell whether the constraint that the tokens end in has a comparison already."""
    for token in reversed(before):
        if token.type in ("EQUALS", "COMPARATOR"):
            return True
        if token.type in ("_AND", "COMMA", "LPAR"):
            return False
    return False
