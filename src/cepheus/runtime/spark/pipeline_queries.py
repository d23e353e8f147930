"""The queries of a pipeline, one for each sink: started, waited for, and stopped together if one of them fails.

A sink whose query has failed must not be missed because another's runs on: what made it fail is raised within seconds,
and a pipeline that has failed leaves no query behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from cepheus.runtime.spark.micro_batches import DetectionQuery

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    Query = StreamingQuery | DetectionQuery

Started = TypeVar("Started", bound="Query")


def start_all(starts: Iterable[Callable[[], Started]]) -> list[Started]:
    """Start queries one after the other; if one cannot be started, those before it are stopped."""
    begun: list[Started] = []
    with stopping(begun):
        for start in starts:
            begun.append(start())  # noqa: PERF401  # those that have begun are known if one cannot be started
    return begun


@contextmanager
def stopping(queries: Sequence[Query]) -> Iterator[None]:
    """Stop queries if what is done meanwhile fails; whatever the sequence has by then is stopped."""
    try:
        yield
    except Exception:
        for query in queries:
            with suppress(Exception):  # what failed first is raised
                query.stop()
        raise


def await_all(queries: Sequence[Query], seconds: float, glance: Callable[[], None] = lambda: None) -> None:
    """Wait until all queries have ended. What made one fail is raised, while others may still run.

    They are looked at, and ``glance`` is called, every so many seconds, and once more when all have ended.
    """
    waiting = list(queries)
    while waiting:
        for query in [each for each in waiting if not is_active(each)]:
            _await(query, None)  # it has ended: this only raises what made it fail
            waiting.remove(query)
        if waiting:
            _await(waiting[0], seconds)
        glance()


def is_active(query: Query) -> bool:
    """Whether a query has not ended."""
    return bool(query.query.isActive if isinstance(query, DetectionQuery) else query.isActive)


def _await(query: Query, seconds: float | None) -> None:
    if isinstance(query, DetectionQuery):
        query.await_termination(seconds)
    else:
        query.awaitTermination(seconds)  # type: ignore[arg-type]  # Spark takes fractions
