"""Rules with networks on Spark: the same probabilities as in one process."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest

import cepheus
import cepheus.spark
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import HOUR
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.spark.shard import GroupJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
define Fire(area: string) from Smoke(area=$a) and last Temp(area=$a and value > 45) within 5 min from Smoke
where area=$a
rule Sure define Smoky(area: string) from Smoke() where area=Smoke.area

network Fire {
  node Jam {HIGH: 0, LOW: 1} from '07:00' to '09:00' {HIGH: 1, LOW: 0}
  node Temp given Fire { YES: {YES: 1, NO: 0}  NO: {YES: .5, NO: .5} }
  node Smoke given Fire, Jam {
    YES, *: {YES: 1, NO: 0}  NO, HIGH: {YES: 1, NO: 0}  NO, LOW: {YES: .5, NO: .5}
  }
}
"""


def test_probabilities_are_a_column(spark: SparkSession) -> None:
    events = [
        event
        for hour in (6, 8, 10)
        for event in (("Temp", hour * HOUR - 1, "A1", 50.0), ("Smoke", hour * HOUR, "A1", None))
    ]
    frame = spark.createDataFrame(events, "type string, time long, area string, value double")
    found = cepheus.spark.detect(RULES, frame, shards=2)
    assert found.dataframe.columns == ["type", "time", "probability", "area"]
    fires = {row.time.hour: row.probability for row in found.of("Fire").collect()}
    assert fires == {6: pytest.approx(0.8), 8: pytest.approx(2 / 3), 10: pytest.approx(0.8)}
    assert {row.probability for row in found.of("Smoky").collect()} == {1.0}
    records = [{"type": kind, "time": time, "area": area, "value": value} for kind, time, area, value in events]
    embedded = cepheus.compile(RULES).detect(records, engine="reference").to_events()
    assert sorted((event.type, event.time // HOUR, event.probability) for event in embedded) == sorted(
        (row.type, row.time.hour, row.probability) for row in found.dataframe.collect()
    )


def test_without_networks_there_is_no_such_column(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(datetime(2026, 1, 1), "A1")], "time timestamp, area string")
    found = cepheus.spark.detect("define Smoky() from Smoke()", {"Smoke": frame}, engine="reference")
    assert found.dataframe.columns == ["type", "time"]


def test_what_a_shard_remembers_goes_on_with_another_network() -> None:
    def engine(belief: str) -> Engine:
        checked = check(parse(RULES.split("network", maxsplit=1)[0] + belief))
        types = Schema({**checked.composites, **checked.inputs}.values())
        return GroupJob(
            checked.rules.rules,
            types,
            RunOptions(engine="reference", limit=100),
            range(1),
            beliefs=checked.rules.beliefs,
        ).start()

    first = engine("network Fire { node Smoke given Fire { *: {YES: .5, NO: .5} } }")
    first.feed_event(Event("Temp", 0, {"area": "A1", "value": 50.0}))
    second = engine("network Sure { node Smoke given Smoky { *: {YES: .5, NO: .5} } }")
    second.restore(first.snapshot())
    smoke = Event("Smoke", 1, {"area": "A1"})
    assert {made.type: made.probability for made in first.feed_event(smoke)} == {"Fire": 1.0, "Smoky": 1.0}
    assert {made.type: made.probability for made in second.feed_event(smoke)} == {"Fire": 1.0, "Smoky": 0.5}
