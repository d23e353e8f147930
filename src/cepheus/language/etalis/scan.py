"""ETALIS text to tokens and statements: comments set aside, mistakes reported and stepped over."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Token

from cepheus.core.errors import Diagnostic
from cepheus.core.source import Source, Span
from cepheus.language.common.tokens import MAX_NESTING, Lexeme, span_of, stray_character, unfinished
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.functions import FUNCTIONS

RELATIONS = {
    "par": "PAR",
    "equals": "EQUALS",
    "meets": "MEETS",
    "during": "DURING",
    "starts": "STARTS",
    "finishes": "FINISHES",
    "overlaps": "OVERLAPS",
    "before": "BEFORE",
    "after": "AFTER",
    "met by": "MET BY",
    "contains": "CONTAINS",
    "started by": "STARTED BY",
    "finished by": "FINISHED BY",
    "overlapped by": "OVERLAPPED BY",
}
"""The binary operators besides SEQ, AND and OR, as they are written in lower case."""

_KEYWORDS = {
    word: word.upper()
    for word in ("seq", "and", "or", "cnot", "not", "where", "policy", "timestamp", "is", "in", "within", "true")
} | {"false": "FALSE"}
_STARTERS = {"label": "LABEL", "event": "EVENT", "unit": "UNIT", "limit": "LIMIT"}
_BEFORE_VALUES = frozenset(
    {"WHERE", "AND", "OR", "NOT", "COMMA", "LPAR", "LSQB", "BAR", "IF", "IS", "IN", "EQUALS", "COMPARATOR"}
)

_TOKEN = re.compile(
    r"""[\s\ufeff]*+(?:
      (?P<COMMENT>(?:--|//|\#|%)[^\n]*|/\*(?s:.)*?\*/)
    | (?P<unfinished_comment>/\*(?s:.)*)
    | (?P<ARROW><-|\u2190)
    | (?P<IF>:-)
    | (?P<NUMBER>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<PAIR>(?i:met|started|finished|overlapped)(?:\s+|_)(?i:by)\b)
    | (?P<NAME>[^\W\d]\w*)
    | (?P<STRING>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"
        |[\u201c\u201d\u201e](?:[^\u201c\u201d\\\n]|\\.)*[\u201c\u201d]
        |[\u2018\u2019\u201a](?:[^\u2018\u2019\\\n]|\\.)*[\u2018\u2019])
    | (?P<COMPARATOR>=<|=>|!=|\\=|<>|<=|>=|<|>)
    | (?P<EQUALS>==?)
    | (?P<END>\.(?=\s|\Z|%|\#|--|//|/\*))
    | (?P<PLAIN>[.+\-*/(),:?|\[\]])
    | \Z
    | (?P<unfinished_string>['"\u201c\u201d\u201e\u2018\u2019\u201a][^\n]*)
    | (?P<stray>&&|(?s:.))
    )""",
    re.VERBOSE,
)
_PLAIN = {
    ".": "DOT",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "(": "LPAR",
    ")": "RPAR",
    ",": "COMMA",
    ":": "COLON",
    "?": "QUESTION",
    "[": "LSQB",
    "]": "RSQB",
    "|": "BAR",
}


@dataclass(frozen=True, slots=True)
class Scan:
    """What a text is made of: statements with their full stops, comments, and what could not be read."""

    statements: list[list[Token]]
    comments: list[Token]
    errors: list[Diagnostic]


def scan(source: Source) -> Scan:
    """Cut a text into statements; what fits no terminal becomes an error and is left out."""
    tokens: list[Token] = []
    comments: list[Token] = []
    errors: list[Diagnostic] = []
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        if kind is None:  # the end of the text
            break
        token = Lexeme(kind, match[kind], *match.span(kind))
        match kind:
            case "COMMENT":
                comments.append(token)
            case "unfinished_comment" | "unfinished_string" | "stray":
                errors.append(_lexical_error(kind, span_of(source, token)))
            case _:
                tokens.append(token)
    statements = _statements(tokens)
    for statement in statements:
        _classify(statement)
        errors += _nesting(statement, source)
    return Scan(statements, comments, errors)


def _statements(tokens: list[Token]) -> list[list[Token]]:
    found: list[list[Token]] = [[]]
    for token in tokens:
        found[-1].append(token)
        if token.type == "END":
            found.append([])
    return [statement for statement in found if statement]


def _classify(statement: list[Token]) -> None:
    """Distinguish keywords, operators and aggregates from names, and an arrow from ``<`` before a negative number."""
    arrow = False
    for index, token in enumerate(statement):
        following = statement[index + 1].type if index + 1 < len(statement) else ""
        previous = statement[index - 1].type if index else ""
        match token.type:
            case "PLAIN":
                token.type = _PLAIN[token]
            case "PAIR":
                token.type = "RELATION"
            case "ARROW" if arrow:
                token.type = "LESS_MINUS"
            case "ARROW":
                arrow = True
            case "NAME":
                token.type = _kind_of_name(token.lower(), index, previous, following == "PLAIN", statement)
                if token.type == "RELATION" and not arrow:
                    token.type = "NAME"  # of an event that is defined
            case _:
                pass
    _split_arrows(statement)


def _kind_of_name(name: str, index: int, previous: str, before_sign: bool, statement: list[Token]) -> str:
    call = before_sign and statement[index + 1] == "("
    if index == 0 and name in _STARTERS and not before_sign:
        return _STARTERS[name]
    if name in AGGREGATES and call and _has_window(statement, index + 1):
        return "AGGREGATE"
    if call and name in FUNCTIONS and (previous in _BEFORE_VALUES or name not in RELATIONS):
        return "NAME"
    if name in RELATIONS:
        return "RELATION"
    return _KEYWORDS.get(name, "NAME")


def _has_window(statement: list[Token], opening: int) -> bool:
    """Whether WITHIN stands directly in the parentheses that open there."""
    depth = 0
    for token in statement[opening:]:
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return False
        if depth == 1 and token.lower() == "within":
            return True
    return False


def _split_arrows(statement: list[Token]) -> None:
    """``X <-3`` behind the first arrow compares with a negative number."""
    for index in range(len(statement) - 1, -1, -1):
        token = statement[index]
        if token.type == "LESS_MINUS" and token.start_pos is not None:
            start = token.start_pos
            statement[index : index + 1] = [
                Lexeme("COMPARATOR", "<", start, start + 1),
                Lexeme("MINUS", "-", start + 1, start + 2),
            ]


def _nesting(statement: list[Token], source: Source) -> list[Diagnostic]:
    depth = 0
    for token in statement:
        depth += (token.type in ("LPAR", "LSQB")) - (token.type in ("RPAR", "RSQB"))
        if depth > MAX_NESTING:
            message = f"parentheses are nested more than {MAX_NESTING} deep"
            return [Diagnostic("nesting", message, span_of(source, token), "split the rule into several")]
    return []


def _lexical_error(kind: str, span: Span) -> Diagnostic:
    if kind != "stray":
        return unfinished(kind, span)
    hints = {
        "$": "variables begin with a capital letter, without a dollar sign",
        "!": "write NOT before a condition, != for 'not equal'",
        "\\": "write NOT before a condition, != for 'not equal'",
        "&": "write AND",
        "&&": "write AND",
        "^": "a power is written pow(X, 2)",
        "\u2264": "write <=",
        "\u2265": "write >=",
        "\u2260": "write !=",
        ";": "statements end with a full stop",
    }
    return stray_character(span, hints.get(span.text))
