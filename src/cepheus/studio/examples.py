"""Examples to start from: rules in each language, with events over which they find something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cepheus.core.event import Event
from cepheus.core.time import MINUTE

_START = 1_767_258_000_000_000  # 2026-01-01T09:00:00Z


@dataclass(frozen=True, slots=True)
class Example:
    """Rules, and how their events are made."""

    rules: str
    events: Callable[[], list[Event]]


FIRE = """// A fire: smoke where it was hot in the last five minutes, without rain.
define Fire(area: string, temp: double)
from   Smoke(area=$a) and
       last Temp(area=$a and value>45) within 5 min from Smoke and
       not Rain(area=$a) within 10 min from Smoke
where  area=Smoke.area and temp=Temp.value
"""

_FIRE_IN_PYTHON = """# The same rule as typed Python: it is read, and not run.
from cepheus.typed import Composite, Event, last, no, rule


class Smoke(Event):
    area: str


class Temp(Event):
    area: str
    value: float


class Rain(Event):
    area: str


class Fire(Composite):
    area: str
    temp: float


@rule
def fire(smoke: Smoke) -> Fire:
    temp = last(Temp, Temp.area == smoke.area, Temp.value > 45).within("5 min", of=smoke)
    no(Rain, Rain.area == smoke.area).within("10 min", of=smoke)
    return Fire(area=smoke.area, temp=temp.value)
"""

_ORDERS = """% An order that was paid and then shipped, within six hours: ETALIS.
delivered(Order, Price) <- (ordered(Order, Price) SEQ paid(Order) SEQ shipped(Order)).6 h.

% One that was shipped and not paid in between.
given_away(Order) <- (NOT(paid(Order)).[ordered(Order, Price), shipped(Order)]).6 h.
"""

_DIPS = """-- A price that falls at least twice, then rises: MATCH_RECOGNIZE of SQL.
SELECT * FROM Price MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY time
  MEASURES FIRST(A.price) AS top, LAST(DOWN.price) AS low, LAST(UP.price) AS now
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A DOWN{2,} UP+)
  DEFINE
    DOWN AS DOWN.price < PREV(DOWN.price),
    UP AS UP.price > PREV(UP.price)
) AS Dip
"""


def _fire() -> list[Event]:
    """An hour of three areas, in which there is a fire, a fire in the rain, and a near miss."""
    rng = np.random.default_rng(7)
    heat = {"A1": (18, 52.0), "A2": (36, 44.8), "A3": (48, 61.0)}
    events = [
        Event("Temp", _START + step * MINUTE // 2, {"area": area, "value": round(float(value), 1)})
        for step in range(120)
        for area, (at, peak) in heat.items()
        for near in [max(0.0, 1 - abs(step / 2 - at) / 5)]
        for value in [21 + rng.normal(0, 0.6) * (1 - near) + (peak - 21) * near]
    ]
    events += [Event("Smoke", _START + (at + 2) * MINUTE, {"area": area}) for area, (at, _) in heat.items()]
    events.append(Event("Rain", _START + 44 * MINUTE, {"area": "A3"}))
    return sorted(events, key=lambda event: event.time)


def _orders() -> list[Event]:
    """Sixty orders; some are never paid, some never shipped."""
    rng = np.random.default_rng(3)
    events: list[Event] = []
    for order in range(60):
        at = _START + order * 4 * MINUTE
        events.append(Event("ordered", at, {"arg1": order, "arg2": round(float(rng.uniform(5, 90)), 2)}))
        paid, shipped = (int(each) for each in rng.integers(1, 90, 2))
        if rng.random() < 0.85:
            events.append(Event("paid", at + paid * MINUTE, {"arg1": order}))
        if rng.random() < 0.9:
            events.append(Event("shipped", at + (paid + shipped) * MINUTE, {"arg1": order}))
    return sorted(events, key=lambda event: event.time)


def _prices() -> list[Event]:
    """Three prices that wander, once a minute for four hours."""
    rng = np.random.default_rng(5)
    events = []
    for symbol, price in (("ALPHA", 40.0), ("BETA", 95.0), ("GAMMA", 12.0)):
        steps = np.round(price * np.cumprod(1 + rng.normal(0, 0.004, 240)), 2)
        events += [
            Event("Price", _START + minute * MINUTE, {"symbol": symbol, "price": float(value)})
            for minute, value in enumerate(steps)
        ]
    return sorted(events, key=lambda event: event.time)


EXAMPLES = {
    "fire": Example(FIRE, _fire),
    "fire in Python": Example(_FIRE_IN_PYTHON, _fire),
    "orders in ETALIS": Example(_ORDERS, _orders),
    "dips in SQL": Example(_DIPS, _prices),
}
"""Small examples by the names under which the page offers them."""
