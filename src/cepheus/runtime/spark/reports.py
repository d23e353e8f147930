"""What tasks report to the driver beside their rows, by a name each: Spark's accumulators of dicts."""

from __future__ import annotations

from typing import Any

from pyspark.accumulators import AccumulatorParam


class Reports(AccumulatorParam[dict[Any, Any]]):
    """Collects what tasks report; one that is run twice reports once, as the later report takes the name."""

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
        """Nothing."""
        del value
        return {}

    def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802  # Spark calls it so
        """Take in more reports."""
        value1.update(value2)
        return value1
