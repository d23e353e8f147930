"""A limit on how many events a client may publish per second: those who are faster wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """A bucket that fills at ``rate`` per second and holds one second's worth; 0 is no limit.

    >>> pace = Pace(100.0, now=0.0)
    >>> pace.take(100, now=0.0), pace.take(50, now=0.0), pace.take(10, now=1.0)
    (0.0, 0.5, 0.0)
    """

    rate: float
    now: float
    _used: float = 0.0

    def take(self, events: int, now: float) -> float:
        """Count events; give the seconds to wait before the next ones."""
        if not self.rate:
            return 0.0
        self._used = max(0.0, self._used - (now - self.now) * self.rate) + events
        self.now = now
        return max(0.0, self._used / self.rate - 1.0)
