"""Syntax errors in the words of the language: what was found, what was expected, what to try."""

from __future__ import annotations

from lark import Token
from lark.exceptions import UnexpectedToken

from cepheus.core.errors import Diagnostic, did_you_mean
from cepheus.core.source import Source, Span
from cepheus.language.common.tokens import span_of
from cepheus.language.tesla.other_languages import NO_CHOICE, hint_from_other_language
from cepheus.language.tesla.parser_stop import ParserStop, expected, parser_stop
from cepheus.rules.aggregates import aggregate_names
from cepheus.rules.functions import FUNCTIONS, built_in_names
from cepheus.rules.policies import TERMINALS, Policy

_CLAUSES = frozenset({"WHERE", "CONSUMING", "MIN", "$END", "SEMICOLON", "_AND", "COMMA", "RPAR"})
_STARTS_OPERAND = (
    frozenset(
        {"NAME", "PARAMETER", "STRING", "INTEGER", "FLOAT", "PERCENTAGE", "FUNCTION", "AGGREGATE", "COUNTED", "NOT"}
    )
    | TERMINALS
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
    stop = parser_stop(source, tokens, error)
    if stop.kind == "LPAR" and stop.previous == "NAME" and not _is_plain_name(stop):
        return _unknown_call(stop, source)
    if stop.kind == "RPAR" and not stop.open:
        return Diagnostic("syntax", "this ')' closes nothing", span_of(source, stop.token))
    if stop.kind == "$END":
        end = tokens[-1].end_pos if tokens else len(source.text)
        assert end is not None
        span = Span(source, end, end)
    else:
        span = span_of(source, stop.token)
    message = f"found {_found(stop.token)}, expected {expected(stop.accepts, stop.before)}"
    return Diagnostic("syntax", message, span, _hint(stop, source))


def _is_plain_name(stop: ParserStop) -> bool:
    """Whether the name before the token is a type of an attribute, or refers to an event of the pattern."""
    kinds = [token.type for token in stop.before[-4:]]
    in_interval = len(kinds) == 4 and kinds[0] == "BETWEEN"
    return in_interval or kinds[-2:-1] in (["FROM"], ["BETWEEN"], ["COLON"], ["CONSUMING"], ["AS"])


def _unknown_call(stop: ParserStop, source: Source) -> Diagnostic:
    """A name with parentheses where a value should be: an event without a selection, or a function there is not."""
    name = stop.before[-1]
    span = span_of(source, name)
    if (stop.open or stop.in_where) and (elsewhere := _from_elsewhere(stop)):
        return Diagnostic("function", f"there is no function '{name}'", span, elsewhere)
    if stop.open and [token.type for token in stop.before[-3:-1]] == ["NOT", "LPAR"] and stop.before[-4].type == "_AND":
        hint = f"write not {name}(..) within 5 min from {stop.terminator}, without the parentheses"
        return Diagnostic("function", f"there is no function '{name}'", span, hint)
    if stop.open:
        close = did_you_mean(name, [*FUNCTIONS, *aggregate_names()])
        return Diagnostic(
            "function", f"there is no function '{name}'", span, close or f"there are {', '.join(built_in_names())}"
        )
    if any(token.type == "WHERE" for token in stop.before):
        return Diagnostic("function", f"there is no function '{name}'", span, did_you_mean(name, FUNCTIONS))
    choices = ", ".join(f"{policy.value} {name}(..)" for policy in Policy)
    hint = f"say which to take: {choices}, or not {name}(..)"
    return Diagnostic("syntax", f"the event '{name}' stands here without a selection", span, hint)


_ELSEWHERE = (
    dict.fromkeys(("iif", "iff", "case", "decode"), NO_CHOICE)
    | dict.fromkeys(("ifnull", "nvl", "isnull"), "write coalesce(x, -1): the first value that is defined")
    | dict.fromkeys(("now", "current_timestamp", "sysdate"), "'time' is the time of the event; a window looks back")
    | {"power": "write pow(x, y)", "log": "write ln(x) or log10(x)", "signum": "write sign(x)"}
    | dict.fromkeys(("substr", "substring", "left", "right"), "write starts_with(s, '..'), ends_with or matches")
    | dict.fromkeys(("regexp_like", "regexp_matches", "rlike", "like"), "write matches(s, '..')")
    | {"len": "write length(s)", "char_length": "write length(s)", "startswith": "write starts_with(s, '..')"}
    | {"endswith": "write ends_with(s, '..')", "strip": "write trim(s)"}
)
"""Functions of other languages, and what is written here instead."""


def _from_elsewhere(stop: ParserStop) -> str | None:
    """Say what to write for a function, or a method, of another language."""
    name = stop.before[-1].lower()
    if len(stop.before) > 2 and stop.before[-2].type == "DOT":
        close = did_you_mean(name, FUNCTIONS)
        known = close.split("'")[1] if close else name if name in FUNCTIONS else None
        return f"functions have no dot before them: {known}({stop.before[-3]}, ..)" if known else None
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


def _hint(stop: ParserStop, source: Source) -> str | None:
    if stop.before and stop.before[0].type == "NETWORK":
        return _hint_in_belief(stop)
    if stop.open and stop.kind == "NAME" and stop.previous in TERMINALS:
        place = next(place for place, token in enumerate(stop.before) if token is stop.open[-1])
        if len(stop.open) == 1 and stop.before[place - 1].type == "_AND":
            return "events do not stand in parentheses; for one event or another, write two rules"
        return _unclosed(stop, source)  # the pattern goes on although the event before has not ended
    return (
        hint_from_other_language(stop)
        or _hint_on_word(stop)
        or _hint_on_place(stop)
        or _hint_on_parenthesis(stop, source)
    )


def _hint_in_belief(stop: ParserStop) -> str | None:
    kind, accepts = stop.kind, stop.accepts
    if "LBRACE" in accepts and "GIVEN" not in accepts and kind in ("INTEGER", "FLOAT"):
        return "say how likely each state is: YES: {YES: 0.9, NO: 0.1}"
    if kind == "NAME" and "NODE" in accepts:
        return did_you_mean(stop.token.lower(), ["node", "observe", "from"]) or "nodes are written node NAME .."
    if kind == "$END" and "RBRACE" in accepts:
        return "a '{' is not closed"
    return None


def _hint_on_word(stop: ParserStop) -> str | None:
    """Recognise a mistake by the word itself."""
    kind, accepts, text = stop.kind, stop.accepts, stop.token.lower()
    if text in ("select", "when", "if") and not stop.before:
        return "a rule is written define .. from .."
    if text == "network" and not stop.before:
        return "a network is written network Fire { node .. }"
    if kind in ("LBRACE", "RBRACE") and (stop.open or "LPAR" in accepts):
        return "write ( )"
    if kind == "BETWEEN" and "WITHIN" in accepts:
        return "a selection takes a window; only 'not' and aggregates take an interval"
    if kind in TERMINALS and stop.previous == "FROM" and "NAME" in accepts:
        return "the first event is the terminator: every one counts, so it takes no selection"
    if kind == "DEFINE" and stop.previous == "RULE":
        return "name the rule, or leave out 'rule'"
    named = stop.previous in _BEFORE_NAMES or (stop.after is not None and stop.after.type in _AFTER_NAMES)
    if stop.is_word and named and "NAME" in accepts:
        word = stop.token
        return f"'{word}' is a word of the language; choose another name, or write it in backquotes: `{word}`"
    if kind == "NAME" and "NAME" not in accepts:
        return did_you_mean(text, [terminal.strip("_").lower() for terminal in accepts - _SIGNS - {"$END"}])
    return None


def _hint_on_place(stop: ParserStop) -> str | None:
    """Recognise a mistake by what is missing before the token."""
    kind, accepts = stop.kind, stop.accepts
    begins = kind != "NAME" or (stop.after is not None and stop.after.type in _GOES_ON)
    if "_AND" in accepts and kind in _STARTS_OPERAND and begins:
        return "'and' is missing before it"
    if "WITHIN" in accepts and kind in ("INTEGER", "FLOAT"):
        return "'within' is missing before it"
    if kind == "FROM" and stop.previous in ("INTEGER", "FLOAT"):
        return f"write the unit, such as {stop.before[-1]} min or {stop.before[-1]} s"
    if kind == "_AND" and "COMMA" in accepts:
        return "separate the names with commas"
    if kind == "LPAR" and _is_plain_name(stop) and stop.before[-2].type in ("FROM", "BETWEEN", "_AND"):
        return f"refer to the event by its name alone: {stop.before[-1]}"
    if "COLON" in accepts:
        return "write the attribute's type, such as value: double"
    if not stop.before:
        return did_you_mean(stop.token.lower(), ["define", "event", "rule", "network"])
    return None


def _hint_on_parenthesis(stop: ParserStop, source: Source) -> str | None:
    """Point at a parenthesis that is still open, where the text ends or a clause begins."""
    if stop.open and "RPAR" in stop.accepts and stop.kind in _CLAUSES | {"WITHIN", "FROM", "BETWEEN"}:
        return _unclosed(stop, source)
    return None


def _unclosed(stop: ParserStop, source: Source) -> str:
    span = span_of(source, stop.open[-1])
    return f"the '(' in line {span.line}, column {span.column} is not closed"
