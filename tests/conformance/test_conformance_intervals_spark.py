"""The recorded cases of interval rules on Spark: each through a shard, and a good many through one job."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from interval_cases import IntervalCase, in_order, load_interval_cases, together

import cepheus.spark
from cepheus.core.time import SECOND
from cepheus.formats.intervals import argument_name
from cepheus.rules.check import check
from cepheus.runtime.spark.layout import SHARD

sys.path.append(str(Path(__file__).parents[1] / "runtime" / "spark"))

from event_rows import described, rows_of, whole_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = load_interval_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shard(case: IntervalCase) -> None:
    checked = check(case.rules, schema=described(case.events))
    job = whole_job(checked, sequenced=False)
    rows = rows_of(job.events, checked.inputs, [event for event in case.events if event.type in checked.inputs])
    rows = rows.append_column(SHARD, pa.array([0] * len(rows), pa.int32()))
    marks = pa.table({SHARD: pa.array(job.awake, pa.int32())})
    rows = pa.concat_tables([marks, rows], promote_options="default").select(rows.column_names)
    composites = [row for batch in job.run(rows.to_batches(max_chunksize=3)) for row in batch.to_pylist()]
    assert in_order(map(found, composites)) == case.expected


def found(row: dict[str, Any]) -> tuple[Any, ...]:
    """Give a row in the notation of the cases."""
    places = sorted((name for name in row if name.startswith("arg")), key=lambda name: int(name[3:]))
    values = tuple(row[name] for name in places if row[name] is not None)
    start, end = (round(row[name].timestamp() * SECOND) // SECOND for name in ("start", "time"))
    return row["type"], values, start, end


def test_one_job(spark: SparkSession) -> None:
    some = together([case for case in CASES[::4] if set(case.kinds) <= {int}])
    assert some.name == "28 cases"
    width = max(len(event.attributes) for event in some.events)
    names = [argument_name(place) for place in range(1, width + 1)]
    rows = [
        (event.type, event.time, number, *(event.attributes.get(name) for name in names))
        for number, event in enumerate(some.events)
    ]
    columns = "".join(f", {name} long" for name in names)
    frame = spark.createDataFrame(rows, f"type string, time long, sequence long{columns}").repartition(2)
    detection = cepheus.spark.detect(some.rules, frame, sequence="sequence", shards=3)
    assert in_order(found(row.asDict()) for row in detection.dataframe.collect()) == some.expected
