"""Syntax errors in the words of the language: what was found, what was expected, what to try."""

from __future__ import annotations

from lark import Token
from lark.exceptions import UnexpectedToken

from cepheus.core.errors import Diagnostic, did_you_mean
from cepheus.core.source import Source, Span
from cepheus.language.tesla.expected import expected
from cepheus.language.tesla.habits import NO_CHOICE, habit
from cepheus.language.tesla.scan import span_of
from cepheus.language.tesla.situation import Situation, situation_of
from cepheus.rules.aggregates import aggregate_names
from cepheus.rules.functions import FUNCTIONS

_CLAUSES = frozenset({"WHERE", "CONSUMING", "MIN", "$END", "SEMICOLON", "_AND", "COMMA", "RPAR"})
_POLICIES = frozenset({"EACH", "LAST", "FIRST"})
_STARTS_OPERAND = (
    frozenset(
        {"NAME", "PARAMETER", "STRING", "INTEGER", "FLOAT", "PERCENTAGE", "FUNCTION", "AGGREGATE", "COUNTED", "NOT"}
    )
    | _POLICIES
)
_SIGNS = frozenset(
    {"STAR", "SLASH", "PLUS", "MINUS", "COLON", "COMMA", "DOT", "LPAR", "RPAR", "LBRACE", "RBRACE", "SEMICOLON"}
    | {"EQUALS", "COMPARATOR", "QUESTION", "TILDE", "NAME", "STRING", "INTEGER", "FLOAT", "PERCENTAGE", "PARAMETER"}
    | {"FUNCTION", "AGGREGATE", "COUNTED"}
)
_GOES_ON = frozenset({"LPAR", "RPAR", "DOT", "EQUALS", "COMPARATOR", "_AND", "COMMA", "PLUS", "MINUS", "STAR", "SLASH"})
"""What may follow a name that begins a constraint."""
_BEFORE_NAMES = frozenset({"DEFINE", "EVENT", "RULE", "AS", "DOT"})
_AFTER_NAMES = frozenset({"LPAR", "EQUALS", "COMPARATOR", "COLON", "DOT"})


def explain(source: Source, tokens: list[Token], error: UnexpectedToken) -> Diagnostic:
    """Say what is wrong at the token at which the parser stopped."""
    situation = situation_of(source, tokens, error)
    if situation.kind == "LPAR" and situation.previous == "NAME" and not _is_plain_name(situation):
        return _unknown_call(situation, source)
    if situation.kind == "RPAR" and not situation.open:
        return Diagnostic("syntax", "this ')' closes nothing", span_of(source, situation.token))
    if situation.kind == "$END":
        end = tokens[-1].end_pos if tokens else len(source.text)
        assert end is not None
        span = Span(source, end, end)
    else:
        span = span_of(source, situation.token)
    message = f"found {_found(situation.token)}, expected {expected(situation.accepts, situation.before)}"
    return Diagnostic("syntax", message, span, _hint(situation, source))


def _is_plain_name(situation: Situation) -> bool:
    """Tell whether the name before the token is a type of an attribute, or refers to an event of the pattern."""
    kinds = [token.type for token in situation.before[-4:]]
    in_interval = len(kinds) == 4 and kinds[0] == "BETWEEN"
    return in_interval or kinds[-2:-1] in (["FROM"], ["BETWEEN"], ["COLON"], ["CONSUMING"], ["AS"])


def _unknown_call(situation: Situation, source: Source) -> Diagnostic:
    """A name with parentheses where a value should be: an event without a selection, or a function there is not."""
    name = situation.before[-1]
    span = span_of(source, name)
    if (situation.open or situation.in_where) and (elsewhere := _from_elsewhere(situation)):
        return Diagnostic("function", f"there is no function '{name}'", span, elsewhere)
    if situation.open:
        close = did_you_mean(name, [*FUNCTIONS, *aggregate_names()])
        return Diagnostic(
            "function", f"there is no function '{name}'", span, close or f"there are {', '.join(FUNCTIONS)}"
        )
    if any(token.type == "WHERE" for token in situation.before):
        return Diagnostic("function", f"there is no function '{name}'", span, did_you_mean(name, FUNCTIONS))
    hint = f"say which to take: each {name}(..), last {name}(..), first {name}(..), or not {name}(..)"
    return Diagnostic("syntax", f"the event '{name}' stands here without a selection", span, hint)


_ELSEWHERE = (
    dict.fromkeys(("if", "iif", "iff", "case", "decode"), NO_CHOICE)
    | dict.fromkeys(("ifnull", "nvl", "isnull"), "write coalesce(x, -1): the first value that is defined")
    | dict.fromkeys(("now", "current_timestamp", "sysdate"), "'time' is the time of the event; a window looks back")
    | dict.fromkeys(("pow", "power"), "a power is written as a product: x * x")
    | dict.fromkeys(("substr", "substring", "left", "right"), "write starts_with(s, '..'), ends_with or matches")
    | dict.fromkeys(("regexp_like", "regexp_matches", "rlike", "like"), "write matches(s, '..')")
    | {"len": "write length(s)", "char_length": "write length(s)", "startswith": "write starts_with(s, '..')"}
    | {"endswith": "write ends_with(s, '..')", "strip": "write trim(s)"}
)
"""Functions of other languages, and what is written here instead."""


def _from_elsewhere(situation: Situation) -> str | None:
    """Say what to write for a function, or a method, of another language."""
    name = situation.before[-1].lower()
    if len(situation.before) > 2 and situation.before[-2].type == "DOT":
        close = did_you_mean(name, FUNCTIONS)
        known = close.split("'")[1] if close else name if name in FUNCTIONS else None
        return f"functions have no dot before them: {known}({situation.before[-3]}, ..)" if known else None
    return _ELSEWHERE.get(name)


def _found(token: Token) -> str:
    text = token if len(token) <= 40 else f"{token[:36]}.."
    match token.type:
        case "$END":
            return "the end"
        case "STRING":
            return f"the string {text}"
        case "INTEGER" | "FLOAT" | "PERCENTAGE":
            return f"the number {text}"
        case "PARAMETER":
            return f"the parameter {text}"
        case _:
            return f"'{text}'"


def _hint(situation: Situation, source: Source) -> str | None:
    if situation.before and situation.before[0].type == "NETWORK":
        return _hint_in_belief(situation)
    if situation.open and situation.kind == "NAME" and situation.previous in _POLICIES:
        return _unclosed(situation, source)  # the pattern goes on although the event before has not ended
    return (
        habit(situation)
        or _hint_on_word(situation)
        or _hint_on_place(situation)
        or _hint_on_parenthesis(situation, source)
    )


def _hint_in_belief(situation: Situation) -> str | None:
    kind, accepts = situation.kind, situation.accepts
    if "LBRACE" in accepts and "GIVEN" not in accepts and kind in ("INTEGER", "FLOAT"):
        return "say how likely each state is: YES: {YES: 0.9, NO: 0.1}"
    if kind == "NAME" and "NODE" in accepts:
        return did_you_mean(situation.token.lower(), ["node", "observe", "from"]) or "nodes are written node NAME .."
    if kind == "$END" and "RBRACE" in accepts:
        return "a '{' is not closed"
    return None


def _hint_on_word(situation: Situation) -> str | None:
    """Recognise a mistake by the word itself."""
    kind, accepts, text = situation.kind, situation.accepts, situation.token.lower()
    if text == "or" and kind == "NAME":
        return "there is no 'or': write two rules"
    if text in ("select", "when", "if") and not situation.before:
        return "a rule is written define .. from .."
    if text == "network" and not situation.before:
        return "a network is written network Fire { node .. }"
    if kind in ("LBRACE", "RBRACE") and (situation.open or "LPAR" in accepts):
        return "write ( )"
    if kind == "BETWEEN" and "WITHIN" in accepts:
        return "a selection takes a window; only 'not' and aggregates take an interval"
    if kind in _POLICIES and situation.previous == "FROM" and "NAME" in accepts:
        return "the first event is the terminator: every one counts, so it takes no selection"
    if kind == "DEFINE" and situation.previous == "RULE":
        return "name the rule, or leave out 'rule'"
    named = situation.previous in _BEFORE_NAMES or (
        situation.after is not None and situation.after.type in _AFTER_NAMES
    )
    if situation.is_word and named and "NAME" in accepts:
        return f"'{situation.token}' is a word of the language; choose another name"
    if kind == "NAME" and "NAME" not in accepts:
        return did_you_mean(text, [terminal.strip("_").lower() for terminal in accepts - _SIGNS - {"$END"}])
    return None


def _hint_on_place(situation: Situation) -> str | None:
    """Recognise a mistake by what is missing before the token."""
    kind, accepts = situation.kind, situation.accepts
    begins = kind != "NAME" or (situation.after is not None and situation.after.type in _GOES_ON)
    if "_AND" in accepts and kind in _STARTS_OPERAND and begins:
        return "'and' is missing before it"
    if "WITHIN" in accepts and kind in ("INTEGER", "FLOAT"):
        return "'within' is missing before it"
    if kind == "FROM" and situation.previous in ("INTEGER", "FLOAT"):
        return f"write the unit, such as {situation.before[-1]} min or {situation.before[-1]} s"
    if kind == "_AND" and "COMMA" in accepts:
        return "separate the names with commas"
    if kind == "LPAR" and _is_plain_name(situation) and situation.before[-2].type in ("FROM", "BETWEEN", "_AND"):
        return f"refer to the event by its name alone: {situation.before[-1]}"
    if "COLON" in accepts:
        return "write the attribute's type, such as value: double"
    if not situation.before:
        return did_you_mean(situation.token.lower(), ["define", "event", "rule", "network"])
    return None


def _hint_on_parenthesis(situation: Situation, source: Source) -> str | None:
    """Point at a parenthesis that is still open, where the text ends or a clause begins."""
    if situation.open and "RPAR" in situation.accepts and situation.kind in _CLAUSES | {"WITHIN", "FROM", "BETWEEN"}:
        return _unclosed(situation, source)
    return None


def _unclosed(situation: Situation, source: Source) -> str:
    span = span_of(source, situation.open[-1])
    return f"the '(' in line {span.line}, column {span.column} is not closed"
