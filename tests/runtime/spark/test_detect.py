from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import cepheus.spark
from cepheus.core.errors import CepheusError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIRE = """
define Fire(area: string, temp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and temp = Temp.value
"""


def test_three_lines_in_a_job(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [("Temp", 10, "A1", 51.5), ("Temp", 20, "A2", 80.0), ("Smoke", 60, "A1", None)],
        "type string, time long, area string, value double",
    )
    found = cepheus.spark.detect(FIRE, events, time_unit="s", shards=1)
    fires = found.of("Fire").collect()
    assert [row.asDict() for row in fires] == [{"time": datetime.fromtimestamp(60), "area": "A1", "temp": 51.5}]


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=str)


def test_a_dataframe_for_each_type_with_its_own_columns(spark: SparkSession) -> None:
    temps = spark.createDataFrame([(datetime(2026, 1, 1, 12, 0), "A1", 50)], "at timestamp, area string, value int")
    smokes = spark.createDataFrame([(datetime(2026, 1, 1, 12, 2), "A1"), (None, "A2")], "at timestamp, area string")
    found = cepheus.spark.detect(
        FIRE, {"Temp": temps, "Smoke": smokes}, time="at", on_bad_event="skip", engine="reference"
    )
    assert rows(found.of("Fire")) == [{"time": datetime(2026, 1, 1, 12, 2), "area": "A1", "temp": 50.0}]
    told = found.explain(measure=True)
    assert "rule Fire: split by keys, 2 shards\n  Smoke by area; Temp by area" in told


def test_bad_events_stop_the_job(spark: SparkSession) -> None:
    from pyspark.errors import PythonException

    smokes = spark.createDataFrame([(None, "A2")], "time timestamp, area string")
    found = cepheus.spark.detect("define Alarm() from Smoke()", {"Smoke": smokes}, engine="reference")
    with pytest.raises(PythonException, match="an event has no time"):
        found.dataframe.collect()


def test_composites_of_several_types(spark: SparkSession) -> None:
    events = spark.createDataFrame([("A", 1, 5), ("B", 2, 7)], "type string, time long, x long")
    rules = "define P(v: int) from A() where v = A.x; define Q(v: string) from B(x > 3) where v = 'b'"
    found = cepheus.spark.detect(rules, events, engine="reference")
    assert found.of("P").columns == found.of("Q").columns == ["time", "v"]
    assert rows(found.dataframe.drop("time")) == [
        {"type": "P", "v (int)": 5, "v (string)": None},
        {"type": "Q", "v (int)": None, "v (string)": "b"},
    ]
    with pytest.raises(OptionError, match="did you mean 'P'"):
        found.of("p")


@pytest.mark.parametrize(
    ("rules", "schema", "options", "expected"),
    [
        ("define P() from A(x = 1)", "type string, time long, y long", {}, "'A' has no attribute 'x'"),
        ("define P() from A(x = 'a')", "type string, time long, x long", {}, "these cannot be compared"),
        ("event A(x: string); define P() from A()", "type string, time long, x long", {}, "but the column is bigint"),
        ("event A(x: long); define P() from A()", "type string, time long", {}, "have no column 'x'"),
        ("define P() from A()", "type string, at long", {}, "no column 'time' for their time"),
        ("define P() from A()", "type string, time string", {}, "cannot be the time of the events: it is string"),
        ("define P() from A()", "type string, time long", {"sequence": "n"}, "no column 'n' for their sequence"),
        ("define P() from A()", "type string, time long", {"engine": "quick"}, "there is no engine 'quick'"),
    ],
)
def test_misfits_are_refused_before_the_job(
    spark: SparkSession, rules: str, schema: str, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(CepheusError, match=expected):
        cepheus.spark.detect(rules, spark.createDataFrame([], schema), **options)


SWAPPED = "event L(a: int from b, c: int from a); define C(a: int, c: int) from L() where a = L.a and c = L.c"


def test_an_attribute_may_have_the_name_of_the_column_of_another(spark: SparkSession) -> None:
    alone = spark.createDataFrame([(1, 5, 7)], "time long, a long, b long")
    mixed = spark.createDataFrame([("L", 1, 5, 7)], "type string, time long, a long, b long")
    for events in ({"L": alone}, mixed):
        found = cepheus.spark.detect(SWAPPED, events, engine="reference", shards=1)
        assert [(row.a, row.c) for row in found.of("C").collect()] == [(7, 5)]


def test_an_attribute_is_read_from_the_named_column_alone(spark: SparkSession) -> None:
    rules = "event L(a: int? from b); define C(a: int) from L() where a = coalesce(L.a, 0)"
    alone = spark.createDataFrame([(1, 5)], "time long, a long")
    mixed = spark.createDataFrame([("L", 1, 5)], "type string, time long, a long")
    for events in ({"L": alone}, mixed):
        found = cepheus.spark.detect(rules, events, engine="reference", shards=1)
        assert [row.a for row in found.of("C").collect()] == [0]
