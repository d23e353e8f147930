"""Errors that stand in columns of their own, next to the values they belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from cepheus.core import distribution
from cepheus.core.distribution import Distribution
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.errors import EventError, OptionError

Floats = NDArray[np.float64]
Parameter = float | str
"""A number for all rows, or the name of the column that has it."""

NO_PARAMETERS = np.nan
"""What a row that lacks a parameter has in its place."""


@dataclass(frozen=True, slots=True)
class Normal:
    """A Gaussian error whose mean and standard deviation (or variance) are columns or numbers.

    >>> Normal(sd="value_sd").columns
    ('value_sd',)
    """

    mean: Parameter = 0.0
    sd: Parameter | None = None
    variance: Parameter | None = None

    def __post_init__(self) -> None:
        if (self.sd is None) == (self.variance is None):
            raise OptionError.of(
                "uncertain",
                "a Normal error takes either a standard deviation or a variance",
                hint='write Normal(sd="value_sd")',
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(name for name in (self.mean, self.sd, self.variance) if isinstance(name, str))

    def errors(self, read: Callable[[Parameter], Floats]) -> tuple[ErrorColumn, dict[int, EventError]]:
        """The error of each row, None where a column has no number; and what is wrong with rows."""
        mean = read(self.mean)
        if self.sd is not None:
            deviation = read(self.sd)
            variance = np.where(deviation < 0, -1.0, deviation * deviation)
        else:
            assert self.variance is not None
            variance = read(self.variance)
        return _checked(ErrorKind.NORMAL, mean, variance, variance < 0, distribution.Normal)


@dataclass(frozen=True, slots=True)
class Uniform:
    """An error equally likely between two bounds, each a column or a number."""

    low: Parameter
    high: Parameter

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(name for name in (self.low, self.high) if isinstance(name, str))

    def errors(self, read: Callable[[Parameter], Floats]) -> tuple[ErrorColumn, dict[int, EventError]]:
        """The error of each row, None where a column has no number; and what is wrong with rows."""
        low, high = read(self.low), read(self.high)
        return _checked(ErrorKind.UNIFORM, low, high, low > high, distribution.Uniform)


ErrorSource = Normal | Uniform
ErrorSources = Mapping[str, ErrorSource]
"""What columns say of the errors of attributes, by the name of the attribute."""


def _checked(
    kind: ErrorKind, first: Floats, second: Floats, bad: NDArray[np.bool_], make: Callable[[float, float], Distribution]
) -> tuple[ErrorColumn, dict[int, EventError]]:
    missing = np.isnan(first) | np.isnan(second)
    faults = {}
    for row in np.flatnonzero(bad & ~missing).tolist():
        try:
            make(float(first[row]), float(second[row]))
        except EventError as error:
            faults[row] = error
    kinds = np.where(missing | bad, int(ErrorKind.NONE), int(kind))
    return ErrorColumn(kinds, np.where(missing, 0.0, first), np.where(missing, 0.0, second)), faults


def error_source_of(attribute: str, table: Mapping[str, object]) -> ErrorSource:
    """Read what columns say of the errors of an attribute, from parameters by name as files have them.

    >>> error_source_of("value", {"sd": "value_sd"})
    Normal(mean=0.0, sd='value_sd', variance=None)
    """
    kind = Uniform if table.keys() == {"low", "high"} else Normal
    plain = all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in table.values())
    if not plain or not table.keys() <= {one.name for one in fields(kind)}:
        raise OptionError.of(
            "uncertain",
            f"the error of '{attribute}' has keys or values that no error has",
            hint="an error has sd or variance, and mean, or low and high",
        )
    return kind(**table)  # type: ignore[arg-type]  # that they are columns or numbers has been seen to


def error_sources_to_json(sources: ErrorSources) -> dict[str, dict[str, Parameter | None]]:
    """Write down as JSON where errors come from."""
    return {name: {"kind": type(each).__name__, **asdict(each)} for name, each in sources.items()}


def error_of_record(
    source: ErrorSource, record: Mapping[str, object], number: Callable[[object, str], float]
) -> tuple[Distribution | None, EventError | None]:
    """The error that a single event has in fields of its own, if any, or what is wrong with it.

    ``number`` reads such a field, given what it holds and its name.
    """

    def read(parameter: Parameter) -> Floats:
        if not isinstance(parameter, str):
            return np.array([float(parameter)])
        value = record.get(parameter)
        return np.array([NO_PARAMETERS if value is None else number(value, parameter)])

    column, faults = source.errors(read)
    return column[0], faults.get(0)
