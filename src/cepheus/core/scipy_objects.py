"""Distributions that a caller has made with SciPy: by name if they are SciPy's own, else by what they say.

A histogram is a mixture of uniform pieces and a kernel density one of Gaussians, exactly; a discrete one is a list of
outcomes. Anything else that can be asked for its distribution function is kept and asked.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from cepheus.core.distribution import Custom, Discrete, Distribution, Frozen, Mixture, Normal, Uniform
from cepheus.core.errors import EventError

_NEGLIGIBLE = 1e-13
_PRECISION = 1e-6
_MOST_OUTCOMES = 4096
_MOST_PIECES = 8192


def of_scipy(given: Any) -> Distribution:
    """Describe a distribution made with SciPy.

    >>> str(of_scipy(stats.gamma(2, scale=0.5)))
    'F(gamma, 2, scale=0.5)'
    >>> str(of_scipy(stats.rv_histogram((np.array([1, 3]), np.array([0.0, 1.0, 2.0])))))
    'M(0.25: U(0, 1), 0.75: U(1, 2))'
    """
    try:
        if isinstance(given, stats.gaussian_kde):
            return _kernel_density(given)
        family = getattr(given, "dist", given)
        if isinstance(family, stats.rv_histogram):
            return _histogram(given, family)
        if type(getattr(stats, str(getattr(family, "name", "")), None)) is type(family) and hasattr(given, "kwds"):
            return _by_name(given, family)
        if hasattr(given, "pmf"):
            return _discrete(given)
        return Custom(given, _table(given))
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        message = f"{given!r} is not a distribution: {error}"
        raise EventError.of("distribution", message, hint="give one with cdf, ppf, rvs and a finite mean") from error


def _by_name(given: Any, family: Any) -> Distribution:
    options = tuple((name, float(value)) for name, value in sorted(given.kwds.items()))
    return Frozen(family.name, tuple(map(float, given.args)), options)


def _kernel_density(given: Any) -> Distribution:
    if given.d != 1:
        raise ValueError("a kernel density of one dimension is needed")
    variance = float(given.covariance[0, 0])
    weights = (given.weights / given.weights.sum()).tolist()
    centres = given.dataset[0].tolist()
    return Mixture(tuple((weight, Normal(centre, variance)) for weight, centre in zip(weights, centres, strict=True)))


def _histogram(given: Any, family: Any) -> Distribution:
    edges = np.asarray(family._hbins, np.float64)  # its only description of where the pieces are
    if given is not family:
        shifted = dict(zip(("loc", "scale"), given.args, strict=False)) | given.kwds
        edges = float(shifted.get("loc", 0.0)) + float(shifted.get("scale", 1.0)) * edges
    return _pieces(edges, np.diff(given.cdf(edges)))


def _pieces(edges: Any, shares: Any) -> Mixture:
    total = float(shares.sum())
    pairs = zip((shares / total).tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return Mixture(tuple((share, Uniform(low, high)) for share, low, high in pairs if share > 0.0))


def _discrete(given: Any) -> Distribution:
    low, high = given.support()
    if not math.isfinite(low):
        low = float(given.ppf(_NEGLIGIBLE))
    if not math.isfinite(high):
        high = float(given.ppf(1.0 - _NEGLIGIBLE))
    family = getattr(given, "dist", given)
    if hasattr(family, "xk"):
        shift = float(given.mean() - np.dot(family.xk, family.pk)) if given is not family else 0.0
        values = np.asarray(family.xk, np.float64) + shift
        chances = np.asarray(family.pk, np.float64)
    else:
        if high - low > _MOST_OUTCOMES:
            raise ValueError(f"it has more than {_MOST_OUTCOMES} outcomes")
        values = np.arange(low, high + 1.0)
        chances = np.asarray(given.pmf(values), np.float64)
    chances = chances / chances.sum()
    pairs = zip(values.tolist(), chances.tolist(), strict=True)
    return Discrete(tuple((value, chance) for value, chance in pairs if chance > 0.0))


def _table(given: Any) -> Mixture:
    """Uniform pieces between which the distribution function is straight, as far as its precision goes."""
    if not math.isfinite(float(given.mean())):
        raise ValueError("its mean is not finite")
    edges = np.unique(
        np.asarray(given.ppf([_NEGLIGIBLE, *np.linspace(0.001, 0.999, 64), 1.0 - _NEGLIGIBLE]), np.float64)
    )
    if len(edges) < 2 or not np.isfinite(edges).all():
        raise ValueError("it has no quantiles")
    while len(edges) < _MOST_PIECES:
        heights = np.asarray(given.cdf(edges), np.float64)
        middles = (edges[:-1] + edges[1:]) / 2.0
        bent = np.abs(np.asarray(given.cdf(middles), np.float64) - (heights[:-1] + heights[1:]) / 2.0) > _PRECISION
        if not bent.any():
            break
        edges = np.sort(np.concatenate([edges, middles[bent]]))
    return _pieces(edges, np.diff(np.asarray(given.cdf(edges), np.float64)))
