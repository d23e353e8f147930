"""Arithmetic, functions and aggregates over values that are known to be something else than they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.intervals.kinds import Kinds, kind_of, variable_kinds
from cepheus.rules.check.wording import IN_WORDS, text_of
from cepheus.rules.expressions import Arithmetic, Call, Constraint, Expression, Negative
from cepheus.rules.functions import FUNCTIONS, Kind
from cepheus.rules.interval.model import Aggregated, IntervalRule
from cepheus.rules.walk import walk

_NO_NUMBERS = frozenset({ValueType.STRING, ValueType.BOOL})
_REFUSED: dict[Kind, frozenset[ValueType]] = {
    Kind.NUMBER: _NO_NUMBERS,
    Kind.STRING: frozenset(ValueType) - {ValueType.STRING},
    Kind.TIMESTAMP: _NO_NUMBERS | {ValueType.FLOAT},
    Kind.SAME: frozenset(),
}


def check_expressions(rule: IntervalRule, known: Mapping[str, EventType], findings: Findings) -> None:
    """Report every expression of a rule that can have no value, as far as types are known.

    ``p(X / 2) <- a(X)`` is an error if ``a`` is declared with a string.
    """
    kinds = variable_kinds(rule, known)
    for node in _expressions(rule):
        match node:
            case Arithmetic(left=left, right=right):
                _arithmetic(left, kinds, findings)
                _arithmetic(right, kinds, findings)
            case Negative(operand=operand):
                _arithmetic(operand, kinds, findings)
            case Call(function=name, arguments=arguments) if name in FUNCTIONS:
                for position, argument in enumerate(arguments):
                    _argument(name, FUNCTIONS[name].kind(position), argument, kinds, findings)
            case Aggregated():
                _aggregate(node, kinds, findings)
            case _:
                pass


def _expressions(rule: IntervalRule) -> Iterator[object]:
    for value in rule.values:
        yield from walk(value)
    yield from walk(rule.pattern)


def _told(node: Constraint, kind: ValueType) -> str:
    return f"{text_of(node)} is {IN_WORDS[kind]}"


def _arithmetic(operand: Expression, kinds: Kinds, findings: Findings) -> None:
    kind = kind_of(operand, kinds)
    if kind in _NO_NUMBERS:
        texts = "texts are put together by concat(A, B), and compared as they are"
        hint = texts if kind is ValueType.STRING else "a truth stands as a condition by itself"
        findings.error("arithmetic", f"arithmetic needs numbers, {_told(operand, kind)}", operand.span, hint)


def _argument(name: str, wanted: Kind, argument: Expression, kinds: Kinds, findings: Findings) -> None:
    kind = kind_of(argument, kinds)
    if kind in _REFUSED[wanted]:
        message = f"'{name}' takes {wanted.value}, {_told(argument, kind)}"
        findings.error("argument-type", message, argument.span, f"write {FUNCTIONS[name].signature}")


def _aggregate(node: Aggregated, kinds: Kinds, findings: Findings) -> None:
    if node.value is None:
        return
    kind = kind_of(node.value, kinds)
    ordered = node.function in ("Min", "Max")
    if (node.function in ("Avg", "Sum", "Stddev") and kind in _NO_NUMBERS) or (ordered and kind is ValueType.BOOL):
        wanted = "numbers, strings or times" if ordered else "numbers"
        message = f"{node.function} is taken over {wanted}, {_told(node.value, kind)}"
        findings.error("aggregate-type", message, node.value.span, "Count, First and Last take values of any type")
