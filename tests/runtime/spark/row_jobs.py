"""Generated queries over rows on Spark, many in one job: finite input and streams give what one process gives.

``python tests/runtime/spark/row_jobs.py --cases 500 --seed 0`` runs each of them three times, as a rule over finite
input, as a rule over a stream, and by ``match_recognize``, and says how it went.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import cepheus
from cepheus import CepheusError
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.language import sql, tesla
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark.session import spark_session

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "engine" / "rows")]

from event_rows import run_what_is_there
from random_rows import row_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS = {"n": pa.int64(), "k": pa.string(), "time": pa.timestamp("us", tz="UTC"), "v": pa.int64(), "w": pa.float64()}
_SCHEMA = pa.schema([*_KINDS.items(), ("s", pa.string())])
_EPOCH = datetime(2026, 1, 31, tzinfo=UTC)


class Case:
    """A query in the form of a rule, its rows, and what the reference gives for them; None where that is an error."""

    def __init__(self, seed: int) -> None:
        self.case = case = row_case(seed)
        self.seed = seed
        self.name = f"Found{seed}"
        self.all_rows = "ALL ROWS" in case.text
        text = re.sub(r"\bt\b", "time", case.text.replace("ORDER BY t, n", "ORDER BY t"))
        text = text.replace("array_agg(", "max(")
        text = text.replace("MEASURES ", "MEASURES FIRST(n) AS begins, LAST(n) AS ends, ", 1)
        self.text = f"SELECT * FROM Row{seed} {text} AS {self.name} {case.where}"
        self.rows: list[dict[str, Any]] = [
            {**row, "type": f"Row{seed}", "time": _EPOCH + timedelta(microseconds=int(str(row["t"])))}
            for row in case.rows
        ]
        try:
            found = cepheus.match_recognize(self.text, pa.Table.from_pylist(self.rows, _SCHEMA), engine="reference")
        except CepheusError:
            self.wanted = None
        else:
            self.wanted = sorted(self._as_event(row) for row in found.to_pylist())

    def _as_event(self, row: dict[str, Any]) -> str:
        """A row that the reference gives as what an event has: with all rows of matches its time is the row's."""
        moment = row.pop("time") if self.all_rows else None
        return _shown(self.name, row, None if moment is None else _since_epoch(moment))

    def shown(self, event: Event) -> str:
        return _shown(self.name, event.attributes, event.time if self.all_rows else None)

    @property
    def rules(self) -> RuleSet:
        """The query; where all rows are given, those of a declared type, whose columns are known."""
        return self.declared_rules if self.all_rows else sql.parse(self.text)

    @property
    def declared_rules(self) -> RuleSet:
        """The query and what its columns are; a session would have to wait for values to know."""
        return tesla.parse(f"event Row{self.seed}(n: int?, k: string?, v: int?, w: double?, s: string?)") + sql.parse(
            self.text
        )

    @property
    def events(self) -> EventBatch:
        micros = [_since_epoch(row["time"]) for row in self.rows]
        attributes = [{name: row[name] for name in "nkvws" if row[name] is not None} for row in self.rows]
        return EventBatch.from_events(
            Event(str(row["type"]), time, values, id=place)
            for place, (row, time, values) in enumerate(zip(self.rows, micros, attributes, strict=True))
        )


def _since_epoch(moment: datetime) -> int:
    return int((moment - _EPOCH) / timedelta(microseconds=1))


def _shown(name: str, values: Mapping[str, Any], moment: int | None) -> str:
    known = {key.split(" (")[0]: value for key, value in values.items() if value is not None}
    return f"{name} {moment} {sorted((key, value) for key, value in known.items())}"


def cases_of(seeds: range) -> list[Case]:
    return [case for seed in seeds if (case := Case(seed)).wanted is not None and case.rows]


def _frame(spark: SparkSession, cases: list[Case]) -> DataFrame:
    rows = [{**row, "seq": row["n"]} for case in cases for row in case.rows]
    table = pa.Table.from_pylist(rows, pa.schema([*_SCHEMA, ("type", pa.string()), ("seq", pa.int64())]))
    return spark.createDataFrame(table)


def _rules(cases: list[Case]) -> RuleSet:
    return sum((case.rules for case in cases), RuleSet())


def _found(frame: DataFrame, cases: list[Case]) -> list[str]:
    own = {"type", "time", "start", "id", "from"}
    all_rows = {case.name for case in cases if case.all_rows}
    return sorted(
        _shown(
            row["type"],
            {name: value for name, value in row.items() if name not in own},
            _since_epoch(row["time"]) if row["type"] in all_rows else None,
        )
        for row in frame.toArrow().to_pylist()
    )


def agree_in_batch(spark: SparkSession, cases: list[Case]) -> None:
    """Run all cases as rules over finite input in one job."""
    from cepheus.spark import detect

    found = detect(_rules(cases), _frame(spark, cases), sequence="seq", shards=3)
    _compare(_found(found.dataframe, cases), [shown for case in cases for shown in case.wanted or ()])


def agree_in_stream(spark: SparkSession, cases: list[Case], folder: Path) -> None:
    """Run all cases in one streaming query, which stops once and goes on from its checkpoint.

    Its last file lets the watermark pass all rows; what waits for more rows does not come, as a stream has no end.
    """
    from cepheus.spark import detect

    frame = _frame(spark, cases)
    (folder / "in").mkdir(parents=True)
    stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = detect(_rules(cases), stream, sequence="seq", lateness="1 hour", shards=2)
    assert any("may wait for ever" in str(each.message) for each in told)
    for part in range(3):
        frame.where(f"(seq + length(type)) % 3 = {part}").coalesce(1).write.mode("append").parquet(str(folder / "in"))
        if part == 1:
            _run_what_is_there(found.dataframe, folder)
    late = spark.createDataFrame([(_EPOCH + timedelta(days=1), "Tick")], "time timestamp, type string")
    nothing = {field.name: field.dataType.simpleString() for field in frame.schema if field.name not in late.columns}
    late = late.selectExpr("*", *(f"cast(null as {kind}) as {name}" for name, kind in nothing.items()))
    late.select(*frame.columns).write.mode("append").parquet(str(folder / "in"))
    _run_what_is_there(found.dataframe, folder)
    _compare(_found(spark.read.parquet(str(folder / "out")), cases), _decided(cases))


def _run_what_is_there(found: DataFrame, folder: Path) -> None:
    writer = found.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    run_what_is_there(writer)


def _decided(cases: list[Case]) -> list[str]:
    """What a session has given when time has gone on for a day, but the input has not ended."""
    found: list[str] = []
    for case in cases:
        session = cepheus.compile(case.declared_rules).start(time_unit="us")
        given = [*session.feed(case.events).to_events(), *session.advance(86_400_000_000).to_events()]
        found += (case.shown(event) for event in given)
    return found


def agree_as_tables(spark: SparkSession, cases: list[Case]) -> None:
    """Run the queries of all cases by ``match_recognize``, in one job that puts together what they give."""
    from pyspark.sql import functions as f

    from cepheus.spark import match_recognize

    frame = _frame(spark, cases).cache()
    given, wanted = [], []
    for case in cases:
        rows = frame.where(f"type = 'Row{case.seed}'").select("n", "k", f.col("time").alias("t"), "v", "w", "s")
        found = match_recognize(case.case.query, rows)
        shown = [name for name in found.columns if name != "t"]  # rows have their number
        given.append(found.select(f.lit(case.name), f.to_json(f.struct(*(f.col(name) for name in shown)))))
        table = cepheus.match_recognize(case.case.query, case.case.table, engine="reference")
        wanted += [_line(case.name, row) for row in table.select(shown).to_pylist()]
    together = reduce(lambda one, other: one.union(other), given).collect()
    frame.unpersist()
    _compare([_line(name, json.loads(text)) for name, text in together], wanted)


def _line(name: str, row: Mapping[str, Any]) -> str:
    return f"{name} {sorted((key, value) for key, value in row.items() if value is not None)}"


def _compare(found: list[str], wanted: list[str]) -> None:
    missing, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    assert not missing, f"not found: {list(missing)[:5]}; found instead: {list(more)[:5]}"
    assert not more, f"found, but not to be: {list(more)[:5]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--together", type=int, default=40, help="how many cases go into one job")
    asked = parser.parse_args()
    spark = spark_session("local[2]", options={"spark.sql.shuffle.partitions": "2"}, silent=True)
    done, seed = 0, asked.seed
    while done < asked.cases:
        cases = cases_of(range(seed, seed + asked.together))[: asked.cases - done]
        agree_in_batch(spark, cases)
        agree_as_tables(spark, cases)
        with tempfile.TemporaryDirectory() as folder:
            agree_in_stream(spark, cases, Path(folder))
        done += len(cases)
        seed = cases[-1].seed + 1
        print(f"{done} cases, seeds {asked.seed} to {seed - 1}: all agree, finite, streaming, as tables", flush=True)


if __name__ == "__main__":
    main()
