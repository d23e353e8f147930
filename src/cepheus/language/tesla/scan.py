"""Rule text to tokens: the terminals of the grammar, comments set aside, mistakes reported and stepped over."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from lark import Token
from lark.lexer import PatternStr, TerminalDef

from cepheus.core.errors import Diagnostic
from cepheus.core.source import Source, Span
from cepheus.language.tesla.scan_beliefs import classify_beliefs
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.functions import FUNCTIONS

MAX_NESTING = 100
"""How deep parentheses and expressions may nest, so that no pass over the model runs out of stack."""

_UNFINISHED_STRING = r"""['"\u201c\u201d\u201e\u2018\u2019\u201a][^\n]*"""
_UNFINISHED_COMMENT = r"/\*(?s:.)*"
_STRAY = r"&&|\|\||(?s:.)"
_MISTAKES = frozenset({"unfinished_comment", "unfinished_string", "stray"})


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


@dataclass(frozen=True, slots=True)
class Scan:
    """What a text is made of; ``tokens`` holds everything that could be read, even where there are errors."""

    tokens: list[Token]
    comments: list[Token]
    errors: list[Diagnostic]


class Scanner:
    """Cuts text into the terminals of a grammar.

    Lark's own scanners know one regular expression per keyword and count lines as they go; this one matches a name
    once, looks it up among the keywords and keeps offsets only, which is what spans need.
    """

    def __init__(self, terminals: Collection[TerminalDef], ignored: Collection[str]) -> None:
        self.keywords: dict[str, str] = {}
        expressions = []
        for terminal in sorted(terminals, key=lambda terminal: -terminal.priority):
            pattern = terminal.pattern
            if isinstance(pattern, PatternStr) and pattern.value.isalpha():
                self.keywords[pattern.value] = terminal.name
            elif terminal.name not in ignored or terminal.name == "COMMENT":
                expressions.append(f"(?P<{terminal.name}>{pattern.to_regexp()})")
        # An unfinished comment begins like a division, so it follows the comment, which has the highest priority.
        expressions.insert(1, rf"(?P<unfinished_comment>{_UNFINISHED_COMMENT})")
        expressions += [r"\Z", f"(?P<unfinished_string>{_UNFINISHED_STRING})", f"(?P<stray>{_STRAY})"]
        # A byte order mark at the start of a file is as good as a space.
        self._pattern = re.compile(rf"[\s\ufeff]*+(?:{'|'.join(expressions)})")

    def scan(self, source: Source) -> Scan:
        """Cut a text into tokens; what fits no terminal becomes an error and is left out."""
        tokens: list[Token] = []
        comments: list[Token] = []
        errors = _surrogates(source)
        keywords = self.keywords
        for match in self._pattern.finditer(source.text):
            kind = match.lastgroup
            if kind is None:  # the end of the text
                break
            start, end = match.span(kind)
            text = match[kind]
            if kind == "NAME":
                kind = keywords.get(text.lower(), kind)
            elif kind == "COMMENT":
                comments.append(Lexeme(kind, text, start, end))
                continue
            elif kind in _MISTAKES:
                errors.append(_lexical_error(kind, Span(source, start, end), tokens))
                continue
            tokens.append(Lexeme(kind, text, start, end))
        _classify_calls(tokens)
        classify_beliefs(tokens)
        _classify_errors(tokens)
        errors += _nesting(tokens, source)
        return Scan(tokens, comments, errors)


def _classify_calls(tokens: list[Token]) -> None:
    """Tell functions and aggregates from other names: they stand before a parenthesis."""
    for index in range(len(tokens) - 1):
        if tokens[index + 1].type != "LPAR":
            continue
        token = tokens[index]
        name = token.lower()
        if name in AGGREGATES:
            token.type = "FUNCTION" if name in FUNCTIONS and not _has_scope(tokens, index + 1) else "AGGREGATE"
        elif name in FUNCTIONS and token.type == "NAME":
            token.type = "FUNCTION"


def _classify_errors(tokens: list[Token]) -> None:
    """Tell declarations of errors from whatever else is called ``error``: an attribute and a tilde follow.

    At the beginning of a statement one of the two is enough, so that a slip in the other is noticed as such.
    """
    for index in range(len(tokens) - 3):
        if tokens[index].lower() == "error" and tokens[index].type == "NAME":
            dot = tokens[index + 2].type == "DOT"
            begins = index == 0 or tokens[index - 1].type == "SEMICOLON"
            tilde = any(token.type == "TILDE" for token in tokens[index + 2 : index + 5])
            if (dot and tilde) or (begins and (dot or tilde)):
                tokens[index].type = "ERROR"


def _has_scope(tokens: list[Token], opening: int) -> bool:
    """Tell whether a window or interval stands directly in the parentheses or behind them."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind = tokens[index].type
        if kind == "LPAR":
            depth += 1
            if depth > MAX_NESTING:
                return False
        elif kind == "RPAR":
            depth -= 1
            if depth == 0:
                return index + 1 < len(tokens) and tokens[index + 1].type in ("WITHIN", "BETWEEN", "DOT")
        elif depth == 1 and kind in ("WITHIN", "BETWEEN"):
            return True
        elif kind in ("DEFINE", "SEMICOLON"):
            return False
    return False


def _nesting(tokens: list[Token], source: Source) -> list[Diagnostic]:
    depth = 0
    for token in tokens:
        if token.type == "LPAR":
            depth += 1
            if depth > MAX_NESTING:
                message = f"parentheses are nested more than {MAX_NESTING} deep"
                return [Diagnostic("nesting", message, span_of(source, token))]
        elif token.type == "RPAR":
            depth = max(0, depth - 1)
        elif token.type in ("DEFINE", "SEMICOLON"):
            depth = 0
    return []


def span_of(source: Source, first: Token, last: Token | None = None) -> Span:
    """Give the range from the first token to the end of the last one (or of the same)."""
    start, end = first.start_pos, (last or first).end_pos
    assert start is not None
    assert end is not None
    return Span(source, start, end)


def _surrogates(source: Source) -> list[Diagnostic]:
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        span = Span(source, error.start, error.start + 1)
        return [Diagnostic("character", "half of a character: the text is not valid Unicode", span)]
    return []


_CLOSING_QUOTES = dict.fromkeys("\u201c\u201d\u201e", "\u201d") | dict.fromkeys("\u2018\u2019\u201a", "\u2019")


def _lexical_error(kind: str, span: Span, before: list[Token]) -> Diagnostic:
    if kind == "unfinished_comment":
        return Diagnostic(
            "comment", "this comment never ends", Span(span.source, span.start, span.start + 2), "write */"
        )
    if kind == "unfinished_string":
        quote = _CLOSING_QUOTES.get(span.text[0], span.text[0])
        stripped = Span(span.source, span.start, span.start + len(span.text.rstrip()))
        return Diagnostic(
            "string",
            "this string is not closed on its line",
            stripped,
            f"close it with {quote}, or write \\n for a new line",
        )
    character = span.text
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    hint = _opposite(span, before) if character == "!" else _STRAY_HINTS.get(character)
    if character == "[" and before and before[-1].lower() == "in":
        hint = "there is no 'in': write a rule for each value, or for texts matches(name, 'one|other')"
    return Diagnostic("character", f"{shown} has no meaning here", span, hint)


_STRAY_HINTS = {
    "$": "a parameter is written $name",
    "\\": "a parameter is written $name",
    "%": "a percent sign may only follow a number; a remainder is mod(x, 2)",
    "[": "write ( )",
    "&": "write 'and'",
    "&&": "write 'and'",
    "|": "there is no 'or': write two rules",
    "||": "there is no 'or': write two rules; texts are put together by concat(a, b)",
    "@": "times are written within 5 min from Smoke, attributes by their names alone",
    "^": "a power is written as a product: x * x",
    "`": "names stand as they are, strings in ' or \"",
    "\u2264": "write <=",
    "\u2265": "write >=",
    "\u2260": "write !=",
}


def _opposite(span: Span, before: list[Token]) -> str:
    """Say how the opposite of what follows an exclamation mark is written."""
    name = re.match(r"\s*([^\W\d]\w*)\s*(\(?)", span.source.text[span.end :])
    if name is None:
        return "write != for 'not equal', or the opposite comparison"
    inside = sum((token.type == "LPAR") - (token.type == "RPAR") for token in before) > 0
    if name[2]:
        return f"write {name[1]}(..) = false" if inside else f"write not {name[1]}(..)"
    return f"write {name[1]} = false"
