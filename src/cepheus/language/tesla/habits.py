"""Habits from other languages, SQL and Python above all: what is written here instead.

Each hint is something that can be written today, in the words of the rule at hand as far as these can be told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from lark import Token

from cepheus.core.time import UNITS
from cepheus.language.tesla.literals import LiteralError, read_duration, read_string
from cepheus.language.tesla.situation import Situation

_Writer = Callable[[Situation, list[Token], bool], str]
"""Writes a hint for a word between values, given what follows it, and whether ``not`` stands before it."""

_ENDS_VALUE = frozenset({"NAME", "PARAMETER", "STRING", "INTEGER", "FLOAT", "PERCENTAGE", "RPAR", "TRUE", "FALSE"})
_INTRODUCES = frozenset({"FROM", "EACH", "LAST", "FIRST", "COUNTED", "NOT", "AS"})
_NUMBERS = frozenset({"INTEGER", "FLOAT"})
_PLAIN = re.compile(r"[\w ]*")
"""A text in which no sign has a meaning in regular expressions."""

TWO_RULES = "write two rules"
NO_CHOICE = "there is no choice between values: write two rules, one for each case"
WHERE_ASSIGNS = (
    "'where' gives the new event its attributes; a condition goes into the parentheses of an event: A(x > 3)"
)


def habit(situation: Situation) -> str | None:
    """Give what to write instead of a habit, if one can be recognised."""
    if situation.previous in _ENDS_VALUE and (found := _behind_a_value(situation)):
        return found
    if situation.kind == "NOT" and situation.open:
        return _opposite(situation)
    if situation.open or situation.in_where:
        return _sign_in_expression(situation)
    return _in_pattern(situation)


# ---- Between values ------------------------------------------------------------------------------------------------


def _behind_a_value(situation: Situation) -> str | None:
    """Recognise words that other languages write between values."""
    word = situation.word
    if situation.kind not in ("NAME", "NOT", "BETWEEN"):
        return _sign_behind_a_value(situation)
    if situation.previous in _NUMBERS and situation.kind == "NAME" and (situation.open or situation.in_where):
        return _unit(situation)
    if not situation.open:
        return WHERE_ASSIGNS if situation.in_where and word in _BETWEEN_VALUES else None
    negated = situation.kind == "NOT" and situation.after is not None
    if negated:
        word = situation.rest[0].lower()
    if word not in _BETWEEN_VALUES:
        return None
    return _BETWEEN_VALUES[word](situation, situation.rest[1:] if negated else situation.rest, negated)


def _one_of(situation: Situation, rest: list[Token], negated: bool) -> str:
    left, values = situation.left, []
    for token in rest[1:]:
        if token.type not in ("STRING", "INTEGER", "FLOAT", "COMMA"):
            break
        values += [token] if token.type != "COMMA" else []
    if negated:
        others = " and ".join(f"{left} != {value}" for value in values[:4])
        return f"there is no 'not in': write {others or f'{left} != ..'}"
    texts = [read_string(value) if value.type == "STRING" and "\\" not in value else "()" for value in values[:4]]
    if texts and all(_PLAIN.fullmatch(text) for text in texts):
        return f"there is no 'in': write matches({left}, '{'|'.join(texts)}'), or a rule for each value"
    return f"there is no 'in': write a rule for each value, or for texts matches({left}, 'one|other')"


def _null(situation: Situation, rest: list[Token], negated: bool) -> str:
    left = situation.left
    if negated or any(token.type == "NOT" for token in rest[:1]):
        return f"an undefined value makes every comparison fail: write {left} = {left} to ask that there is one"
    return f"give it a value that it never has, and ask for that: coalesce({left}, -1) = -1, or with '' for a text"


def _like(situation: Situation, rest: list[Token], negated: bool) -> str:
    told = rest and rest[0].type == "STRING" and not set(rest[0][1:-1]) & set("\\'")
    pattern = read_string(rest[0]) if told else "a%"
    left, end = situation.left, " = false" if negated else ""
    if situation.word == "ilike":
        left, pattern = f"lower({left})", pattern.lower()
    inner = pattern.strip("%")
    if not inner or set(inner) & set("_%"):
        signs = {"%": ".*", "_": "."}
        written = "".join(signs.get(sign, sign if sign.isalnum() or sign == " " else f"\\\\{sign}") for sign in pattern)
        return f"write matches({left}, '{written}'){end}: . is any character, .* any text"
    functions = {(False, True): "starts_with", (True, False): "ends_with", (True, True): "contains"}
    name = functions.get((pattern.startswith("%"), pattern.endswith("%")))
    if name is None:
        return f"write {left} {'!=' if negated else '='} '{inner}'"
    return f"write {name}({left}, '{inner}'){end}"


def _call(name: str) -> _Writer:
    def write(situation: Situation, rest: list[Token], negated: bool) -> str:
        text = next((token for token in rest[:2] if token.type == "STRING"), "'..'")
        return f"write {name}({situation.left}, {text}){' = false' if negated else ''}"

    return write


def _range(situation: Situation, rest: list[Token], negated: bool) -> str:
    left = situation.left
    told = len(rest) > 2 and rest[1].type == "_AND" and {rest[0].type, rest[2].type} <= _NUMBERS | {"PARAMETER"}
    low, high = (rest[0], rest[2]) if told else ("low", "high")
    if negated:
        return f"{TWO_RULES}, one with {left} < {low} and one with {left} > {high}"
    return f"write {low} <= {left} <= {high}"


def _either(_situation: Situation, _rest: list[Token], _negated: bool) -> str:
    return f"there is no 'or': {TWO_RULES}"


_BETWEEN_VALUES: dict[str, _Writer] = (
    {"in": _one_of, "is": _null, "isnull": _null, "between": _range, "or": _either, "like": _like, "ilike": _like}
    | dict.fromkeys(("matches", "regexp", "rlike", "regex", "similar", "glob", "match"), _call("matches"))
    | dict.fromkeys(("contains", "includes", "has"), _call("contains"))
    | dict.fromkeys(("starts_with", "startswith", "starts"), _call("starts_with"))
    | dict.fromkeys(("ends_with", "endswith", "ends"), _call("ends_with"))
)


def _unit(situation: Situation) -> str | None:
    """A number with a unit of time, which stands behind ``within`` alone."""
    if situation.word not in UNITS:
        return _number(situation)
    try:
        length = read_duration(situation.before[-1], situation.token)
    except LiteralError:
        return None
    constraint = _constraint(situation)
    compared = [token.lower() for token in constraint[:-2]]
    if "time" in compared and "-" not in compared:
        since = f"between two times lie microseconds: A.time - B.time > {length}"
        return f"a time is compared with a time, such as timestamp '2026-01-31T12:00:00Z'; {since}"
    if "time" in compared:
        return f"a time minus a time is a number of microseconds: write {length}"
    return f"units stand behind 'within' alone: write the number, which is {length} if the other is in microseconds"


def _number(situation: Situation) -> str | None:
    """Numbers as Python writes them."""
    digits = f"{situation.before[-1]}{situation.token}"
    if situation.touches() and re.fullmatch(r"\d[\d_]*|0x[0-9A-Fa-f]+", digits):
        return f"write {int(digits, 0) if digits.startswith('0x') else digits.replace('_', '')}"
    return None


def _constraint(situation: Situation) -> list[Token]:
    """Give the tokens of the constraint before the token at hand."""
    start = len(situation.before)
    while start and situation.before[start - 1].type not in ("_AND", "COMMA", "LPAR", "WHERE"):
        start -= 1
    return situation.before[start:]


def _sign_behind_a_value(situation: Situation) -> str | None:
    if situation.kind == "STRING" and situation.previous == "STRING" and situation.touches():
        return "a quotation mark in a string is written \\'"
    if situation.kind == "DOT" and situation.previous == "NAME" and situation.after is not None:
        event, _, name = situation.left.rpartition(".")
        known = event in [token for before, token in pairwise(situation.before) if before.type in _INTRODUCES]
        inner = f"{name}_{situation.after}" if known or not event else f"{event}_{name}_{situation.after}"
        return f"an attribute has no dot in its name: let the data call it {inner}"
    if situation.kind == "TILDE" and situation.open:
        return _call("matches")(situation, situation.rest, False)
    if situation.kind == "COLON" and situation.open and "FROM" in [token.type for token in situation.before]:
        return f"write {situation.left} = .., or matches({situation.left}, '..')"
    if situation.in_where and not situation.open:
        if situation.kind == "AS" and situation.after is not None:
            return f"write {situation.after} = {situation.left}"
        if situation.kind == "COLON":
            return "write ="
        if situation.kind == "COMPARATOR":
            compared = any(token.type == "EQUALS" for token in _constraint(situation))
            return NO_CHOICE if compared else WHERE_ASSIGNS
        if situation.kind == "QUESTION":
            return NO_CHOICE
    return None


# ---- In expressions ------------------------------------------------------------------------------------------------


def _opposite(situation: Situation) -> str:
    """``not`` before a condition."""
    after = situation.after
    if after is not None and after.type == "FUNCTION":
        depth = 0
        for token in situation.rest:
            depth += (token.type == "LPAR") - (token.type == "RPAR")
            if token.type == "RPAR" and depth == 0:
                return f"write {situation.written(after, token)} = false"
    following = situation.rest[1].type if len(situation.rest) > 1 else ""
    if after is not None and after.type == "NAME" and following in ("RPAR", "_AND", "COMMA"):
        return f"write {after} = false"
    return "write the opposite comparison, such as != or <="


def _sign_in_expression(situation: Situation) -> str | None:
    kind, previous = situation.kind, situation.previous
    if kind in ("EQUALS", "COMPARATOR") and previous in ("EQUALS", "COMPARATOR") and situation.touches():
        return "comparisons are =, !=, <, <=, > and >="
    if kind == "TILDE" and previous == "EQUALS" and len(situation.before) > 1:
        left = Situation(situation.source, situation.token, situation.before[:-1], [], frozenset(), []).left
        return f"write matches({left}, {situation.after or '..'})"
    if kind in ("COLON", "QUESTION") and "PARAMETER" in situation.accepts:
        name = situation.after if situation.after is not None and situation.after.type == "NAME" else "name"
        return f"a parameter is written ${name}"
    if kind == "STAR" and previous == "STAR":
        return "a power is written as a product: x * x"
    if kind == "STAR" and previous == "LPAR" and situation.before[-2].type == "AGGREGATE":
        return f"say which events: {situation.before[-2]}(B() within 5 min from {situation.terminator})"
    if kind == "NAME" and situation.word == "when" and situation.in_where:
        return NO_CHOICE
    return None


# ---- Between the events of a pattern -------------------------------------------------------------------------------

_LATER_FIRST = "the later event comes first, and looks back: from B() and last A() within 5 min from B"
_ABSENT = frozenset({"no", "without", "never", "exists"})
_FOLLOWS = frozenset({"followed", "followedby", "then", "seq", "next", "before", "after", "until"})


def _in_pattern(situation: Situation) -> str | None:
    kinds = [token.type for token in situation.before]
    if "FROM" not in kinds:
        return _in_head(situation)
    kind, word, first = situation.kind, situation.word, situation.terminator
    if "FROM" in situation.accepts and "WITHIN" in kinds[-4:]:
        if word == "after":
            return _LATER_FIRST
        return f"say which event the window ends at: {_window(situation)} from {first}"
    if situation.previous == "WITHIN":
        if kind == "STRING":
            return f"write it without quotation marks: within {situation.token[1:-1]} from {first}"
        return f"write a number and a unit: within 5 min from {first}"
    if kind == "COLON" and situation.previous in _NUMBERS:
        return f"write a number and a unit: within 5 min from {first}"
    if (
        kind == "WITHIN"
        and len(kinds) > 1
        and "WITHIN" not in kinds
        and not set(kinds) & {"EACH", "LAST", "FIRST", "NOT"}
    ):
        return (
            f"the first event has no window; the others have one: {first}(..) and last B(..) within 5 min from {first}"
        )
    if kind == "COMMA":
        return f"every further event has its selection and its window: and last B(..) within 5 min from {first}"
    if "WITHIN" in situation.accepts and "BETWEEN" in situation.accepts and situation.previous == "RPAR":
        return f"say in which window: within 5 min from {first}"
    if word in _FOLLOWS or (kind == "MINUS" and situation.after == ">"):
        return _LATER_FIRST
    if word == "in" and "WITHIN" in situation.accepts:
        return "write 'within'"
    if word == "group":
        return f"bind what they have in common: {first}(key=$k) and $n = Count(B(key=$k) within 5 min from {first})"
    if word == "having":
        return f"compare the aggregate in the pattern: and Count(B(..) within 5 min from {first}) > 3"
    return _selection(situation)


def _selection(situation: Situation) -> str | None:
    """A selection in other words than ``each``, ``last`` and ``first``."""
    kind, first = situation.kind, situation.terminator
    before = situation.before[-1].lower() if situation.before else ""
    window = f"within 5 min from {first}"
    if kind == "INTEGER" and situation.previous in ("LAST", "FIRST"):
        return f"the number comes first: {situation.token} {before} B(..)"
    if kind != "NAME":
        return None
    if situation.previous == "INTEGER" and "LAST" in situation.accepts:
        count = situation.before[-1]
        return f"write {count} last {situation.token}(..), or {count} <= Count({situation.token}(..) {window})"
    if situation.previous == "NAME" and situation.before[-2].type in ("_AND", "NOT"):
        if before in _ABSENT:
            return f"write not {situation.token}(..) {window}"
        if before in ("any", "some", "all", "every", "distinct"):
            return f"write each {situation.token}(..), last {situation.token}(..) or first {situation.token}(..)"
        if before == "at":
            return f"count them: 3 <= Count(B(..) {window})"
    if situation.previous == "NAME" and situation.before[-2].type == "FROM":
        if before in ("any", "some", "all", "every", "distinct"):
            return "the first event is the terminator: every one counts, so it takes no selection"
        if situation.after is None or situation.after.type in ("_AND", "WHERE", "SEMICOLON", "$END"):
            return f"another name for the event is written {situation.before[-1]} as {situation.token}"
    return None


def _window(situation: Situation) -> str:
    place = max(place for place, token in enumerate(situation.before) if token.type == "WITHIN")
    return situation.written(situation.before[place], situation.before[-1])


def _in_head(situation: Situation) -> str | None:
    kinds = [token.type for token in situation.before]
    if situation.kind == "FROM" and kinds[-2:-1] == ["DEFINE"]:
        return f"write define {situation.before[-1]}() from .."
    if situation.kind == "COLON" and kinds[-2:] == ["RULE", "NAME"]:
        return "leave it out"
    return None
