"""SQL expressions to the model of expressions over rows: sqlglot reads them, this gives them their meaning.

sqlglot does not know RUNNING and FINAL, and has other ideas of FIRST, LAST and some functions; these words are blanked
or replaced by others of the same length before it reads the text, so that all places stay what they are. What it reads
beyond what is given a meaning here is refused, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from cepheus.core.errors import CepheusError, did_you_mean
from cepheus.core.source import Source, Span
from cepheus.core.time import UNITS, duration_of, parse_time
from cepheus.core.values import INT_MAX, ValueType
from cepheus.language.sql.scan import Word
from cepheus.language.sql.vocabulary import (
    AGGREGATES,
    BINARY,
    BOOL_AND,
    BOOL_OR,
    CALLED_OTHERWISE,
    TYPES,
    UNDERSTOOD,
)
from cepheus.rules.check.findings import Findings
from cepheus.rules.functions import FUNCTIONS, built_in_names
from cepheus.rules.rows.evaluate import null_without_row
from cepheus.rules.rows.expressions import (
    HERE,
    Aggregated,
    At,
    Case,
    Cast,
    Classifier,
    Column,
    FunctionCall,
    Literal,
    MatchNumber,
    Operation,
    Operator,
    RowExpression,
    truth_by_counts,
    walk,
)

_FIRST, _LAST = "_IRST", "_AST"
_MODES = "RUNNING and FINAL stand before FIRST, LAST or an aggregate"
_NAVIGATION = {"PREV", "NEXT", _FIRST, _LAST}
_BY = ("max_by", "min_by")
"""Aggregates of which sqlglot does not tell where they begin."""
_OTHERWISE = {"max": "greatest", "min": "least", "if": "if"}
"""Functions that are called by another name than in rules, or by words of SQL."""
_STAND_INS = {
    name.upper(): f"_{name[1:].upper()}"
    for name in ("first", "last", *_BY, *(each for each in built_in_names() if each not in _OTHERWISE))
}
"""What is written for these words where a parenthesis follows; functions are then called as they are in rules."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may use: the variables by name with what each stands for, and where it stands.

    Without variables it is one over the columns given (SELECT, WHERE), whose table may be called ``alias``.
    """

    variables: Mapping[str, tuple[str, ...]] | None
    may_be_final: bool = True
    alias: str | None = None


class _Wrong(Exception):  # noqa: N818  # never leaves this module
    """Something that cannot be built; the finding has been noted."""


def build_expression(
    words: Sequence[Word], source: Source, scope: Scope, findings: Findings, what: str
) -> RowExpression | None:
    """The expression that words hold; None, with findings, if they hold none."""
    if not words:
        return None
    start, end = words[0].start, words[-1].end
    text = list(source.text[start:end])
    final: dict[int, bool] = {}
    for word, following, opening in zip(words, words[1:], words[2:], strict=False):
        if word.upper in ("RUNNING", "FINAL") and following.kind == "name" and opening.text == "(":
            text[word.start - start : word.end - start] = " " * len(word.text)
            final[following.start - start] = word.upper == "FINAL"
        if word.upper in _STAND_INS and following.text == "(":
            text[word.start - start : word.end - start] = _STAND_INS[word.upper]
    for word in words:
        if word.text.startswith("`"):
            text[word.start - start], text[word.end - 1 - start] = '""'
    try:
        tree = sqlglot.parse_one("".join(text), read="trino")
    except SqlglotError as error:
        findings.error("syntax", *_syntax(error, source, start, end, what))
        return None
    builder = _Builder(source, start, scope, findings, final)
    try:
        built = builder.build(tree)
    except _Wrong:
        return None
    for place, is_final in builder.modes.items():
        mode = "FINAL" if is_final else "RUNNING"
        word = next(each for each in words if each.start == start + place)
        span = Span(source, word.start, word.end)
        findings.error("navigation", f"{mode} cannot stand before {word.text}", span, _MODES)
    return built


def _syntax(error: SqlglotError, source: Source, start: int, end: int, what: str) -> tuple[str, Span, str | None]:
    found = (getattr(error, "errors", None) or [{}])[0]
    before, marked = found.get("start_context"), found.get("highlight")
    span = Span(source, start, end)
    if before is not None and marked:
        place = start + min(len(before), end - start - 1)
        span = Span(source, place, min(end, place + len(marked)))
    return f"this {what} is not an expression of SQL", span, None


class _Builder:
    """Walks a tree of sqlglot."""

    def __init__(
        self, source: Source, offset: int, scope: Scope, findings: Findings, final: Mapping[int, bool]
    ) -> None:
        self._source, self._offset, self._scope, self._findings = source, offset, scope, findings
        self.modes = dict(final)
        """What RUNNING (False) and FINAL (True) stand before, by its place; taken out when it is built."""

    def build(self, tree: exp.Expr) -> RowExpression:
        """The expression of a tree, at the row at hand or at the last row of its variable."""
        return self._build(tree, At())

    def _fail(self, code: str, message: str, tree: exp.Expr, hint: str | None = None) -> _Wrong:
        self._findings.error(code, message, self._span(tree), hint)
        return _Wrong()

    def _build(self, tree: exp.Expr, at: At | None) -> RowExpression:
        span = self._span(tree)
        kind = type(tree)
        self._require_understood(tree)
        if kind in BINARY:
            operands = (self._build(tree.this, at), self._build(tree.expression, at))
            built = Operation(BINARY[kind], operands, span)
            return Operation(Operator.NOT, (built,), span) if tree.args.get("negate") else built
        if _aggregate_of(tree) is not None or isinstance(tree, exp.Filter | exp.CountIf):
            return self._aggregate(tree, at)
        if isinstance(tree, exp.Anonymous):
            return self._named_call(tree, at)
        if isinstance(tree, exp.Column):
            return self._column(tree, at)
        if isinstance(tree, exp.Func) and not isinstance(tree, exp.Cast | exp.Case | exp.If | exp.Nullif):
            return self._call(tree, at)
        return self._other(tree, at)

    def _require_understood(self, tree: exp.Expr) -> None:
        """Refuse what the parser read and nobody here looks at, such as SYMMETRIC of BETWEEN."""
        if isinstance(tree, exp.Alias):
            hint = _MODES if _is_mode(tree.this) else None
            raise self._fail("syntax", f"'{tree.alias}' cannot stand behind '{tree.this.sql()}'", tree, hint)
        known = {"this", "expression", "expressions", *UNDERSTOOD.get(type(tree), ())}
        more = [name for name, value in tree.args.items() if value and name not in known]
        if more:
            what = f"'{more[0]}' of {tree.key.upper()}".replace("_", " ")
            raise self._fail("unsupported", f"{what} is not part of these expressions", tree, _what_there_is())

    def _other(self, tree: exp.Expr, at: At | None) -> RowExpression:
        span = self._span(tree)

        def inner(part: exp.Expr) -> RowExpression:
            return self._build(part, at)

        match tree:
            case exp.Paren():
                return inner(tree.this)
            case exp.Not():
                return Operation(Operator.NOT, (inner(tree.this),), span)
            case exp.Neg():
                return Operation(Operator.NEGATIVE, (inner(tree.this),), span)
            case exp.Is() if isinstance(tree.expression, exp.Null):
                return Operation(Operator.IS_NULL, (inner(tree.this),), span)
            case exp.Is() if isinstance(tree.expression, exp.Boolean):
                return Operation(Operator.SAME, (inner(tree.this), inner(tree.expression)), span)
            case exp.NullSafeNEQ():
                same = Operation(Operator.SAME, (inner(tree.this), inner(tree.expression)), span)
                return Operation(Operator.NOT, (same,), span)
            case exp.Between():
                value = inner(tree.this)
                low = Operation(Operator.GREATER_OR_EQUAL, (value, inner(tree.args["low"])), span)
                high = Operation(Operator.LESS_OR_EQUAL, (value, inner(tree.args["high"])), span)
                return Operation(Operator.AND, (low, high), span)
            case exp.In() if tree.expressions:
                value = inner(tree.this)
                equal = tuple(Operation(Operator.EQUAL, (value, inner(each)), span) for each in tree.expressions)
                return equal[0] if len(equal) == 1 else Operation(Operator.OR, equal, span)
            case exp.Case() | exp.If() | exp.Nullif():
                return self._case(tree, at)
            case exp.Cast():
                return self._cast(tree, at)
            case exp.Null():
                return Literal(None, None, span)
            case exp.Boolean():
                return Literal(bool(tree.this), ValueType.BOOL, span)
            case exp.Literal():
                return self._literal(tree)
            case exp.Interval():
                return Literal(self.interval(tree), ValueType.INT, span)
            case _:
                raise self._fail(
                    "unsupported", f"{tree.key.upper()} is not part of these expressions", tree, _what_there_is()
                )

    def _case(self, tree: exp.Expr, at: At | None) -> RowExpression:
        span = self._span(tree)
        if isinstance(tree, exp.Nullif):
            value = self._build(tree.this, at)
            equal = Operation(Operator.EQUAL, (value, self._build(tree.expression, at)), span)
            return Case(((equal, Literal(None, None)),), value, span)
        branches = tree.args.get("ifs") if isinstance(tree, exp.Case) else [tree]
        default = tree.args.get("default" if isinstance(tree, exp.Case) else "false")
        subject = tree.this if isinstance(tree, exp.Case) else None
        pairs = []
        for branch in branches or ():
            condition = self._build(branch.this, at)
            if subject is not None:
                condition = Operation(Operator.EQUAL, (self._build(subject, at), condition), span)
            pairs.append((condition, self._build(branch.args["true"], at)))
        otherwise = Literal(None, None) if default is None else self._build(default, at)
        return Case(tuple(pairs), otherwise, span)

    def _cast(self, tree: exp.Cast, at: At | None) -> RowExpression:
        kind = TYPES.get(tree.to.this)
        if kind is None or (tree.to.expressions and not _is_precise(tree)):
            raise self._fail("type", f"there is no type {tree.to.sql()} here", tree)
        if tree.to.this is exp.DType.DATE and not isinstance(tree.this, exp.Literal):
            raise self._fail(
                "type", "only a text can be made a DATE", tree, "write DATE '2026-01-31', a time at midnight"
            )
        if kind is ValueType.TIMESTAMP and isinstance(tree.this, exp.Literal):
            try:
                return Literal(parse_time(tree.this.name), kind, self._span(tree))
            except ValueError:
                raise self._fail("time", f"'{tree.this.name}' is not a time", tree) from None
        return Cast(self._build(tree.this, at), kind, self._span(tree))

    def _literal(self, tree: exp.Literal) -> RowExpression:
        span, text = self._span(tree), str(tree.this)
        if tree.is_string:
            return Literal(text, ValueType.STRING, span)
        if text.isdigit():
            if int(text) > INT_MAX:
                raise self._fail("number", f"{text} does not fit in 64 bits", tree)
            return Literal(int(text), ValueType.INT, span)
        if isinf(float(text)):
            raise self._fail("number", f"{text} is beyond all doubles", tree)
        return Literal(float(text), ValueType.FLOAT, span)

    def interval(self, tree: exp.Interval) -> int:
        """The microseconds of an interval."""
        unit = tree.args.get("unit")
        length = None if unit is None else UNITS.get(str(unit.name).lower())
        if length is None or tree.this is None:
            raise self._fail("interval", "an interval has a number and a unit", tree, "write INTERVAL '5' MINUTE")
        try:
            return duration_of(tree.this.name, length)
        except (ValueError, CepheusError):
            raise self._fail("interval", f"'{tree.this.name}' is not a number of {unit}", tree) from None

    def _column(self, tree: exp.Column, at: At | None) -> RowExpression:
        span = self._span(tree)
        qualifier = tree.args.get("table")
        if tree.args.get("db") is not None or isinstance(tree.this, exp.Star):
            raise self._fail("column", "a column has one name, and a variable in front at most", tree)
        if self._scope.variables is None:
            if qualifier is not None and qualifier.name.lower() != (self._scope.alias or "").lower():
                raise self._fail("column", f"there is no table '{qualifier.name}' here", tree)
            return Column(tree.name, HERE, span)
        variables = None if qualifier is None else self._members(qualifier)
        return Column(tree.name, None if at is None else replace(at, variables=variables), span)

    def _members(self, name: exp.Identifier) -> tuple[str, ...]:
        assert self._scope.variables is not None
        key = name.name if name.quoted else name.name.upper()
        members = self._scope.variables.get(key)
        if members is None:
            hint = did_you_mean(key, self._scope.variables) or f"the variables are {', '.join(self._scope.variables)}"
            raise self._fail("variable", f"there is no variable '{key}' in the pattern", name, hint)
        return members

    def _named_call(self, tree: exp.Anonymous, at: At | None) -> RowExpression:
        name = str(tree.this).upper()
        if name in _NAVIGATION or name in ("CLASSIFIER", "MATCH_NUMBER"):
            if self._scope.variables is None:
                raise self._fail("navigation", f"{_shown(name)} has a meaning only inside MATCH_RECOGNIZE", tree)
            if name == "MATCH_NUMBER":
                return MatchNumber(self._span(tree))
            return self._classifier(tree, at) if name == "CLASSIFIER" else self._navigation(tree, at)
        function = _shown(name).lower()
        if function in FUNCTIONS:
            return self._checked_call(function, tuple(self._build(each, at) for each in tree.expressions), tree)
        hint = did_you_mean(name.lower(), FUNCTIONS) or _what_there_is()
        raise self._fail("function", f"there is no function '{tree.this}'", tree, hint)

    def _classifier(self, tree: exp.Anonymous, at: At | None) -> RowExpression:
        span = self._span(tree)
        if not tree.expressions:
            return Classifier(at, span)
        (argument,) = tree.expressions[:1]
        if len(tree.expressions) > 1 or not isinstance(argument, exp.Column) or argument.args.get("table") is not None:
            raise self._fail("navigation", "CLASSIFIER takes a variable, or nothing", tree)
        members = self._members(argument.this)
        return Classifier(None if at is None else replace(at, variables=members), span)

    def _navigation(self, tree: exp.Anonymous, at: At | None) -> RowExpression:
        name = str(tree.this).upper()
        if at is None:
            raise self._fail("navigation", f"{_shown(name)} cannot stand inside an aggregate", tree)
        allowed = (_FIRST, _LAST) if name in ("PREV", "NEXT") else ()
        for inner in tree.expressions[0].find_all(exp.Anonymous) if tree.expressions else ():
            if (called := str(inner.this).upper()) in _NAVIGATION and called not in allowed:
                hint = "PREV and NEXT may have FIRST or LAST inside, nothing else"
                raise self._fail("navigation", f"{_shown(called)} cannot stand here inside another", inner, hint)
        offset = self._offset_of(tree, 1 if name in ("PREV", "NEXT") else 0)
        final = self._is_final(tree)
        if name in ("PREV", "NEXT"):
            if final is not None:
                raise self._fail("navigation", f"{name} is neither RUNNING nor FINAL", tree, "say so of what is inside")
            inside = replace(at, physical=offset if name == "NEXT" else -offset)
        else:
            inside = replace(at, last=name == _LAST, logical=offset, final=bool(final))
        built = self._build(tree.expressions[0], inside)
        if any(isinstance(part, Aggregated) for part in walk(built)):
            raise self._fail("aggregate", f"an aggregate cannot stand inside {_shown(name)}", tree)
        self._require_one_variable([built], tree)
        found = null_without_row(built)
        if found is None:
            hint = f"go to a column, and compute outside: coalesce({name}(v), 0)"
            raise self._fail("navigation", "what stands in here has a value even where there is no row", tree, hint)
        return found

    def _offset_of(self, tree: exp.Anonymous, default: int) -> int:
        name = _shown(str(tree.this).upper())
        if not 1 <= len(tree.expressions) <= 2:
            raise self._fail("navigation", f"{name} takes a value and, if need be, a number of rows", tree)
        if len(tree.expressions) == 1:
            return default
        number = tree.expressions[1]
        if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdigit():
            raise self._fail("navigation", f"{name} needs a whole number of rows, 0 or more", number)
        return int(number.this)

    def _is_final(self, tree: exp.Expr) -> bool | None:
        final = self.modes.pop(tree.meta.get("start", -1), None)
        if final and not self._scope.may_be_final:
            raise self._fail("navigation", "FINAL cannot stand in DEFINE: the match is not over yet", tree)
        return final

    def _require_one_variable(self, built: Iterable[RowExpression], tree: exp.Expr) -> None:
        """All that is read inside one navigation or aggregate must be read of one variable."""
        read = [each for part in built for each in walk(part) if isinstance(each, Column | Classifier)]
        if not read:
            raise self._fail("navigation", "nothing in here is read from a row", tree, "name a column")
        if len({each.at for each in read}) > 1:
            raise self._fail("navigation", "all columns in here must be of one variable", tree)

    def _aggregate(self, tree: exp.Expr, at: At | None) -> RowExpression:
        if self._scope.variables is None or at != At():
            where = "here" if self._scope.variables is None else "inside of another, nor of PREV, NEXT, FIRST or LAST"
            raise self._fail("aggregate", f"an aggregate cannot stand {where}", tree)
        condition = None
        call = tree
        if isinstance(tree, exp.Filter):
            call, condition = tree.this, tree.expression.this
        if isinstance(call, exp.CountIf):
            condition, function, arguments = call.this, "count", []
        else:
            function = _aggregate_of(call) or ""
            if not function:
                raise self._fail("aggregate", "FILTER stands behind an aggregate", tree)
            given = (call.this, call.args.get("expression"), *call.expressions)
            arguments = [each for each in given if isinstance(each, exp.Expr)]
        distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = arguments[0].expressions
        final = self._is_final(call)
        variables: tuple[str, ...] | None = None
        if function == "count" and (len(arguments) > 1 or (distinct and _is_star(arguments[0]))):
            raise self._fail("aggregate", "count takes one value, or * without DISTINCT", tree)
        if function == "count" and arguments and _is_star(arguments[0]):
            qualifier = arguments[0].args.get("table")
            variables = None if qualifier is None else self._members(qualifier)
            arguments = []
        read = [part for part in (*arguments, condition) if part is not None]
        labels = {id(call.expressions[0]) for call in _labels(read)}
        columns = [each for part in read for each in part.find_all(exp.Column) if id(each) not in labels]
        named = {each.args["table"].name for each in columns if each.args.get("table") is not None}
        if (named or labels) and (len(named) > 1 or any(each.args.get("table") is None for each in columns)):
            raise self._fail("aggregate", "all columns of an aggregate must be of one variable", tree)
        if named:
            variables = self._members(
                next(each for each in columns if each.args.get("table") is not None).args["table"]
            )
        variables = self._of_classifiers(read, variables, tree)
        built = tuple(self._build(each, HERE) for each in arguments)
        kept = None if condition is None else self._build(condition, HERE)
        found = Aggregated(function, built, variables, bool(final), distinct, kept, self._span(tree))
        return truth_by_counts(found, either=function == BOOL_OR) if function in (BOOL_OR, BOOL_AND) else found

    def _of_classifiers(
        self, read: list[Any], variables: tuple[str, ...] | None, tree: exp.Expr
    ) -> tuple[str, ...] | None:
        """The variables of an aggregate over ``CLASSIFIER(U)``: those of ``U``, as for its columns."""
        found = {self._members(call.expressions[0].this) for call in _labels(read)}
        if variables is not None:
            found.add(variables)
        if len(found) > 1:
            raise self._fail("aggregate", "all columns of an aggregate must be of one variable", tree)
        return next(iter(found), None)

    def _call(self, tree: exp.Func, at: At | None) -> RowExpression:
        function = CALLED_OTHERWISE.get(type(tree))
        given = [tree.this, tree.args.get("expression"), *tree.expressions]
        if isinstance(tree, exp.Extract):
            function, given = str(tree.this.name).lower(), [tree.expression]
        elif isinstance(tree, exp.Concat):
            function, given = "concat", list(tree.expressions)
        if function not in FUNCTIONS:
            raise self._fail("function", f"there is no function {tree.sql_name()} here", tree, _what_there_is())
        arguments = tuple(self._build(each, at) for each in given if isinstance(each, exp.Expr))
        return self._checked_call(function, arguments, tree)

    def _checked_call(self, function: str, arguments: tuple[RowExpression, ...], tree: exp.Expr) -> RowExpression:
        record = FUNCTIONS[function]
        least = len(record.arguments)
        if len(arguments) < least or (len(arguments) > least and not record.variadic):
            plural = "" if least == 1 else "s"
            more = " or more" if record.variadic else ""
            raise self._fail("function", f"{function} takes {least}{more} argument{plural}", tree)
        return FunctionCall(function, arguments, self._span(tree))

    def _span(self, tree: exp.Expr) -> Span:
        """From the first to the last word of a tree that sqlglot has the place of."""
        places = [each.meta for each in tree.walk() if "start" in each.meta]
        if not places:
            return Span(self._source, self._offset, self._offset)
        start = min(place["start"] for place in places)
        end = max(place["end"] for place in places) + 1
        return Span(self._source, self._offset + start, self._offset + end)


def _aggregate_of(tree: exp.Expr) -> str | None:
    """The name of the aggregate that a call is of, None if it is of none."""
    if isinstance(tree, exp.Anonymous):
        name = _shown(str(tree.this).upper()).lower()
        return name if name in _BY else None
    return AGGREGATES.get(type(tree))


def _labels(read: list[Any]) -> list[exp.Anonymous]:
    """The calls of CLASSIFIER with a variable."""
    calls = (call for part in read for call in part.find_all(exp.Anonymous))
    return [call for call in calls if str(call.this).upper() == "CLASSIFIER" and call.expressions]


def _is_precise(tree: exp.Cast) -> bool:
    """Whether a text is made a time of a precision that it does not go beyond, as in ``TIMESTAMP '..'``."""
    (precision,) = tree.to.expressions[:1]
    if TYPES.get(tree.to.this) is not ValueType.TIMESTAMP or not isinstance(tree.this, exp.Literal):
        return False
    digits = re.search(r"\.(\d+)", tree.this.name)
    return len(digits[1] if digits else "") <= int(precision.name)


def _is_mode(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Column) and tree.name.upper() in ("RUNNING", "FINAL")


def _is_star(tree: Any) -> bool:
    return isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star))


def _shown(name: str) -> str:
    return {stand_in: word for word, stand_in in _STAND_INS.items()}.get(name, name)


def _what_there_is() -> str:
    names = sorted(_OTHERWISE.get(name, name) for name in built_in_names())
    return f"there are + - * / %, comparisons, AND OR NOT, CASE, CAST, LIKE, and {', '.join(names)}"
