"""Expected values of smooth functions of one uncertain quantity, by adaptive quadrature."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from cepheus.core.extras import missing
from cepheus.uncertainty.closed_forms import normal_density
from cepheus.uncertainty.estimate import Estimate, Method
from cepheus.uncertainty.laws import Component, Foreign, Law, Spreads

_TOLERANCE = 1e-11
_REACH = 8.5


def expectation(law: Law, function: Callable[[float], float]) -> Estimate | None:
    """The expected value of a function between 0 and 1; None for a law that is not integrated over."""
    if isinstance(law, Foreign):
        total, error = _integrate(lambda share: function(law.quantile(share)), 1e-12, 1.0 - 1e-12)
        return Estimate(total, Method.QUADRATURE, error)
    if not isinstance(law, Spreads) or any(_is_compound(component) for component in law.components):
        return None
    total, error = 0.0, 0.0
    for component in law.components:
        value, inaccuracy = _over(component, function)
        total += component.weight * value
        error += component.weight * inaccuracy
    return Estimate(total, Method.CLOSED if law.is_discrete else Method.QUADRATURE, error)


def _is_compound(component: Component) -> bool:
    return len(component.widths) > 1 or (bool(component.widths) and component.variance > 0.0)


def _over(component: Component, function: Callable[[float], float]) -> tuple[float, float]:
    mean = component.mean
    if component.is_point:
        return function(mean), 0.0
    if component.widths:
        (width,) = component.widths
        total, error = _integrate(function, mean - width, mean + width)
        return total / (2.0 * width), error / (2.0 * width)
    sd = math.sqrt(component.variance)
    return _integrate(lambda z: normal_density(z) * function(mean + sd * z), -_REACH, _REACH)


def _integrate(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    try:
        from scipy.integrate import IntegrationWarning, quad
    except ModuleNotFoundError:
        raise missing("scipy", "a constraint that ties several uncertain values together") from None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)  # kinks cost digits, which the error estimate tells
        total, error = quad(function, low, high, epsabs=_TOLERANCE, epsrel=_TOLERANCE, limit=200)
    return float(total), float(error)
