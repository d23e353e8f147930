"""The tunnel: temperature and oxygen along 24 km, traffic jams, and a ventilation system that fails.

Twelve stations, two kilometres apart, report the temperature every 30 s and the oxygen every minute, each with its own
offset, slow drift and noise. Traffic follows the hours of a working day: it warms the tunnel by some degrees and takes
a little oxygen. Four things are staged. Two are failures: a blocked ventilation shaft (heat, then too little oxygen)
and a fan that stops (heat alone). Two only look like failures: a traffic jam, which heats the tunnel as well, and
a diesel generator of a repair crew, which takes oxygen where it is cool.
"""

from __future__ import annotations

import numpy as np

from cepheus.core.event import Event
from cepheus.core.time import MINUTE, parse_time
from cepheus.demo.scenario import Floats, Generator, Incident, Lane, Scenario, Stream, check_size, microseconds

STATIONS = np.arange(1.0, 24.0, 2.0)
_START = parse_time("2026-03-02T05:00:00Z")
_START_HOUR = 5.0
_TEMP_PERIOD, _OXYGEN_PERIOD, _JAM_PERIOD = 30.0, 60.0, 45.0
_PER_SECOND = len(STATIONS) * (1 / _TEMP_PERIOD + 1 / _OXYGEN_PERIOD)
_RISE = 180.0  # seconds that heat needs to build up


class _Plan:
    """When and where things happen, as fractions of the stream, so that any length tells the whole story."""

    def __init__(self, seconds: float) -> None:
        length = min(1_500.0, 0.09 * seconds)
        self.blocked = (0.16 * seconds, 0.16 * seconds + length)
        self.jam = (0.38 * seconds, 0.38 * seconds + 1.4 * length)
        self.generator = (0.62 * seconds, 0.62 * seconds + length)
        self.fan = (0.80 * seconds, 0.80 * seconds + length)


def generate(seed: int, events: int) -> Stream:
    """Generate the stream; the same seed and number of events give the same stream."""
    check_size(events)
    rng = np.random.default_rng(seed)
    seconds = 1.02 * events / _PER_SECOND
    plan = _Plan(seconds)
    found = [*_temperatures(rng, plan, seconds), *_oxygen(rng, plan, seconds), *_jams(rng, plan)]
    found.sort(key=lambda event: event.time)
    return Stream(tuple(found[:events]), _incidents(plan))


def _incidents(plan: _Plan) -> tuple[Incident, ...]:
    staged = (
        ("shaft blocked at km 9", plan.blocked, ("Danger", "TVS_Degraded", "TVS_Malfun", "TVS_Overheat")),
        ("traffic jam at km 15", plan.jam, ()),
        ("diesel generator at km 5", plan.generator, ()),
        ("fan stopped at km 19", plan.fan, ("TVS_Overheat",)),
    )
    return tuple(
        Incident(title, _START + round(start) * 1_000_000, _START + round(end + _RISE) * 1_000_000 + 5 * MINUTE, finds)
        for title, (start, end), finds in staged
    )


def _near(km: float, place: float, width: float) -> float:
    return float(np.exp(-((km - place) ** 2) / (2 * width * width)))


def _temperatures(rng: Generator, plan: _Plan, seconds: float) -> list[Event]:
    events = []
    for km in STATIONS.tolist():
        times = _times(rng, _TEMP_PERIOD, seconds)
        heat = (
            15.5 * _near(km, 9.0, 1.2) * _bump(times, *plan.blocked, _RISE)
            + 11.5 * _near(km, 15.0, 1.1) * _bump(times, *plan.jam, _RISE)
            + 13.5 * _near(km, 19.0, 0.7) * _bump(times, *plan.fan, _RISE)
        )
        depth = 1.0 - abs(km - 12.0) / 12.0
        values = 19.5 + 2.0 * depth + 2.5 * _rush(_START_HOUR + times / 3600.0) * depth + heat
        values += _drift(rng, len(times), 0.02, 0.08) + rng.normal(0.0, 0.25, len(times))
        values = np.where(heat > 3.0, values, np.minimum(values, 29.0))
        events += _readings("Temp", "value", km, times, values)
    return events


def _oxygen(rng: Generator, plan: _Plan, seconds: float) -> list[Event]:
    events = []
    for km in STATIONS.tolist():
        times = _times(rng, _OXYGEN_PERIOD, seconds)
        loss = (
            3.6 * _near(km, 9.0, 1.2) * _bump(times, plan.blocked[0] + _RISE, plan.blocked[1], _RISE)
            + 1.3 * _near(km, 15.0, 1.1) * _bump(times, *plan.jam, _RISE)
            + 3.4 * _near(km, 5.0, 0.6) * _bump(times, *plan.generator, _RISE)
        )
        values = 20.7 - 0.4 * _rush(_START_HOUR + times / 3600.0) - loss
        values += _drift(rng, len(times), 0.05, 0.02) + rng.normal(0.0, 0.06, len(times))
        values = np.where(loss > 1.0, values, np.maximum(values, 18.6))
        events += _readings("Oxygen", "concentr", km, times, values)
    return events


def _jams(rng: Generator, plan: _Plan) -> list[Event]:
    """The camera tells of the jam a little before it warms the tunnel and until the heat is gone."""
    start, end = plan.jam
    times = np.arange(start - 60.0, end + _RISE + 60.0, _JAM_PERIOD)
    times += rng.uniform(0.0, 5.0, len(times))
    places = np.round(15.0 + rng.uniform(-0.8, 0.8, len(times)), 1).tolist()
    return [Event("TrafficJam", time, {"km": km}) for time, km in zip(microseconds(_START, times), places, strict=True)]


def _times(rng: Generator, period: float, seconds: float) -> Floats:
    times = np.arange(rng.uniform(0.0, period), seconds, period)
    return np.asarray(times + rng.uniform(0.0, 0.1 * period, len(times)))


def _readings(event_type: str, attribute: str, km: float, times: Floats, values: Floats) -> list[Event]:
    return [
        Event(event_type, time, {"km": km, attribute: value})
        for time, value in zip(microseconds(_START, times), np.round(values, 2).tolist(), strict=True)
    ]


TUNNEL = Scenario(
    name="tunnel",
    title="Tunnel ventilation",
    story="A blocked shaft and a stopped fan must be found; a traffic jam and a diesel generator must not.",
    place="km",
    lanes=(
        Lane("Temp", "temperature (°C)", "value", 30.0),
        Lane("Oxygen", "oxygen (%)", "concentr", 18.0, height=1.5),
        Lane("TrafficJam", "jam", height=0.35),
    ),
    generate=generate,
)


def _drift(rng: Generator, steps: int, pull: float, size: float) -> Floats:
    """Draw a slow random walk that is pulled back to zero (an AR(1) process), one value per step."""
    shocks = rng.normal(0.0, size, steps)
    values = np.empty(steps)
    value = 0.0
    for step in range(steps):
        value += shocks[step] - pull * value
        values[step] = value
    return values


def _bump(seconds: Floats, start: float, end: float, rise: float) -> Floats:
    """A curve from 0 up to 1 and back: it rises from ``start`` within ``rise`` seconds and falls after ``end``.

    >>> _bump(np.array([0.0, 100.0, 160.0, 1000.0, 2000.0]), 100, 1000, 60).round(2).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    up = np.clip((seconds - start) / rise, 0.0, 1.0)
    down = np.clip(1.0 - (seconds - end) / rise, 0.0, 1.0)
    return np.minimum(up, down)


def _rush(hours: Floats) -> Floats:
    """The traffic of a working day, 0 (none) to 1: little at night, peaks at 8:00 and 17:30."""
    morning = np.exp(-((hours - 8.0) ** 2) / 1.6)
    evening = np.exp(-((hours - 17.5) ** 2) / 3.0)
    midday = 0.35 * np.exp(-((hours - 12.5) ** 2) / 16.0)
    return np.minimum(1.0, 0.05 + 0.8 * morning + 0.9 * evening + midday)
