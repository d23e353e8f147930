"""What the parser builds: one method per alternative of the grammar.

A method reports a mistake and goes on with a stand-in, so that one run finds them all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cepheus.core.errors import did_you_mean
from cepheus.core.lists import MAX_DEPTH
from cepheus.core.schema import Attribute, EventType
from cepheus.core.source import Source, Span
from cepheus.core.time import UNITS
from cepheus.core.values import TYPE_NAMES, Value, ValueType
from cepheus.formats.intervals import argument_name
from cepheus.language.common.literals import read_duration, read_number, read_string, read_time
from cepheus.language.common.node_builder import Children, NodeBuilder
from cepheus.language.common.tokens import MAX_NESTING
from cepheus.language.etalis.consumption import read_policy
from cepheus.language.etalis.terms import Kind, Term, TermReader, read_bare_duration
from cepheus.rules.expressions import Constant
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Combined,
    ConsumptionPolicy,
    Deduction,
    Either,
    Fact,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Operator,
    TimePoint,
    Where,
)

_COMPARATORS = {"==": "=", "<>": "!=", "\\=": "!=", "=<": "<=", "=>": ">="}
_SWAPPED = {
    "after": Operator.SEQ,
    "met by": Operator.MEETS,
    "contains": Operator.DURING,
    "started by": Operator.STARTS,
    "finished by": Operator.FINISHES,
    "overlapped by": Operator.OVERLAPS,
}


@dataclass(frozen=True, slots=True)
class FilePolicy:
    """``policy recent.``: the policy of all rules of the file that have none of their own."""

    policy: ConsumptionPolicy
    span: Span


@dataclass(frozen=True, slots=True)
class FileUnit:
    """``unit ms.``: the unit of numbers without one, in microseconds."""

    microseconds: int
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class FileLimit:
    """``limit 2000000.``: how many facts the rules of the background knowledge may derive."""

    facts: int
    span: Span


Statement = IntervalRule | Fact | Deduction | EventType | FilePolicy | FileUnit | FileLimit


class Builder(NodeBuilder):
    """Builds statements of one source at a time; ``errors`` collects the mistakes."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(Source("<rules>", ""), "us")

    def begin(self, source: Source, unit: str | None) -> None:
        """Start on a text: spans point into it from now on, and numbers without a unit are in ``unit``.

        If that is None, they are kept as they are written.
        """
        self.start(source)
        self.unit = unit

    # ---- Helpers -------------------------------------------------------------------------------------------------

    def _span(self, first: Any, last: Any = None) -> Span:
        start = first.start if isinstance(first, Span) else first.start_pos
        last = first if last is None else last
        return Span(self.source, start, last.end if isinstance(last, Span) else last.end_pos)

    def _terms(self) -> TermReader:
        return TermReader(self.errors.append)

    # ---- Statements ----------------------------------------------------------------------------------------------

    def statement(self, children: Children) -> Statement:
        """Any statement."""
        node: Statement = children[0]
        return node

    def rule(self, children: Children) -> IntervalRule:
        """``head <- pattern POLICY ..``."""
        head, _, pattern, policy, end = children
        if _depth(pattern) > MAX_NESTING:
            self._too_deep("pattern", pattern.span)
            pattern = Atom("_", (), pattern.span)
        name, arguments = self._head(head)
        values = self._terms().head(arguments)
        attributes = tuple(Attribute(argument_name(place), None) for place in range(1, len(values) + 1))
        span = self._span(head.span, end)
        return IntervalRule(EventType(name, attributes, head.span), values, pattern, policy, span=span)

    def labelled_rule(self, children: Children) -> IntervalRule:
        """``LABEL name: head <- pattern POLICY ..``."""
        word, name, *rest = children
        return replace(self.rule(rest), name=str(name), span=self._span(word, rest[-1]))

    def _head(self, head: Term) -> tuple[str, tuple[Term, ...]]:
        if head.kind in (Kind.NAME, Kind.CALL) and head.what != "_":
            return head.what, head.below
        if head.kind is Kind.ARITHMETIC and head.below[0].what == "limit":  # limit -5.
            self._error("fact-limit", "a limit below zero makes no sense", head.span, "write a whole number")
        elif head.kind is not Kind.TOO_DEEP:
            self._error("head", "a rule begins with an event such as alarm(X, Y)", head.span)
        return "_", ()

    def fact(self, children: Children) -> Fact:
        """``located(t1, "hall").``."""
        head, end = children
        name, arguments = self._head(head)
        terms = self._terms()
        values = []
        for term in arguments:
            value = terms.expression(term)
            if not isinstance(value, Constant):
                hint = "a rule is written head <- pattern, or head :- conditions"
                self._error("fact", "a fact consists of constants", term.span, hint)
                value = Constant(0, ValueType.INT)
            values.append(value)
        return Fact(name, tuple(values), self._span(head.span, end))

    def deduction(self, children: Children) -> Deduction:
        """``near(X, Y) :- road(X, Y).``."""
        head, _, conditions, end = children
        name, arguments = self._head(head)
        terms = self._terms()
        values = terms.head(arguments)
        return Deduction(name, values, terms.conditions(conditions), self._span(head.span, end))

    def declaration_without_attributes(self, children: Children) -> EventType:
        """``event open().``."""
        return EventType(str(children[1]), (), self._span(children[1]))

    def declaration(self, children: Children) -> EventType:
        """``event stock(id: string, price: int).``; the span is the type's name."""
        return EventType(str(children[1]), tuple(children[2]), self._span(children[1]))

    def attribute(self, children: Children) -> Attribute:
        """``price: int``; the span is the attribute's name."""
        name, written = children[:2]
        value_type = TYPE_NAMES.get(written.lower())
        if value_type is None:
            hint = did_you_mean(written, TYPE_NAMES) or "write int, double, string, bool, timestamp or list"
            self._error("type", f"there is no attribute type '{written}'", self._span(written), hint)
        return Attribute(str(name), value_type, len(children) > 2, span=self._span(name))

    def policy(self, children: Children) -> ConsumptionPolicy:
        """``POLICY recent, longer`` at the end of a rule."""
        return read_policy(children[1], self.source, self.errors)

    def policy_of_file(self, children: Children) -> FilePolicy:
        """``policy recent.``."""
        word, words, end = children
        return FilePolicy(read_policy(words, self.source, self.errors), self._span(word, end))

    def unit_of_file(self, children: Children) -> FileUnit:
        """``unit ms.``."""
        word, name, end = children
        length = UNITS.get(name.lower())
        if length is None:
            hint = did_you_mean(name.lower(), UNITS) or "write one of us, ms, s, min, h, day, week"
            self._error("unit", f"there is no unit of time '{name}'", self._span(name), hint)
        return FileUnit(length or 1, str(name), self._span(word, end))

    def limit_of_file(self, children: Children) -> FileLimit:
        """``limit 2000000.``."""
        word, number, end = children
        if not number.isdecimal():
            self._error(
                "fact-limit", f"a limit of {number} facts makes no sense", self._span(number), "write a whole number"
            )
        return FileLimit(int(float(number)), self._span(word, end))

    # ---- Patterns ------------------------------------------------------------------------------------------------

    def where(self, children: Children) -> Where:
        """``p WHERE c1, c2``."""
        pattern, _, conditions = children
        span = self._span(pattern.span, conditions[-1].span)
        return Where(pattern, self._terms().conditions(conditions), span)

    def combined(self, children: Children) -> IntervalPattern:
        """``p SEQ q``; what follows from an inverse relation has its operands swapped."""
        left, operator, right = children
        span = self._span(left.span, right.span)
        word = " ".join(operator.lower().replace("_", " ").split())
        if word == "or":
            return Either(left, right, span)
        if word in _SWAPPED:
            return Combined(_SWAPPED[word], right, left, span)
        return Combined(Operator.SEQ if word == "before" else Operator[word.upper()], left, right, span)

    def without(self, children: Children) -> IntervalPattern:
        """``(q SEQ r) CNOT p``."""
        delimiters, word, negated = children
        span = self._span(delimiters.span, negated.span)
        if isinstance(delimiters, Combined) and delimiters.operator is Operator.SEQ:
            return Absence(negated, delimiters.left, delimiters.right, span)
        self._error("negation", "CNOT needs a sequence on its left", self._span(word), "write (q SEQ r) CNOT p")
        return Absence(negated, delimiters, negated, span)

    def lasting(self, children: Children) -> Lasting:
        """``(p).20 min``."""
        pattern, _, (duration, end) = children
        return Lasting(pattern, duration, False, self._span(pattern.span, end))

    def lasting_exactly(self, children: Children) -> Lasting:
        """``(p).=20 min``."""
        pattern, _, _, (duration, end) = children
        return Lasting(pattern, duration, True, self._span(pattern.span, end))

    def duration(self, children: Children) -> tuple[int, Any]:
        """``20``, ``20 min``: microseconds, and the last token."""
        return self._microseconds(children), children[-1]

    def _microseconds(self, children: Children) -> int:
        number, *unit = children
        span = self._span(number, children[-1])
        name = str(unit[0]) if unit else self.unit
        if name is None:
            return self._read(span, 0, lambda: read_bare_duration(str(number)))
        return self._read(span, 0, lambda: read_duration(str(number), name))

    def bare_atom(self, children: Children) -> Atom:
        """``open`` and ``open()``."""
        return Atom(str(children[0]), (), self._span(children[0], children[-1]))

    def atom(self, children: Children) -> Atom:
        """``stock(X, P, _)``."""
        name, terms, closing = children
        return Atom(str(name), tuple(map(self._terms().argument, terms)), self._span(name, closing))

    def point(self, children: Children) -> TimePoint:
        """``6``, ``6 s``: a point in time."""
        return TimePoint(self._microseconds(children), self._span(children[0], children[-1]))

    def moment(self, children: Children) -> TimePoint:
        """``timestamp '2026-01-31T10:00:00Z'`` as a point in time."""
        span = self._span(children[0], children[1])
        return TimePoint(self._read(span, 0, lambda: read_time(read_string(children[1]))), span)

    def grouped(self, children: Children) -> IntervalPattern:
        """``(p)``: the parentheses belong to what an error message underlines."""
        opening, pattern, closing = children
        inner: IntervalPattern = pattern
        return replace(inner, span=self._span(opening, closing))

    def absence(self, children: Children) -> Absence:
        """``NOT(p).[q, r]``."""
        word, negated = children[:2]
        first, second, closing = children[-3:]
        return Absence(negated, first, second, self._span(word, closing))

    # ---- Terms ---------------------------------------------------------------------------------------------------

    def _term(self, kind: Kind, what: Any, below: Children, first: Any, last: Any) -> Term:
        span = self._span(first, last)
        depth = 1 + max((term.depth for term in below), default=0)
        lists = (kind in (Kind.LIST, Kind.LIST_BEFORE)) + max((term.lists for term in below), default=0)
        reported = any(term.kind is Kind.TOO_DEEP for term in below)  # a long chain is one mistake
        if not reported and depth > MAX_NESTING:
            self._too_deep("expression", span)
        elif not reported and lists > MAX_DEPTH:
            message = f"this list is nested more than {MAX_DEPTH} deep, and no value is"
            self._error("nesting", message, span, "use fewer brackets: put the parts of the list side by side")
        elif not reported:
            return Term(kind, what, tuple(below), span, depth=depth, lists=lists)
        return Term(Kind.TOO_DEEP, (), (), span)

    def _too_deep(self, what: str, span: Span) -> None:
        message = f"this {what} is nested more than {MAX_NESTING} deep"
        self._error("nesting", message, span, "split the rule into several")

    def either(self, children: Children) -> Term:
        """``c1 OR c2``."""
        left, _, right = children
        below = [*left.below, right] if left.kind is Kind.EITHER else [left, right]
        return self._term(Kind.EITHER, "OR", below, left.span, right.span)

    def both(self, children: Children) -> Term:
        """``c1 AND c2``."""
        left, _, right = children
        below = [*left.below, right] if left.kind is Kind.BOTH else [left, right]
        return self._term(Kind.BOTH, "AND", below, left.span, right.span)

    def negated(self, children: Children) -> Term:
        """``NOT c``."""
        word, inner = children
        return self._term(Kind.NOT, "NOT", [inner], word, inner.span)

    def compared(self, children: Children) -> Term:
        """``X < Y``."""
        left, comparator, right = children
        operators = (_COMPARATORS.get(comparator, str(comparator)),)
        return self._term(Kind.COMPARED, operators, [left, right], left.span, right.span)

    def compared_more(self, children: Children) -> Term:
        """``.. < Z``."""
        left, comparator, right = children
        operators = (*left.what, _COMPARATORS.get(comparator, str(comparator)))
        before = [left] if left.kind is Kind.TOO_DEEP else left.below
        return self._term(Kind.COMPARED, operators, [*before, right], left.span, right.span)

    def comparison(self, children: Children) -> Term:
        """A finished chain of comparisons."""
        term: Term = children[0]
        return term

    def is_value(self, children: Children) -> Term:
        """``N is K+1``."""
        left, _, right = children
        return self._term(Kind.IS, "is", [left, right], left.span, right.span)

    def member(self, children: Children) -> Term:
        """``X in [1, 2]``."""
        value, _, options = children
        if options.kind is Kind.LIST:
            return self._term(Kind.IN, "in", [value, *options.below], value.span, options.span)
        return self._term(Kind.ELEMENT, "in", [value, options], value.span, options.span)

    def empty_list(self, children: Children) -> Term:
        """``[]``."""
        return self._term(Kind.LIST, "[]", [], children[0], children[-1])

    def list(self, children: Children) -> Term:
        """``[1, 2]``."""
        return self._term(Kind.LIST, "[]", children[1], children[0], children[-1])

    def list_before(self, children: Children) -> Term:
        """``[H|T]``; what follows from a list behind the bar is one list."""
        opening, items, _, rest, closing = children
        if rest.kind in (Kind.LIST, Kind.LIST_BEFORE):
            return self._term(rest.kind, rest.what, [*items, *rest.below], opening, closing)
        return self._term(Kind.LIST_BEFORE, "[|]", [*items, rest], opening, closing)

    def arithmetic(self, children: Children) -> Term:
        """``X + Y`` and the like."""
        left, operator, right = children
        return self._term(Kind.ARITHMETIC, str(operator), [left, right], left.span, right.span)

    def negative(self, children: Children) -> Term:
        """``-X``."""
        minus, operand = children
        return self._term(Kind.NEGATIVE, "-", [operand], minus, operand.span)

    def _constant(self, constant: Constant, first: Any, last: Any = None) -> Term:
        return self._term(Kind.CONSTANT, constant, [], first, first if last is None else last)

    def number(self, children: Children) -> Term:
        """``18``, ``1.5e3``."""
        return self._number(children[0], children[0], negative=False)

    def negative_number(self, children: Children) -> Term:
        """``-18``."""
        minus, token = children
        return self._number(minus, token, negative=True)

    def _number(self, first: Any, token: Any, *, negative: bool) -> Term:
        zero: tuple[Value, ValueType] = (0, ValueType.INT)
        value, kind = self._read(self._span(first, token), zero, lambda: read_number(token, negative=negative))
        return self._constant(Constant(value, kind), first, token)

    def string(self, children: Children) -> Term:
        """``"GO"``."""
        token = children[0]
        text = self._read(self._span(token), "", lambda: read_string(token))
        return self._constant(Constant(text, ValueType.STRING), token)

    def truth(self, children: Children) -> Term:
        """``true`` and ``false``."""
        return self._constant(Constant(children[0].type == "TRUE", ValueType.BOOL), children[0])

    def timestamp(self, children: Children) -> Term:
        """``timestamp '2026-01-31T10:00:00Z'``."""
        word, text = children
        time = self._read(self._span(word, text), 0, lambda: read_time(read_string(text)))
        return self._constant(Constant(time, ValueType.TIMESTAMP), word, text)

    def name(self, children: Children) -> Term:
        """``X`` or ``lehman``."""
        return self._term(Kind.NAME, str(children[0]), [], children[0], children[0])

    def empty_call(self, children: Children) -> Term:
        """``open()``."""
        return self._term(Kind.CALL, str(children[0]), [], children[0], children[-1])

    def call(self, children: Children) -> Term:
        """``located(X, hall)``."""
        name, terms, closing = children
        return self._term(Kind.CALL, str(name), terms, name, closing)

    def count(self, children: Children) -> Term:
        """``COUNT(stock(X, _, _) WITHIN 10 s)``."""
        name, atom, _, (window, _), closing = children
        return replace(self._term(Kind.AGGREGATE, str(name), [atom], name, closing), window=window)

    def aggregate(self, children: Children) -> Term:
        """``AVG(P, stock(X, P, _) WITHIN 10 s)``."""
        name, value, atom, _, (window, _), closing = children
        return replace(self._term(Kind.AGGREGATE, str(name), [value, atom], name, closing), window=window)

    def parenthesised(self, children: Children) -> Term:
        """``(t)``."""
        opening, inner, closing = children
        term: Term = inner
        return replace(term, span=self._span(opening, closing))


def _depth(pattern: IntervalPattern) -> int:
    """Count the levels of a pattern, each operator of a chain one; without recursion, which could overflow."""
    deepest = 0
    stack: list[tuple[IntervalPattern, int]] = [(pattern, 1)]
    while stack:
        current, depth = stack.pop()
        deepest = max(deepest, depth)
        match current:
            case Lasting(pattern=inner) | Where(pattern=inner):
                stack.append((inner, depth + 1))
            case Combined(left=left, right=right) | Either(left=left, right=right):
                stack += [(left, depth + 1), (right, depth + 1)]
            case Absence(negated=negated, first=first, second=second):
                stack += [(negated, depth + 1), (first, depth + 1), (second, depth + 1)]
            case _:
                pass
    return deepest
