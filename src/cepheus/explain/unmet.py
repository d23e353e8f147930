"""Why a condition does not hold, in words with the values that were there, and how far it is from holding."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.display import shown
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.time import format_duration, format_time
from cepheus.core.values import Value
from cepheus.language.tesla.print import format_condition, format_expression
from cepheus.rules.comparisons import compare
from cepheus.rules.evaluate import Situation, evaluator
from cepheus.rules.expressions import (
    FLIPPED,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Parameter,
)
from cepheus.rules.functions import AND, IN, IS_NULL, NOT, OR
from cepheus.rules.resolved import ResolvedRule

FAR = 1.0
"""How far a condition is from holding where that cannot be measured: texts that differ, a value that is missing."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A condition that does not hold: in words, and how far it is from holding.

    ``distance`` is a share of the numbers compared, from 0 on; ``measured`` is False where there are no numbers.
    """

    text: str
    distance: float = FAR
    measured: bool = False


def unmet(condition: Constraint, situation: Situation, rule: ResolvedRule, own: str | None = None) -> list[Unmet]:
    """What does not hold of a condition, nothing if it holds; ``own`` is the event that needs no name in the words."""
    return _Words(situation, rule, own).unmet(condition)


@dataclass(frozen=True, slots=True)
class _Words:
    situation: Situation
    rule: ResolvedRule
    own: str | None

    def unmet(self, condition: Constraint) -> list[Unmet]:
        value = evaluator(condition)(self.situation)
        if value is True:
            return []
        match condition:
            case Comparison():
                links = [self._link(left, symbol, right) for left, symbol, right in condition.links]
                return [each for each in links if each is not None]
            case Call(function=function, arguments=parts) if function == AND:
                return [each for part in parts for each in self.unmet(part)]
            case Call(function=function, arguments=parts) if function == OR:
                sides = [side for part in parts if (side := self.unmet(part))]
                nearest = min(sides, key=lambda side: sum(each.distance for each in side), default=[])
                text = " and ".join(each.text for side in sides for each in side)
                return [Unmet(text, sum(e.distance for e in nearest), all(e.measured for e in nearest))]
            case Call(function=function, arguments=(looked_for, *among)) if function == IN:
                listed = ", ".join(self._constant(each) for each in among)
                return [Unmet(f"{self._valued(looked_for)} is not one of {listed}")]
            case Call(function=function, arguments=(inner,)) if function == IS_NULL:
                return [Unmet(f"{self._valued(inner)} is there")]
            case Call(function=function, arguments=(inner,)) if function == NOT and value is False:
                if isinstance(inner, Call) and inner.function == IS_NULL:
                    return [Unmet(f"{self._name(inner.arguments[0])} is missing")]
                return [Unmet(f"{format_condition(inner)} holds, and must not")]
            case _ if value is None:
                return [Unmet(f"{format_condition(condition)} is unknown: a value is missing")]
            case _:
                return [Unmet(f"{format_condition(condition)} does not hold")]

    def _link(self, left: Expression, symbol: str, right: Expression) -> Unmet | None:
        if isinstance(left, Constant) and not isinstance(right, Constant):
            left, symbol, right = right, FLIPPED[symbol], left
        a, b = evaluator(left)(self.situation), evaluator(right)(self.situation)
        if compare(symbol, a, b):
            return None
        for side, value in ((left, a), (right, b)):
            if value is None:
                return Unmet(f"{self._name(side)} has no value")
        words, other = self._valued(left), self._constant(right)
        if not _is_number(a) or not _is_number(b):
            kinds = "" if type(a) is type(b) else ", which is of another kind"
            if symbol == "!=":
                return Unmet(f"{words} is {other}{kinds}")
            return Unmet(f"{words} {_TEXTS.get(symbol, 'is not')} {other}{kinds}")
        assert isinstance(a, int | float)
        assert isinstance(b, int | float)
        says = _EQUAL[symbol] if float(a) == float(b) else "is below" if float(a) < float(b) else "is above"
        if symbol == "=":
            says = "is not"
        scale = max(abs(float(a)), abs(float(b)))
        distance = abs(float(a) - float(b)) / scale if scale else 0.0
        return Unmet(f"{words} {says} {other}", distance, measured=True)

    def _name(self, expression: Expression) -> str:
        match expression:
            case AttributeRef(event=event, name=name):
                return name if event in (None, self.own) else f"{event}.{name}"
            case Parameter(name=name):
                return self.rule.called(name)
            case _:
                return format_expression(expression)

    def _valued(self, expression: Expression) -> str:
        """An expression and what it is worth: ``value 44.8``."""
        worth = evaluator(expression)(self.situation)
        return f"{self._name(expression)} {self._shown(expression, worth)}"

    def _constant(self, expression: Expression) -> str:
        """What something is compared with: a constant alone, or else by its name, too."""
        return format_expression(expression) if isinstance(expression, Constant) else self._valued(expression)

    def _shown(self, expression: Expression, value: Value | None) -> str:
        if value is None:
            return "without a value"
        if isinstance(expression, AttributeRef) and expression.name == TIME_ATTRIBUTE and isinstance(value, int):
            return format_time(value)
        return repr(value) if isinstance(value, str) else precise(value)


_EQUAL = {">": "is not above", "<": "is not below", "!=": "is", ">=": "is", "<=": "is", "=": "is not"}
_TEXTS = {"<": "is not below", "<=": "is not at most", ">": "is not above", ">=": "is not at least"}


def precise(value: Value) -> str:
    """A value in as many digits as it takes to see why a comparison fails, and no more than needed.

    >>> precise(44.8), precise(44.99999), precise(7), precise(0.1 + 0.2)
    ('44.8', '44.99999', '7', '0.30000000000000004')
    """
    if isinstance(value, float):
        short = f"{value:.10g}"
        return short if float(short) == value else repr(value)
    return str(value).lower() if isinstance(value, bool) else shown(value)


def _is_number(value: Value | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def too_early(late_by: int, window: int, reference: str) -> Unmet:
    """That an event lies before a window.

    >>> too_early(2_000_000, 60_000_000, "Smoke").text
    '2 s too early for the 1 min before Smoke'
    """
    text = f"{format_duration(late_by)} too early for the {format_duration(window)} before {reference}"
    return Unmet(text, late_by / max(window, 1), measured=True)
