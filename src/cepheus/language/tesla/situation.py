"""Where the parser of TESLA stopped: the token that does not fit, and what stands around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lark import Token
from lark.exceptions import UnexpectedToken

from cepheus.core.source import Source

_NOT_WORDS = frozenset({"NAME", "FUNCTION", "AGGREGATE", "STRING", "PARAMETER", "INTEGER", "FLOAT", "PERCENTAGE"})


@dataclass(frozen=True)
class Situation:
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
        """Give the text from one token to another."""
        return self.source.text[first.start_pos : last.end_pos]

    def touches(self) -> bool:
        """Tell whether nothing stands between the token and the one before."""
        return bool(self.before) and self.before[-1].end_pos == self.token.start_pos


def situation_of(source: Source, tokens: list[Token], error: UnexpectedToken) -> Situation:
    """Look around the token at which the parser stopped."""
    place = next((index for index, token in enumerate(tokens) if token is error.token), len(tokens))
    before = tokens[:place]
    opened: list[Token] = []
    for token in before:
        if token.type == "LPAR":
            opened.append(token)
        elif token.type == "RPAR" and opened:
            opened.pop()
    return Situation(source, error.token, before, tokens[place + 1 :], frozenset(error.accepts or ()), opened)
