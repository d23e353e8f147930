"""What the counts of a streaming detection are called in the progress of a query.

Spark refuses a query in which two metrics have one name, and nobody knows beforehand which detections will go into one.
So those of a session that no query was started with have different names; when a query starts, theirs are free again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

METRICS = "cepheus"
"""The name of a detection's metrics, where no other has taken it; the next is ``cepheus-2``."""

_TAKEN = "spark.cepheus.metrics"
"""Where a session keeps the names that detections have taken."""

_ONE_AT_A_TIME = Lock()


def take_name(spark: SparkSession, given: str | None) -> str:
    """Name the metrics of a new detection: as was given, or as no other of the session is called."""
    if given is not None:
        return given
    with _ONE_AT_A_TIME:
        taken = _taken(spark)
        name = next(name for name in _names() if name not in taken)
        spark.conf.set(_TAKEN, ",".join(sorted({*taken, name})))
    return name


def free_names(spark: SparkSession, names: Collection[str]) -> None:
    """Let names be taken again."""
    with _ONE_AT_A_TIME:
        taken = _taken(spark)
        if taken & {*names}:
            spark.conf.set(_TAKEN, ",".join(sorted(taken - {*names})))


def _taken(spark: SparkSession) -> set[str]:
    return set((spark.conf.get(_TAKEN, "") or "").split(",")) - {""}


def _names() -> Iterator[str]:
    yield METRICS
    yield from (f"{METRICS}-{number}" for number in count(2))
