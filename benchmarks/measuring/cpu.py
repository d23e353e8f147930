"""CPU time of Spark and its Python workers: what a job costs, however busy the machine is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.measuring.timing import Timing

T = TypeVar("T")
_PROC = Path("/proc")


def timed_family(work: Callable[[], T]) -> tuple[Timing, T]:
    """Do some work and give its time on the wall clock and the CPU time of this process and all below it.

    Where the system does not tell the times of other processes, only this process counts.
    """
    cpu, wall = _family_seconds(), time.perf_counter()
    result = work()
    return Timing(time.perf_counter() - wall, _family_seconds() - cpu), result


def _family_seconds() -> float:
    if not (_PROC / "self" / "stat").exists():
        return time.process_time()
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            pid = int(folder.name)
            parents[pid] = int(fields[1])
            ticks[pid] = sum(map(int, fields[11:15]))  # own and ended children's, user and system
    family = {os.getpid()}
    while True:
        grown = family | {pid for pid, parent in parents.items() if parent in family}
        if grown == family:
            return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")
        family = grown
