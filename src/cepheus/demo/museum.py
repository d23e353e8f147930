"""The museum: paintings that shake, visitors that come near, guards on their rounds, and a thief.

Eighteen paintings in six rooms report their vibration every minute: a trace of footsteps that grows with the number
of visitors. Visitors come from opening time on, most at noon and in the afternoon, and prefer the famous paintings.
Guards walk the rooms in turn, so that a room is rarely without staff for a minute. Three things are staged: a visitor
touches a painting under the eyes of a guard (a touch, no theft); a thief works for some minutes on a painting while
the guards are kept away (a theft, and the alarm); before opening time a lorry shakes a whole room with nobody in
it (nothing).
"""

from __future__ import annotations

import numpy as np

from cepheus.core.event import Event
from cepheus.core.time import MINUTE, SECOND, parse_time
from cepheus.demo.scenario import Floats, Generator, Incident, Lane, Scenario, Stream, check_size, microseconds

ROOMS = ("Red", "Blue", "Green", "Oak", "Tower", "Garden")
PAINTINGS = tuple((room, f"{room} {number}") for room in ROOMS for number in (1, 2, 3))
_START = parse_time("2026-03-03T09:00:00Z")
_VIBRATION_PERIOD, _STAFF_PERIOD = 60.0, 25.0
_VISITS = 0.16  # people seen near a painting, per second, on average over the day
_PER_SECOND = len(PAINTINGS) / _VIBRATION_PERIOD + len(ROOMS) / _STAFF_PERIOD + _VISITS
_TOUCHED, _STOLEN, _SHAKEN = ("Blue", "Blue 2"), ("Tower", "Tower 1"), "Oak"
_CALM = 2.4  # no footstep shakes a painting more than this


class _Plan:
    """When things happen, in seconds after the start."""

    def __init__(self, seconds: float) -> None:
        self.opening = 0.12 * seconds
        self.lorry = 0.06 * seconds
        self.touch = 0.42 * seconds
        self.theft = (0.74 * seconds, 0.74 * seconds + 420.0)


def generate(seed: int, events: int) -> Stream:
    """Generate the stream; the same seed and number of events give the same stream."""
    check_size(events)
    rng = np.random.default_rng(seed)
    seconds = 1.04 * events / _PER_SECOND
    plan = _Plan(seconds)
    found = [*_footsteps(rng, plan, seconds), *_visitors(rng, plan, seconds), *_rounds(rng, plan, seconds)]
    found += [*_lorry(rng, plan), *_touch(plan), *_theft(rng, plan)]
    found.sort(key=lambda event: event.time)
    return Stream(tuple(found[:events]), _incidents(plan))


def _incidents(plan: _Plan) -> tuple[Incident, ...]:
    def at(seconds: float) -> int:
        return _START + round(seconds) * SECOND

    return (
        Incident(f"lorry shakes room {_SHAKEN}", at(plan.lorry) - MINUTE, at(plan.lorry) + 3 * MINUTE, ()),
        Incident(
            f"visitor touches {_TOUCHED[1]}", at(plan.touch) - 2 * MINUTE, at(plan.touch) + 2 * MINUTE, ("Touch",)
        ),
        Incident(
            f"thief at {_STOLEN[1]}",
            at(plan.theft[0]) - MINUTE,
            at(plan.theft[1]) + MINUTE,
            ("Alarm", "Theft", "Touch"),
        ),
    )


def _crowd(seconds: Floats, plan: _Plan, total: float) -> Floats:
    """How full the museum is, 0 to 1: empty before it opens, full at noon and in the afternoon."""
    part = np.clip((seconds - plan.opening) / (total - plan.opening), 0.0, 1.0)
    shape = 0.25 + 0.6 * np.exp(-((part - 0.35) ** 2) / 0.02) + 0.75 * np.exp(-((part - 0.72) ** 2) / 0.03)
    return np.where(seconds < plan.opening, 0.0, np.minimum(1.0, shape))


def _footsteps(rng: Generator, plan: _Plan, total: float) -> list[Event]:
    events = []
    for room, painting in PAINTINGS:
        times = np.arange(rng.uniform(0.0, _VIBRATION_PERIOD), total, _VIBRATION_PERIOD)
        times = times + rng.uniform(0.0, 4.0, len(times))
        strength = rng.gamma(2.0, 0.08 + 0.16 * _crowd(times, plan, total), len(times))
        battery = np.round(rng.uniform(70, 100) - 12.0 * times / total).astype(int).tolist()
        if painting == _STOLEN[1]:
            quiet = (times > plan.theft[0]) & (times < plan.theft[1])  # the thief's own shaking covers the footsteps
            times, strength = times[~quiet], strength[~quiet]
            battery = [level for level, gone in zip(battery, quiet, strict=True) if not gone]
        values = np.round(np.minimum(_CALM, 0.05 + strength), 2).tolist()
        events += [
            _vibration(time, room, painting, value, level)
            for time, value, level in zip(microseconds(_START, times), values, battery, strict=True)
        ]
    return events


def _vibration(time: int, room: str, painting: str, value: float, battery: int) -> Event:
    return Event("Vibration", time, {"room": room, "painting": painting, "value": value, "battery": battery})


def _visitors(rng: Generator, plan: _Plan, total: float) -> list[Event]:
    fame = rng.dirichlet(np.full(len(PAINTINGS), 1.5))
    count = round(_VISITS * total)
    times = rng.uniform(plan.opening, total, 4 * count)
    times = np.sort(times[rng.random(len(times)) < _crowd(times, plan, total)][:count])
    chosen = rng.choice(len(PAINTINGS), len(times), p=fame)
    return [
        Event("PeopleNear", time, {"painting": PAINTINGS[index][1]})
        for time, index in zip(microseconds(_START, times), chosen.tolist(), strict=True)
    ]


def _rounds(rng: Generator, plan: _Plan, total: float) -> list[Event]:
    """Staff badges are seen in every room all the time, except in the thief's room while the thief is there."""
    events = []
    for room in ROOMS:
        times = np.arange(rng.uniform(0.0, _STAFF_PERIOD), total, _STAFF_PERIOD)
        times = times + rng.uniform(0.0, 8.0, len(times))
        if room == _STOLEN[0]:
            times = times[(times < plan.theft[0] - 70.0) | (times > plan.theft[1])]
        events += [Event("StaffAt", time, {"room": room}) for time in microseconds(_START, times)]
    return events


def _lorry(rng: Generator, plan: _Plan) -> list[Event]:
    """One strong shake for every painting of a room at once; nobody is near."""
    times = microseconds(_START, plan.lorry + rng.uniform(0.0, 2.0, 3))
    paintings = [painting for room, painting in PAINTINGS if room == _SHAKEN]
    strength = np.round(rng.uniform(3.4, 4.6, 3), 2).tolist()
    return [
        _vibration(time, _SHAKEN, painting, value, 90)
        for time, painting, value in zip(times, paintings, strength, strict=True)
    ]


def _touch(plan: _Plan) -> list[Event]:
    room, painting = _TOUCHED
    seen, staff, shaken = microseconds(_START, plan.touch + np.array([0.0, 9.0, 21.0]))
    return [
        Event("PeopleNear", seen, {"painting": painting}),
        Event("StaffAt", staff, {"room": room}),
        _vibration(shaken, room, painting, 3.7, 84),
    ]


def _theft(rng: Generator, plan: _Plan) -> list[Event]:
    room, painting = _STOLEN
    start, end = plan.theft
    times = np.arange(start + 20.0, end, 30.0)
    strength = np.round(rng.uniform(3.6, 6.5, len(times)), 2).tolist()
    near = microseconds(_START, np.arange(start, end, 60.0))
    return [Event("PeopleNear", time, {"painting": painting}) for time in near] + [
        _vibration(time, room, painting, value, 77)
        for time, value in zip(microseconds(_START, times), strength, strict=True)
    ]


MUSEUM = Scenario(
    name="museum",
    title="Museum",
    story="A touch under a guard's eyes and a theft must be found; a lorry that shakes an empty room must not.",
    place="painting",
    lanes=(
        Lane("Vibration", "vibration", "value", 3.0),
        Lane("PeopleNear", "people near", rows="painting", height=1.3),
        Lane("StaffAt", "staff in room", rows="room", height=1.0),
    ),
    generate=generate,
)
