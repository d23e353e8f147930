"""TESLA text to tokens and statements: comments set aside, mistakes reported and stepped over."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lark import Token
from lark.lexer import PatternStr, TerminalDef

from cepheus.core.errors import Diagnostic
from cepheus.core.source import Source, Span
from cepheus.core.time import UNITS
from cepheus.language.common.tokens import (
    MAX_NESTING,
    UNFINISHED_COMMENT,
    UNFINISHED_STRING,
    Lexeme,
    span_of,
    start_of,
    stray_character,
    unfinished,
)
from cepheus.language.tesla.scan_networks import classify_beliefs
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.policies import TERMINALS

_TIMERS = frozenset({"after", "every"})
_SCOPES = ("WITHIN", "BETWEEN", "SINCE")
_NUMBERS = frozenset({"INTEGER", "FLOAT"})
_UNITS = frozenset({"NAME", "MIN", "UNIT"})
_QUOTED = r"`[^`\n]+`"
TIES = ("apart", "ordered")
"""What may follow ``ties``."""

_STRAY = r"&&|\|\||(?s:.)"
_MISTAKES = frozenset({"unfinished_comment", "unfinished_string", "stray"})


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
        expressions.insert(1, rf"(?P<unfinished_comment>{UNFINISHED_COMMENT})")
        expressions += [
            r"\Z",
            f"(?P<quoted>{_QUOTED})",
            f"(?P<unfinished_string>{UNFINISHED_STRING})",
            f"(?P<stray>{_STRAY})",
        ]
        # A byte order mark at the start of a file is as good as a space.
        self._pattern = re.compile(rf"[\s\ufeff]*+(?:{'|'.join(expressions)})")

    def scan(self, source: Source) -> Scan:
        """Cut a text into tokens; what fits no terminal becomes an error and is left out."""
        tokens: list[Token] = []
        comments: list[Token] = []
        errors = _surrogates(source)
        keywords = self.keywords
        words: set[str] = set()
        for match in self._pattern.finditer(source.text):
            kind = match.lastgroup
            if kind is None:  # the end of the text
                break
            start, end = match.span(kind)
            text = match[kind]
            if kind == "NAME":
                word = text.lower()
                words.add(word)
                kind = keywords.get(word, kind)
                if kind in _WORD_TYPES and _is_behind_name(tokens):
                    kind = "NAME"
            elif kind == "quoted":
                kind, text = "NAME", text[1:-1]
                words.add(text.lower())
            elif kind == "COMMENT":
                comments.append(Lexeme(kind, text, start, end))
                continue
            elif kind in _MISTAKES:
                errors.append(_lexical_error(kind, Span(source, start, end), tokens))
                continue
            tokens.append(Lexeme(kind, text, start, end))
        for classify, some_of in _PASSES:
            if some_of is None or not some_of.isdisjoint(words):
                classify(tokens)
        errors += _nesting(tokens, source)
        return Scan(tokens, comments, errors)


def _is_behind_name(tokens: list[Token]) -> bool:
    """Whether a name and a dot stand before what comes next, which then is an attribute; ``5 min.`` is no name."""
    if len(tokens) < 2 or tokens[-1].type != "DOT":
        return False
    return len(tokens) < 3 or tokens[-3].type not in ("INTEGER", "FLOAT")


def is_quoted(token: Token) -> bool:
    """Whether a name stands in backquotes: it is nothing but a name then."""
    return start_of(token) + len(token) != token.end_pos


def _classify_units(tokens: list[Token]) -> None:
    """Tell units of time behind a number from other names."""
    for index in range(1, len(tokens)):
        token = tokens[index]
        if tokens[index - 1].type in ("INTEGER", "FLOAT") and token.lower() in UNITS and token.type in ("NAME", "MIN"):
            follower = tokens[index + 1].type if index + 1 < len(tokens) else ""
            if follower != "PROBABILITY" and not is_quoted(token):
                token.type = "UNIT"


_ENDS_VALUE = frozenset(
    {"NAME", "PARAMETER", "STRING", "INTEGER", "FLOAT", "PERCENTAGE", "UNIT", "RPAR", "TRUE", "FALSE"}
)
_ATTRIBUTES = frozenset({"PROBABILITY", "TIMESTAMP", "MIN", "EVENT", "RULE"})


def _classify_membership(tokens: list[Token]) -> None:
    """Tell ``x in (..)`` and ``x is null`` from attributes and events that are called in, is and null."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        if token.type != "NAME" or token.lower() not in ("in", "is") or is_quoted(token):
            continue
        before = index - (index > 0 and tokens[index - 1].type == "NOT" and token.lower() == "in") - 1
        kind = tokens[before].type if before >= 0 else ""
        if kind not in _ENDS_VALUE | _ATTRIBUTES and not (kind in TERMINALS and depth > 0):
            continue
        rest = tokens[index + 1 : index + 3]
        if token.lower() == "in":
            if rest and rest[0].type == "LPAR":
                token.type = "IN"
            continue
        null = rest[1:] if rest and rest[0].type == "NOT" else rest[:1]
        if null and null[0].type == "NAME" and null[0].lower() == "null" and not is_quoted(null[0]):
            token.type, null[0].type = "IS", "NULL"


def _classify_calls(tokens: list[Token]) -> None:
    """Distinguish functions and aggregates from other names: they stand before a parenthesis."""
    for index in range(len(tokens) - 1):
        if tokens[index + 1].type != "LPAR":
            continue
        token = tokens[index]
        name = token.lower()
        if is_quoted(token):
            continue
        if name in AGGREGATES:
            token.type = "FUNCTION" if name in FUNCTIONS and not _has_scope(tokens, index + 1) else "AGGREGATE"
        elif name in FUNCTIONS and token.type == "NAME":
            token.type = "FUNCTION"


def _classify_errors(tokens: list[Token]) -> None:
    """Distinguish declarations of errors from whatever else is called ``error``: an attribute and a tilde follow.

    At the beginning of a statement one of the two is enough, so that a slip in the other is noticed as such.
    """
    for index in range(len(tokens) - 3):
        if tokens[index].lower() == "error" and tokens[index].type == "NAME":
            dot = tokens[index + 2].type == "DOT"
            begins = index == 0 or tokens[index - 1].type == "SEMICOLON"
            tilde = any(token.type == "TILDE" for token in tokens[index + 2 : index + 5])
            if (dot and tilde) or (begins and (dot or tilde)):
                tokens[index].type = "ERROR"
                _classify_shared(tokens, index)


def _classify_shared(tokens: list[Token], begin: int) -> None:
    """Distinguish the words of an error that a source's values share: ``+ shared N(0, 4) per sensor``."""
    for index in range(begin, len(tokens) - 1):
        token, after = tokens[index], tokens[index + 1]
        if token.type == "PLUS" and after.type == "NAME" and after.lower() == "shared":
            after.type = "SHARED"
        elif token.type == "NAME" and token.lower() == "per" and tokens[index - 1].type == "RPAR":
            token.type = "PER"
        if token.type in ("SEMICOLON", "DEFINE", "RULE"):
            return


def _classify_beginnings(tokens: list[Token]) -> None:
    """Distinguish ``since start`` at the end of an aggregate, and ``approximate`` behind it, from names."""
    for index in range(1, len(tokens) - 1):
        before, token, after = tokens[index - 1 : index + 2]
        if token.type != "NAME" or after.type not in ("RPAR", "COMMA"):
            continue
        if token.lower() == "start" and before.type == "NAME" and before.lower() == "since":
            before.type, token.type = "SINCE", "START"
        elif token.lower() == "approximate" and before.type == "COMMA" and after.type == "RPAR":
            token.type = "APPROXIMATE"


def _classify_timers(tokens: list[Token]) -> None:
    """Distinguish the words of timers from names: `after` follows a length of time, `every` begins a pattern."""
    for index, token in enumerate(tokens):
        if token.type != "NAME" or token.lower() not in _TIMERS:
            continue
        if token.lower() == "every":
            begins = index == 0 or tokens[index - 1].type == "FROM"
            if begins and index + 1 < len(tokens) and tokens[index + 1].type in _NUMBERS:
                token.type = "EVERY"
        else:
            unit = index - 2 if index > 1 and tokens[index - 1].type == "DOT" else index - 1
            if unit > 0 and tokens[unit].type in _UNITS and tokens[unit - 1].type in _NUMBERS:
                token.type, tokens[unit - 1].type = "AFTER", "AHEAD"


_ENDS_EVENT = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE", "RPAR"})
_WORD_TYPES = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "MIN", "EVENT", "RULE"}) | TERMINALS


def _classify_groups(tokens: list[Token]) -> None:
    """Distinguish the words of groups and rankings from whatever else is called so.

    That is ``top`` before an event, ``by`` behind that event, and ``per`` before the name of an attribute.
    """
    ranked, depth = False, 0
    for index in range(1, len(tokens) - 1):
        before, token, after = tokens[index - 1 : index + 2]
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        if token.type in ("DEFINE", "SEMICOLON") or (token.type == "WITHIN" and depth <= 0):
            ranked, depth = False, 0
        if token.type != "NAME":
            continue
        word = token.lower()
        if word == "top" and before.type in ("INTEGER", "_AND") and after.type in _TYPE_NAMES:
            token.type = "TOP"
            ranked = True
        elif word == "by" and ranked and before.type in _ENDS_EVENT:
            token.type = "BY"
        elif word == "per" and after.type in _WORD_TYPES:
            ends = before.type in (_ENDS_EVENT | _ENDS_VALUE | _WORD_TYPES if ranked else _ENDS_EVENT)
            token.type = "PER" if ends else token.type


def _classify_collections(tokens: list[Token]) -> None:
    """Distinguish ``all`` before an event from whatever else is called so, and aggregates over collections.

    The latter stand before a parenthesis and the name of a collection of the same rule, without a window of their own.
    """
    names: set[str] = set()
    calls: list[int] = []  # of the rule so far, which may name its collections further on
    for index in range(len(tokens) - 1):
        token, follower = tokens[index], tokens[index + 1]
        if token.type in ("DEFINE", "SEMICOLON"):
            _classify_members(tokens, calls, names)
            names, calls = set(), []
        elif follower.type == "LPAR" and token.lower() in AGGREGATES:
            calls.append(index)
        elif token.lower() == "all" and follower.type in _BEGINS_COLLECTION and _begins_item(tokens, index):
            token.type = "ALL"
            names.add(_name_of_collection(tokens, index + 1))
    _classify_members(tokens, calls, names)


def _begins_item(tokens: list[Token], index: int) -> bool:
    return tokens[index].type == "NAME" and (index == 0 or tokens[index - 1].type == "_AND")


def _classify_members(tokens: list[Token], calls: list[int], names: set[str]) -> None:
    for index in calls if names else ():
        if index + 2 < len(tokens) and tokens[index + 2] in names and not _has_window(tokens, index + 1):
            tokens[index].type = "OVER"


_BEGINS_COLLECTION = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE", "BOUNDS"})


def _name_of_collection(tokens: list[Token], index: int) -> str:
    """The alias of a collection that begins at a place, or its type."""
    index += tokens[index].type == "BOUNDS"
    name = tokens[index] if index < len(tokens) else ""
    depth = 0
    for place in range(index + 1, len(tokens) - 1):
        kind = tokens[place].type
        depth += (kind == "LPAR") - (kind == "RPAR")
        if depth == 0 and kind != "RPAR":
            return str(tokens[place + 1] if kind == "AS" else name)
    return str(name)


def _has_window(tokens: list[Token], opening: int) -> bool:
    """Whether a window or interval stands directly in the parentheses."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind = tokens[index].type
        depth += (kind == "LPAR") - (kind == "RPAR")
        if depth == 0:
            return False
        if depth == 1 and kind in _SCOPES:
            return True
    return False


def _classify_ties(tokens: list[Token]) -> None:
    """Distinguish ``ties ordered`` from whatever else is called ``ties``: a name follows, which it does nowhere else.

    At the beginning of a statement any name will do, so that a slip in it is noticed as such.
    """
    for index in range(len(tokens) - 1):
        token, follower = tokens[index : index + 2]
        if token.type == "NAME" and token.lower() == "ties" and follower.type == "NAME":
            begins = index == 0 or tokens[index - 1].type == "SEMICOLON"
            if begins or follower.lower() in TIES:
                token.type = "TIES"


_PASSES: tuple[tuple[Callable[[list[Token]], None], frozenset[str] | None], ...] = (
    (_classify_units, None),
    (_classify_beginnings, frozenset({"start", "approximate"})),
    (_classify_membership, frozenset({"in", "is"})),
    (_classify_calls, None),
    (classify_beliefs, frozenset({"network"})),
    (_classify_errors, frozenset({"error"})),
    (_classify_groups, frozenset({"top", "per"})),
    (_classify_collections, frozenset({"all"})),
    (_classify_ties, frozenset({"ties"})),
    (_classify_timers, _TIMERS),
)
"""What tells tokens apart that the text alone does not, in order; a pass is made if one of its words is in the text."""


def _has_scope(tokens: list[Token], opening: int) -> bool:
    """Whether a window or interval stands directly in the parentheses or behind them."""
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
                return index + 1 < len(tokens) and tokens[index + 1].type in (*_SCOPES, "DOT")
        elif depth == 1 and kind in _SCOPES:
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


def _surrogates(source: Source) -> list[Diagnostic]:
    try:
        source.text.encode()
    except UnicodeEncodeError as error:
        span = Span(source, error.start, error.start + 1)
        return [Diagnostic("character", "half of a character: the text is not valid Unicode", span)]
    return []


def _lexical_error(kind: str, span: Span, before: list[Token]) -> Diagnostic:
    if kind != "stray":
        return unfinished(kind, span)
    character = span.text
    hint = _opposite(span, before) if character == "!" else _STRAY_HINTS.get(character)
    if character == "[" and before and before[-1].lower() == "in":
        hint = "the values stand in parentheses: in (1, 2)"
    return stray_character(span, hint)


_STRAY_HINTS = {
    "$": "a parameter is written $name",
    "\\": "a parameter is written $name",
    "%": "a percent sign may only follow a number; a remainder is mod(x, 2)",
    "[": "write ( )",
    "&": "write 'and'",
    "&&": "write 'and'",
    "|": "write 'or'",
    "||": "write 'or'; texts are put together by concat(a, b)",
    "@": "times are written within 5 min from Smoke, attributes by their names alone",
    "^": "a power is written pow(x, 2)",
    "`": "close it with another ` on the same line",
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
        return f"write not {name[1]}(..)"
    return f"write not {name[1]}" if inside else f"write not ({name[1]} = ..)"


_TYPE_NAMES = frozenset({"NAME", "PROBABILITY", "TIMESTAMP", "FUNCTION", "AGGREGATE"})


def statements(tokens: list[Token]) -> list[list[Token]]:
    """Cut tokens into statements, each with the semicolon that ends it, if any.

    A statement begins at ``rule NAME``, at ``event NAME``, at ``define`` (unless a rule header stands before it), at
    ``error NAME.NAME ~``, at ``ties NAME``, at ``network NAME {`` and behind the brace that closes a network. An
    attribute may be called ``rule`` or ``event``; no name follows it then.
    """
    found: list[list[Token]] = []
    current: list[Token] = []
    header = closed = False
    braces = 0
    previous = ""
    for index, token in enumerate(tokens):
        kind = token.type
        if kind in ("NETWORK", "ERROR", "TIES") or closed:
            starts = kind != "SEMICOLON"
            header = kind == "RULE"
        elif kind == "DEFINE":
            starts = not header
            header = False
        elif kind in ("RULE", "EVENT"):
            follower = tokens[index + 1].type if index + 1 < len(tokens) else ""
            starts = follower in _TYPE_NAMES and previous != "BY"
            if starts or not current:
                header = kind == "RULE"
        else:
            starts = False
        if starts and current:
            found.append(current)
            current = []
        if starts:
            braces = 0
        current.append(token)
        braces += (kind == "LBRACE") - (kind == "RBRACE")
        closed = kind == "RBRACE" and braces == 0 and current[0].type == "NETWORK"
        if kind == "SEMICOLON":
            if len(current) > 1:
                found.append(current)
            current = []
            header = False
        previous = kind
    if current:
        found.append(current)
    return found
