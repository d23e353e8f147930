"""The questions in DuckDB's SQL: as an expert would write them, and as one would write them first.

All read the Arrow tables ``events`` and, where there are many rules, ``rules`` (one row per rule), times in
milliseconds, and give the columns that our composite events have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

BEST: dict[str, tuple[str, str]] = {
    "F-last": (
        "an as-of join by area",
        """
        select smoke.time, smoke.area, temp.value as temp
        from (select time, area from events where type = 'Smoke') smoke
        asof join (select time, area, value from events where type = 'Temp' and value > 45) temp
          on smoke.area = temp.area and smoke.time > temp.time
        where smoke.time - temp.time <= 300000
        """,
    ),
    "F-each": (
        "an equi-join on area and 10 s bucket, each Temp in two buckets",
        """
        with smoke as (select time, area, time // 10000 as bucket from events where type = 'Smoke'),
        temp as (select time, area, value, time // 10000 as bucket from events where type = 'Temp' and value > 45),
        twice as (select * from temp union all select time, area, value, bucket + 1 from temp)
        select smoke.time, smoke.area, twice.value as temp
        from smoke join twice on smoke.area = twice.area and smoke.bucket = twice.bucket
        where twice.time < smoke.time and twice.time >= smoke.time - 10000
        """,
    ),
    "F-not": (
        "an as-of join by area, kept where the rain is more than 5 s ago",
        """
        select temp.time, temp.area, temp.value as temp
        from (select time, area, value from events where type = 'Temp' and value > 45) temp
        asof left join (select time, area from events where type = 'Rain') rain
          on temp.area = rain.area and temp.time > rain.time
        where rain.time is null or temp.time - rain.time > 5000
        """,
    ),
    "F-avg": (
        "a RANGE window by area",
        """
        select time, area, temp
        from (
          select type, time, area, avg(case when type = 'Temp' then value end) over (
            partition by area order by time range between 300000 preceding and 1 preceding) as temp
          from events)
        where type = 'Smoke' and temp > 50
        """,
    ),
    "S3-last": (
        "two as-of joins by rule over the events of each rule's steps",
        """
        with thirds as (select rule, time, width from events join rules on type = third),
        seconds as (select rule, time from events join rules on type = second),
        firsts as (select rule, time from events join rules on type = first),
        pairs as (
          select thirds.rule, thirds.time, thirds.width, seconds.time as middle
          from thirds asof join seconds on thirds.rule = seconds.rule and thirds.time > seconds.time
          where thirds.time - seconds.time <= thirds.width)
        select pairs.rule, pairs.time
        from pairs asof join firsts on pairs.rule = firsts.rule and pairs.middle > firsts.time
        where pairs.middle - firsts.time <= pairs.width
        """,
    ),
    "S3-each": (
        "two equi-joins on rule and bucket of the rule's window, each earlier event in two buckets",
        """
        with thirds as (select rule, time, width, time // width as bucket from events join rules on type = third),
        seconds as (select rule, time, width, time // width as bucket from events join rules on type = second),
        firsts as (select rule, time, time // width as bucket from events join rules on type = first),
        seconds_twice as (select * from seconds union all select rule, time, width, bucket + 1 from seconds),
        firsts_twice as (select * from firsts union all select rule, time, bucket + 1 from firsts),
        pairs as (
          select thirds.rule, thirds.time, thirds.width, s.time as middle, s.time // thirds.width as bucket
          from thirds join seconds_twice s on thirds.rule = s.rule and thirds.bucket = s.bucket
          where s.time < thirds.time and s.time >= thirds.time - thirds.width)
        select pairs.rule, pairs.time
        from pairs join firsts_twice f on pairs.rule = f.rule and pairs.bucket = f.bucket
        where f.time < pairs.middle and f.time >= pairs.middle - pairs.width
        """,
    ),
}
"""By workload: what the best formulation that we know does, and the query."""

NATURAL: dict[str, tuple[str, str]] = {
    "F-last": (
        "the last hot Temp as a window function",
        """
        select time, area, temp
        from (
          select type, time, area,
            last_value(case when type = 'Temp' then value end ignore nulls) over before as temp,
            last_value(case when type = 'Temp' then time end ignore nulls) over before as hot
          from events where type = 'Smoke' or value > 45
          window before as (partition by area order by time rows between unbounded preceding and 1 preceding))
        where type = 'Smoke' and time - hot <= 300000
        """,
    ),
    "F-each": (
        "a join on area and a range of times",
        """
        select smoke.time, smoke.area, temp.value as temp
        from events smoke join events temp
          on smoke.area = temp.area and temp.time < smoke.time and temp.time >= smoke.time - 10000
        where smoke.type = 'Smoke' and temp.type = 'Temp' and temp.value > 45
        """,
    ),
    "F-not": (
        "not exists",
        """
        select temp.time, temp.area, temp.value as temp
        from events temp
        where temp.type = 'Temp' and temp.value > 45 and not exists (
          select 1 from events rain
          where rain.type = 'Rain' and rain.area = temp.area
            and rain.time < temp.time and rain.time >= temp.time - 5000)
        """,
    ),
}
"""By workload: what one would write first, where that differs."""


def query(sql: str, tables: Mapping[str, pa.Table]) -> Callable[[], pa.Table]:
    """A function that runs a query over Arrow tables on one thread and gives its whole result as Arrow."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("set threads = 1")
    connection.execute("set preserve_insertion_order = false")
    for name, table in tables.items():
        connection.register(name, table)

    def run() -> pa.Table:
        return connection.sql(sql).to_arrow_table()

    return run
