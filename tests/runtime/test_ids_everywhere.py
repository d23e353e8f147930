"""The ids of composite events: with ids of their own, the same events give the same ones on every host."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import cepheus
import cepheus.spark
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.engine.assembly.registry import names
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.protocol.messages import AttachSink, AttachSource, DeployRules, Publish, Tick
from cepheus.runtime.network.protocol.strategy import Options, Strategy
from cepheus.runtime.network.simulation.simulator import Network

sys.path.append(str(Path(__file__).parent / "spark"))

from fire_files import SCHEMA, make_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RULES = """
event Smoke(area: string);
event Temp(area: string, value: double);
define Fire(area: string, temp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 s from Smoke
where area = Smoke.area and temp = Temp.value;
define Blaze(area: string)
from Fire(area = $a) and first Fire(area = $a) as Before within 10 s from Fire
where area = Fire.area;
define Used(area: string)
from Smoke(area = $a) and first Temp(area = $a and value > 30) within 8 s from Smoke
where area = Smoke.area
consuming Temp
"""
COMPOSITES = ("Fire", "Blaze", "Used")
KINDS: dict[str, Callable[[int], int | str]] = {
    "numbers": lambda n: 3 * n - 50,
    "texts": lambda n: f"e{n:04}",
    "texts that are numbers": str,
    "both": lambda n: str(n) if n % 2 else f"Fire:{n:016x}",
}
Found = list[tuple[str, int, str, tuple[str, ...]]]


def records(kind: str, count: int = 300) -> list[dict[str, Any]]:
    """Give events with ids; their order is told by ``n``."""
    return [{**event, "id": KINDS[kind](event["n"])} for event in make_events(count, seed=5)]


def found(events: Sequence[Event]) -> Found:
    """Give what composite events say of themselves."""
    return sorted((e.type, e.time, str(e.id), tuple(map(str, e.made_of))) for e in events)


def embedded(given: Any, **options: Any) -> Found:
    return found(cepheus.compile(RULES).detect(given, sequence="n", **options).to_events())


def test_what_is_compared_is_not_nothing() -> None:
    kinds = [kind for kind, *_ in embedded(records("numbers"))]
    assert all(kinds.count(composite) > 5 for composite in COMPOSITES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", [name for name in names() if name != "reference"])
def test_on_every_engine(engine: str, kind: str) -> None:
    given = records(kind)
    assert embedded(given, engine=engine) == embedded(given, engine="reference")


@pytest.mark.parametrize("kind", KINDS)
def test_in_one_process(kind: str, tmp_path: Path) -> None:
    """However many threads there are, at once or one by one, and whatever the events stand in."""
    given = records(kind)
    expected = embedded(given, engine="reference")
    assert embedded(given, threads=2) == expected
    session = cepheus.compile(RULES).start(sequence="n")
    one_by_one = [composite for record in given for composite in session.feed(record)]
    assert found([*one_by_one, *session.close().to_events()]) == expected
    for path in files(given, tmp_path):
        assert embedded(path) == expected, path.name


def files(given: Sequence[dict[str, Any]], folder: Path) -> Iterator[Path]:
    lines = folder / "events.jsonl"
    lines.write_text("".join(json.dumps({k: v for k, v in r.items() if v is not None}) + "\n" for r in given))
    table = pa.Table.from_pylist([{**record, "id": str(record["id"])} for record in given])
    pq.write_table(table, folder / "events.parquet")
    pa.csv.write_csv(table, folder / "events.csv")
    return iter([lines, folder / "events.parquet", folder / "events.csv"])


@pytest.mark.parametrize("strategy", [Strategy.CENTR, Strategy.MT_PP], ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("kind", ["numbers", "both"])
def test_on_a_network(kind: str, strategy: Strategy) -> None:
    given = one_after_another(kind)
    assert found(over_network(given, strategy)) == embedded(given)


def one_after_another(kind: str | None) -> list[dict[str, Any]]:
    """Give events no two of which have one time: a network knows no sequence but that of its sources."""
    given = records(kind or "numbers", 120)
    return [
        {**{k: v for k, v in record.items() if k != "id" or kind is not None}, "time": record["time"] + record["n"]}
        for record in given
    ]


def over_network(given: Sequence[dict[str, Any]], strategy: Strategy) -> list[Event]:
    """Let a line of three processors find what is there: temperatures at one end, smoke at the other."""
    network = Network({("west", "middle"): 3, ("middle", "east"): 5}, Options(strategy))
    network.start()
    network.run()
    homes = {"Temp": "west", "Smoke": "east"}
    for kind, at in homes.items():
        network.post(network.now, at, AttachSource(kind.lower(), (kind,)), kind.lower())
    rules = cepheus.compile(RULES).rules
    network.post(network.now, "middle", DeployRules("r", rules.rules, rules.declarations), "deployer")
    for composite in COMPOSITES:
        network.post(network.now, "middle", AttachSink("sink", parse_event_pattern(f"{composite}()")), "sink")
    network.run()
    for record in given:
        values = {name: record[name] for name in ("area", "value") if record[name] is not None}
        event = Event(record["type"], record["time"], values, id=record.get("id"))
        network.post(
            event.time, homes[event.type], Publish(event.type.lower(), (event,), event.time), event.type.lower()
        )
    end = given[-1]["time"] + 3600 * SECOND
    for name in ("west", "middle", "east"):
        network.post(end, name, Tick(end))
    network.run()
    return [receipt.event for receipt in network.receipts]


@pytest.mark.parametrize("kind", ["numbers", "both"])
def test_on_spark(spark: SparkSession, kind: str, tmp_path: Path) -> None:
    given = records(kind)
    expected = embedded(given)
    frame = arrived(spark, given, tmp_path)
    once = cepheus.spark.detect(RULES, frame, sequence="n", id="id", provenance=True, shards=2)
    assert rows(once.dataframe) == expected
    if kind == "both":  # a stream takes its time
        assert rows(streamed(spark, tmp_path, id="id")) == expected


def arrived(spark: SparkSession, given: Sequence[dict[str, Any]], folder: Path) -> DataFrame:
    """Write events to a file, and much later one to another: when it comes, all of the others are decided."""
    end = {**given[-1], "type": "Temp", "value": 20.0, "time": given[-1]["time"] + 3600 * SECOND, "n": len(given)}
    if "id" in end:
        end["id"] = len(given) if isinstance(end["id"], int) else "end"
    (folder / "in").mkdir()
    for number, some in enumerate((given, [end])):
        table = pa.Table.from_pylist(list(some))
        table = table.set_column(
            table.column_names.index("time"), "time", table.column("time").cast(pa.timestamp("us", tz="UTC"))
        )
        table = table.set_column(table.column_names.index("value"), "value", table.column("value").cast(pa.float64()))
        pq.write_table(table, folder / "in" / f"{number}.parquet")
    return spark.read.parquet(str(folder / "in"))


def streamed(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    schema = SCHEMA + (", id string" if options else "")
    events = spark.readStream.schema(schema).parquet(str(folder / "in"))
    stream = cepheus.spark.detect(RULES, events, sequence="n", lateness="3 seconds", shards=2, **options)
    query = (
        stream.dataframe.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    return spark.read.parquet(str(folder / "out"))


def rows(frame: DataFrame) -> Found:
    found = frame.selectExpr("type", "unix_micros(time) AS time", "id", "`from`").collect()
    return sorted((row["type"], row["time"], row["id"], tuple(row["from"])) for row in found)


def test_without_ids_every_host_has_names_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """As the page on semantics says: positions, names of sources with numbers, digests of what rules read."""
    given = one_after_another(None)
    here = embedded(given)
    positions = {str(place) for place in range(len(given))}
    made_of = {part for kind, _, _, parts in here if kind != "Blaze" for part in parts}
    assert made_of <= positions

    there = found(over_network(given, Strategy.CENTR))
    assert {part.split(":")[0] for kind, _, _, parts in there if kind != "Blaze" for part in parts} == {"smoke", "temp"}

    frame = arrived(spark, given, tmp_path)
    on_spark = rows(cepheus.spark.detect(RULES, frame, sequence="n", provenance=True, shards=2).dataframe)
    again = rows(cepheus.spark.detect(RULES, frame, sequence="n", provenance=True, shards=3).dataframe)
    assert on_spark == again  # however they are split
    assert [one[:2] for one in here] == [one[:2] for one in there] == [one[:2] for one in on_spark]
    assert not {one[2] for one in here} & {one[2] for one in on_spark}
    assert not {one[2] for one in here} & {one[2] for one in there}


def test_ids_of_rules_over_intervals_need_none(spark: SparkSession) -> None:
    """They are made of what the complex event says: its type, values and interval."""
    rules = "pair(X) <- a(X) SEQ b(X). twice(X) <- (pair(X) SEQ pair(X)).60 s."
    given = [{"type": "ab"[n % 2], "time": n * SECOND, "arg1": n % 3} for n in range(30)]
    here = cepheus.compile(rules).detect(given).to_events()
    frame = spark.createDataFrame(
        [(record["type"], record["time"], record["arg1"]) for record in given], "type string, time long, arg1 long"
    )
    there = cepheus.spark.detect(rules, frame, provenance=True, shards=2).dataframe.select("id").collect()
    assert sorted(str(event.id) for event in here) == sorted(row["id"] for row in there) != []
