"""Listen to a stream while it runs: content-based subscriptions, late events, rules that come and go."""

from pathlib import Path

import cepheus
from cepheus import Event

program = cepheus.compile(Path(__file__).parent / "fire" / "fire.tesla")


def hot(event: Event) -> None:
    """Tell of a high temperature."""
    print("hot:", event["area"], event["value"])


def alarm(event: Event) -> None:
    """Tell of a fire."""
    print("FIRE:", event["area"], event["temp"])


def late(event: Event) -> None:
    """Tell of an event that came after its time."""
    print("too late:", event.type, event.time // 1_000_000)


with program.start(time_unit="s", lateness="30s", on_late=late) as engine:
    engine.subscribe("Temp(value >= 45)", hot)
    engine.subscribe("Fire(area='A1')", alarm)
    engine.feed({"type": "Smoke", "time": 130, "area": "A1"})
    engine.feed({"type": "Temp", "time": 120, "area": "A1", "value": 51.0})  # ten seconds late: put in its place
    engine.feed({"type": "Temp", "time": 200, "area": "A2", "value": 20.0})  # now the fire is decided
    engine.feed({"type": "Temp", "time": 150, "area": "A2", "value": 60.0})  # fifty seconds late: too late

    engine.deploy("define Cold(area: string) from Temp(area=$a and value < 5) where area=$a")
    engine.subscribe("Cold()", lambda event: print("cold:", event["area"]))
    engine.feed({"type": "Temp", "time": 210, "area": "A3", "value": 3.5})
    engine.flush()  # do not wait any longer for stragglers
    engine.withdraw("Cold")
print(engine.counts)
