"""Interval rules on Spark, alone and with rules of TESLA: what one engine finds, in batches and in streams."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from shard_runs import ListedWork, Run

import cepheus
import cepheus.spark
from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal
from cepheus.core.errors import CepheusError, EventError, OptionError
from cepheus.core.event import Event
from cepheus.core.lists import list_text
from cepheus.core.options import RunOptions
from cepheus.core.time import SECOND
from cepheus.core.values import ValueType
from cepheus.language.etalis import parse
from cepheus.rules.check import check
from cepheus.runtime.spark import detect, state_machine, streaming
from cepheus.runtime.spark.detect_files import composites_of, detect_gathered
from cepheus.runtime.spark.layout import SHARD
from cepheus.runtime.spark.session import plain_failures
from cepheus.runtime.spark.shard import Job, memory
from cepheus.runtime.spark.shard_work import JobWork
from cepheus.runtime.spark.sources import kind_of
from strategies.mixed_cases import mixed_case
from strategies.split_cases import SplitCase

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "type string, time long, start long, id long, sequence long, k string, n long, km double, v double"
NAMES = ("k", "n", "km", "v", "arg1", "arg2")


def expected_of(case: SplitCase) -> list[Event] | None:
    try:
        program = cepheus.compile(case.checked.rules)
        return program.detect(list(case.events), limit=3000, sequence="sequence", engine="reference").to_events()
    except CepheusError:
        return None


def told(events: list[Event]) -> list[str]:
    """Give composite events in a form in which two answers compare as multisets."""
    return sorted(
        repr((e.type, e.time, e.time if e.start is None else e.start, e.id, *(e.attributes.get(n) for n in NAMES)))
        for e in events
    )


def frame(spark: SparkSession, case: SplitCase) -> DataFrame:
    rows = [
        (e.type, e.time, e.start, e.id, e.sequence, *(e.attributes[name] for name in ("k", "n", "km", "v")))
        for e in case.events
    ]
    return spark.createDataFrame(rows, SCHEMA).repartition(3)


def a_case(seed: int) -> tuple[SplitCase, list[Event]]:
    """Give the first case from a seed on that makes sense and finds something."""
    while True:
        try:
            case = mixed_case(seed, with_tesla=seed % 2 == 0)
        except CepheusError:
            seed += 1000
            continue
        expected = expected_of(case)
        if expected:
            return case, expected
        seed += 1000


@pytest.mark.parametrize(("shards", "seed"), [(1, 4), (2, 5), (8, 8)])
def test_batches(spark: SparkSession, shards: int, seed: int) -> None:
    case, expected = a_case(seed)
    detection = cepheus.spark.detect(
        case.checked.rules, frame(spark, case), sequence="sequence", id="id", provenance=True, shards=shards
    )
    kinds = {event_type.name: event_type for event_type in detection.checked.composites.values()}
    assert told([_event(row, kinds) for row in detection.dataframe.collect()]) == told(expected), case.text


def _event(row: Any, kinds: Any) -> Event:
    """Give a row as an event; a column of a name that several types use has the kind behind the name."""
    values = row.asDict()
    named = {name.partition(" (")[0]: value for name, value in values.items() if value is not None}
    attributes = {attribute.name: named.get(attribute.name) for attribute in kinds[row["type"]].attributes}
    return Event(row["type"], _micros(row["time"]), attributes, id=row["id"], start=_micros(row["start"]))


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * SECOND)


@pytest.mark.parametrize(("shards", "seed"), [(1, 14), (8, 15)])
def test_streams_dealt_out_by_spark(
    spark: SparkSession, shards: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, expected = a_case(seed)
    jobs: list[tuple[DataFrame, Job]] = []

    def stand_in(rows: DataFrame, job: Job, metrics: str, *, late: bool) -> DataFrame:
        del metrics, late
        jobs.append((rows, job))
        return rows

    monkeypatch.setattr(detect, "is_stream", lambda _: True)
    monkeypatch.setattr(detect, "watermarked", lambda sources, *_: sources)
    monkeypatch.setattr(streaming, "run_stream", stand_in)
    cepheus.spark.detect(case.checked.rules, frame(spark, case), sequence="sequence", id="id", shards=shards)
    ((rows, job),) = jobs
    table = rows.toArrow()
    found: list[Event] = []
    for shard in set(table.column(SHARD).to_pylist()):
        own = table.filter(table.column(SHARD).to_numpy() == shard).drop_columns([SHARD])
        found += Run(JobWork(job, shard), own, Random(seed)).run(disorder=SECOND)
    assert told(found) == told(expected), case.text


@pytest.mark.parametrize("bounded", [True, False], ids=["pieces", "base"])
def test_shards_of_streams(bounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_machine, "_LEAST_BASE", 1)
    monkeypatch.setattr(state_machine, "_RECENT", 2)
    monkeypatch.setattr(state_machine, "_FAN_IN", 2)
    for seed in range(20):
        case, expected = a_case(seed)
        work = ListedWork(
            case.checked, EventBatch.from_events(case.events), engine_name="auto", bounded=bounded, limit=3000
        )
        found = Run.of(work, Random(seed)).run(disorder=seed % 3 * SECOND)
        assert told(found) == told(expected), f"{seed} {case.text}"


def test_memory_is_that_of_windows() -> None:
    def memory_of(text: str) -> int | None:
        return memory(check(parse(text)).rules.all_rules)

    assert memory_of("p(X) <- (a(X) SEQ b(X)).5 s. q(X) <- (p(X) AND c(X)).3 s.") == 8 * SECOND
    assert memory_of("p(X, N) <- a(X) WHERE N = COUNT(b(_) WITHIN 4 s).") == 4 * SECOND
    assert memory_of("p(X) <- a(X) SEQ b(X).") is None
    assert memory_of("p(X) <- (a(X) SEQ b(X)).5 s POLICY recent.") is None
    assert memory_of("p(X) <- (p(X) SEQ b(X)).5 s.") is None


def test_points_in_time_wake_a_shard() -> None:
    checked = check(parse("unit s. p(X) <- a(X) SEQ 7."))
    work = ListedWork(checked, EventBatch.from_events([Event("a", SECOND, {"arg1": 1}, id=0)]), engine_name="auto")
    run = Run.of(work, Random(3))
    assert run.call([0], 0) == 1001
    assert run.call([], 2 * SECOND) == 7001
    assert run.found == []
    assert run.call([], 8 * SECOND) is None
    assert [(e.type, e.start, e.time) for e in run.found] == [("p", SECOND, 7 * SECOND)]


def test_columns_and_words(spark: SparkSession) -> None:
    rules = """
        unit s. room("hall"). room("attic").
        event seen(who: string, place: string). event gone(who: string).
        visit(W) <- (seen(W, R) SEQ gone(W)).10 WHERE room(R), W != "ghost".
        long(W, N) <- visit(W) WHERE N = COUNT(seen(W, _) WITHIN 10), N > 1.
        never <- 5.
    """
    events = {
        "seen": spark.createDataFrame(
            [(1, "ann", "hall"), (2, "bob", "shed"), (3, "ann", "attic"), (3, "ghost", "hall")],
            "time long, who string, place string",
        ),
        "gone": spark.createDataFrame([(6, 4, "ann"), (7, 7, "bob")], "time long, start long, who string"),
    }
    detection = cepheus.spark.detect(rules, events, time_unit="s", shards=2)
    found = sorted(
        (r["type"], _micros(r["start"]) // SECOND, _micros(r["time"]) // SECOND, r["arg1"], r["arg2"])
        for r in detection.dataframe.collect()
    )
    assert found == [
        ("long", 1, 6, "ann", 2),
        ("long", 3, 6, "ann", 2),
        ("never", 5, 5, None, None),
        ("visit", 1, 6, "ann", None),
        ("visit", 3, 6, "ann", None),
    ]
    assert detection.of("long").columns == ["time", "start", "arg1", "arg2"]
    text = detection.explain()
    assert "rules visit, long: split by keys, 2 shards\n  seen by who; gone by who" in text
    assert "rule never: not split, 1 shard\n  no events\n" in text
    assert "not by keys: in rule 'never', a point in time goes with every value" in text
    assert "who != 'ghost'" in text


def test_a_start_must_fit(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1, 5, 7)], "type string, time long, arg1 long, begin long")
    with pytest.raises(OptionError, match="no column 'begn' for their start"):
        cepheus.spark.detect("p(X) <- a(X).", frame, start="begn")
    with pytest.raises(EventError, match="starts after its end"), plain_failures():
        cepheus.spark.detect("p(X) <- a(X).", frame, start="begin").dataframe.collect()
    assert cepheus.spark.detect("p(X) <- a(X).", frame, start="begin", on_bad_event="skip").dataframe.count() == 0


def test_files_of_events(spark: SparkSession) -> None:
    """What ``cepheus detect --on spark`` does: intervals, errors and probabilities of files go through."""
    rules = cepheus.compile(
        """
        event comes(who: string, mass: double)
        event goes(who: string)
        define Heavy(who: string, mass: double) from comes(mass > 80) where who = comes.who, mass = comes.mass
        """
    ).rules
    rules += parse("stay(W) <- goes(W) DURING Heavy(W, _). shift(W) <- Heavy(W, _) SEQ goes(W). left(W) <- shift(W).")
    checked = check(rules)
    events = [
        Event("comes", 5 * SECOND, {"who": "ann", "mass": 80.0}, id=0, start=SECOND, errors={"mass": Normal(0.0, 4.0)}),
        Event("comes", 7 * SECOND, {"who": "ann", "mass": 90.0}, id=1, probability=0.5),
        Event("goes", 9 * SECOND, {"who": "ann"}, id=2),
    ]
    expected = cepheus.compile(rules).detect(events, engine="reference").to_events()
    gathered = EventBatch.from_events(events)
    detection = detect_gathered(spark, checked, gathered, {}, RunOptions(limit=1000))
    found = composites_of(detection, gathered, checked.rules).to_events()
    assert told(found) == told(expected)
    assert sorted((e.type, e.probability, *map(str, e.errors.values())) for e in found) == sorted(
        (e.type, pytest.approx(e.probability), *map(str, e.errors.values())) for e in expected
    )
    assert {e.type for e in found} == {"Heavy", "shift", "left"}
    assert [e.id for e in found] == [e.id for e in expected]


LIST_RULES = "turn([H|T], N) <- (path([H|T], N) SEQ path([N|_], _)).5 s WHERE NOT N in T."
LISTS: list[tuple[int, list[int], int]] = [(1, [1, 2], 7), (2, [7], 3), (3, [3, 7], 3), (4, [3], 1)]


@pytest.mark.parametrize("shape", ["array<bigint>", "array<double>", "string"])
def test_lists(spark: SparkSession, shape: str) -> None:
    events = [Event("path", time * SECOND, {"hops": tuple(hops), "n": n}) for time, hops, n in LISTS]
    declared = f"event path(hops: list, n: int). {LIST_RULES}"
    expected = cepheus.compile(declared).detect(events).to_events()
    assert expected
    rows = [(time * SECOND, hops, n) for time, hops, n in LISTS]
    frame = spark.createDataFrame(rows, "time long, hops array<bigint>, n long")
    frame = frame.selectExpr(
        "time", f"cast(hops as {shape}) as hops" if "array" in shape else "to_json(hops) hops", "n"
    )
    text = declared if shape == "string" else LIST_RULES
    detection = cepheus.spark.detect(text, {"path": frame})
    found = sorted((row["arg1"], row["arg2"]) for row in detection.dataframe.collect())
    assert found == sorted((list_text(e["arg1"]), e["arg2"]) for e in expected)  # type: ignore[arg-type]


def test_lists_in_files_of_events(spark: SparkSession) -> None:
    checked = check(parse(LIST_RULES))
    events = [Event("path", t * SECOND, {"arg1": tuple(hops), "arg2": n}, id=t) for t, hops, n in LISTS]
    batch = EventBatch.from_events(events)
    settled = {("path", "arg1"): ValueType.LIST, ("path", "arg2"): ValueType.INT}
    detection = detect_gathered(spark, checked, batch, settled, RunOptions(limit=1000))
    found = composites_of(detection, batch, checked.rules).to_events()
    assert told(found) == told(cepheus.compile(LIST_RULES).detect(events).to_events())
    assert isinstance(found[0]["arg1"], tuple)


def test_columns_that_are_lists(spark: SparkSession) -> None:
    def kind(column: str) -> ValueType | None:
        return kind_of(spark.createDataFrame([], f"c {column}").schema["c"].dataType)

    assert kind("array<int>") is ValueType.LIST
    assert kind("array<array<string>>") is ValueType.LIST
    assert kind("array<timestamp>") is None
    assert kind("struct<value: double, error: string>") is ValueType.FLOAT
    assert kind("struct<value: array<int>, error: string>") is None
