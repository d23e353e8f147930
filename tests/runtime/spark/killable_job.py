"""A streaming job of its own: processes all files of a folder, one a micro-batch, and ends. Made to be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from fire_files import RULES, SCHEMA

import cepheus.spark


def main(folder: Path, way: str = "operator") -> None:
    spark = cepheus.spark.spark_session("local[2]", name="killable")
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    found = cepheus.spark.detect(RULES, events, sequence="n", id="n", lateness="3 seconds", shards=2)
    if way == "micro-batches":
        query = found.write_stream("parquet", folder / "out", checkpoint=folder / "checkpoint", trigger="available now")
        query.await_termination()
        return
    started = (
        found.dataframe.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    started.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
