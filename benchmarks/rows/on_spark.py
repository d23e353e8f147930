"""Row patterns on Spark beside the bare cost of moving the same rows, and beside SQL with window functions.

``cepheus bench rows`` prints it. Both find as many matches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from benchmarks.measuring.timing import Say, Timing, best, timed_family
from benchmarks.rows.speed import GAP, table
from cepheus.language.sql import parse_query
from cepheus.runtime.spark.row_order import dealt_in_order
from cepheus.runtime.spark.row_patterns import match_recognize
from cepheus.runtime.spark.session import spark_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

CORES = 2
FULL, QUICK = 20_000_000, 20_000
_FILES = 4

VALLEYS = """MATCH_RECOGNIZE (PARTITION BY key ORDER BY time
    MEASURES STRT.price AS start, LAST(DOWN.price) AS bottom, LAST(UP.price) AS top
    AFTER MATCH SKIP TO LAST UP
    PATTERN (STRT DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""

VALLEYS_SQL = """
WITH moves AS (
  SELECT key, time, price, lag(price) OVER w AS before, sign(price - lag(price) OVER w) AS move
  FROM rows WINDOW w AS (PARTITION BY key ORDER BY time)),
turns AS (
  SELECT *, CASE WHEN move <=> lag(move) OVER (PARTITION BY key ORDER BY time) THEN 0 ELSE 1 END AS turn FROM moves),
runs AS (
  SELECT *, sum(turn) OVER (PARTITION BY key ORDER BY time ROWS UNBOUNDED PRECEDING) AS run FROM turns),
shapes AS (
  SELECT key, run, min(move) AS move, max(before) AS start, min(price) AS bottom, max(price) AS top
  FROM runs GROUP BY key, run),
pairs AS (
  SELECT key, move, start, bottom, lead(move) OVER w AS next_move, lead(top) OVER w AS next_top
  FROM shapes WINDOW w AS (PARTITION BY key ORDER BY run))
SELECT key, start, bottom, next_top AS top FROM pairs WHERE move = -1 AND next_move = 1"""

SESSIONS = f"""MATCH_RECOGNIZE (PARTITION BY key ORDER BY time
    MEASURES FIRST(time) AS start, LAST(time) AS finish, count(*) AS events
    PATTERN (A B*)
    DEFINE B AS time - PREV(time) < INTERVAL '{GAP}' MICROSECOND)"""

SESSIONS_SQL = f"""
WITH marked AS (
  SELECT key, time, CASE WHEN unix_micros(time) - unix_micros(lag(time) OVER w) < {GAP} THEN 0 ELSE 1 END AS new
  FROM rows WINDOW w AS (PARTITION BY key ORDER BY time)),
numbered AS (
  SELECT key, time, sum(new) OVER (PARTITION BY key ORDER BY time ROWS UNBOUNDED PRECEDING) AS session FROM marked)
SELECT key, min(time) AS start, max(time) AS finish, count(*) AS events FROM numbered GROUP BY key, session"""

QUESTIONS = {"valleys": (VALLEYS, VALLEYS_SQL), "sessions": (SESSIONS, SESSIONS_SQL)}


@dataclass(frozen=True, slots=True)
class SparkPace:
    """A pattern on Spark: the best times of the engine, of moving the rows alone, and of the SQL.

    ``by_files``: tasks read the files; ``shuffled``: Spark reads, shuffles and sorts rows, as from any other source.
    """

    name: str
    rows: int
    matches: int
    by_files: Timing
    shuffled: Timing
    identity: Timing
    sql: Timing

    @property
    def of_identity(self) -> float:
        """How many times as long as moving the rows the engine takes behind the same shuffle."""
        return self.shuffled.wall / self.identity.wall

    @property
    def of_sql(self) -> float:
        """How many times as fast as the SQL it is where tasks read the files."""
        return self.sql.wall / self.by_files.wall

    @property
    def shuffled_of_sql(self) -> float:
        """How many times as fast as the SQL it is behind Spark's shuffle."""
        return self.sql.wall / self.shuffled.wall


def paces_on_spark(rows: int, repeat: int, say: Say = lambda _: None) -> list[SparkPace]:
    """Measure all questions over as many rows, by turns, after a run of each that also compares their matches."""
    spark = spark_session(f"local[{CORES}]", options={"spark.driver.memory": "6g"}, silent=True)
    spark.conf.set("spark.sql.shuffle.partitions", str(CORES))
    with tempfile.TemporaryDirectory() as folder:
        _write(table(rows), Path(folder))
        frame = spark.read.parquet(folder)
        frame.createOrReplaceTempView("rows")
        found = []
        for name, (query, text) in QUESTIONS.items():
            say(f"row patterns on Spark: {name}, {rows:,} rows")
            ours, theirs = match_recognize(query, frame, read="files"), spark.sql(text)
            dealt = match_recognize(query, frame, read="spark")
            columns = ["key", "time", "price"] if "price" in query else ["key", "time"]
            moved = _identity(frame.select(*columns), query)
            matches, again, wanted = ours.count(), dealt.count(), theirs.count()
            if not matches == again == wanted:
                raise AssertionError(f"{name}: the engine finds {matches} and {again} matches, the SQL {wanted}")
            by_files, shuffled, identity, sql = ([] for _ in range(4))
            for _ in range(repeat):
                identity.append(_timed(moved))
                by_files.append(_timed(ours))
                shuffled.append(_timed(dealt))
                sql.append(_timed(theirs))
            found.append(SparkPace(name, rows, matches, *map(best, (by_files, shuffled, identity, sql))))
    spark.stop()
    return found


def _write(data: pa.Table, folder: Path) -> None:
    size = -(-data.num_rows // _FILES)
    for number in range(_FILES):
        part = data.slice(number * size, size)
        columns = {name: part.column(name) for name in part.column_names}
        columns["key"] = part.column("key").cast("string")
        pq.write_table(type(part).from_pydict(columns), folder / f"part{number}.parquet")


def _identity(frame: DataFrame, query: str) -> DataFrame:
    """The rows that tasks get for a query, behind the same shuffle and sort, through Python and back."""

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    dealt = dealt_in_order(frame, parse_query(query))
    return dealt.mapInArrow(same, dealt.schema)


def _timed(frame: DataFrame) -> Timing:
    return timed_family(lambda: frame.write.format("noop").mode("overwrite").save())[0]
