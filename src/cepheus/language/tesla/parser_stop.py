"""Where the parser of TESLA stopped: the token that does not fit, what stands around it, what the grammar allows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from lark import Token
from lark.exceptions import UnexpectedToken

from cepheus.core.source import Source
from cepheus.language.common.tokens import either
from cepheus.rules.policies import TERMINALS, words_of_policies
from cepheus.rules.timers import NOW

_NOT_WORDS = frozenset({"NAME", "FUNCTION", "AGGREGATE", "STRING", "PARAMETER", "INTEGER", "FLOAT", "PERCENTAGE"})


@dataclass(frozen=True)
class ParserStop:
    """A token that does not fit, the tokens around it, the terminals that would fit, and the parentheses open there."""

    source: Source
    token: Token
    before: list[Token]
    rest: list[Token]
    accepts: frozenset[str]
    open: list[Token]

    @property
    def kind(self) -> str:
        """The terminal of the token."""
        return self.token.type

    @property
    def word(self) -> str:
        """The token in lower case."""
        return self.token.lower()

    @property
    def previous(self) -> str:
        """The terminal before it."""
        return self.before[-1].type if self.before else ""

    @property
    def after(self) -> Token | None:
        """The token behind it."""
        return self.rest[0] if self.rest else None

    @property
    def is_word(self) -> bool:
        """Whether the token is a keyword."""
        return self.kind not in _NOT_WORDS and self.token.isalpha()

    @property
    def in_where(self) -> bool:
        """Whether it stands behind ``where``."""
        return any(token.type == "WHERE" for token in self.before)

    @cached_property
    def terminator(self) -> str:
        """The name by which the first event of the pattern is known."""
        kinds = [token.type for token in self.before]
        first = kinds.index("FROM") + 1 if "FROM" in kinds else len(kinds)
        if "EVERY" in kinds[first : first + 1]:
            return NOW
        if "AHEAD" in kinds[first : first + 1] and "AFTER" in kinds:
            first = kinds.index("AFTER") + 1
        return self.before[first] if first < len(kinds) else "A"

    @cached_property
    def left(self) -> str:
        """The value that stands before the token, as it is written."""
        start = len(self.before) - 1
        if self.previous == "RPAR":
            depth = 0
            for place in range(start, -1, -1):
                depth += (self.before[place].type == "RPAR") - (self.before[place].type == "LPAR")
                if depth == 0:
                    start = place - 1 if place and self.before[place - 1].type == "FUNCTION" else place
                    break
        elif start >= 2 and self.before[start - 1].type == "DOT":
            start -= 2
        return self.written(self.before[start], self.before[-1]) if self.before else "x"

    def written(self, first: Token, last: Token) -> str:
        """The text from one token to another."""
        return self.source.text[first.start_pos : last.end_pos]

    def touches(self) -> bool:
        """Whether nothing stands between the token and the one before."""
        return bool(self.before) and self.before[-1].end_pos == self.token.start_pos


def parser_stop(source: Source, tokens: list[Token], error: UnexpectedToken) -> ParserStop:
    """Look around the token at which the parser stopped."""
    place = next((index for index, token in enumerate(tokens) if token is error.token), len(tokens))
    before = tokens[:place]
    opened: list[Token] = []
    for token in before:
        if token.type == "LPAR":
            opened.append(token)
        elif token.type == "RPAR" and opened:
            opened.pop()
    return ParserStop(source, error.token, before, tokens[place + 1 :], frozenset(error.accepts or ()), opened)


_BELIEF_NAME_AFTER = {
    "NODE": "the name of a node",
    "GIVEN": "the name of a node",
    "OBSERVE": "the name of a node",
    "COLON": "a distribution such as N(20, 4)",
    "TILDE": "a distribution such as N(20, 4)",
}
_BELIEF_PHRASES: tuple[tuple[str, str], ...] = (
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
        phrases.append(_name_in_belief(before))
    return phrases + [phrase for terminal, phrase in _BELIEF_PHRASES if terminal in accepts]


def _name_in_belief(before: Sequence[Token]) -> str:
    kinds = [token.type for token in before]
    if kinds[-1] == "COMMA" and "GIVEN" in kinds and "LBRACE" not in kinds[_last_place(kinds, "GIVEN") :]:
        return _BELIEF_NAME_AFTER["GIVEN"]
    return _BELIEF_NAME_AFTER.get(kinds[-1], "the name of a state")


def _last_place(kinds: list[str], kind: str) -> int:
    return len(kinds) - 1 - kinds[::-1].index(kind)


_WORDS = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "MIN", "EVENT", "RULE"}) | TERMINALS
_NAMES = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE"})
_OPERAND = _WORDS | _NAMES | {"STRING", "TRUE", "FALSE", "PARAMETER", "LPAR", "MINUS", "INTEGER", "FLOAT", "PERCENTAGE"}
_RARE = frozenset({"OR", "IN", "IS", "UNIT"})
"""What may stand behind a value as well, but hardly is what was meant."""
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
    **dict.fromkeys(TERMINALS, _AN_EVENT),
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
    left = set(accepts) - _RARE
    if "COUNTED" not in left:
        left.discard("NOT")
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
    if "COUNTED" in left:
        left -= _OPERAND | {"NOT", "COUNTED"}
        return [f"{words_of_policies(last=', ')} or not with an event", "an aggregate such as Avg(..) > 30"]
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
    """Whether the constraint that the tokens end in has a comparison already."""
    for token in reversed(before):
        if token.type in ("EQUALS", "COMPARATOR"):
            return True
        if token.type in ("_AND", "COMMA", "LPAR"):
            return False
    return False
