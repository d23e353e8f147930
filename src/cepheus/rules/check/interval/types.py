"""Arithmetic, comparisons, functions and aggregates over values that are known to be something else than they take."""

from __future__ import annotations

from collections.abc import Mapping

from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.rules.aggregates import Takes, aggregate_named, names_of_any_type
from cepheus.rules.check.findings import IN_WORDS, Findings, line_of, text_of
from cepheus.rules.check.interval.signatures import Kinds, kind_of, member_kinds, pattern_kinds
from cepheus.rules.check.names import check_call
from cepheus.rules.expressions import (
    Arithmetic,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.function_record import Kind
from cepheus.rules.functions import FUNCTIONS, LIST_BEFORE, TERMS
from cepheus.rules.interval.model import (
    Aggregated,
    Argument,
    Atom,
    Bind,
    Deduction,
    Element,
    Fits,
    Holds,
    IntervalRule,
    ListPattern,
    Where,
)
from cepheus.rules.walk import walk

_NO_NUMBERS = frozenset({ValueType.STRING, ValueType.BOOL, ValueType.LIST})
_NOT_TAKEN: dict[Takes, frozenset[ValueType]] = {
    Takes.EVENTS: frozenset(),
    Takes.ANYTHING: frozenset(),
    Takes.NUMBERS: _NO_NUMBERS,
    Takes.ORDERED: frozenset({ValueType.BOOL, ValueType.LIST}),
}
_ARITHMETIC_HINTS = {
    ValueType.STRING: "texts are put together by concat(A, B), and compared as they are",
    ValueType.BOOL: "a truth stands as a condition by itself",
    ValueType.LIST: "a list is taken apart by [H|T], made by [X|L], and its elements are counted by length(L)",
}
_REFUSED: dict[Kind, frozenset[ValueType]] = {
    Kind.NUMBER: _NO_NUMBERS,
    Kind.STRING: frozenset(ValueType) - {ValueType.STRING},
    Kind.TIMESTAMP: _NO_NUMBERS | {ValueType.FLOAT},
    Kind.SIZED: frozenset(ValueType) - {ValueType.STRING, ValueType.LIST},
    Kind.LIST: frozenset(ValueType) - {ValueType.LIST},
    Kind.TRUTH: frozenset(ValueType) - {ValueType.BOOL},
    Kind.SAME: frozenset(),
}


def check_expressions(rule: IntervalRule, known: Mapping[str, EventType], findings: Findings) -> None:
    """Report every expression of a rule that can have no value, as far as types are known.

    ``p(X / 2) <- a(X)`` is an error if ``a`` is declared with a string.
    """
    relations = {relation.name: relation for relation in rule.relations}
    kinds = pattern_kinds(rule.pattern, relations, known)
    for value in rule.values:
        for node in walk(value):
            _check(node, kinds, findings)
    _head(rule, known[rule.head.name], kinds, findings)
    for node in walk(rule.pattern):
        if isinstance(node, Where):
            own = pattern_kinds(node, relations, known)
            for condition in node.conditions:
                inside = member_kinds(condition.atom, own, known) if isinstance(condition, Aggregated) else own
                for child in walk(condition):
                    _check(child, inside, findings)
        elif isinstance(node, Atom):
            _atom(node, known.get(node.type), findings)


def _head(rule: IntervalRule, declared: EventType, kinds: Kinds, findings: Findings) -> None:
    """Report values of another type than the head's attributes are declared with; an int is a double, too."""
    for value, attribute in zip(rule.values, declared.attributes, strict=False):
        kind, wanted = kind_of(value, kinds), attribute.type
        if kind is None or wanted is None or kind is wanted or (kind, wanted) in _FITTING:
            continue
        name = f"'{attribute.name}' of {declared.name}"
        where = line_of(attribute.span, value.span)
        message = f"{name} is {IN_WORDS[wanted]}{f' (declared {where})' if where else ''}, {_told(value, kind)}"
        if kind is ValueType.FLOAT and wanted is not ValueType.FLOAT and _comparable(kind, wanted):
            what = text_of(value)
            hint = f"use floor({what}) or round({what}), or declare '{attribute.name}: {kind.value}'"
            findings.error("narrowing", message, value.span, hint)
        else:
            hint = f"give it another value, or declare '{attribute.name}: {kind.value}'"
            findings.error("assignment-type", message, value.span, hint)


def check_body(rule: Deduction, findings: Findings) -> None:
    """Report every expression of a rule of the background knowledge that can have no value whatever its variables are.

    ``p(X) :- q(X), COUNT(a(_) WITHIN 5 s) > 0`` is an error, too: such a rule holds at no particular time.
    """
    for value in rule.arguments:
        for node in walk(value):
            _check(node, {}, findings)
    for condition in rule.body:
        for node in walk(condition):
            _check(node, {}, findings)
            if isinstance(node, Aggregated):
                message = "background knowledge has no time, so that there is no window for an aggregate"
                hint = "compute the aggregate in WHERE of the event rule that asks for this"
                findings.error("misplaced-aggregate", message, node.span, hint)


def _check(node: object, kinds: Kinds, findings: Findings) -> None:
    """Check a node of an expression or a condition, in which variables have these types."""
    match node:
        case Arithmetic(left=left, right=right):
            _arithmetic(left, kinds, findings)
            _arithmetic(right, kinds, findings)
        case Negative(operand=operand):
            _arithmetic(operand, kinds, findings)
        case Call(function=name, arguments=arguments) if name not in TERMS:
            check_call(node, findings)
            for position, argument in enumerate(arguments if name in FUNCTIONS else ()):
                _argument(name, FUNCTIONS[name].kind(position), argument, kinds, findings)
        case Aggregated():
            _aggregate(node, kinds, findings)
        case Element(elements=list_expected) | Fits(value=list_expected):
            _list(list_expected, kinds, findings)
        case Call(function=name, arguments=arguments) if name == LIST_BEFORE:
            _list(arguments[-1], kinds, findings)
        case Holds(constraint=Comparison() as comparison):
            _comparison(comparison, kinds, findings)
        case Holds(constraint=constraint):
            _condition(constraint, kinds, findings)
        case Bind(variable=name, value=value):
            _comparison(Comparison((Parameter(name), value), ("=",), node.span), kinds, findings)
        case _:
            pass


def _told(node: Constraint, kind: ValueType) -> str:
    return f"{node.name if isinstance(node, Parameter) else text_of(node)} is {IN_WORDS[kind]}"


def _arithmetic(operand: Expression, kinds: Kinds, findings: Findings) -> None:
    kind = kind_of(operand, kinds)
    if kind in _NO_NUMBERS:
        message = f"arithmetic needs numbers, {_told(operand, kind)}"
        findings.error("arithmetic", message, operand.span, _ARITHMETIC_HINTS[kind])


def _argument(name: str, wanted: Kind, argument: Expression, kinds: Kinds, findings: Findings) -> None:
    kind = kind_of(argument, kinds)
    if kind in _REFUSED[wanted]:
        message = f"'{name}' takes {wanted.value}, {_told(argument, kind)}"
        written = f"{name}(string) or {name}(list)" if wanted is Kind.SIZED else FUNCTIONS[name].signature
        findings.error("argument-type", message, argument.span, f"write {written}")


def _condition(constraint: Constraint, kinds: Kinds, findings: Findings) -> None:
    """Report a value that is neither true nor false where a condition stands."""
    assert not isinstance(constraint, Comparison)
    kind = kind_of(constraint, kinds)
    wrong = None if kind in (None, ValueType.BOOL) else IN_WORDS[kind]
    function = FUNCTIONS.get(constraint.function) if isinstance(constraint, Call) else None
    if kind is None and function is not None and function.kind(0) is Kind.NUMBER:
        wrong = "a number"
    if wrong is not None:
        what = constraint.name if isinstance(constraint, Parameter) else text_of(constraint)
        message = f"a condition is true or false, {what} is {wrong}"
        findings.error("not-a-condition", message, constraint.span, f"compare it with something: {what} = ..")


def _list(expression: Expression, kinds: Kinds, findings: Findings) -> None:
    kind = kind_of(expression, kinds)
    if kind is not None and kind is not ValueType.LIST:
        message = f"a list is needed here, {_told(expression, kind)}"
        findings.error("list-type", message, expression.span, "a list is written [X, Y] or [H|T]")


_FAMILIES = {ValueType.INT: "number", ValueType.FLOAT: "number", ValueType.TIMESTAMP: "number"}
"""To rules over intervals a time is its microseconds, so that times and numbers compare."""


_FITTING = frozenset(
    (one, other)
    for one in (ValueType.INT, ValueType.TIMESTAMP)
    for other in (ValueType.INT, ValueType.TIMESTAMP, ValueType.FLOAT)
)
"""Values of the first type are values of the second, too."""


def _comparable(one: ValueType | None, other: ValueType | None) -> bool:
    return one is None or other is None or _FAMILIES.get(one, one) == _FAMILIES.get(other, other)


def _comparison(node: Comparison, kinds: Kinds, findings: Findings) -> None:
    """Report values that never compare: those of different kinds, and lists by order."""
    for operator, left, right in zip(node.operators, node.operands, node.operands[1:], strict=False):
        one, other = kind_of(left, kinds), kind_of(right, kinds)
        if one is not None and other is not None and not _comparable(one, other):
            message = f"values of different types never compare: {_told(left, one)}, {_told(right, other)}"
            findings.error("comparison", message, right.span or node.span, _hint(left, other) or _hint(right, one))
        elif operator not in ("=", "!=") and ValueType.LIST in (one, other):
            which = left if one is ValueType.LIST else right
            message = f"lists have no order, {_told(which, ValueType.LIST)}"
            findings.error("comparison", message, node.span, "compare their lengths, or their elements")


def _hint(side: Expression, wanted: ValueType) -> str | None:
    """Recognise a variable that begins with a small letter, so that it is a text."""
    if isinstance(side, Constant) and isinstance(side.value, str) and wanted is not ValueType.STRING:
        return f"'{side.value}' is a text; a variable begins with a capital letter"
    return None


def _atom(atom: Atom, event_type: EventType | None, findings: Findings) -> None:
    """Report constants and lists in places where an event has values of another kind."""
    attributes = () if event_type is None else event_type.attributes
    for argument, attribute in zip(atom.arguments, attributes, strict=False):
        kind = None
        if isinstance(argument, Constant):
            kind = argument.type
        elif isinstance(argument, ListPattern):
            kind = ValueType.LIST
        if kind is not None and attribute.type is not None and not _comparable(kind, attribute.type):
            name = f"{atom.type}.{attribute.name}"
            message = f"{name} is {IN_WORDS[attribute.type]}, which never equals {IN_WORDS[kind]}"
            findings.error("comparison", message, argument.span or atom.span, _constant_hint(argument))


def _constant_hint(argument: Argument) -> str | None:
    is_text = isinstance(argument, Constant) and isinstance(argument.value, str)
    return "a variable begins with a capital letter" if is_text else None


def _aggregate(node: Aggregated, kinds: Kinds, findings: Findings) -> None:
    if node.value is None:
        return
    kind = kind_of(node.value, kinds)
    record = aggregate_named(node.function)
    if not record.is_of_values_alone:
        message = f"{node.function} is an aggregate of rules of TESLA alone"
        findings.error("aggregate-type", message, node.span, "let a rule of TESLA compute it, and read what that makes")
    takes = record.takes
    if kind is not None and kind in _NOT_TAKEN[takes]:
        message = f"{node.function} is taken over {takes.value}, {_told(node.value, kind)}"
        hint = f"{names_of_any_type()} take values of any type"
        findings.error("aggregate-type", message, node.value.span, hint)
