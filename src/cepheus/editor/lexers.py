"""Lexers for Pygments, which the documentation, notebooks and terminals colour rules with.

Pygments finds them as ``tesla``, ``etalis`` and ``match_recognize`` wherever Cepheus is installed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace, _TokenType

from cepheus.editor.colours import Colour, Coloured, colour_etalis, colour_sql, colour_tesla

_TOKENS: dict[Colour, _TokenType] = {
    Colour.KEYWORD: Keyword,
    Colour.OPERATOR: Operator,
    Colour.FUNCTION: Name.Function,
    Colour.TYPE: Keyword.Type,
    Colour.EVENT: Name.Class,
    Colour.VARIABLE: Name.Variable,
    Colour.NAME: Name,
    Colour.NUMBER: Number,
    Colour.STRING: String,
    Colour.COMMENT: Comment,
    Colour.PUNCTUATION: Punctuation,
}


def _tokens(text: str, pieces: list[Coloured]) -> Iterator[tuple[int, _TokenType, str]]:
    """All of a text as tokens of Pygments: what no piece covers is white space or a mistake."""
    reached = 0
    for piece in [*pieces, Coloured(len(text), len(text), Colour.PUNCTUATION)]:
        if piece.start > reached:
            gap = text[reached : piece.start]
            yield reached, Whitespace if gap.isspace() else Error, gap
        if piece.end > piece.start:
            yield piece.start, _TOKENS[piece.colour], text[piece.start : piece.end]
        reached = max(reached, piece.end)


class _RuleLexer(Lexer):
    """A lexer that asks the scanner of a rule language."""

    @abstractmethod
    def colour(self, text: str) -> list[Coloured]:
        """What the scanner says of a text."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Cut a text into tokens, which together are the text."""
        return _tokens(text, self.colour(text))


class TeslaLexer(_RuleLexer):
    """Rules of TESLA.

    >>> from pygments.formatters import HtmlFormatter
    >>> from pygments import highlight
    >>> highlight("from Smoke()", TeslaLexer(), HtmlFormatter(nowrap=True)).strip()
    '<span class="k">from</span><span class="w"> </span><span class="nc">Smoke</span><span class="p">()</span>'
    """

    name = "TESLA"
    aliases: ClassVar[list[str]] = ["tesla"]
    filenames: ClassVar[list[str]] = ["*.tesla"]

    def colour(self, text: str) -> list[Coloured]:
        """What the scanner of the language says of a text."""
        return colour_tesla(text)


class EtalisLexer(_RuleLexer):
    """Rules of the ETALIS language for events."""

    name = "ETALIS"
    aliases: ClassVar[list[str]] = ["etalis"]
    filenames: ClassVar[list[str]] = ["*.etalis"]

    def colour(self, text: str) -> list[Coloured]:
        """What the scanner of the language says of a text."""
        return colour_etalis(text)


class RowLexer(_RuleLexer):
    """Queries with MATCH_RECOGNIZE; other SQL is left to the lexers of SQL."""

    name = "MATCH_RECOGNIZE"
    aliases: ClassVar[list[str]] = ["match_recognize"]
    filenames: ClassVar[list[str]] = []

    def colour(self, text: str) -> list[Coloured]:
        """What the scanner of the language says of a text."""
        return colour_sql(text)


LEXERS: dict[str, type[Lexer]] = {"tesla": TeslaLexer, "etalis": EtalisLexer, "sql": RowLexer}
"""The lexers by language."""
