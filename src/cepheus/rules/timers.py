"""Timers: rules that are evaluated at moments of their own, which need not be the time of any event.

``5 min after A(..)`` sets a moment for each matching A. ``every 10 min`` has one at each multiple of ten minutes since
the epoch, from the first event's time on. The rule calls its moment ``now``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cepheus.core.event import DIGEST_MASK
from cepheus.core.source import Span
from cepheus.core.time import HOUR, MAX_TIME, MINUTE, SECOND, format_duration

NOW = "now"
"""What a rule with a timer calls the moment at which it is evaluated."""

MOMENT = "a moment"
"""What moments after an event are, in place of a type of events."""


@dataclass(frozen=True, slots=True)
class After:
    """``5 min after A(..)``, A being the terminator: a moment so many microseconds after each matching A."""

    duration: int
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{format_duration(self.duration)} after"


@dataclass(frozen=True, slots=True)
class Every:
    """``every 10 min from 09:00``: a moment at every multiple of the period, in microseconds, shifted by the start.

    >>> str(Every(10 * MINUTE)), str(Every(HOUR, 9 * HOUR + 5 * MINUTE))
    ('every 10 min', 'every 1 h from 09:05')
    """

    period: int
    start: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"every {format_duration(self.period)}{f' from {format_clock(self.start)}' if self.start else ''}"

    @property
    def type(self) -> str:
        """The type of its moments, which no type of events is called.

        >>> Every(10 * MINUTE, 9 * HOUR).type
        'every 10 min'
        """
        return str(Every(self.period, self.start % self.period))

    def first(self, time: int) -> int:
        """The first moment that does not lie before a time, or the end of time if there is none.

        >>> Every(10).first(31), Every(10, 3).first(43), Every(10).first(-7)
        (40, 43, 0)
        """
        found = time + (self.start - time) % self.period
        return min(found, MAX_TIME)


Timer = After | Every

_MOMENTS = re.compile(r"every \d+ [a-z]+( from \d+(:\d\d){1,2})?")
"""What the type of the moments of ``every`` looks like."""


def is_moment(kind: str) -> bool:
    """Whether this is a type of moments; no event type of a rule may be called so.

    >>> is_moment("every 10 min"), is_moment("every 1 h from 09:05"), is_moment("Temp"), is_moment("Failed login")
    (True, True, False, False)
    """
    return kind == MOMENT or _MOMENTS.fullmatch(kind) is not None


def moment_id(kind: str, time: int) -> str:
    """What provenance calls a moment of ``every``, which no event stands for.

    >>> moment_id("every 10 min", 600_000_000)
    'every 10 min:0000000023c34600'
    """
    return f"{kind}:{time & DIGEST_MASK:016x}"


def format_clock(microseconds: int) -> str:
    """Write a time of day.

    >>> format_clock(9 * HOUR), format_clock(9 * HOUR + 30 * SECOND)
    ('09:00', '09:00:30')
    """
    seconds = f":{microseconds % MINUTE // SECOND:02}" if microseconds % MINUTE else ""
    return f"{microseconds // HOUR:02}:{microseconds % HOUR // MINUTE:02}{seconds}"
