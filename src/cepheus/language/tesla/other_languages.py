"""What people write from other languages, SQL and Python above all, and what is written in TESLA instead.

Each hint is something that can be written today, in the words of the rule at hand as far as these can be told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from lark import Token

from cepheus.language.common.literals import read_string
from cepheus.language.tesla.parser_stop import ParserStop
from cepheus.rules.policies import TERMINALS

_Writer = Callable[[ParserStop, list[Token], bool], str]
"""Writes a hint for a word between values, given what follows it, and whether ``not`` stands before it."""

_ENDS_VALUE = frozenset({"NAME", "PARAMETER", "STRING", "INTEGER", "FLOAT", "PERCENTAGE", "RPAR", "TRUE", "FALSE"})
_INTRODUCES = frozenset({"FROM", "COUNTED", "NOT", "AS"}) | TERMINALS
_NUMBERS = frozenset({"INTEGER", "FLOAT"})

NO_CHOICE = "a choice between two values is written if(condition, value, other)"
OR_IN_PARENTHESES = "conditions with 'or' stand in parentheses, and (a or b); for one event or another, write two rules"
WHERE_ASSIGNS = (
    "'where' gives the new event its attributes; a condition goes into the parentheses of an event: A(x > 3)"
)


def hint_from_other_language(stop: ParserStop) -> str | None:
    """What to write instead of something from another language, if that can be recognised where the parser stopped."""
    if stop.kind == "OR" and not stop.open and not stop.in_where:
        return OR_IN_PARENTHESES
    if stop.previous in _ENDS_VALUE and (found := _behind_a_value(stop)):
        return found
    if stop.previous == "NOT" and len(stop.before) > 1 and stop.before[-2].type in _ENDS_VALUE:
        if stop.word == "null":
            return f"write {replace(stop, before=stop.before[:-1]).left} is not null"
        return _behind_a_value(replace(stop, before=stop.before[:-1]), negated=True)
    if stop.open or stop.in_where:
        return _sign_in_expression(stop)
    return _in_pattern(stop)


# ---- Between values ------------------------------------------------------------------------------------------------


def _behind_a_value(stop: ParserStop, *, negated: bool = False) -> str | None:
    """Recognise words that other languages write between values."""
    word = stop.word
    if stop.kind not in ("NAME", "BETWEEN"):
        return _sign_behind_a_value(stop)
    if stop.previous in _NUMBERS and stop.kind == "NAME" and (stop.open or stop.in_where):
        return _number(stop)
    if not stop.open:
        return WHERE_ASSIGNS if stop.in_where and word in _BETWEEN_VALUES else None
    if word not in _BETWEEN_VALUES:
        return None
    return _BETWEEN_VALUES[word](stop, stop.rest, negated)


def _one_of(stop: ParserStop, _rest: list[Token], negated: bool) -> str:
    return f"the values stand in parentheses: {stop.left} {'not ' if negated else ''}in (1, 2)"


def _null(stop: ParserStop, rest: list[Token], negated: bool) -> str:
    if negated or any(token.type == "NOT" for token in rest[:1]):
        return f"write {stop.left} is not null, or {stop.left} != .."
    return f"write {stop.left} is null, or {stop.left} = .."


def _like(stop: ParserStop, rest: list[Token], negated: bool) -> str:
    told = rest and rest[0].type == "STRING" and not set(rest[0][1:-1]) & set("\\'")
    pattern = read_string(rest[0]) if told else "a%"
    left, opposite = stop.left, "not " if negated else ""
    if stop.word == "ilike":
        left, pattern = f"lower({left})", pattern.lower()
    inner = pattern.strip("%")
    if not inner or set(inner) & set("_%"):
        signs = {"%": ".*", "_": "."}
        written = "".join(signs.get(sign, sign if sign.isalnum() or sign == " " else f"\\\\{sign}") for sign in pattern)
        return f"write {opposite}matches({left}, '{written}'): . is any character, .* any text"
    functions = {(False, True): "starts_with", (True, False): "ends_with", (True, True): "contains"}
    name = functions.get((pattern.startswith("%"), pattern.endswith("%")))
    if name is None:
        return f"write {left} {'!=' if negated else '='} '{inner}'"
    return f"write {opposite}{name}({left}, '{inner}')"


def _call(name: str) -> _Writer:
    def write(stop: ParserStop, rest: list[Token], negated: bool) -> str:
        text = next((token for token in rest[:2] if token.type == "STRING"), "'..'")
        return f"write {'not ' if negated else ''}{name}({stop.left}, {text})"

    return write


def _range(stop: ParserStop, rest: list[Token], negated: bool) -> str:
    left = stop.left
    told = len(rest) > 2 and rest[1].type == "_AND" and {rest[0].type, rest[2].type} <= _NUMBERS | {"PARAMETER"}
    low, high = (rest[0], rest[2]) if told else ("low", "high")
    if negated:
        return f"write {left} < {low} or {left} > {high}"
    return f"write {low} <= {left} <= {high}"


_BETWEEN_VALUES: dict[str, _Writer] = (
    {"in": _one_of, "is": _null, "isnull": _null, "between": _range, "like": _like, "ilike": _like}
    | dict.fromkeys(("matches", "regexp", "rlike", "regex", "similar", "glob", "match"), _call("matches"))
    | dict.fromkeys(("contains", "includes", "has"), _call("contains"))
    | dict.fromkeys(("starts_with", "startswith", "starts"), _call("starts_with"))
    | dict.fromkeys(("ends_with", "endswith", "ends"), _call("ends_with"))
)


def _number(stop: ParserStop) -> str | None:
    """Numbers as Python writes them."""
    digits = f"{stop.before[-1]}{stop.token}"
    if stop.touches() and re.fullmatch(r"\d[\d_]*|0x[0-9A-Fa-f]+", digits):
        return f"write {int(digits, 0) if digits.startswith('0x') else digits.replace('_', '')}"
    return None


def _constraint(stop: ParserStop) -> list[Token]:
    """The tokens of the constraint before the token at hand."""
    start = len(stop.before)
    while start and stop.before[start - 1].type not in ("_AND", "COMMA", "LPAR", "WHERE"):
        start -= 1
    return stop.before[start:]


def _sign_behind_a_value(stop: ParserStop) -> str | None:
    if stop.kind == "STRING" and stop.previous == "STRING" and stop.touches():
        return "a quotation mark in a string is written \\'"
    if stop.kind == "DOT" and stop.previous == "NAME" and stop.after is not None:
        event, _, name = stop.left.rpartition(".")
        known = event in [token for before, token in pairwise(stop.before) if before.type in _INTRODUCES]
        inner = f"{event}.`{name}.{stop.after}`" if known else f"`{stop.left}.{stop.after}`"
        return f"a name with dots stands in backquotes: {inner}"
    if stop.kind == "TILDE" and stop.open:
        return _call("matches")(stop, stop.rest, False)
    if stop.kind == "COLON" and stop.open and "FROM" in [token.type for token in stop.before]:
        return f"write {stop.left} = .., or matches({stop.left}, '..')"
    if stop.in_where and not stop.open:
        if stop.kind == "AS" and stop.after is not None:
            return f"write {stop.after} = {stop.left}"
        if stop.kind == "COLON":
            return "write ="
        if stop.kind == "COMPARATOR":
            compared = any(token.type == "EQUALS" for token in _constraint(stop))
            return NO_CHOICE if compared else WHERE_ASSIGNS
        if stop.kind == "QUESTION":
            return NO_CHOICE
    return None


# ---- In expressions ------------------------------------------------------------------------------------------------


def _sign_in_expression(stop: ParserStop) -> str | None:
    kind, previous = stop.kind, stop.previous
    if kind in ("EQUALS", "COMPARATOR") and previous in ("EQUALS", "COMPARATOR") and stop.touches():
        return "comparisons are =, !=, <, <=, > and >="
    if kind == "TILDE" and previous == "EQUALS" and len(stop.before) > 1:
        left = ParserStop(stop.source, stop.token, stop.before[:-1], [], frozenset(), []).left
        return f"write matches({left}, {stop.after or '..'})"
    if kind in ("COLON", "QUESTION") and "PARAMETER" in stop.accepts:
        name = stop.after if stop.after is not None and stop.after.type == "NAME" else "name"
        return f"a parameter is written ${name}"
    if kind == "STAR" and previous == "STAR":
        return "a power is written pow(x, 2)"
    if kind == "STAR" and previous == "LPAR" and stop.before[-2].type == "AGGREGATE":
        return f"say which events: {stop.before[-2]}(B() within 5 min from {stop.terminator})"
    if kind == "NAME" and stop.word == "when" and stop.in_where:
        return NO_CHOICE
    if kind == "INTEGER" and previous == "LPAR" and stop.before[-2].lower() in ("last", "first"):
        return f"the number comes first: {stop.token} {stop.before[-2].lower()} B(..)"
    if "FROM" not in [token.type for token in stop.before]:
        return None
    return _in_aggregate(stop)


def _in_aggregate(stop: ParserStop) -> str | None:
    """Words of SQL inside the parentheses of an aggregate."""
    first = stop.terminator
    if stop.word == "per" and "WITHIN" in stop.accepts:
        window = f"within 5 min from {first}"
        return f"bind the group: last B(room=$r) per room {window} and $n = Count(B(room=$r) {window})"
    if stop.previous == "NAME" and stop.before[-1].lower() == "distinct" and stop.kind == "NAME":
        return f"write CountDistinct({stop.token}(..).x within 5 min from {first})"
    return None


# ---- Between the events of a pattern -------------------------------------------------------------------------------

_LATER_FIRST = "the later event comes first, and looks back: from B() and last A() within 5 min from B"
_ABSENT = frozenset({"no", "without", "never"})
_PERIODS = frozenset({"second", "minute", "hour", "day", "week"})
_FOLLOWS = frozenset({"followed", "followedby", "then", "seq", "next", "before", "after", "until"})


def _in_pattern(stop: ParserStop) -> str | None:
    kinds = [token.type for token in stop.before]
    if "FROM" not in kinds:
        return _in_head(stop)
    kind, word, first = stop.kind, stop.word, stop.terminator
    if "FROM" in stop.accepts and "WITHIN" in kinds[-4:]:
        if kind in _NUMBERS:
            return f"a length of time has one unit, such as 90 min: {_window(stop)} from {first}"
        return f"say which event the window ends at: {_window(stop)} from {first}"
    if stop.previous == "WITHIN":
        if kind == "STRING":
            return f"write it without quotation marks: within {stop.token[1:-1]} from {first}"
        return f"write a number and a unit: within 5 min from {first}"
    if kind == "COLON" and stop.previous in _NUMBERS:
        return f"write a number and a unit: within 5 min from {first}"
    if kind == "WITHIN" and len(kinds) > 1 and "WITHIN" not in kinds and not set(kinds) & (TERMINALS | {"NOT"}):
        return (
            f"the first event has no window; the others have one: {first}(..) and last B(..) within 5 min from {first}"
        )
    if kind == "COMMA":
        return f"every further event has its selection and its window: and last B(..) within 5 min from {first}"
    if "WITHIN" in stop.accepts and "BETWEEN" in stop.accepts and stop.previous == "RPAR":
        return f"say in which window: within 5 min from {first}"
    if word in _FOLLOWS or (kind == "MINUS" and stop.after == ">"):
        return _LATER_FIRST
    if word == "in" and "WITHIN" in stop.accepts:
        return "write 'within'"
    if word == "group":
        return f"bind what they have in common: {first}(key=$k) and $n = Count(B(key=$k) within 5 min from {first})"
    if word == "having":
        return f"compare the aggregate in the pattern: and Count(B(..) within 5 min from {first}) > 3"
    if word == "per" and "BY" in stop.accepts:
        return "say what the groups are ranked by, and then which groups: 10 top Trip(route=$r) by $n per route"
    if word == "per" and "EVERY" in kinds:
        return "a choice has groups: and last B(..) per room within 10 min from now"
    if word == "since":
        return f"only aggregates go back to the start; give it a long window: within 365 days from {first}"
    if stop.previous == "AFTER" and kind in TERMINALS:
        waiting = "5 min after A(..) and not A(..) as Later between A and now"
        return f"every A sets a time of its own; to wait from the last one: {waiting}"
    if "WITHIN" in stop.accepts and kind in ("WHERE", "CONSUMING", "_AND", "SEMICOLON", "$END"):
        return f"say in which window: within 5 min from {first}"
    return _selection(stop)


def _selection(stop: ParserStop) -> str | None:
    """A selection in other words than ``each``, ``last`` and ``first``."""
    kind, first = stop.kind, stop.terminator
    before = stop.before[-1].lower() if stop.before else ""
    window = f"within 5 min from {first}"
    if kind == "INTEGER" and stop.previous in ("LAST", "FIRST"):
        return f"the number comes first: {stop.token} {before} B(..)"
    if kind == "INTEGER" and stop.previous == "NAME":
        return _number_behind(before, stop)
    if kind != "NAME":
        return None
    if stop.previous == "INTEGER" and "LAST" in stop.accepts:
        count = stop.before[-1]
        return f"write {count} last {stop.token}(..), or {count} <= Count({stop.token}(..) {window})"
    if stop.previous == "NAME" and stop.before[-2].type in ("_AND", "NOT"):
        if before == "exists":
            return f"write last {stop.token}(..) {window}, or not {stop.token}(..) for what must not be there"
        if before in _ABSENT:
            return f"write not {stop.token}(..) {window}"
        if before in ("any", "some", "all", "every", "distinct"):
            return f"write each {stop.token}(..), last {stop.token}(..) or first {stop.token}(..)"
        if before == "at":
            return f"count them: 3 <= Count(B(..) {window})"
    if stop.previous == "NAME" and stop.before[-2].type == "FROM":
        if before == "every" and stop.word in _PERIODS:
            return f"write how many: every 1 {stop.token}; from 09:00 says when it begins"
        if before in ("any", "some", "all", "every", "distinct"):
            return "the first event is the terminator: every one counts, so it takes no selection"
        if stop.after is None or stop.after.type in ("_AND", "WHERE", "SEMICOLON", "$END"):
            return f"another name for the event is written {stop.before[-1]} as {stop.token}"
    return None


def _number_behind(word: str, stop: ParserStop) -> str | None:
    """A number behind a word that it should stand before, or that takes another form."""
    event = next((token for token in stop.rest if token.type == "NAME"), "B")
    match word:
        case "top":
            return f"the number comes first: {stop.token} top {event}(..) by .. within 5 min from {stop.terminator}"
        case "all":
            number = stop.token
            return f"write all {number}.. {event}(..) for at least so many, all {number}..{number} for exactly so many"
        case "after":
            return "write 5 min after A(..)"
        case _:
            return None


def _window(stop: ParserStop) -> str:
    place = max(place for place, token in enumerate(stop.before) if token.type == "WITHIN")
    return stop.written(stop.before[place], stop.before[-1])


def _in_head(stop: ParserStop) -> str | None:
    kinds = [token.type for token in stop.before]
    if stop.kind == "FROM" and kinds[-2:-1] == ["DEFINE"]:
        return f"write define {stop.before[-1]}() from .."
    if stop.kind == "COLON" and kinds[-2:] == ["RULE", "NAME"]:
        return "leave it out"
    return None
