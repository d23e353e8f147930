"""Laws: how the true value behind an uncertain number is distributed.

Normal, Uniform, discrete errors, their mixtures and sums all lead to laws of one family, mixtures of spreads, which is
closed under linear expressions. Whatever lies outside of it knows its distribution function and how to draw from it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Protocol, assert_never

import numpy as np
from numpy.typing import NDArray

from cepheus.core.distribution import (
    Biased,
    Custom,
    Discrete,
    Distribution,
    Frozen,
    Mixture,
    Normal,
    Samples,
    Sum,
    Uniform,
)
from cepheus.uncertainty.closed_forms import spread_cdf

MAX_COMPONENTS = 1 << 14
"""A law of more components is not worked out; what needs it is simulated."""

Floats = NDArray[np.float64]


def bounded(number: float) -> float:
    """A number that may have left the range of doubles, at most the largest of them.

    >>> bounded(1e308 * 10)
    1.7976931348623157e+308
    """
    return min(max(number, -sys.float_info.max), sys.float_info.max)


def bounded_sum(numbers: Iterable[float]) -> float:
    """The exact sum of numbers, rounded once, at most the largest double.

    >>> bounded_sum([1e308, 1e308, -1e308, 0.1])
    1e+308
    """
    numbers = list(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError:  # on the way, or at the end
        largest = Fraction(sys.float_info.max)
        return float(min(max(sum(map(Fraction, numbers)), -largest), largest))


class Law(Protocol):
    """How a true value is distributed."""

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values."""

    def mean(self) -> float:
        """The expected value."""

    def moved(self, scale: float, shift: float) -> Law:
        """The law of ``scale * value + shift``."""


@dataclass(frozen=True, slots=True)
class Component:
    """A mean with a Gaussian part and uniform parts, given by half widths, the widest first, around it."""

    weight: float
    mean: float
    variance: float = 0.0
    widths: tuple[float, ...] = ()

    @property
    def is_point(self) -> bool:
        """Whether there is nothing around the mean."""
        return self.variance == 0.0 and not self.widths

    @property
    def total_variance(self) -> float:
        """The variance, the uniform parts included."""
        return self.variance + sum(width * width for width in self.widths) / 3.0


@dataclass(frozen=True, slots=True)
class Spreads:
    """A mixture of components: the closed family.

    >>> Spreads((Component(1.0, 31.8, 1.0),)).below(30.0, inclusive=False)
    0.0359...
    """

    components: tuple[Component, ...]

    @property
    def is_discrete(self) -> bool:
        """Whether all components are points."""
        return all(component.is_point for component in self.components)

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""
        return math.fsum(c.weight * _component_below(c, bound, inclusive) for c in self.components)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        weights = np.array([component.weight for component in self.components])
        chosen = generator.choice(len(weights), count, p=weights / weights.sum())
        values = np.empty(count)
        for index, component in enumerate(self.components):
            rows = np.flatnonzero(chosen == index)
            drawn = np.full(len(rows), component.mean, np.float64)
            if component.variance:
                drawn += generator.normal(0.0, math.sqrt(component.variance), len(rows))
            for width in component.widths:
                drawn += generator.uniform(-width, width, len(rows))
            values[rows] = drawn
        return values

    def mean(self) -> float:
        """The expected value."""
        return bounded_sum(component.weight * component.mean for component in self.components)

    def variance(self) -> float:
        """The variance."""
        mean = self.mean()
        distances = [(c, bounded(c.mean - mean)) for c in self.components]
        return bounded_sum(c.weight * bounded(c.total_variance + away * away) for c, away in distances)

    def moved(self, scale: float, shift: float) -> Spreads:
        """The law of ``scale * value + shift``."""
        size = abs(scale)
        return Spreads(
            tuple(
                Component(
                    c.weight,
                    bounded(scale * c.mean + shift),
                    bounded(scale * scale * c.variance),
                    tuple(size * width for width in c.widths) if size else (),
                )
                for c in self.components
            )
        )


@dataclass(frozen=True, slots=True)
class Foreign:
    """``scale * X + shift`` for a distribution X of SciPy, or one that can be asked like those."""

    frozen: Frozen | Custom
    scale: float
    shift: float

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""
        scipy = _scipy(self.frozen)
        at = (bound - self.shift) / self.scale
        atom = 0.0 if has_density(scipy) else float(scipy.pmf(at))
        if self.scale > 0.0:
            return float(scipy.cdf(at)) - (0.0 if inclusive else atom)
        return float(scipy.sf(at)) + (atom if inclusive else 0.0)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        drawn = _scipy(self.frozen).rvs(size=count, random_state=generator)
        return self.scale * np.asarray(drawn, np.float64) + self.shift

    def mean(self) -> float:
        """The expected value."""
        return self.scale * float(_scipy(self.frozen).mean()) + self.shift

    def moved(self, scale: float, shift: float) -> Law:
        """The law of ``scale * value + shift``."""
        if scale == 0.0:
            return point(shift)
        return Foreign(self.frozen, scale * self.scale, scale * self.shift + shift)

    @property
    def has_density(self) -> bool:
        """Whether no single value has a probability of its own."""
        return has_density(_scipy(self.frozen))

    def quantiles(self, shares: Floats) -> Floats:
        """The values that given shares of values do not exceed."""
        inner = shares if self.scale > 0.0 else 1.0 - shares
        return self.scale * np.asarray(_scipy(self.frozen).ppf(inner), np.float64) + self.shift


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The law of equally likely values, as many as a simulation gives; they are in order."""

    values: Floats

    @classmethod
    def of(cls, values: Floats) -> Sampled:
        """Put values in order."""
        return cls(np.sort(values))

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""
        return float(np.searchsorted(self.values, bound, "right" if inclusive else "left")) / len(self.values)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        return self.values[generator.integers(len(self.values), size=count)]

    def mean(self) -> float:
        """The expected value."""
        return float((self.values / len(self.values)).sum())

    def moved(self, scale: float, shift: float) -> Sampled:
        """The law of ``scale * value + shift``."""
        with np.errstate(over="ignore"):
            moved = np.clip(scale * self.values + shift, -sys.float_info.max, sys.float_info.max)
        return Sampled(moved if scale >= 0.0 else moved[::-1])


@lru_cache(maxsize=256)
def _scipy(frozen: Frozen | Custom) -> Any:
    return frozen.scipy()


def has_density(scipy: Any) -> bool:
    """Whether no single value of a distribution of SciPy has a probability of its own."""
    return not hasattr(scipy, "pmf")


def point(value: float) -> Spreads:
    """The law of a value that is certain."""
    return Spreads((Component(1.0, value),))


def samples(values: Iterable[float]) -> Spreads:
    """The law of equally likely values."""
    ordered = sorted(values)
    return Spreads(tuple(Component(1.0 / len(ordered), value) for value in ordered))


def law_of(error: Distribution, observed: float) -> Law:
    """The law of the true value: the observed one minus its error.

    >>> from cepheus.core.distribution import Normal
    >>> law_of(Normal(0.0, 1.0), 31.8)
    Spreads(components=(Component(weight=1.0, mean=31.8, variance=1.0, widths=()),))
    """
    if isinstance(error, Frozen | Custom):
        return Foreign(error, -1.0, observed)
    return spreads(error).moved(-1.0, observed)


@lru_cache(maxsize=4096)
def spreads(error: Distribution) -> Spreads:
    """A distribution as a mixture of spreads; a distribution of SciPy inside a mixture is simulated."""
    match error:
        case Normal(mean=mean, variance=variance):
            return Spreads((Component(1.0, mean, variance),))
        case Uniform(low=low, high=high):
            width = (high - low) / 2.0
            return Spreads((Component(1.0, (low + high) / 2.0, 0.0, (width,) if width else ()),))
        case Discrete(outcomes=outcomes):
            return Spreads(tuple(Component(weight, value) for value, weight in outcomes if weight > 0.0))
        case Mixture(parts=parts):
            return Spreads(
                tuple(
                    Component(weight * c.weight, c.mean, c.variance, c.widths)
                    for weight, part in parts
                    if weight > 0.0
                    for c in spreads(part).components
                )
            )
        case Sum(parts=parts):
            total = added([spreads(part) for part in parts])
            return total if total is not None else _drawn(error)
        case Samples(values=values):
            return samples(values)
        case Biased(own=own, bias=bias):
            return spreads(Sum((own, bias)))
        case Frozen():
            return _drawn(error)
        case Custom(table=table):
            return spreads(table)
        case _:
            assert_never(error)


def is_foreign(error: Distribution) -> bool:
    """Whether a distribution is not of the closed family, or not exactly."""
    match error:
        case Frozen() | Custom():
            return True
        case Mixture(parts=parts):
            return any(is_foreign(part) for _, part in parts)
        case Sum(parts=parts):
            return any(map(is_foreign, parts))
        case Biased(own=own, bias=bias):
            return is_foreign(own) or is_foreign(bias)
        case Normal() | Uniform() | Discrete() | Samples():
            return False
        case _:
            assert_never(error)


_SEED = 20120321
_DRAWS = 4096


def _drawn(error: Distribution) -> Spreads:
    """Draw samples of a distribution that has no closed form together with others."""
    generator = np.random.default_rng(_SEED)
    if isinstance(error, Frozen):
        return samples(_scipy(error).rvs(size=_DRAWS, random_state=generator).tolist())
    assert isinstance(error, Sum)
    return samples(np.sum([spreads(part).draw(generator, _DRAWS) for part in error.parts], axis=0).tolist())


def added(laws: Iterable[Spreads]) -> Spreads | None:
    """The law of the sum of independent values; None if it has too many components."""
    laws = list(laws)
    if math.prod(len(law.components) for law in laws) > MAX_COMPONENTS:
        return None
    return Spreads(tuple(_added(parts) for parts in product(*(law.components for law in laws))))


def _added(parts: tuple[Component, ...]) -> Component:
    widths = sorted((width for part in parts for width in part.widths), reverse=True)
    return Component(
        math.prod(part.weight for part in parts),
        bounded_sum(part.mean for part in parts),
        bounded_sum(part.variance for part in parts),
        tuple(widths),
    )


def distribution_of(law: Spreads) -> Distribution:
    """A law as a distribution, for an attribute that carries it.

    >>> str(distribution_of(Spreads((Component(0.5, 0.0, 1.0), Component(0.5, 2.0, 0.0, (1.0,))))))
    'M(0.5: N(0, 1), 0.5: U(1, 3))'
    """
    if len(law.components) == 1:
        return _single(law.components[0])
    weights = [component.weight for component in law.components]
    if law.is_discrete and len(set(weights)) == 1:
        return Samples(tuple(component.mean for component in law.components))
    total = math.fsum(weights)
    if law.is_discrete:
        merged: dict[float, float] = {}
        for component in law.components:
            merged[component.mean] = merged.get(component.mean, 0.0) + component.weight / total
        return Discrete(tuple(merged.items()))
    return Mixture(tuple((component.weight / total, _single(component)) for component in law.components))


def _single(component: Component) -> Distribution:
    mean = component.mean
    if not component.widths:
        return Normal(mean, component.variance)
    if component.variance == 0.0 and len(component.widths) == 1:
        return Uniform(mean - component.widths[0], mean + component.widths[0])
    around: list[Distribution] = [Uniform(-width, width) for width in component.widths]
    return Sum((Normal(mean, component.variance), *around))


def _component_below(component: Component, bound: float, inclusive: bool) -> float:
    t = bound - component.mean
    if component.is_point:
        return 1.0 if t > 0.0 or (inclusive and t == 0.0) else 0.0
    sd, widths = math.sqrt(component.variance), component.widths
    if len(widths) > 2:
        return many_uniform(t, sd, widths)
    return spread_cdf(t, sd, widths[0] if widths else 0.0, widths[1] if len(widths) > 1 else 0.0)


_TERMS = np.arange(1, 1 << 14, dtype=np.float64)


def many_uniform(t: float, sd: float, widths: tuple[float, ...]) -> float:
    """The distribution function of a spread of three or more uniform parts, by its Fourier series.

    The density vanishes, or nearly so, outside of the half period, and the terms fall with the fourth power or faster.
    """
    half = sum(widths) + 9.0 * sd
    if abs(t) >= half:
        return 0.0 if t < 0.0 else 1.0
    frequencies = np.pi * _TERMS / half
    amplitudes = np.exp(-0.5 * (sd * frequencies) ** 2)
    for width in widths:
        amplitudes *= np.sinc(width * frequencies / np.pi)
    return float(0.5 + t / (2.0 * half) + np.sum(amplitudes * np.sin(frequencies * t) / (np.pi * _TERMS)))
