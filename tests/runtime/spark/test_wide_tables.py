"""Rules that ask for many columns of one table: Spark's optimizer is done with them as fast as with a few."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

import cepheus
import cepheus.spark

COLUMNS = 11


def rules() -> str:
    """As many rules as columns, each of which compares two of them with constants."""
    declared = ", ".join(f"a{i}: double" for i in range(COLUMNS))
    return f"event T({declared}) " + " ".join(
        f"define R{i}(v: double) from T(a{i} > {i} and a{(i + 1) % COLUMNS} < 50) as X "
        f"and last T(a{i} < {i}) as Y within 5 min from X where v=X.a{i};"
        for i in range(COLUMNS)
    )


def test_conditions_on_many_columns_do_not_multiply(spark: SparkSession, tmp_path: Path) -> None:
    columns = [f"cast(id % {50 + i} as double) as a{i}" for i in range(COLUMNS)]
    table = spark.range(300).selectExpr("'T' as type", "timestamp_seconds(id) as time", *columns)
    table.write.parquet(str(tmp_path / "wide"))
    found = cepheus.spark.detect(rules(), spark.read.parquet(str(tmp_path / "wide")))
    execution = cast(Any, found.dataframe)._jdf.queryExecution()
    plan, known = execution.optimizedPlan(), []
    while plan is not None:
        known.append(plan.validConstraints().size())
        plan = plan.children().head() if plan.children().nonEmpty() else None
    assert max(known) < 10 * COLUMNS, known  # and not 2 ** COLUMNS
    assert "PushedFilters: [IsNotNull(type), EqualTo(type,T), Or(" in execution.toString()

    events = [{"type": "T", "time": i, **{f"a{k}": float(i % (50 + k)) for k in range(COLUMNS)}} for i in range(300)]
    alone = cepheus.compile(rules()).detect(events, engine="reference", time_unit="s")
    assert found.dataframe.count() == len(alone) > 0
