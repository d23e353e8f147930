"""What every piece of rule text is, for colouring: decided by the scanners of the languages, so that a word is coloured
as it is understood. Unfinished text is coloured as far as it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from lark import Token

from cepheus.core.source import Source
from cepheus.core.values import TYPE_NAMES
from cepheus.editor.row_text import Placed, Role, placed
from cepheus.language.common.tokens import start_of
from cepheus.language.etalis.scan import scan as scan_etalis
from cepheus.language.sql.scan import pieces
from cepheus.language.tesla.parse import grammar as tesla_grammar
from cepheus.rules.functions import FUNCTIONS


class Colour(Enum):
    """What a piece of text is."""

    KEYWORD = "keyword"
    OPERATOR = "operator"
    FUNCTION = "function"
    TYPE = "type"
    EVENT = "class"
    VARIABLE = "variable"
    NAME = "property"
    NUMBER = "number"
    STRING = "string"
    COMMENT = "comment"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True, slots=True)
class Coloured:
    """A piece of text, from ``start`` to before ``end``, and what it is."""

    start: int
    end: int
    colour: Colour


_NUMBERS = frozenset({"INTEGER", "FLOAT", "PERCENTAGE", "NUMBER", "BOUNDS", "COUNTED", "AHEAD"})
_OPERATORS = frozenset(
    {"EQUALS", "COMPARATOR", "PLUS", "MINUS", "STAR", "SLASH", "TILDE", "ARROW", "IF", "LESS_MINUS", "RELATION", "SEQ"}
)
_FUNCTIONS = frozenset({"FUNCTION", "AGGREGATE", "OVER"})
_ETALIS_KEYWORDS = frozenset(
    {"AND", "OR", "CNOT", "NOT", "WHERE", "POLICY", "TIMESTAMP", "IS", "IN", "WITHIN", "TRUE", "FALSE"}
    | {"LABEL", "EVENT", "UNIT", "LIMIT"}
)


def colour_tesla(text: str) -> list[Coloured]:
    """Colour TESLA.

    >>> [(piece.colour.value, piece.end) for piece in colour_tesla("last Temp(last > 3)")][:4]
    [('keyword', 4), ('class', 9), ('punctuation', 10), ('keyword', 14)]
    """
    scan = tesla_grammar().scanner.scan(Source("", text))
    return _in_order(scan.comments, _tesla(scan.tokens))


def colour_etalis(text: str) -> list[Coloured]:
    """Colour rules of the ETALIS language.

    >>> [piece.colour.value for piece in colour_etalis("pair(X) <- a(X).")][:4]
    ['class', 'punctuation', 'variable', 'punctuation']
    """
    scan = scan_etalis(Source("", text))
    return _in_order(scan.comments, (piece for statement in scan.statements for piece in _etalis(statement)))


_ROLES = {
    Role.KEYWORD: Colour.KEYWORD,
    Role.FUNCTION: Colour.FUNCTION,
    Role.TYPE: Colour.TYPE,
    Role.SOURCE: Colour.EVENT,
    Role.QUERY: Colour.EVENT,
    Role.VARIABLE: Colour.VARIABLE,
    Role.COLUMN: Colour.NAME,
    Role.MEASURE: Colour.NAME,
}
_PATTERN_SIGNS = frozenset("?|^${}")


def colour_sql(text: str) -> list[Coloured]:
    """Colour queries over rows.

    >>> [piece.colour.value for piece in colour_sql("MATCH_RECOGNIZE (PATTERN (A+) DEFINE A AS x > 3)")]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['keyword', 'punctuation', 'keyword', 'punctuation', 'variable', 'operator', 'punctuation', 'keyword', 'variable',
     'keyword', 'property', 'operator', 'number', 'punctuation']
    """
    words = (Coloured(each.word.start, each.word.end, _sql_colour(each)) for each in placed(text))
    comments = (Coloured(each.start, each.end, Colour.COMMENT) for each in pieces(text) if each.kind == "comment")
    return sorted([*words, *comments], key=lambda piece: piece.start)


def _sql_colour(placed_word: Placed) -> Colour:
    word = placed_word.word
    if word.is_name:
        return _ROLES.get(placed_word.role, Colour.NAME)
    if word.kind in ("string", "number"):
        return Colour.STRING if word.kind == "string" else Colour.NUMBER
    operator = word.text in OPERATOR_SIGNS or (placed_word.clause == "PATTERN" and word.text in _PATTERN_SIGNS)
    return Colour.OPERATOR if operator else Colour.PUNCTUATION


OPERATOR_SIGNS = frozenset({"=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "::"})


def _in_order(comments: Sequence[Token], pieces: Iterator[Coloured]) -> list[Coloured]:
    found = [_piece(comment, Colour.COMMENT) for comment in comments]
    return sorted([*found, *pieces], key=lambda piece: piece.start)


def _piece(token: Token, colour: Colour) -> Coloured:
    assert token.end_pos is not None
    return Coloured(start_of(token), token.end_pos, colour)


def _common(token: Token) -> Colour | None:
    """The colour of what is the same in both languages, None for words."""
    if token.type in _NUMBERS:
        return Colour.NUMBER
    if token.type == "STRING":
        return Colour.STRING
    if token.type in _OPERATORS:
        return Colour.OPERATOR
    if token.type in _FUNCTIONS:
        return Colour.FUNCTION
    return None if token[:1].isalpha() or token[:1] in "_$\\" else Colour.PUNCTUATION


def _tesla(tokens: Sequence[Token]) -> Iterator[Coloured]:
    for index, token in enumerate(tokens):
        colour = _common(token)
        if token.type == "PARAMETER":
            colour = Colour.VARIABLE
        elif token.type == "NAME":
            colour = _tesla_name(tokens, index)
        elif colour is None:
            colour = Colour.TYPE if _behind_colon(tokens, index) else Colour.KEYWORD
        yield _piece(token, colour)


def _tesla_name(tokens: Sequence[Token], index: int) -> Colour:
    if _behind_colon(tokens, index) and tokens[index].lower() in TYPE_NAMES:
        return Colour.TYPE
    following = tokens[index + 1] if index + 1 < len(tokens) else ""
    previous = tokens[index - 1].lower() if index else ""
    of_event = following in ("(", ".") or previous in ("from", "as", "consuming", "rule", "between")
    return Colour.EVENT if of_event or tokens[index][:1].isupper() else Colour.NAME


def _behind_colon(tokens: Sequence[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1] == ":"


def _etalis(statement: Sequence[Token]) -> Iterator[Coloured]:
    for index, token in enumerate(statement):
        colour = _common(token)
        if colour is None:
            colour = _etalis_word(statement, index)
        yield _piece(token, colour)


def _etalis_word(statement: Sequence[Token], index: int) -> Colour:
    token = statement[index]
    if token.type in _ETALIS_KEYWORDS or (index > 0 and statement[0].type == "POLICY"):
        return Colour.KEYWORD
    following = statement[index + 1] if index + 1 < len(statement) else ""
    if token[:1].isupper() or token.startswith("_"):
        return Colour.VARIABLE
    if _behind_colon(statement, index) and token.lower() in TYPE_NAMES:
        return Colour.TYPE
    if following == "(":
        return Colour.FUNCTION if token.lower() in FUNCTIONS else Colour.EVENT
    return Colour.NAME
