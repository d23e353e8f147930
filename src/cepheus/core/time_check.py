"""Do times make sense in their unit? Numbers in a unit that nobody gave, or in the wrong one, give false alarms."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import CepheusWarning, Diagnostic, OptionError, Place, Severity
from cepheus.core.time import DAY, SECOND, TimeUnit, format_time

EARLY = 60 * DAY
"""The beginning of 1970: seconds and milliseconds since then lie here, taken for microseconds, until the year 2130."""

FIRST, LAST = -30_610_224_000 * SECOND, 32_503_680_000 * SECOND
"""The years 1000 and 3000: no events are looked for before and after."""

_YEAR = 365.2425 * DAY
_PACKAGE = str(Path(__file__).parents[1])


@dataclass(slots=True)
class TimeCheck:
    """Looks at the first times of a run that are mere numbers, and says once if they make no sense in their unit.

    ``given`` says that the unit was asked for: then times at the beginning of 1970 are believed. It is said as a
    CepheusWarning or, if ``strict``, as an OptionError. ``looked`` tells whether there were any such times yet.

    >>> check = TimeCheck(TimeUnit.US, given=False, strict=True)
    >>> check.look(np.array([1_767_225_600, 1_767_312_000]))
    Traceback (most recent call last):
    ...
    cepheus.core.errors.OptionError: error[time-unit]: the times are numbers without a unit: taken for microseconds...
      hint: they look like seconds since 1970: time_unit='s'
    """

    unit: TimeUnit
    given: bool
    strict: bool = False
    looked: bool = False
    told: bool = field(default=False, repr=False)

    @classmethod
    def of(cls, unit: TimeUnit | None, *, strict: bool = False) -> TimeCheck:
        """Make the check of a run; without a unit times are in microseconds."""
        return cls(unit or TimeUnit.US, unit is not None, strict)

    def look(self, times: NDArray[np.int64], place: Place | None = None) -> None:
        """Look at times, in microseconds, that were numbers in the unit."""
        if not len(times):
            return
        self.looked = True
        finding = self.finding(int(times.min()), int(times.max()))
        if finding is not None and self.strict:
            raise OptionError([replace(finding, place=place)])
        if finding is not None and not self.told:
            self.told = True
            warn(replace(finding, place=place, severity=Severity.WARNING))

    def finding(self, first: int, last: int) -> Diagnostic | None:
        """Say what is strange about times between two, None if nothing is."""
        if not self.given and first > -EARLY and last < EARLY:
            span = format_time(first) if first == last else f"{format_time(first)} to {format_time(last)}"
            message = f"the times are numbers without a unit: taken for microseconds they are {span}"
            return Diagnostic("time-unit", message, hint=self._guess(first, last))
        if first > LAST or last < FIRST:
            year = 1970 + int((first if first > LAST else last) / _YEAR)
            message = f"the times are in the year {year}, taken for {_WORDS[self.unit]}"
            return Diagnostic("time-unit", message, hint=self._guess(first, last))
        return None

    def _guess(self, first: int, last: int) -> str:
        """Say which unit the numbers look like."""
        scale = self.unit.microseconds
        for unit in TimeUnit:
            if all(EARLY <= time // scale * unit.microseconds <= LAST for time in (first, last)):
                return f"they look like {_WORDS[unit]} since 1970: time_unit='{unit.value}'"
        if all(EARLY <= time // scale // 1000 <= LAST for time in (first, last)):
            return "they look like nanoseconds since 1970, which is no unit here: divide them by 1000"
        return "say which unit they are in: time_unit='s', or ms or us"


def warn(finding: Diagnostic) -> None:
    """Issue a Python warning that points to the code which called this library."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(CepheusWarning(finding), stacklevel=level)


_WORDS = {TimeUnit.US: "microseconds", TimeUnit.MS: "milliseconds", TimeUnit.S: "seconds"}
