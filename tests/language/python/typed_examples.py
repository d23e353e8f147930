"""Rules as typed Python, as the page on them has them; type checkers accept every line."""

from __future__ import annotations

from datetime import datetime

import cepheus
from cepheus.typed import (
    Composite,
    Event,
    agg,
    any_of,
    collect,
    consume,
    duration,
    each,
    fn,
    is_null,
    last,
    no,
    not_,
    now,
    on,
    require,
    rule,
    rule_set,
    top,
    udf,
    when,
)


class Smoke(Event):
    area: str


class Temp(Event):
    area: str
    value: float


class Rain(Event):
    area: str
    amount: float | None


class Fire(Composite):
    area: str
    temp: float


class Report(Composite):
    area: str
    mean: float
    number: int
    since: datetime


@udf
def felt_heat(value: float, humidity: float) -> float:
    return value + 0.1 * humidity


@rule
def fire(smoke: Smoke) -> Fire:
    when(Smoke.area != "kitchen")
    temp = last(Temp, Temp.area == smoke.area, felt_heat(Temp.value, 5.0) > 45).within("5 min", of=smoke)
    no(Rain, Rain.area == smoke.area, not_(is_null(Rain.amount))).between(temp, smoke)
    require(smoke.time - temp.time > duration("1 s"), any_of(temp.value > 60, fn.hour(smoke.time) < 8))
    consume(temp)
    return Fire(area=smoke.area, temp=fn.max(temp.value, 46.0))


@rule(every="10 min", start="00:05")
def report() -> Report:
    hottest = top(3, Temp, by=Temp.value, per=Temp.area).within("10 min", of=now)
    temps = collect(Temp, Temp.area == hottest.area, least=2).within("10 min", of=now)
    number = agg.count(over=temps)
    mean = agg.avg(Temp.value, Temp.area == hottest.area).within("10 min", of=now)
    return Report(area=hottest.area, mean=mean, number=number, since=temps.first.time)


@rule(after="5 min")
def burnt(smoke: Smoke) -> Fire:
    temp = each(Temp, Temp.area == smoke.area, Temp.value > 45).within("5 min", of=now)
    return Fire(area=smoke.area, temp=temp.value)


@on(Fire, Fire.temp > 50)
def alarm(fire: Fire) -> None:
    print(fire.area.upper(), fire.temp + 1.0, fire.time.year)


RULES = rule_set(fire, report, burnt)


def run() -> list[Fire]:
    start = datetime(2026, 1, 31, 10)
    with cepheus.compile(RULES).start(handlers=[alarm]) as session:
        session.feed(Temp(area="A1", value=70.5, time=start))
        found = session.feed([Smoke(area="A1", time=start.replace(minute=2))])
    return found.to_objects(Fire)
