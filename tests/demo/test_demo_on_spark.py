"""The demo as a streaming query on Spark finds what the embedded engine finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.demo import SCENARIOS
from cepheus.demo.on_spark import find_on_spark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def told(events: Sequence[Event]) -> list[str]:
    return sorted(repr((e.type, e.time, e.id, e.rule, e.made_of, sorted(e.attributes.items()))) for e in events)


def test_a_story_on_spark(spark: SparkSession) -> None:
    scenario = SCENARIOS["museum"]
    stream = scenario.generate(1, 5000)
    batches: list[Sequence[Event]] = []
    found = find_on_spark(spark, scenario, stream, batches.append)
    embedded = cepheus.compile(scenario.rules).detect(EventBatch.from_events(stream.events))
    assert told(found) == told(embedded.to_events())
    assert told([event for batch in batches for event in batch]) == told(found)
    assert len([batch for batch in batches if batch]) > 1  # they come as they are found
