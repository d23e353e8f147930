"""A job for a cluster, made to be killed: a batch that is found again and again, or a stream of a file a micro-batch.

What is found once is not found again: started anew, the job goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fire_files import RULES, SCHEMA
from pyspark.sql import SparkSession

import cepheus.spark

ROUNDS = 6


def batches(spark: SparkSession, folder: Path) -> None:
    """Find what is in all files, by turns read by the tasks themselves, by Spark, and by Spark without a split."""
    events = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    ways: list[dict[str, Any]] = [{}, {"read": "spark"}, {"read": "spark", "split": "whole"}]
    for number in range(ROUNDS):
        out = folder / "out" / f"round-{number}"
        if (out / "_SUCCESS").exists():
            continue
        options = ways[number % len(ways)]
        found = cepheus.spark.detect(RULES, events, sequence="n", id="n", provenance=True, **options)
        found.dataframe.write.mode("overwrite").parquet(str(out))


def stream(spark: SparkSession, folder: Path, way: str) -> None:
    """Find what is in the files as they come."""
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found = cepheus.spark.detect(RULES, events, sequence="n", id="n", lateness="3 seconds", shards=2)
    if way == "micro-batches":
        query = found.write_stream("parquet", folder / "out", checkpoint=folder / "checkpoint", trigger="available now")
        query.await_termination()
        return
    (
        found.dataframe.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


if __name__ == "__main__":
    place, wanted = Path(sys.argv[1]), sys.argv[2]
    session = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    if wanted == "batch":
        batches(session, place)
    else:
        stream(session, place, wanted)
    session.stop()
