"""The questions in Spark SQL: as an expert would write them, and as they come to mind.

The events are the view ``events`` with the columns type, time (in milliseconds), area and value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SparkQuestion:
    """A question: the rule, the best query and how it works, the natural query; ``rain`` is the stream it is asked of.

    ``slow`` marks natural queries that compare every event with every other of its area.
    """

    name: str
    rule: str
    best: str
    how: str
    natural: str
    rain: bool = False
    slow: bool = True


_FIRE = "define Fire(area: int, temp: double) from"

QUESTIONS = (
    SparkQuestion(
        "F-last",
        f"{_FIRE} Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke "
        "where area = Smoke.area and temp = Temp.value",
        """
        SELECT time, area, hot.value AS temp FROM (
          SELECT type, time, area, last_value(CASE WHEN value > 45 THEN struct(time, value) END) IGNORE NULLS
            OVER (PARTITION BY area ORDER BY time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS hot
          FROM events WHERE type = 'Smoke' OR value > 45)
        WHERE type = 'Smoke' AND hot.time >= time - 300000
        """,
        "last_value ignoring nulls over a window",
        """
        SELECT s.time, s.area, max_by(t.value, t.time) AS temp
        FROM events s JOIN events t ON s.area = t.area AND t.time >= s.time - 300000 AND t.time < s.time
        WHERE s.type = 'Smoke' AND t.type = 'Temp' AND t.value > 45 GROUP BY s.time, s.area
        """,
    ),
    SparkQuestion(
        "F-each",
        f"{_FIRE} Smoke(area=$a) and each Temp(area=$a and value>45) within 10 s from Smoke "
        "where area = Smoke.area and temp = Temp.value",
        """
        SELECT s.time, s.area, t.value AS temp
        FROM (SELECT time, area, time div 10000 AS bucket FROM events WHERE type = 'Smoke') s
        JOIN (SELECT time, area, value, explode(array(time div 10000, time div 10000 + 1)) AS bucket
              FROM events WHERE type = 'Temp' AND value > 45) t
        ON s.area = t.area AND s.bucket = t.bucket AND t.time >= s.time - 10000 AND t.time < s.time
        """,
        "an equi-join on area and ten-second bucket",
        """
        SELECT s.time, s.area, t.value AS temp
        FROM events s JOIN events t ON s.area = t.area AND t.time >= s.time - 10000 AND t.time < s.time
        WHERE s.type = 'Smoke' AND t.type = 'Temp' AND t.value > 45
        """,
    ),
    SparkQuestion(
        "F-not",
        f"{_FIRE} Temp(area=$a and value>45) and not Rain(area=$a) within 5 s from Temp "
        "where area = Temp.area and temp = Temp.value",
        """
        SELECT time, area, value AS temp FROM (
          SELECT type, time, area, value, count_if(type = 'Rain')
            OVER (PARTITION BY area ORDER BY time RANGE BETWEEN 5000 PRECEDING AND 1 PRECEDING) AS rains
          FROM events WHERE type = 'Rain' OR value > 45)
        WHERE type = 'Temp' AND rains = 0
        """,
        "a count over a RANGE window",
        """
        SELECT t.time, t.area, t.value AS temp FROM events t
        WHERE t.type = 'Temp' AND t.value > 45 AND NOT EXISTS (
          SELECT 1 FROM events r
          WHERE r.type = 'Rain' AND r.area = t.area AND r.time >= t.time - 5000 AND r.time < t.time)
        """,
        rain=True,
    ),
    SparkQuestion(
        "F-avg",
        f"{_FIRE} Smoke(area=$a) and 50 < $t = Avg(Temp(area=$a).value within 5 min from Smoke) "
        "where area = Smoke.area and temp = $t",
        """
        SELECT time, area, mean AS temp FROM (
          SELECT type, time, area, avg(value)
            OVER (PARTITION BY area ORDER BY time RANGE BETWEEN 300000 PRECEDING AND 1 PRECEDING) AS mean
          FROM events WHERE type IN ('Smoke', 'Temp'))
        WHERE type = 'Smoke' AND mean > 50
        """,
        "an average over a RANGE window",
        """
        SELECT s.time, s.area, avg(t.value) AS temp
        FROM events s JOIN events t ON s.area = t.area AND t.time >= s.time - 300000 AND t.time < s.time
        WHERE s.type = 'Smoke' AND t.type = 'Temp' GROUP BY s.time, s.area HAVING avg(t.value) > 50
        """,
    ),
)
"""What is asked of Spark, in the order of the report."""
