"""A stream of fires in files, and what must be found in it: for tests in this process and in others that are killed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from event_rows import write_arrival

import cepheus
from cepheus.core.time import SECOND

RULES = """
event Smoke(area: string, n: int);
event Temp(area: string, value: double, n: int);
define Fire(area: string, temp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 s from Smoke
where area = Smoke.area and temp = Temp.value;
define Blaze(area: string, fires: int)
from Fire(area = $a) and 1 < $c = Count(Fire(area = $a) within 10 s from Fire)
where area = Fire.area and fires = $c;
define Used(area: string)
from Smoke(area = $a) and first Temp(area = $a and value > 30) within 8 s from Smoke
where area = Smoke.area
consuming Temp;
define Unseen(area: string)
from Smoke(area = $a) and not Temp(area = $a) within 4 s after Smoke
where area = $a;
define Hot(readings: int)
from every 10 s and 3 < $n = Count(Temp(value > 60) within 10 s from now)
where readings = $n;
define Smokes(area: string, so_far: int)
from Smoke(area = $a) and $n = Count(Smoke(area = $a) since start)
where area = $a and so_far = $n
"""
SCHEMA = "type string, time timestamp, area string, value double, n long"
DELAY = 3 * SECOND
START = 1_700_000_000 * SECOND


def make_events(count: int, seed: int) -> list[dict[str, Any]]:
    """Give events in order of time; ``n`` numbers them."""
    random = Random(seed)
    time, events = START, []
    for n in range(count):
        time += random.choice((0, 100_000, 250_000, 700_000))
        area = f"A{random.randrange(6)}"
        if random.random() < 0.25:
            events.append({"type": "Smoke", "time": time, "area": area, "value": None, "n": n})
        else:
            events.append(
                {"type": "Temp", "time": time, "area": area, "value": round(random.uniform(0, 90), 2), "n": n}
            )
    return events


def arrivals(events: list[dict[str, Any]], files: int, seed: int) -> list[list[dict[str, Any]]]:
    """Give the events of each file: out of order by less than the watermark allows, of very different sizes.

    The last file holds one event that is much later than all others, which lets all of them be decided.
    """
    random = Random(seed)
    late = sorted(events, key=lambda event: event["time"] + random.randrange(DELAY))
    cuts = sorted(random.sample(range(1, len(late)), files - 2))
    parts = [late[start:end] for start, end in zip([0, *cuts], [*cuts, len(late)], strict=True)]
    end = {"type": "Temp", "time": events[-1]["time"] + 3600 * SECOND, "area": "end", "value": 0.0, "n": len(events)}
    return [*parts, [end]]


def write_file(events: list[dict[str, Any]], folder: Path, number: int) -> None:
    """Let events arrive as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: [event[name] for event in events] for name in ("type", "area", "n")})
    table = table.append_column("value", pa.array([event["value"] for event in events], pa.float64()))
    times = pa.array([event["time"] for event in events], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    write_arrival(table.append_column("time", times), folder, number)


def expected(events: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    """Give type, time and id of what one run of the embedded engine finds; ties are broken by ``n``."""
    records = [{**event, "id": event["n"]} for event in events]
    found = cepheus.compile(RULES).detect(records, sequence="n", until=events[-1]["time"] + 60 * SECOND)
    return sorted((event.type, event.time, str(event.id)) for event in found.to_events())
