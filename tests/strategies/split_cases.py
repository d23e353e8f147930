"""Random rule sets that can be split in every way, with streams to try them on, made from a seed.

Some streams have values from the corners of every type.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from cepheus.core.event import Event
from cepheus.core.values import Value, ValueType
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check
from strategies.corners import SHARE, Corners, corners_of

TYPES = "ABC"
DECLARATIONS = "".join(f"event {name}(k: string, n: int, km: double, v: double);" for name in TYPES)
_COMPOSITE = "(k: string, n: int, km: double, v: double)"
_KINDS = {"k": ValueType.STRING, "n": ValueType.INT, "km": ValueType.FLOAT, "v": ValueType.FLOAT}
STYLES = ("keys", "numbers", "bands", "slices", "mixed")
_WINDOWS = ("1 s", "2 s", "3 s", "5 s", "8 s")


@dataclass(frozen=True)
class SplitCase:
    """Rules and a stream in total order, every event with its id."""

    seed: int
    text: str
    checked: Checked
    events: tuple[Event, ...]


def split_case(seed: int, *, events: int = 60, ties: bool = True, share: float = SHARE) -> SplitCase:
    """Make the case of a seed; a ``share`` of the seeds have corners."""
    random = Random(seed)
    count = random.choice((1, 1, 2, 3, 4))
    style = random.choice(STYLES)
    text = DECLARATIONS + "".join(tesla_rule(random, number, style) for number in range(count))
    made = stream(random, events, ties, corners_of(seed, share))
    return SplitCase(seed, text, check(parse(text, f"seed {seed}")), tuple(made))


def stream(random: Random, count: int, ties: bool, corners: Corners) -> list[Event]:
    """Make a stream in total order; with ``ties`` some events have equal times."""
    time = 0
    found = []
    for number in range(count):
        time += random.choice((0, 200_000, 500_000, 1_000_000, 3_000_000) if ties else (1, 200_000, 700_000, 2_000_000))
        attributes: dict[str, Value | None] = {
            "k": random.choice("abcd"),
            "n": random.choice((0, 1, 2, 3, -1)),
            "km": random.choice((0.0, -0.0, 0.5, 1.0, 2.5, 4.0, 7.25, 11.0, 20.0, -3.0))
            + random.choice((0.0, 0.0, 0.1)),
            "v": float(random.randint(0, 9)),
        }
        name = random.choice(TYPES)
        attributes = {key: corners.value(_KINDS[key], value) for key, value in attributes.items() if value is not None}
        found.append(Event(name, time, attributes, id=number, sequence=number))
    return found


def tesla_rule(random: Random, number: int, style: str) -> str:
    """Write a rule that can be split in a way, or in some way."""
    style = random.choice(STYLES[:-1]) if style == "mixed" else style
    composites = [f"P{place}" for place in range(number)]
    terminator = random.choice([*TYPES, *composites])
    sources = [*TYPES, *TYPES, *composites, f"P{number}"]
    binding = {"keys": "k = $k", "numbers": "n = $n", "bands": "km = $x", "slices": ""}[style]
    pieces = [f"{terminator}({binding}) as e0"]
    names = ["e0"]
    selected = []
    for place in range(1, random.choice((1, 2, 2, 3, 4))):
        kind = random.random()
        tie = _tie(random, style, names[-1])
        if random.random() < 0.4:
            tie += f"{' and ' if tie else ''}v {random.choice(('>', '<', '>='))} {random.randint(0, 9)}"
        reference = random.choice(names)
        scope = f"within {random.choice(_WINDOWS)} from {reference}"
        if kind < 0.6:
            name = f"e{place}"
            policy = random.choice(("each", "last", "first", "2 last", "2 first"))
            source = random.choice(sources)
            if source == f"P{number}" and policy == "each":
                policy = "last"  # what feeds itself must not explode
            aside = Random(f"{number} {place} {tie} {scope}")  # takes nothing from what others draw
            per = f" per {aside.choice('knv')}" if policy != "each" and aside.random() < 0.3 else ""
            pieces.append(f"{policy} {source}({tie}) as {name}{per} {scope}")
            names.append(name)
            selected.append(name)
        elif kind < 0.8:
            pieces.append(f"not {random.choice(sources)}({tie}) {scope}")
        else:
            function = random.choice(("Sum", "Count", "Max"))
            pieces.append(f"{random.randint(0, 4)} <= {function}({random.choice(sources)}({tie}).v {scope})")
    consuming = [name for name in selected if random.random() < 0.15]
    clause = f" consuming {', '.join(consuming)}" if consuming else ""
    where = ", ".join(f"{name} = {random.choice(names)}.{name}" for name in ("k", "n", "km", "v"))
    return f"define P{number}{_COMPOSITE} from {' and '.join(pieces)} where {where}{clause};"


def _tie(random: Random, style: str, last: str) -> str:
    if random.random() < 0.05:
        return ""
    match style:
        case "keys":
            return "k = $k"
        case "numbers":
            return random.choice(("n = $n", "km = $n", f"n = {last}.n"))
        case "bands":
            width = random.choice((0, 1, 2.5))
            return random.choice(
                (
                    f"$x - {width} <= km <= $x + {width}",
                    f"abs(km - $x) <= {width}",
                    f"{last}.km < km < {last}.km + {width + 1}",
                )
            )
        case _:
            return ""
