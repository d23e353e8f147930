"""``ties ordered`` on Spark: by a named column, refused without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cepheus.spark
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
ties ordered;
define Attack(user: string, n: int) from Login(user=$u) and $n = Count(Login(user=$u) within 1 min from Login) >= 11
where user=$u and n=$n
"""


def test_twelve_logins_of_one_second_are_found_by_their_sequence(spark: SparkSession) -> None:
    rows = [("Login", 7, f"u{k % 2}", k) for k in range(24)]
    events = spark.createDataFrame(rows, "type string, time bigint, user string, n bigint").repartition(3)
    found = cepheus.spark.detect(RULES, events, time_unit="s", sequence="n", shards=3)
    assert sorted((row["user"], row["n"]) for row in found.dataframe.collect()) == [("u0", 11), ("u1", 11)]
    assert found.ties().passed_over == 0
    with pytest.raises(OptionError, match="ties ordered needs a column that tells it") as refused:
        cepheus.spark.detect(RULES, events, time_unit="s")
    assert "sequence='COLUMN'" in str(refused.value)
