"""Random rule sets and streams, made from a seed: what every engine must agree on with the reference engine.

Times are a few microseconds apart with many ties, values come from small sets with extremes mixed in, so that every
boundary is hit often. Some cases draw values, constants and times from the corners of every type.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1]))

from random_rules import TEXTS, USUAL, Habits, RandomRule

from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.core.options import Until
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check
from cepheus.rules.model import RuleSet
from cepheus.rules.timers import Every
from strategies.corners import BEGINNINGS, IDS, SHARE, Corners, corners_of

DECLARATIONS = "".join(
    f"event {name}(x: int, y: double, s: string, b: bool, at: timestamp, o: int?)\n" for name in "ABCD"
)
_INTS = (0, 1, 1, 2, 2, 3, -1, -2, 2**63 - 1, -(2**63), 10**9)
_FLOATS = (0.0, -0.0, 0.5, 0.5, 1.0, 1.5, 1.5, -2.25, 0.1, 0.2, 1e300, -1e300, 1e-300, 2.0**70, 3.0)
_KINDS = {
    "x": ValueType.INT,
    "y": ValueType.FLOAT,
    "s": ValueType.STRING,
    "b": ValueType.BOOL,
    "at": ValueType.TIMESTAMP,
    "o": ValueType.INT,
}
_STEPS = (0, 0, 1, 1, 1, 2, 3, 7)


@dataclass(frozen=True)
class Case:
    """Rules and a stream in order; later rules are deployed, and one withdrawn, at given places of the stream.

    After the last event time goes on as ``until`` says.
    """

    seed: int
    text: str
    checked: Checked
    events: tuple[Event, ...]
    deployed_at: tuple[int, ...]
    withdrawn_at: int | None
    until: Until = None


def make_case(
    seed: int,
    *,
    while_running: bool = False,
    undeclared: bool = False,
    events: int = 30,
    coarse: int = 1,
    share: float = SHARE,
    timed: bool = False,
    ordered: bool = False,
    full: bool = False,
    habits: Habits = USUAL,
) -> Case:
    """Make the case of a seed; a ``share`` of the seeds have corners.

    With ``while_running``, rules come and go in mid-stream. With ``undeclared``, no event type is declared: what the
    rules do not tell of its attributes, the data does. Times are multiples of ``coarse``: the coarser they are, the
    more events are simultaneous. ``ordered`` rules take these one after the other. With ``timed``, some have timers.
    With ``full``, what they make names all that their aggregates counted. ``habits`` says how they are
    written.
    """
    random, corners = Random(seed), corners_of(seed, share)
    count = random.choice((1, 1, 2, 3))
    text = "ties ordered;\n" if ordered else ""
    text += ("" if undeclared else DECLARATIONS) + "\n".join(
        RandomRule(random, corners, number, count, timed=timed, habits=habits).text() for number in range(count)
    )
    least = events // 2 if habits is not USUAL else 0
    stream = tuple(_stream(random, random.randint(least, events), told_by_data=undeclared))
    stream = tuple(_at_corners(stream, corners, told_by_data=undeclared))
    places = [0] * count
    withdrawn = None
    if while_running:
        places = sorted(random.randint(0, len(stream)) for _ in range(count))
        withdrawn = random.randint(places[0], len(stream))
    stream = tuple(replace(event, time=max(event.time // coarse * coarse, INT_MIN)) for event in stream)
    checked = check(_with_provenance(parse(text, f"seed {seed}"), full=full))
    if undeclared:
        stream = _as_expected(stream, checked, random)
    until = _until(checked, stream, Random(f"until {seed}")) if timed else None
    return Case(seed, text, checked, stream, tuple(places), withdrawn, until)


def _with_provenance(rules: RuleSet, *, full: bool) -> RuleSet:
    return replace(rules, rules=tuple(replace(rule, full_provenance=full) for rule in rules.rules))


def _until(checked: Checked, events: tuple[Event, ...], random: Random) -> Until:
    """How far time goes on after the last event; to the end only where timers have one."""
    timed = [rule.pattern for rule in checked.rules.rules if rule.pattern.timer is not None]
    endless = any(isinstance(p.timer, Every) or p.terminator.type in checked.composites for p in timed)
    kind = random.random()
    if not timed or kind < 0.3 or not events:
        return None
    if kind < 0.6 and not endless:
        return "end"
    return min(events[-1].time + random.randint(0, 40), INT_MAX)


def _as_expected(events: tuple[Event, ...], checked: Checked, random: Random) -> tuple[Event, ...]:
    """Give events with numbers of the types that rules expect where they expect one, and of any type elsewhere."""
    blended = random.random() < 0.5
    expected = {
        (event_type.name, attribute.name): attribute.type
        for event_type in (*checked.inputs.values(), *checked.composites.values())
        for attribute in event_type.attributes
    }
    for alike in checked.equal_types:
        kinds = {_KINDS[name] for _, name in alike}
        if len(kinds) > 1 and not kinds <= {ValueType.INT, ValueType.FLOAT}:
            raise RuleError.of("case", "rules compare what this data has no one type for")

    def value(event: Event, name: str) -> Value | None:
        given = event.attributes[name]
        match expected.get((event.type, name)):
            case ValueType.FLOAT if isinstance(given, int):
                return float(given)
            case ValueType.INT if isinstance(given, float):
                return int(given) if abs(given) < 10 else 10
            case None if blended and type(given) is int and name != "at" and random.random() < 0.5:
                return float(given)
            case _:
                return given

    return tuple(replace(event, attributes={name: value(event, name) for name in event.attributes}) for event in events)


def _stream(random: Random, count: int, *, told_by_data: bool) -> list[Event]:
    """Give events; where only the data tells of them, none lacks an attribute and integers fit into doubles."""
    integers = _INTS[:8] if told_by_data else _INTS
    time = random.choice((0, 0, 0, -5, 2_000_000_000))
    found: list[Event] = []
    for _ in range(count):
        time += random.choice(_STEPS)
        attributes: dict[str, Value | None] = {
            "x": random.choice(integers),
            "y": random.choice(_FLOATS),
            "s": random.choice(TEXTS),
            "b": random.random() < 0.5,
            "at": random.choice((0, 1, 86_400_000_000, 1_700_000_000_000_000, time)),
        }
        if random.random() < 0.7 or told_by_data:
            attributes["o"] = random.choice(integers)
        name = random.choice(("A", "A", "B", "B", "C", "D", "P1"))
        found.append(Event(name, time, attributes, id=random.choice((None, None, f"e{len(found)}", -1 - len(found)))))
    return found


def _at_corners(events: tuple[Event, ...], corners: Corners, *, told_by_data: bool) -> list[Event]:
    """Give events with corners in place of some values, and at the corners of time."""
    shift = 0
    if events and corners.comes(0.2):
        shift = corners.random.choice(BEGINNINGS) - events[0].time
    found = []
    ids = corners.random.sample(IDS, len(IDS))  # each names one event
    for event in events:
        attributes = {
            name: corners.value(_KINDS[name], value) if value is not None else None
            for name, value in event.attributes.items()
        }
        if not told_by_data and "o" in attributes and corners.comes(0.1):
            attributes["o"] = None
        time = min(event.time + shift, INT_MAX)
        event_id = ids.pop() if ids and corners.comes(0.05) else event.id
        found.append(replace(event, time=time, attributes=attributes, id=event_id))
    return found
