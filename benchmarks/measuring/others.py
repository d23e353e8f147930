"""How much of the machine others had while something was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_STAT = Path("/proc/stat")
_USER, _NICE, _SYSTEM, _INTERRUPTS, _SOFT, _STOLEN = 0, 1, 2, 5, 6, 7


def share_of_others(work: Callable[[], T]) -> tuple[float | None, T]:
    """Do some work; give the share of the machine's time that other processes and other machines had meanwhile.

    The processes that the work starts must have ended when it is done. None where the system does not say.

    >>> share, answer = share_of_others(lambda: 6 * 7)
    >>> answer, share is None or 0.0 <= share <= 1.0
    (42, True)
    """
    before, own, start = _busy(), _own(), time.monotonic()
    result = work()
    after = _busy()
    there = (time.monotonic() - start) * (os.cpu_count() or 1)
    if before is None or after is None:
        return None, result
    return min(1.0, max(0.0, (after - before - (_own() - own)) / there)), result


def _busy() -> float | None:
    """Give the seconds that the machine's cores were busy, or wanted to be and others on the same hardware were."""
    try:
        ticks = [int(word) for word in _STAT.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return None
    return sum(ticks[n] for n in (_USER, _NICE, _SYSTEM, _INTERRUPTS, _SOFT, _STOLEN)) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Give the seconds of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
