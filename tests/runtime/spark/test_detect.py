from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import cepheus.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRE = """
define Fire(area: string, temp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and temp = Temp.value
"""


def test_three_lines_in_a_job(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [("Temp", 10, "A1", 51.5), ("Temp", 20, "A2", 80.0), ("Smoke", 60, "A1", None)],
        "type string, time long, area string, value double",
    )
    found = cepheus.spark.detect(FIRE, events, time_unit="s")
    fires = found.of("Fire").collect()
    assert [row.asDict() for row in fires] == [
        {"time": datetime.fromtimestamp(60, UTC).replace(tzinfo=None), "area": "A1", "temp": 51.5}
    ]
