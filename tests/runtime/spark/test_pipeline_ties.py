"""A pipeline tells what it counted of simultaneous events, of a batch and of a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.pipeline_file import read_pipeline
from cepheus.runtime.spark.pipeline_run import detection_of, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULE = "define Hot(v: double) from Warning() and last Temp() within 1 min from Warning where v = Temp.v"
SCHEMA = "type string, time timestamp, v double"
EVENTS = """type,time,v
Temp,2026-01-01T00:00:01Z,1.5
Temp,2026-01-01T00:00:01Z,2.5
Warning,2026-01-01T00:00:02Z,
Temp,2026-01-01T00:00:02Z,3.5
Temp,2026-01-01T01:00:00Z,0.0
"""


@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
def test_counts_of_a_pipeline(spark: SparkSession, tmp_path: Path, stream: bool) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "events.csv").write_text(EVENTS)
    (tmp_path / "hot.tesla").write_text(RULE)
    text = f"""
    rules = ["hot.tesla"]
    [[sources]]
    format = "csv"
    path = "in"
    schema = "{SCHEMA}"
    stream = {str(stream).lower()}
    options = {{ header = "true" }}
    [[sinks]]
    format = "parquet"
    path = "out"
    [detect]
    shards = 2
    """
    if stream:
        text = text.replace("[detect]", 'checkpoint = "checkpoint"\ntrigger = "available now"\n[detect]')
        text += 'lateness = "1 second"\n'
    (tmp_path / "pipeline.toml").write_text(text)
    pipeline = read_pipeline(tmp_path / "pipeline.toml")
    ties = run_pipeline(pipeline, detection_of(spark, pipeline))
    assert [row.v for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [2.5]
    assert ties == TieCounts(decided=1, passed_over=1)
