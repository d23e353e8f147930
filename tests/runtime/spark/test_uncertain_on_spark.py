"""Uncertain events on Spark: the probabilities and distributions of one engine, to 1e-9, in batches and in streams."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import cepheus
import cepheus.spark
from cepheus.core.batch import EventBatch
from cepheus.core.calculus import Calculus
from cepheus.core.distribution import parse_distribution
from cepheus.core.errors import EventError, OptionError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import SECOND
from cepheus.engine.assembly.registry import create
from cepheus.error_columns import Normal, Uniform
from cepheus.plan.split import split
from cepheus.plan.split.component import uncertain_attributes
from cepheus.runtime.spark.session import plain_failures

sys.path.append(str(Path(__file__).parents[2] / "engine"))
sys.path.append(str(Path(__file__).parents[2] / "plan" / "split"))

from dealing import owned
from shard_runs import ListedWork, Run
from test_uncertain_agreement import same_error
from uncertain_cases import UncertainCase, make_uncertain_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

CALCULUS = Calculus(draws=200)
STRUCT = "struct<value: double, error: string>"
SCHEMA = f"type string, time long, id long, sequence long, p double, x {STRUCT}, y {STRUCT}, n long, k string"


def agree(made: list[Event], wanted: list[Event], where: str) -> None:
    """Compare composite events as multisets, their probabilities and distributions to 1e-9."""
    one, other = (sorted(events, key=lambda e: (str(e.id), e.time)) for events in (made, wanted))
    assert [(e.type, e.time, e.id) for e in one] == [(e.type, e.time, e.id) for e in other], where
    for found, expected in zip(one, other, strict=True):
        assert math.isclose(found.probability, expected.probability, abs_tol=1e-9), where
        for name, value in expected.attributes.items():
            got = found.attributes.get(name)
            close = isinstance(value, float) and isinstance(got, float | int) and math.isclose(value, got, abs_tol=1e-9)
            assert close or value == got, where
        errors = {*found.errors, *expected.errors}
        assert all(same_error(found.errors.get(name), expected.errors.get(name)) for name in errors), where


def expected_of(case: UncertainCase) -> list[Event]:
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    engine = create(RunOptions(engine="reference", calculus=CALCULUS), case.checked.rules.rules, schema)
    return engine.feed(EventBatch.from_events(case.events)).to_events()


def dealt(case: UncertainCase, shards: int) -> tuple[list[Event], set[str]]:
    """Give what shards find, each from its own events alone, and the ways in which the rules were split."""
    given = frozenset((event.type, name) for event in case.events for name in event.errors)
    uncertain = uncertain_attributes(case.checked, given, doubtful=True)
    made = split(case.checked, shards=shards, uncertain=uncertain)
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    found: list[Event] = []
    for group in made.groups:
        for job, shard, events in owned(group, case.events, case.seed, shards, schema, CALCULUS):
            found += job.kept(shard, job.start().feed(EventBatch.from_events(events))).to_events()
    return found, {type(group.way).__name__ for group in made.groups}


def test_shards_find_what_one_engine_finds() -> None:
    ways: set[str] = set()
    fired = 0
    for seed in range(60):
        case = make_uncertain_case(7000 + seed, closed=seed % 6 > 0, events=30)
        expected = expected_of(case)
        for shards in (2, 8):
            found, used = dealt(case, shards)
            agree(found, expected, f"seed {seed}, {shards} shards\n{case.text}")
            ways |= used if expected else set()
        fired += len(expected)
    assert ways >= {"ByKey", "BySlice", "Whole"}
    assert fired > 200


def test_shards_of_streams() -> None:
    for seed in range(15):
        case = make_uncertain_case(8000 + seed, events=30)
        work = ListedWork(
            case.checked,
            EventBatch.from_events(case.events),
            engine_name="auto",
            bounded=seed % 2 > 0,
            calculus=CALCULUS,
        )
        agree(Run.of(work, Random(seed)).run(disorder=seed % 4), expected_of(case), f"seed {seed}\n{case.text}")


def frame(spark: SparkSession, case: UncertainCase) -> DataFrame:
    def both(event: Event, name: str) -> tuple[Any, str | None]:
        error = event.errors.get(name)
        return event.attributes[name], None if error is None else str(error)

    rows = [
        (e.type, e.time, e.id, n, e.probability, both(e, "x"), both(e, "y"), e.attributes["n"], e.attributes["k"])
        for n, e in enumerate(case.events)
    ]
    return spark.createDataFrame(rows, SCHEMA).repartition(3)


def event_of(row: Row) -> Event:
    values: dict[str, Any] = {name: value for name, value in row.asDict().items() if value is not None}
    own = {name: values.pop(name) for name in ("type", "time", "id", "probability")}
    values.pop("from")
    blurred = {name: value.asDict() for name, value in values.items() if hasattr(value, "asDict")}
    numbers = {name: blurred[name]["value"] if name in blurred else value for name, value in values.items()}
    errors = {name: parse_distribution(both["error"]) for name, both in blurred.items() if both["error"] is not None}
    time = round(own["time"].timestamp() * SECOND)
    return Event(own["type"], time, numbers, id=own["id"], probability=own["probability"], errors=errors)


@pytest.mark.parametrize(("shards", "seed"), [(1, 9002), (2, 9003), (8, 9006)])
def test_batches(spark: SparkSession, shards: int, seed: int) -> None:
    case = make_uncertain_case(seed)
    found = cepheus.spark.detect(
        case.checked.rules,
        frame(spark, case),
        sequence="sequence",
        id="id",
        probability="p",
        provenance=True,
        shards=shards,
        calculus=CALCULUS,
    )
    expected = expected_of(case)
    assert expected
    agree([event_of(row) for row in found.dataframe.collect()], expected, case.text)


RULES = """
    event Temp(area: string, value: double); event Smoke(area: string)
    error Temp.value ~ U(-1, 1)
    define Fire(area: string, temp: double)
    from   Smoke(area=$a) and last Temp(area=$a and value > 45) within 5 min from Smoke
    where  area=$a, temp=Temp.value
    min probability 0.3
"""
TEMPS = [
    (1, "A", 50.0, 1.0),  # surely
    (2, "B", 44.5, 2.0),  # 0.4
    (3, "C", 44.5, 0.5),  # 0.16
    (4, "D", 45.1, None),  # 0.55 by the declared error
    (5, "E", 43.0, None),  # not possible
    (6, "F", 30.0, 1.0),  # hardly
    (7, "G", 44.2, None),  # 0.1
]

RECORDS = [{"type": "Temp", "time": t, "area": a, "value": v, "sd": s} for t, a, v, s in TEMPS] + [
    {"type": "Smoke", "time": 10, "area": area} for area in "ABCDEFG"
]


def temps(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(TEMPS, "time long, area string, value double, sd double")


def smokes(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(10, area) for area in "ABCDEFG"], "time long, area string")


def test_error_columns_and_what_is_left_out(spark: SparkSession) -> None:
    events = {"Temp": temps(spark), "Smoke": smokes(spark)}
    found = cepheus.spark.detect(RULES, events, uncertain={"value": Normal(sd="sd")}, time_unit="s", shards=2)
    rows = {row.area: row for row in found.of("Fire").collect()}
    assert {area: round(row.probability, 3) for area, row in rows.items()} == {"A": 1.0, "B": 0.401, "D": 0.55}
    assert rows["B"].temp.asDict() == {"value": 44.5, "error": "N(0, 4)"}
    assert rows["D"].temp.asDict() == {"value": 45.1, "error": "U(-1, 1)"}
    (prepared,) = [source for source in found.planned.sources if source.types == ("Temp",)]
    kept = {
        row[0] for row in prepared.frame.select(found.planned.events.name_of(found.planned.events.columns[0])).collect()
    }
    assert {"A", "B", "D"} <= kept  # an unlikely reading may still be the last one, and takes from the others
    text = found.explain()
    assert "rows where value > 45 as far as possible" in text
    assert "Temp by area; Smoke by area" in text or "Smoke by area; Temp by area" in text


def test_uniform_error_columns_and_negations(spark: SparkSession) -> None:
    rules = """
        event Temp(area: string, value: double); event Smoke(area: string)
        define Cold(area: string) from Smoke(area=$a) and not Temp(area=$a and value > 45) within 5 min from Smoke
        where area=$a
    """
    events = {"Temp": temps(spark), "Smoke": smokes(spark)}
    uncertain = {"value": Uniform(-2.0, "sd")}
    found = cepheus.spark.detect(rules, events, uncertain=uncertain, time_unit="s", shards=2)
    expected = cepheus.compile(rules).detect(RECORDS, uncertain=uncertain, time_unit="s", engine="reference")
    rows = {row.area: row.probability for row in found.of("Cold").collect()}
    assert rows == {event["area"]: pytest.approx(event.probability, abs=1e-9) for event in expected.to_events()}
    assert (rows["B"], rows["C"], rows["F"]) == (pytest.approx(0.625), pytest.approx(0.4), 1.0)
    assert "value > 45 as far as possible" in found.explain()


def test_a_count_of_uncertain_members_is_an_integer(spark: SparkSession) -> None:
    rules = """
        event Temp(area: string, value: double); event Smoke(area: string)
        define Hot(many: int) from Smoke(area="A") and $n = Count(Temp(value > 45) within 5 min from Smoke)
        where many=$n
    """
    events = {"Temp": temps(spark), "Smoke": smokes(spark)}
    uncertain = {"value": Normal(sd="sd")}
    (row,) = cepheus.spark.detect(rules, events, uncertain=uncertain, time_unit="s", shards=2).of("Hot").collect()
    (wanted,) = (
        cepheus.compile(rules).detect(RECORDS, uncertain=uncertain, time_unit="s", engine="reference").to_events()
    )
    assert (row.many.value, type(row.many.value)) == (wanted["many"], int) == (3, int)
    assert same_error(parse_distribution(row.many.error), wanted.errors["many"])


def test_errors_in_the_values_are_known_to_the_engine_alone(spark: SparkSession) -> None:
    temps = spark.createDataFrame(
        [(1, "A", (44.5, "N(0, 4)")), (2, "B", (50.0, None)), (3, "C", (40.0, None)), (4, "D", None)],
        f"time long, area string, value {STRUCT}",
    )
    hot = "define Hot(area: string, v: double) from Temp(value > 45) where area = Temp.area, v = Temp.value"
    found = cepheus.spark.detect(hot, {"Temp": temps}, time_unit="s", shards=2)
    assert {r.area: (round(r.probability, 3), r.v.error) for r in found.of("Hot").collect()} == {
        "A": (0.401, "N(0, 4)"),
        "B": (1.0, None),
    }
    assert "not left out by Spark, as only the engine knows the errors: value > 45" in found.explain()
    prepared = found.planned.sources[0].frame
    assert prepared.count() == 2


def test_keys_are_certain(spark: SparkSession) -> None:
    pair = "define Pair(v: double) from B(v=$v) and last A(v=$v) within 5 s from B where v=$v"
    certain = spark.createDataFrame([(1, 2.0)], "time long, v double")
    blurred = spark.createDataFrame([(1, (2.0, None))], f"time long, v {STRUCT}")
    assert "by keys, " in cepheus.spark.detect(pair, {"A": certain, "B": certain}).explain()
    assert "by keys, " not in cepheus.spark.detect(pair, {"A": blurred, "B": certain}).explain()


def test_networks_multiply(spark: SparkSession) -> None:
    belief = "network Fire { node Smoke given Fire { YES: {YES: 1, NO: 0}  NO: {YES: .5, NO: .5} } }"
    events = {"Temp": temps(spark), "Smoke": smokes(spark)}
    found = cepheus.spark.detect(RULES + belief, events, uncertain={"value": Normal(sd="sd")}, time_unit="s", shards=2)
    rules = cepheus.compile(RULES + belief)
    embedded = rules.detect(
        RECORDS, uncertain={"value": Normal(sd="sd")}, time_unit="s", engine="reference"
    ).to_events()
    rows = {row.area: row.probability for row in found.of("Fire").collect()}
    assert rows == {event["area"]: pytest.approx(event.probability, abs=1e-9) for event in embedded}


def test_what_is_wrong(spark: SparkSession) -> None:
    events = {"Temp": temps(spark), "Smoke": smokes(spark)}
    with pytest.raises(OptionError, match="no column 'sdd' for the error of 'value'"):
        cepheus.spark.detect(RULES, events, uncertain={"value": Normal(sd="sdd")})
    with pytest.raises(OptionError, match="the column 'area' cannot be the error of 'value'"):
        cepheus.spark.detect(RULES, events, uncertain={"value": Normal(sd="area")})
    bad = spark.createDataFrame(
        [(1, 50.0, -1.0, 1.5), (2, 50.0, 1.0, 0.5)], "time long, value double, sd double, p double"
    )
    hot = "define Hot() from Temp(value > 45)"
    given: dict[str, Any] = {"uncertain": {"value": Normal(sd="sd")}, "probability": "p"}
    with pytest.raises(EventError), plain_failures():
        cepheus.spark.detect(hot, {"Temp": bad}, **given).dataframe.collect()
    (row,) = cepheus.spark.detect(hot, {"Temp": bad}, on_bad_event="skip", **given).dataframe.collect()
    assert row.probability == pytest.approx(0.5)


BAD_TEXTS = [
    (1, "A", (50.0, "N(0, 1)")),
    (2, "B", (50.0, "N(0, -1)")),
    (3, "C", (50.0, None)),
    (4, "D", (50.0, "N(0")),
    (5, "E", (50.0, "U(2, 1)")),
    (6, "F", (50.0, "D(0: 0.5, 1: 0.6)")),
]
HOT = "define Hot(area: string) from Temp(value > 45) where area = Temp.area"


def test_texts_that_are_no_distributions(spark: SparkSession) -> None:
    given = spark.createDataFrame(BAD_TEXTS, f"time long, area string, value {STRUCT}")
    for row, words in ((1, "negative variance"), (3, "is not a distribution"), (4, "above"), (5, "sum to 1.1")):
        one = given.where(given.area == BAD_TEXTS[row][1])
        with pytest.raises(EventError, match=words) as raised, plain_failures():
            cepheus.spark.detect(HOT, {"Temp": one}).dataframe.collect()
        assert "the error of an attribute 'value'" in str(raised.value)
        assert "on_bad_event='skip'" in str(raised.value)
    found = cepheus.spark.detect(HOT, {"Temp": given}, time_unit="s", on_bad_event="skip")
    assert {row.area for row in found.dataframe.collect()} == {"A", "C"}


def test_texts_that_are_no_distributions_in_streams(spark: SparkSession, tmp_path: Path) -> None:
    rows = [*BAD_TEXTS, (100, "Z", (0.0, None))]
    given = spark.createDataFrame(rows, f"time long, area string, value {STRUCT}")
    given.selectExpr("timestamp_seconds(time) as time", "area", "value").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(f"time timestamp, area string, value {STRUCT}").parquet(str(tmp_path / "in"))
    found = cepheus.spark.detect(HOT, {"Temp": stream}, on_bad_event="skip", lateness="1 second", shards=2)
    query = (
        found.dataframe.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert {row.area for row in spark.read.parquet(str(tmp_path / "out")).collect()} == {"A", "C"}
