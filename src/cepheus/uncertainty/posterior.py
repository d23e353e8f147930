"""What a value is off by, given that it passed: a reading that made ``value > 30`` hold is above 30.

Without this, a composite event carries the errors of its events as they came; the constraints that they satisfied say
more. Where they are bounds of the value itself, its law is cut off there; where more is asked, worlds are drawn, and
those kept in which the composite event comes about.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution, Frozen, Uniform
from cepheus.core.errors import CepheusWarning, Diagnostic, Severity
from cepheus.core.values import Value, as_float
from cepheus.rules.expressions import Expression
from cepheus.uncertainty.aggregates import described
from cepheus.uncertainty.computed_errors import error_of
from cepheus.uncertainty.joint import Values
from cepheus.uncertainty.laws import Law, Spreads, distribution_of, samples
from cepheus.uncertainty.quantities import UncertainSituation, linear
from cepheus.uncertainty.trials import Condition, Part, SourceFinder, Sources
from cepheus.uncertainty.truncation import Truncated, truncated
from cepheus.uncertainty.worlds import Column, Worlds, draw

_BEYOND = 40.0
"""Standard deviations that stand for no bound."""
_ENOUGH = 100
"""Worlds that an error is told from."""
_DRAWN_AGAIN = (1, 10, 100)
"""How many times the usual number of worlds is drawn, one after the other, until enough hold."""


def posterior_error(
    expression: Expression,
    value: Value,
    situation: UncertainSituation,
    parts: Sequence[Part],
    values: Values,
    calculus: Calculus,
) -> Distribution | None:
    """The distribution of what a computed value is off by, given that all factors hold; None if it is certain."""
    aggregations = {name: one.source for name, one in values.items() if one.source is not None}
    finder = SourceFinder(aggregations)
    read = finder.of_node(expression, situation)
    related, sources = _related(parts, finder, read)
    if not read or not related or isinstance(value, str | bool | tuple):
        return error_of(expression, value, situation, calculus)
    conditions = [part.constraint for part in related if isinstance(part, Condition)]
    form = None if any(map(finder.aggregates_in, conditions)) else linear(expression, situation)
    if form is not None and len(conditions) == len(related):
        law = truncated(form, conditions, situation, sources)
        if law is not None:
            return _described(law.moved(-1.0, as_float(value)))
    for times in _DRAWN_AGAIN:
        drawn = draw(sources, np.random.default_rng(calculus.seed), times * calculus.draws)
        worlds = Worlds(times * calculus.draws, drawn, aggregations)
        column = worlds.numbers(expression, situation)
        if not isinstance(column, Column):
            return error_of(expression, value, situation, calculus)
        held = column.known.copy()
        for part in related:
            held &= worlds.hold(part)
        kept = column.values[held].tolist()
        if len(kept) >= _ENOUGH:
            return distribution_of(described(samples([as_float(value) - each for each in kept])))
        if times > 1 and len(kept) * _DRAWN_AGAIN[-1] < times * _ENOUGH // 2:
            break  # ten times as many would be too few, too
    _tell_unlikely(expression)
    return error_of(expression, value, situation, calculus)


def _tell_unlikely(expression: Expression) -> None:
    message = f"fewer than {_ENOUGH} of the drawn worlds bring a composite event about, too few to tell this error from"
    hint = "the error is given as it was before; with more draws, Calculus(draws=..), it may be found"
    finding = Diagnostic("posterior", message, expression.span, hint, severity=Severity.WARNING)
    warnings.warn(CepheusWarning(finding), stacklevel=2)


def _related(parts: Sequence[Part], finder: SourceFinder, read: Sources) -> tuple[list[Part], Sources]:
    """The factors that say something about quantities, directly or by way of others, and all that these depend on."""
    sources = dict(read)
    waiting = [(part, finder.of(part)) for part in parts]
    found: list[Part] = []
    while True:
        near = [(part, own) for part, own in waiting if not own.keys().isdisjoint(sources)]
        if not near:
            return found, sources
        found += [part for part, _ in near]
        for _, own in near:
            sources |= own
        waiting = [each for each in waiting if each not in near]


def _described(law: Law) -> Distribution:
    """A law as a distribution: exactly if it is a Gaussian or uniform one that is cut off, or of the closed family."""
    if isinstance(law, Truncated) and isinstance(law.law, Spreads) and len(law.law.components) == 1:
        (component,) = law.law.components
        ends = [law.scale * end + law.shift for end in (law.interval.low, law.interval.high)]
        low, high = min(ends), max(ends)
        mean = law.scale * component.mean + law.shift
        if not component.widths:
            sd = abs(law.scale) * math.sqrt(component.variance)
            cuts = (max((low - mean) / sd, -_BEYOND), min((high - mean) / sd, _BEYOND))
            return Frozen("truncnorm", cuts, (("loc", mean), ("scale", sd)))
        if component.variance == 0.0 and len(component.widths) == 1:
            width = abs(law.scale) * component.widths[0]
            return Uniform(max(low, mean - width), min(high, mean + width))
    return distribution_of(described(law))
