"""Aggregates read off the values of a sliding window in order: the same as computed anew, however the window moves."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import cepheus
from cepheus.core.errors import LimitError
from cepheus.rules.aggregates import AGGREGATES

RULES = """
event A(k: int, x: int, y: double, s: string)
define F(m: double, p: double, d: int, t: int, x: int, y: double, s: string)
from A(k=$k) as Now and
     $m = Median(A(k=$k).x within 20 us from Now) and
     $p = Percentile(A(k=$k).y within 20 us from Now, 30) and
     $d = CountDistinct(A(k=$k).y within 20 us from Now) and
     $t = CountDistinct(A().s within 40 us from Now) and
     $x = Mode(A(k=$k).x within 20 us from Now) and
     $y = Mode(A(k=$k).y within 20 us from Now) and
     $s = Mode(A().s within 40 us from Now)
where m=$m, p=$p, d=$d, t=$t, x=$x, y=$y, s=$s
"""
WHOLE = (0, 1, 1, 2, 3, -5, 2**63 - 1, -(2**63), 2**53 + 1)
DOUBLES = (0.0, -0.0, 1.5, 1.5, -2.5, 1e300, -1e300, 5e-324)


def stream(seed: int, count: int) -> list[dict[str, Any]]:
    """Events of three keys, some at one time; now and then there is a pause, or a crowd that no order can follow."""
    random, time, events = Random(seed), 0, []
    for _ in range(count):
        time += random.choice((0, 0, 1, 1, 3)) if random.random() < 0.98 else random.choice((50, 70, 500))
        value = random.choice((*DOUBLES, random.uniform(-3, 3)))
        events.append(
            {"type": "A", "time": time, "k": random.choice((1, 1, 1, 2, 3)), "x": random.choice(WHOLE), "y": value}
            | {"s": random.choice("abc") * random.randint(0, 2)}
        )
    return events


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_windows_in_order_agree_with_the_reference(seed: int, ordered: bool) -> None:
    program = cepheus.compile(f"{'ties ordered;' if ordered else ''}{RULES}")
    events = stream(seed, 160)
    wanted = program.detect(events, engine="reference", time_unit="us").to_dicts()
    assert len(wanted) > 100
    assert program.detect(events, engine="columns", time_unit="us").to_dicts() == wanted
    found, session = [], program.start(engine="columns", time_unit="us")
    for place, event in enumerate(events):
        found += [made.to_dict() for made in session.feed(event)]
        if place % 60 == 30:
            session = program.start(snapshot=session.snapshot())
    assert [*found, *session.close().to_dicts()] == wanted


def test_these_are_the_aggregates_that_are_read_off_values_in_order() -> None:
    """Each is in the rules above, and has its branch in the kernel."""
    assert {record.name for record in AGGREGATES.values() if record.from_order} == {
        *("Median", "Percentile", "CountDistinct", "Mode")
    }


def test_a_window_that_is_looked_at_seldom_is_put_in_order_at_once() -> None:
    """Between two looks more values come and go than are put in their places one by one, and lanes grow."""
    program = cepheus.compile(
        "define F(m: double, d: int, x: int) from B() and $m = Median(A().x within 500 us from B) and "
        "$d = CountDistinct(A().x within 500 us from B) and $x = Mode(A().x within 500 us from B) "
        "where m=$m, d=$d, x=$x"
    )
    random = Random(5)
    events: list[dict[str, Any]] = [{"type": "A", "time": time, "x": random.randint(0, 40)} for time in range(3000)]
    events += [{"type": "B", "time": time} for time in (1, 90, 400, 405, 406, 900, 1500, 1501, 2900, 3300, 3600)]
    events.sort(key=lambda event: (event["time"], event["type"]))
    wanted = program.detect(events, engine="reference", time_unit="us").to_dicts()
    assert len(wanted) == 10  # the last window is empty
    assert program.detect(events, engine="columns", time_unit="us").to_dicts() == wanted


def test_more_values_than_may_be_held_are_refused_where_windows_slide() -> None:
    program = cepheus.compile(
        "event A(x: int) event B() define F(d: int) from B() and $d = CountDistinct(A().x within 1 h from B) where d=$d"
    )
    events = [{"type": "A", "time": time, "x": time} for time in range(50)] + [{"type": "B", "time": 50}]
    for engine in ("reference", "columns"):
        assert program.detect(events, engine=engine, time_unit="s", limit=50).to_dicts()[0]["d"] == 50
        with pytest.raises(LimitError, match="'F'"):
            program.detect(events, engine=engine, time_unit="s", limit=49)
