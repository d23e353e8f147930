"""Syntax errors in the words of the language: what was found, what was expected, what to try."""

from __future__ import annotations

from lark import Token
from lark.exceptions import UnexpectedToken

from cepheus.core.errors import Diagnostic, did_you_mean
from cepheus.core.source import Source
from cepheus.core.time import UNITS
from cepheus.language.common.literals import LiteralError, read_duration
from cepheus.language.common.tokens import either, span_of
from cepheus.language.etalis.scan import RELATIONS
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


_OPERATORS = ("SEQ", "AND", "OR", *RELATIONS.values())
_WINDOW_HINT = "a window is written (p).20 s, a negation NOT(p).[q, r]"
_BINARY = frozenset(
    {"SEQ", "AND", "OR", "RELATION", "CNOT", "ARROW", "IF", "WHERE", "COMMA", "EQUALS", "COMPARATOR", "IS", "IN"}
    | {"PLUS", "MINUS", "STAR", "SLASH"}
)
_VALUES = frozenset({"NAME", "STRING", "NUMBER", "TRUE", "FALSE", "LSQB"})
_PHRASES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"ARROW"}), "'<-' and a pattern"),
    (frozenset({"SEQ", "RELATION"}), "an operator such as SEQ"),
    (frozenset({"EQUALS", "COMPARATOR"}), "a comparison such as = or <"),
    (frozenset({"NAME", "STRING", "TRUE"}), "a value or a variable"),
    (frozenset({"NAME", "TIMESTAMP", "LPAR"}), "an event such as stock(X, P, _)"),
    (frozenset({"NUMBER"}), "a number"),
    (frozenset({"NAME"}), "a name"),
    (frozenset({"STRING"}), "a time in quotes"),
    (frozenset({"LSQB"}), "'['"),
    (frozenset({"BAR"}), "'|'"),
    (frozenset({"LPAR"}), "'('"),
    (frozenset({"COMMA"}), "','"),
    (frozenset({"RPAR"}), "')'"),
    (frozenset({"RSQB"}), "']'"),
    (frozenset({"COLON"}), "':'"),
    (frozenset({"WHERE"}), "WHERE"),
    (frozenset({"WITHIN"}), "WITHIN and a duration"),
    (frozenset({"END"}), "'.'"),
)


def explain(source: Source, tokens: list[Token], error: UnexpectedToken) -> Diagnostic:
    """Say what is wrong at the token at which the parser stopped."""
    token = error.token
    place = next((index for index, candidate in enumerate(tokens) if candidate is token), len(tokens))
    token = tokens[min(place, len(tokens) - 1)]
    accepts = frozenset(error.accepts or error.expected)
    stop = _full_stop(tokens, place, accepts)
    if stop is not None and _is_part(tokens, stop):
        hint = "give the argument of the event a variable, as in login(Id), and compare that"
        return Diagnostic("syntax", "a value has no parts", span_of(source, stop), hint)
    if stop is not None:
        hint = "write a space behind it, or a new line" + (f"; {_WINDOW_HINT}" if stop is not token else "")
        return Diagnostic("syntax", "a full stop needs white space behind it", span_of(source, stop), hint)
    message = f"found {_found(token)}, expected {_expected(accepts)}"
    return Diagnostic("syntax", message, span_of(source, token), _hint(tokens, place, accepts))


def _full_stop(tokens: list[Token], place: int, accepts: frozenset[str]) -> Token | None:
    """The dot that was meant to end a statement: a word stands directly behind it, and no window."""
    for dot, possible in ((place, "END" in accepts), (place - 1, "NUMBER" in accepts)):
        if possible and 0 <= dot < len(tokens) - 1 and tokens[dot].type == "DOT":
            following = tokens[dot + 1]
            return tokens[dot] if following.isidentifier() else None
    return None


def _is_part(tokens: list[Token], stop: Token) -> bool:
    """Whether a dot stands between two names of which the second is compared, as in ``host.id = X``."""
    place = next(index for index, token in enumerate(tokens) if token is stop)
    around = [token.type for token in tokens[max(place - 1, 0) : place + 3]]
    return len(around) == 4 and around[0] == "NAME" and around[2] == "NAME" and around[3] in ("EQUALS", "COMPARATOR")


def _found(token: Token) -> str:
    match token.type:
        case "END":
            return "the end of the statement"
        case "STRING":
            return f"the string {token}"
        case "NUMBER":
            return f"the number {token}"
        case _:
            return f"'{token}'"


def _expected(accepts: frozenset[str]) -> str:
    left = set(accepts)
    phrases = []
    for terminals, phrase in _PHRASES:
        if terminals <= left:
            phrases.append(phrase)
            left -= terminals
    return either(phrases)


def _hint(tokens: list[Token], place: int, accepts: frozenset[str]) -> str | None:
    token = tokens[min(place, len(tokens) - 1)]
    previous = tokens[place - 1] if place else None
    if found := hint_from_other_language(tokens, place, accepts):
        return found
    if token.type == "NAME" and "SEQ" in accepts:
        return did_you_mean(token.upper(), _OPERATORS) or "an operator is missing before it"
    closes = token.type in ("RPAR", "RSQB") and token.type not in accepts
    if closes and not (previous is not None and previous.type in _BINARY):
        return _unmatched(tokens, place)
    if token.type == "END" and accepts & {"RPAR", "RSQB"}:
        return _unmatched(tokens, place)
    if token.type == "COLON" and previous is not None and previous.type == "NAME":
        return "a rule's name is written LABEL name:"
    if token.type == "WHERE":
        return "put the pattern with its WHERE in parentheses"
    if previous is not None and previous.type == "DOT":
        return _WINDOW_HINT
    if previous is not None and previous.type == "END":
        return "leave no space behind the dot of a window: (p).20 s"
    if token.type == "BAR":
        return "a bar stands in a list, [H|T]; an alternative is written OR"
    return _missing(token, previous, accepts)


def _missing(token: Token, previous: Token | None, accepts: frozenset[str]) -> str | None:
    """What was left out before a token."""
    if previous is None:
        if token.type in ("ARROW", "IF"):
            return f"what the rule defines stands before it, as in alarm(X) {token} .."
        return None
    if previous.type == "MINUS" and token == ">":
        return "the arrow of a rule points to what it defines: head <- pattern"
    if previous.type in _BINARY and accepts & {"NAME", "NUMBER"}:
        what = "a condition" if previous.type in ("WHERE", "IF") else "a value" if "TRUE" in accepts else "an event"
        return f"{what} is missing behind '{previous}'"
    if accepts == {"LPAR"} and token.type == "END":
        return f"write {previous}()"
    if accepts == {"LPAR"} and previous.type == "NOT":
        return _WINDOW_HINT
    if token.type == "COMMA" and "SEQ" in accepts:
        return "write AND for events in any order, SEQ for one after the other; conditions of WHERE have commas"
    if token.type in ("NAME", "TIMESTAMP") and accepts == {"COLON"}:
        return f"an attribute is declared with a colon, as in {previous}: {token}"
    if token.type in _VALUES and "COMMA" in accepts:
        return "a comma is missing before it"
    return None


def _unmatched(tokens: list[Token], place: int) -> str | None:
    opened: list[Token] = []
    for token in tokens[:place]:
        if token.type in ("LPAR", "LSQB"):
            opened.append(token)
        elif token.type in ("RPAR", "RSQB") and opened:
            opened.pop()
    return f"the '{opened[-1]}' before it is not closed" if opened else "nothing is open here that it could close"
