"""What the metrics of streaming detections are called: never two alike in a query, and the same after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cepheus.runtime.spark.metrics import free_names, take_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Settings:
    """The settings of a session."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def get(self, key: str, default: str) -> str:
        return self._kept.get(key, default)

    def set(self, key: str, value: str) -> None:
        self._kept[key] = value


class Session:
    """As much of a session as names need."""

    def __init__(self) -> None:
        self.conf = Settings()


def test_names_are_taken_until_a_query_starts_with_them() -> None:
    session = cast("SparkSession", Session())
    assert [take_name(session, None) for _ in range(3)] == ["cepheus", "cepheus-2", "cepheus-3"]
    assert take_name(session, "fires") == "fires"
    free_names(session, ["source0", "cepheus", "cepheus-3", "fires"])
    assert [take_name(session, None) for _ in range(3)] == ["cepheus", "cepheus-3", "cepheus-4"]
    assert take_name(cast("SparkSession", Session()), None) == "cepheus"
