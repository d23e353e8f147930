"""Rules that change while a stream runs: taken over between two micro-batches, or refused, and those of before stay."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fire_files import arrivals, make_events, write_file
from pyspark.sql import functions as f

from cepheus.core.errors import OptionError
from cepheus.runtime.spark.pipeline_file import Pipeline, read_pipeline
from cepheus.runtime.spark.pipeline_run import detection_of, followed_rules
from cepheus.runtime.spark.rule_reload import FollowedRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARED = "event Smoke(area: string, n: int);\nevent Temp(area: string, value: double, n: int);\n"
FIRE = (
    "define Fire(area: string, n: int) from Smoke(area = $a) and last Temp(area = $a and value > 45) "
    "within 60 s from Smoke where area = $a and n = Temp.n"
)
HOT = "define Hot(area: string, n: int) from Temp(area = $a and value > 60) where area = $a and n = Temp.n"
BROKEN = "define Hot(area: string) from Temp(area = "


def pipeline(folder: Path, rules: str = '["rules"]') -> Pipeline:
    path = folder / "pipeline.toml"
    path.write_text(
        f"""
rules = {rules}
reload = "1 s"
[detect]
id = "n"
sequence = "n"
lateness = "3 seconds"
shards = 2
[[sources]]
format = "parquet"
path = "in"
stream = true
schema = "type string, time timestamp, area string, value double, n long"
[[sinks]]
format = "parquet"
path = "out"
checkpoint = "checkpoint"
"""
    )
    return read_pipeline(path)


def test_rules_change_under_load(spark: SparkSession, tmp_path: Path) -> None:
    """Whenever the change comes, in a micro-batch or between two, nothing of the rule that stays is lost or doubled."""
    events = make_events(400, seed=7)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "fire.tesla").write_text(DECLARED + FIRE)
    for number, some in enumerate(arrivals(events, 8, seed=8)):
        write_file(some, tmp_path / "in", number)
    described = pipeline(tmp_path)
    source = replace(described.sources[0], options={"maxFilesPerTrigger": "1"})
    followed = followed_rules(spark, replace(described, sources=(source,)))
    hot = tmp_path / "rules" / "hot.tesla"
    for change in (lambda: hot.write_text(HOT), hot.unlink, lambda: hot.write_text(HOT)):
        change()
        take_over(followed)
    until_read(followed)
    for query in followed.queries:
        query.stop()
    found = spark.read.parquet(str(tmp_path / "out")).where("type = 'Fire'")
    rows = found.select("type", f.unix_micros("time"), "n").collect()
    assert sorted(map(tuple, rows)) == spark_of(spark, DECLARED + FIRE, tmp_path)


def until_read(followed: FollowedRules) -> None:
    followed.queries[0].process_all_available()


def take_over(followed: FollowedRules) -> None:
    assert not followed.look(), "they may be being written"
    assert followed.look()


def test_a_running_stream_takes_over_rules(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    events = make_events(300, seed=5)
    files = arrivals(events, 4, seed=6)
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "fire.tesla").write_text(DECLARED + FIRE)
    write_file(files[0], tmp_path / "in", 0)
    followed = followed_rules(spark, pipeline(tmp_path))
    until_read(followed)
    assert not followed.look()  # nothing has changed

    (rules / "hot.tesla").write_text(BROKEN)
    with caplog.at_level(logging.ERROR, "cepheus.spark"):
        assert not followed.look()
        assert not followed.look()
    assert len(caplog.records) == 1, "told once"
    assert "those of before stay at work" in caplog.text
    write_file(files[1], tmp_path / "in", 1)
    until_read(followed)

    first = {event["n"] for file in files[:2] for event in file}
    (rules / "hot.tesla").write_text(HOT)
    take_over(followed)
    for number in (2, 3):
        write_file(files[number], tmp_path / "in", number)
        until_read(followed)
    progress = followed.queries[0].progress
    for query in followed.queries:
        query.stop()

    found = spark.read.parquet(str(tmp_path / "out")).select("type", f.unix_micros("time"), "n").collect()
    whole = spark_of(spark, DECLARED + FIRE, tmp_path)
    assert sorted(tuple(row) for row in found if row[0] == "Fire") == whole, "the rule that stayed keeps its state"
    hot = {row[2] for row in found if row[0] == "Hot"}
    late_ones = {e["n"] for e in events if e["type"] == "Temp" and e["value"] > 60 and e["n"] not in first}
    assert hot == late_ones, "the new one begins with the next micro-batch"
    assert [done.batch for done in progress.recent] == [0, 1, 2, 3], "one progress over all of it"


def spark_of(spark: SparkSession, rules: str, folder: Path) -> list[tuple[str, int, int]]:
    """What one run over all that was read finds."""
    import cepheus.spark

    rows = spark.read.parquet(str(folder / "in"))
    found = cepheus.spark.detect(rules, rows, id="n", sequence="n", shards=2).dataframe
    return sorted(tuple(row) for row in found.select("type", f.unix_micros("time"), "n").collect())


def test_rules_may_be_rows_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([(DECLARED,), (FIRE,), (HOT,)], "rule string").write.json(str(tmp_path / "table"))
    write_file(make_events(20, seed=1), tmp_path / "in", 0)
    described = pipeline(tmp_path, '"json:table"')
    assert {each.name for each in detection_of(spark, described).checked.rules.rules} == {"Fire", "Hot"}
    spark.createDataFrame([("x",)], "text string").write.json(str(tmp_path / "other"))
    with pytest.raises(OptionError, match="has no column 'rule'"):
        detection_of(spark, pipeline(tmp_path, '"json:other"'))
    with pytest.raises(OptionError, match="cannot read the rules in 'json:/"):
        detection_of(spark, pipeline(tmp_path, '"json:nothing"'))


def test_what_is_said_of_rules_makes_sense(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="neither a list nor a table"):
        pipeline(tmp_path, '"fire.tesla"')
    (tmp_path / "rules").mkdir()
    with pytest.raises(OptionError, match="the folder 'rules' has no rule files"):
        pipeline(tmp_path)
    (tmp_path / "rules" / "a.tesla").write_text(DECLARED)
    text = (tmp_path / "pipeline.toml").read_text()
    (tmp_path / "pipeline.toml").write_text(text.replace('checkpoint = "checkpoint"', 'writer = "operator"'))
    with pytest.raises(OptionError, match="only by a stream that micro-batches write"):
        read_pipeline(tmp_path / "pipeline.toml")
    (tmp_path / "pipeline.toml").write_text(text.replace("stream = true", "").replace('checkpoint = "checkpoint"', ""))
    with pytest.raises(OptionError, match="rules are read again while a stream runs"):
        read_pipeline(tmp_path / "pipeline.toml")
