"""A streaming query with changed rules is refused when it is started, whether or not there are events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pair_files import MORE_RULES, RULES, SCHEMA, flowing, start, write_pairs

from cepheus.core.errors import CepheusError, SnapshotError
from cepheus.runtime.spark.checkpoint_rules import FILE
from cepheus.runtime.spark.pipeline_file import read_pipeline
from cepheus.runtime.spark.pipeline_run import detection_of, run_pipeline
from cepheus.runtime.spark.session import plain_failures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGED = RULES.replace("within 5 s from B", "within 6 s from B")


def test_changed_rules_are_refused_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    write_pairs(tmp_path / "in")
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    start(flowing(spark, folder).dataframe, tmp_path).awaitTermination()
    before = sorted(path.relative_to(checkpoint) for path in checkpoint.rglob("*"))
    assert (checkpoint / FILE).is_file()

    for more in (False, True):  # first nothing new, then new events
        if more:
            write_pairs(folder, first=4100)
        with pytest.raises(SnapshotError) as caught:
            start(flowing(spark, folder, CHANGED).dataframe, tmp_path)
        assert str(caught.value) == (
            f"{checkpoint}: error[checkpoint-rules]: the checkpoint was made by other rules: 'Pair' has changed\n"
            "  hint: go on with the rules that made it, or start these with a new checkpoint"
        )
    found = flowing(spark, folder, CHANGED)
    with pytest.raises(SnapshotError, match="'Pair' has changed"):  # the place may come with the start, in any case
        found.of("Pair").writeStream.start(str(tmp_path / "out"), format="parquet", CheckpointLocation=str(checkpoint))
    with pytest.raises(SnapshotError, match="'Pair' has changed"):
        found.dataframe.writeStream.foreachBatch(print).option("checkpointLocation", str(checkpoint)).start()
    with pytest.raises(SnapshotError, match="'Pair' has changed"):
        found.dataframe.writeStream.option("checkpointLocation", str(checkpoint)).toTable("nowhere", format="parquet")
    with pytest.raises(SnapshotError, match="made with 2 shards, and now there would be 3"):
        start(flowing(spark, folder, shards=3).dataframe, tmp_path)
    with pytest.raises(SnapshotError, match="runs detect once, this one does 2 times"):
        start(found.dataframe.union(found.dataframe), tmp_path)
    assert sorted(path.relative_to(checkpoint) for path in checkpoint.rglob("*")) == before

    (checkpoint / FILE).unlink()  # as if the start had not been seen: the shards themselves look
    with pytest.raises(SnapshotError, match="made by other rules, or by rules that were split"), plain_failures():
        start(flowing(spark, folder, CHANGED).dataframe, tmp_path).awaitTermination()


def test_the_place_may_be_the_sessions(spark: SparkSession, tmp_path: Path) -> None:
    """A checkpoint that no micro-batch was planned in goes with any rules; one without a name is always new."""
    (tmp_path / "in").mkdir()
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "checkpoints"))

    def run(rules: str, name: str | None) -> None:
        writer = (
            flowing(session, tmp_path / "in", rules).dataframe.writeStream.format("noop").trigger(availableNow=True)
        )
        (writer if name is None else writer.queryName(name)).start().awaitTermination()

    run(MORE_RULES, "pairs")
    run(RULES, "pairs")
    kept = tmp_path / "checkpoints" / "pairs" / FILE
    assert list(json.loads(kept.read_text())["detections"][0]["rules"]) == ["Pair", "Other"]
    write_pairs(tmp_path / "in")
    run(RULES, "pairs")
    with pytest.raises(SnapshotError, match="'Again' is new, 'Pair' is gone, 'Other' is gone"):
        run(MORE_RULES, "pairs")
    run(MORE_RULES, None)


def test_other_queries_are_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    write_pairs(tmp_path / "in")
    flowing(spark, tmp_path / "in")
    start(spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in")), tmp_path).awaitTermination()
    assert spark.read.parquet(str(tmp_path / "out")).count() == 19
    assert not (tmp_path / "checkpoint" / FILE).exists()


PIPELINE = f"""
rules = ["pairs.tesla"]

[[sources]]
format = "parquet"
path = "in"
schema = "{SCHEMA}"
stream = true

[[sinks]]
format = "parquet"
path = "out"
checkpoint = "checkpoint"
writer = "operator"
trigger = "available now"

[detect]
lateness = "2 seconds"
shards = 2
"""


def test_a_pipeline_is_refused_as_well(spark: SparkSession, tmp_path: Path) -> None:
    write_pairs(tmp_path / "in")
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    (tmp_path / "pairs.tesla").write_text(RULES)
    pipeline = read_pipeline(tmp_path / "pipeline.toml")
    run_pipeline(pipeline, detection_of(spark, pipeline))
    (tmp_path / "pairs.tesla").write_text(CHANGED)
    with pytest.raises(CepheusError, match=f"^{tmp_path}/checkpoint: error.checkpoint-rules.: .* 'Pair' has changed"):
        run_pipeline(pipeline, detection_of(spark, pipeline))
