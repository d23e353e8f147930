"""Conditions joined by ``or``, ``not`` and the like, over one uncertain linear form: where along it they hold.

``value < 3 or value > 5`` holds below 3 and above 5. The comparisons cut the line of the form's values into points and
gaps, in each of which every one of them is either true or false, so that the whole is tried once for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cepheus.rules.comparisons import compare
from cepheus.rules.evaluate import evaluator
from cepheus.rules.expressions import FLIPPED, AttributeRef, Call, Comparison, Constraint, Expression, Parameter
from cepheus.rules.functions import AND, NOT, OR, function_of
from cepheus.rules.walk import walk
from cepheus.uncertainty.quantities import Key, UncertainSituation, linear, links, quantities

_Truth = Callable[[float], bool | None]
"""Tells what a condition says where the form has a value."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """All values between two bounds, each of which may belong to it or not."""

    low: float
    low_inclusive: bool
    high: float
    high_inclusive: bool


@dataclass(frozen=True, slots=True)
class Stretches:
    """A linear form, as coefficients of quantities, and the stretches of its values that are meant."""

    direction: dict[Key, float]
    parts: tuple[Stretch, ...]


class _NotOneFormError(Exception):
    """A condition that asks for more than comparisons of one linear form."""


def stretches(conditions: Iterable[tuple[Constraint, UncertainSituation]]) -> Stretches | None:
    """Where all of the conditions hold; None if they are not about one linear form of uncertain quantities."""
    form = _Form()
    try:
        tests = [form.truth(condition, situation) for condition, situation in conditions]
    except _NotOneFormError:
        return None
    if form.direction is None:
        return None

    def holds(value: float) -> bool:
        return all(test(value) is True for test in tests)

    return Stretches(form.direction, tuple(_parts(sorted(form.bounds), holds)))


def _parts(bounds: list[float], holds: Callable[[float], bool]) -> Iterable[Stretch]:
    """The longest stretches that hold, from the lowest on."""
    edges = [-math.inf, *bounds, math.inf]
    begin: tuple[float, bool] | None = None
    for place, bound in enumerate(edges[1:], 1):
        below = edges[place - 1]
        if holds(_between(below, bound)):
            begin = begin or (below, False)
        elif begin is not None:
            yield Stretch(*begin, below, True)
            begin = None
        if bound < math.inf and holds(bound):
            begin = begin or (bound, True)
        elif begin is not None:
            yield Stretch(*begin, bound, False)
            begin = None


def _between(low: float, high: float) -> float:
    if low == -math.inf:
        return high - max(1.0, abs(high))
    return low + max(1.0, abs(low)) if high == math.inf else low + (high - low) / 2


class _Form:
    """The linear form that comparisons are about, and the values that they compare it with."""

    def __init__(self) -> None:
        self.direction: dict[Key, float] | None = None
        self.bounds: set[float] = set()

    def truth(self, node: Constraint, situation: UncertainSituation) -> _Truth:
        """What a condition says along the form."""
        if not quantities(node, situation):
            given = evaluator(node)(situation)
            known = given if isinstance(given, bool) else None
            return lambda _: known
        match node:
            case Comparison():
                return _joined(AND, [self._link(*link, situation) for link in links(node)])
            case Call(function="and" | "or" | "not" as word, arguments=arguments):
                return _joined(word, [self.truth(argument, situation) for argument in arguments])
            case Call(function="in", arguments=(value, *choices)):
                return _joined(OR, [self._link(value, "=", choice, situation) for choice in choices])
            case _:
                raise _NotOneFormError

    def _link(self, left: Expression, operator: str, right: Expression, situation: UncertainSituation) -> _Truth:
        if _lacks(left, situation) or _lacks(right, situation):
            return lambda _: None
        if not quantities(left, situation) and not quantities(right, situation):
            one, other = evaluator(left)(situation), evaluator(right)(situation)
            known = None if one is None or other is None else compare(operator, one, other)
            return lambda _: known
        forms = linear(left, situation), linear(right, situation)
        if forms[0] is None or forms[1] is None:
            raise _NotOneFormError
        form = forms[0].plus(forms[1], -1.0)
        if not form.coefficients:
            same = compare(operator, form.constant, 0.0)
            return lambda _: same
        factor = self._factor(form.coefficients)
        symbol, bound = operator if factor > 0 else FLIPPED[operator], -form.constant / factor
        self.bounds.add(bound)
        return lambda value: compare(symbol, value, bound)

    def _factor(self, coefficients: dict[Key, float]) -> float:
        """By what a form is a multiple of the one at hand."""
        if self.direction is None:
            scale = next(iter(coefficients.values()))
            self.direction = {key: coefficient / scale for key, coefficient in coefficients.items()}
        if coefficients.keys() != self.direction.keys():
            raise _NotOneFormError
        key = next(iter(self.direction))
        factor = coefficients[key] / self.direction[key]
        if any(not math.isclose(c, factor * self.direction[k], rel_tol=1e-12) for k, c in coefficients.items()):
            raise _NotOneFormError
        return factor


def _joined(word: str, parts: list[_Truth]) -> _Truth:
    if word != NOT and len(parts) == 1:
        return parts[0]
    join = function_of(word).compute

    def truth(value: float) -> bool | None:
        result: bool | None = join(*(part(value) for part in parts))
        return result

    return truth


def _lacks(expression: Expression, situation: UncertainSituation) -> bool:
    """Whether an expression without calls reads a value that is not there."""
    nodes = list(walk(expression))
    if any(isinstance(node, Call) for node in nodes):
        return False
    return any(
        (isinstance(node, AttributeRef) and situation.attribute(node.event, node.name) is None)
        or (isinstance(node, Parameter) and situation.computed(node.name) is None)
        for node in nodes
    )
