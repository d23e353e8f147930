"""The error that a computed attribute carries."""

from __future__ import annotations

import numpy as np

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution
from cepheus.core.values import Value, as_float
from cepheus.rules.evaluate import evaluator
from cepheus.rules.expressions import Expression
from cepheus.uncertainty.aggregates import described
from cepheus.uncertainty.laws import Foreign, Law, Sampled, Spreads, added, distribution_of, samples
from cepheus.uncertainty.quantities import Drawn, Key, Quantity, UncertainSituation, linear, quantities


def error_of(
    expression: Expression, value: Value, situation: UncertainSituation, calculus: Calculus
) -> Distribution | None:
    """The distribution of what a computed value is off by, None if it is certain.

    A linear expression of quantities with closed forms has an exact one; any other is described by examples.
    """
    read = quantities(expression, situation)
    if not read or isinstance(value, str | bool):
        return None
    form = linear(expression, situation)
    if form is not None:
        if not form.coefficients:
            return None
        ((key, coefficient), *others) = form.coefficients.items()
        written = read[key].written
        if not others and coefficient == 1.0 and written is not None:
            return written
        errors = [read[key].error.moved(c, 0.0) for key, c in form.coefficients.items()]
        return _summed(errors, calculus)
    results = [as_float(value) - drawn for drawn in _drawn(expression, situation, read, calculus)]
    return distribution_of(described(samples(results))) if results else None


def error_of_computed(value: float, law: Law, calculus: Calculus) -> Distribution:
    """The distribution of what an aggregate is off by that was found to be a value."""
    return _summed([law.moved(-1.0, value)], calculus)


def law_of_value(expression: Expression, situation: UncertainSituation, calculus: Calculus) -> Law | None:
    """The law of what an expression is truly worth, None if it is certain."""
    read = quantities(expression, situation)
    if not read:
        return None
    form = linear(expression, situation)
    if form is None:
        return Sampled.of(np.array(_drawn(expression, situation, read, calculus)))
    moved = [read[key].law.moved(c, 0.0) for key, c in form.coefficients.items()]
    if not moved:
        return None
    if len(moved) == 1:
        return moved[0].moved(1.0, form.constant)
    closed = [law for law in moved if isinstance(law, Spreads)]
    total = added(closed) if len(closed) == len(moved) else None
    if total is None:
        generator = np.random.default_rng(calculus.seed)
        drawn = np.sum([law.draw(generator, calculus.draws) for law in moved], axis=0)
        return Sampled.of(drawn).moved(1.0, form.constant)
    return total.moved(1.0, form.constant)


def _drawn(
    expression: Expression, situation: UncertainSituation, read: dict[Key, Quantity], calculus: Calculus
) -> list[float]:
    """Examples of what an expression is worth, where it is defined."""
    generator = np.random.default_rng(calculus.seed)
    columns = [quantity.law.draw(generator, calculus.draws).tolist() for quantity in read.values()]
    compute = evaluator(expression)
    drawn = (compute(Drawn(situation, dict(zip(read, row, strict=True)))) for row in zip(*columns, strict=True))
    return [as_float(value) for value in drawn if value is not None]


def _summed(errors: list[Law], calculus: Calculus) -> Distribution:
    if len(errors) == 1 and isinstance(errors[0], Foreign) and (errors[0].scale, errors[0].shift) == (1.0, 0.0):
        return errors[0].frozen
    closed = [error for error in errors if isinstance(error, Spreads)]
    total = added(closed) if len(closed) == len(errors) else None
    if total is not None:
        return distribution_of(described(total))
    generator = np.random.default_rng(calculus.seed)
    drawn = np.sum([error.draw(generator, calculus.draws) for error in errors], axis=0)
    return distribution_of(described(samples(drawn.tolist())))
