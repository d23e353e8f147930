"""The tunnel and the museum with their rules hidden: learn them from a week of labelled days, try them on a fresh week.

    python examples/learning/stories.py

Every day is the story of ``cepheus demo`` with another seed. So that a place is no clue, rooms and paintings change
their names from day to day, and every other day the tunnel is seen from its other end. What hidden rules find is the
label.
"""

from __future__ import annotations

import numpy as np

import cepheus
from cepheus.core.event import Event
from cepheus.core.time import DAY
from cepheus.demo.museum import MUSEUM, ROOMS
from cepheus.demo.scenario import Scenario
from cepheus.demo.tunnel import TUNNEL

EVENTS_A_DAY = 6_000


def moved(event: Event, day: int, names: dict[str, str]) -> Event:
    """An event of a day, with places that mean nothing from one day to the next."""
    attributes = dict(event.attributes)
    if "km" in attributes and day % 2:
        attributes["km"] = round(24.0 - float(attributes["km"]), 1)
    if "room" in attributes:
        attributes["room"] = names[str(attributes["room"])]
    if "painting" in attributes:
        room, number = str(attributes["painting"]).rsplit(" ", 1)
        attributes["painting"] = f"{names[room]} {number}"
    return Event(event.type, event.time + day * DAY, attributes)


def week(story: Scenario, first_seed: int, days: int = 7) -> list[Event]:
    """The events of some days."""
    events: list[Event] = []
    for day in range(days):
        rng = np.random.default_rng(first_seed + day)
        names = dict(zip(ROOMS, rng.permutation(ROOMS).tolist(), strict=True))
        events += [moved(event, day, names) for event in story.generate(first_seed + day, EVENTS_A_DAY).events]
    return events


def labels(story: Scenario, events: list[Event], target: str) -> list[Event]:
    """What the hidden rules find, as labels: one for each time and place."""
    found = cepheus.compile(story.rules).detect(events).to_events()
    once = {(event.time, event.attributes[story.place]): event for event in found if event.type == target}
    return [Event(target, time, {story.place: place}) for time, place in once]


def tell(story: Scenario, target: str, ignore: tuple[str, ...] = ()) -> tuple[int, int, int]:
    """Learn from one week, run what was learned over another, and say what it found, missed and invented."""
    past = week(story, 1)
    learned = cepheus.learn(past + labels(story, past, target), target, ignore=ignore)
    print(f"\n{story.title}: {target}\n{learned}")
    fresh = week(story, 101)
    truth = {(event.time, event.attributes[story.place]) for event in labels(story, fresh, target)}
    told = {
        (event.time, event.attributes[story.place]) for event in cepheus.compile(learned.text).detect(fresh).to_events()
    }
    print(f"a fresh week: {len(truth & told)} found, {len(truth - told)} missed, {len(told - truth)} false alarms")
    return len(truth & told), len(truth - told), len(told - truth)


if __name__ == "__main__":
    tell(TUNNEL, "TVS_Overheat")
    tell(TUNNEL, "TVS_Malfun")
    tell(MUSEUM, "Touch", ignore=("Vibration.battery",))
    tell(MUSEUM, "Theft", ignore=("Vibration.battery",))
