"""Comparisons of uncertain numbers, for Spark: widened so far that no row is left out that may pass with enough
probability.

The true value is the observed one less its error. With an error N(m, s^2) the probability of ``value > c`` is at least
t where ``value - m - s * z(t) >= c``, z being the quantile of the standard Gaussian; with U(low, high) where
``value - low - t * (high - low) >= c``. An error that Spark does not know the form of lets every row through.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from cepheus.core import error_columns
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.error_columns import ErrorSource, Parameter
from cepheus.runtime.spark.sources import Source, column

if TYPE_CHECKING:
    from pyspark.sql import Column

_BEYOND = 40.0
"""So many standard deviations away the probability of a Gaussian is less than the least double above 0."""

_SLACK = 1e-9
"""Rounding moves a sum of doubles by far less than this part of it."""


def enough(least: float, draws: int) -> float:
    """The probability below which an event may be left out, if what it takes part in needs the ``least``.

    Where there is no closed form the engine estimates probabilities by so many draws, and may be off by four standard
    errors.

    >>> enough(0.5, 10_000), enough(0.01, 10_000)
    (0.48, 0.0)
    """
    return max(least - 2 / sqrt(draws), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """A comparison ``value > bound`` or ``value < bound`` that is to hold with a probability of ``least`` at least."""

    value: Column
    upward: bool
    bound: Column
    least: float

    def under(
        self, plain: Column, source: Source, attribute: str, error: ErrorSource | None, declared: Distribution | None
    ) -> Column:
        """Write the condition, whatever error a row has; ``plain`` is that for a certain number.

        An error in the value goes before one in columns, and that before what is declared.
        """
        from pyspark.sql import functions as f

        found = self._declared(declared) if declared is not None else plain
        if error is not None and set(error.columns) <= set(source.frame.columns):
            there = reduce(lambda one, other: one & other, map(_there, error.columns), f.lit(True))
            found = f.when(there, self._error_source(error)).otherwise(found)
        if source.has_errors(attribute):
            found = f.when(source.error(attribute).isNotNull(), f.lit(True)).otherwise(found)
        return found

    def _declared(self, error: Distribution) -> Column:
        from pyspark.sql import functions as f

        match error:
            case Normal(mean=mean, variance=variance):
                return self._normal(f.lit(mean), f.lit(sqrt(variance)))
            case Uniform(low=low, high=high):
                return self._uniform(f.lit(low), f.lit(high))
            case _:
                return f.lit(True)

    def _error_source(self, error: ErrorSource) -> Column:
        """The condition for parameters in columns; those that are none go through, to be refused."""
        from pyspark.sql import functions as f

        if isinstance(error, error_columns.Uniform):
            low, high = _parameter(error.low), _parameter(error.high)
            return (low > high) | self._uniform(low, high)
        if error.sd is not None:
            spread = _parameter(error.sd)
            return (spread < 0) | self._normal(_parameter(error.mean), spread)
        assert error.variance is not None
        variance = _parameter(error.variance)
        return (variance < 0) | self._normal(_parameter(error.mean), f.sqrt(variance))

    def _normal(self, mean: Column, spread: Column) -> Column:
        quantile = NormalDist().inv_cdf(self.least) if self.least > 0 else -_BEYOND
        shift = spread * quantile
        moved = self.value - mean - shift if self.upward else self.value - mean + shift
        return self._passes(moved, mean, shift)

    def _uniform(self, low: Column, high: Column) -> Column:
        part = (high - low) * self.least
        moved = self.value - low - part if self.upward else self.value - high + part
        return self._passes(moved, low, high)

    def _passes(self, moved: Column, one: Column, other: Column) -> Column:
        from pyspark.sql import functions as f

        slack = (f.abs(self.value) + f.abs(self.bound) + f.abs(one) + f.abs(other)) * _SLACK
        return moved >= self.bound - slack if self.upward else moved <= self.bound + slack


def _there(name: str) -> Column:
    from pyspark.sql import functions as f

    value = column(name).cast("double")
    return value.isNotNull() & ~f.isnan(value)


def _parameter(given: Parameter) -> Column:
    from pyspark.sql import functions as f

    return column(given).cast("double") if isinstance(given, str) else f.lit(float(given))


def sound(error: ErrorSource) -> Column:
    """What makes the parameters of a row sound: they are those of an error, or not all there."""
    from pyspark.sql import functions as f

    if isinstance(error, error_columns.Uniform):
        low, high = _parameter(error.low), _parameter(error.high)
        fits = low <= high
    else:
        given = error.variance if error.sd is None else error.sd
        assert given is not None
        fits = _parameter(given) >= 0
    lacking = [~_there(name) for name in error.columns]
    return reduce(lambda one, other: one | other, lacking, f.coalesce(fits, f.lit(True)))
