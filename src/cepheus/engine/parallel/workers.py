"""Threads that do several things at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Together(Protocol):
    """Does all of some tasks and gives their results."""

    def __call__(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """Do them."""


class Workers:
    """So many threads, started when there is first something to do."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def together(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """Do all of the tasks and give their results; if some fail, the first failure after all have ended."""
        waiting = list(tasks)
        if self.threads == 1 or len(waiting) < 2:
            return in_turn(waiting)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="cepheus")
        futures = [self._pool.submit(task) for task in waiting]
        failures = [failure for future in futures if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]


def in_turn(tasks: Iterable[Callable[[], T]]) -> list[T]:
    """Do the tasks one after the other: where there is little to do, threads cost more than they save."""
    return [task() for task in tasks]
