"""Tokens of rule text, mistakes that can be seen before any grammar is asked, and where comments go in a new layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lark import Token
from lark.lexer import Lexer

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.core.source import Source, Span

MAX_NESTING = 100
"""How deep parentheses and expressions may nest, so that no pass over the model runs out of stack."""

MAX_ERRORS = 100
"""After this many mistakes the rest of a text is not looked at."""

UNFINISHED_STRING = r"""['"\u201c\u201d\u201e\u2018\u2019\u201a][^\n]*"""
UNFINISHED_COMMENT = r"/\*(?s:.)*"
_CLOSING_QUOTES = dict.fromkeys("\u201c\u201d\u201e", "\u201d") | dict.fromkeys("\u2018\u2019\u201a", "\u2019")


class Lexeme(Token):
    """A token with offsets only: lines and columns are worked out from a span when a message needs them."""

    __slots__ = ()

    def __new__(cls, kind: str, text: str, start: int, end: int) -> Lexeme:
        """Make a token without the checks of its base class, which take longer than the rest of the scan."""
        token = str.__new__(cls, text)
        token.type = kind
        token.value = text
        token.start_pos = start
        token.end_pos = end
        token.line = token.column = token.end_line = token.end_column = None
        return token


class ScannedTokens(Lexer):
    """The lexer that Lark is given: it hands on tokens that the scanner of the language has cut already."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:  # noqa: ARG002 (Lark's interface)
        """The tokens that the parser was given in place of text."""
        return iter(lexer_state)


def span_of(source: Source, first: Token, last: Token | None = None) -> Span:
    """The range from the first token to the end of the last one (or of the same)."""
    start, end = first.start_pos, (last or first).end_pos
    assert start is not None
    assert end is not None
    return Span(source, start, end)


def start_of(token: Token) -> int:
    """The offset at which a token begins."""
    assert token.start_pos is not None
    return token.start_pos


def unfinished(kind: str, span: Span) -> Diagnostic:
    """The error for a comment or a string (``unfinished_comment``, ``unfinished_string``) that is never closed."""
    if kind == "unfinished_comment":
        opening = Span(span.source, span.start, span.start + 2)
        return Diagnostic("comment", "this comment never ends", opening, "write */")
    quote = _CLOSING_QUOTES.get(span.text[0], span.text[0])
    stripped = Span(span.source, span.start, span.start + len(span.text.rstrip()))
    hint = f"close it with {quote}, or write \\n for a new line"
    return Diagnostic("string", "this string is not closed on its line", stripped, hint)


def stray_character(span: Span, hint: str | None) -> Diagnostic:
    """The error for a character that begins no token of the language."""
    character = span.text
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    return Diagnostic("character", f"{shown} has no meaning here", span, hint)


def either(phrases: Sequence[str]) -> str:
    """Put what is expected in one phrase.

    >>> either(["'('", "'and'", "the end"])
    "'(', 'and' or the end"
    """
    if not phrases:
        return "something else"
    *head, last = phrases
    return f"{', '.join(head)} or {last}" if head else last


def raise_in_order(errors: Iterable[Diagnostic]) -> None:
    """Raise the mistakes of a text, if there are any, in the order in which they stand there."""
    found = sorted(errors, key=lambda error: error.span.start if error.span else 0)
    if found:
        raise RuleError(found[:MAX_ERRORS])


def comments_of(statements: Sequence[list[Token]], comments: list[Token], end: int, text: str) -> Iterator[list[Token]]:
    """The comments that belong to each statement, in order, and at last those that belong to none.

    A comment belongs to the statement before whose end it stands, or behind which it stands on the same line; ``end``
    is the offset where the last statement can have comments no more.
    """
    taken = 0
    for place, statement in enumerate(statements):
        following = start_of(statements[place + 1][0]) if place + 1 < len(statements) else end
        first = taken
        while taken < len(comments) and _belongs(comments[taken], statement, following, text):
            taken += 1
        yield comments[first:taken]
    yield comments[taken:]


def _belongs(comment: Token, statement: list[Token], following: int, text: str) -> bool:
    """Whether a comment stands before the end of a statement, or behind it on the same line."""
    end = statement[-1].end_pos
    assert end is not None
    start = start_of(comment)
    return start < end or (start < following and text.find("\n", end, start) < 0)


def lay_out(comments: list[Token], statement: int | None, text: str) -> str:
    """Write comments each on its own line, with an empty line where the text has one before or between them."""
    output = ""
    for place, comment in enumerate(comments):
        output += "\n".join(line.rstrip() for line in comment.split("\n")) + "\n"
        following = start_of(comments[place + 1]) if place + 1 < len(comments) else statement
        end = comment.end_pos
        assert end is not None
        # A comment from inside the statement has nothing to do with the empty lines around it.
        inside = statement is not None and end > statement
        if following is not None and not inside and _has_empty_line(text[end:following]):
            output += "\n"
    return output


def _has_empty_line(gap: str) -> bool:
    return gap.isspace() and gap.count("\n") > 1
