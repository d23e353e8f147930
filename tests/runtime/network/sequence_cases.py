"""Random rules that give partitioning much to do: sequences and trees of windows over few types, few constraints."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[2] / "engine"))

from random_cases import Case

from cepheus.core.event import Event
from cepheus.language.tesla import parse
from cepheus.rules.check import check

TYPES = "ABCDE"
_DECLARATIONS = "".join(f"event {name}(x: int, y: double)\n" for name in TYPES)
_WINDOWS = ("3 us", "5 us", "8 us", "12 us", "20 us")


def make_sequence_case(seed: int, *, events: int = 60) -> Case:
    """Make rules and a stream from a seed."""
    random = Random(f"sequence {seed}")
    count = random.choice((1, 1, 2, 3))
    text = _DECLARATIONS + "\n".join(_rule(random, number) for number in range(count))
    time = 0
    stream = []
    for number in range(random.randint(events // 2, events)):
        time += random.choice((0, 1, 1, 1, 2))
        attributes = {"x": random.randint(0, 1), "y": float(random.randint(0, 3))}
        stream.append(Event(random.choice(TYPES), time, attributes, id=f"e{number}"))
    return Case(seed, text, check(parse(text)), tuple(stream), (0,) * count, None)


def _rule(random: Random, number: int) -> str:
    types = random.sample(TYPES, 5) if random.random() < 0.8 else random.choices(TYPES, k=5)
    length = random.choice((2, 3, 3, 4, 4, 5))
    chain = random.random() < 0.7
    joined = random.random() < 0.4
    earlier = [f"P{n}" for n in range(number)]
    if earlier and random.random() < 0.3:
        types[random.randrange(length)] = random.choice(earlier)
    pieces = [f"{types[0]}({_content(random, types[0], joined, first=True)}) as e0"]
    for place in range(1, length):
        policy = random.choice(("last", "last", "last", "first", "each", "2 last", "2 first"))
        reference = f"e{place - 1}" if chain else f"e{random.randrange(place)}"
        content = _content(random, types[place], joined, first=False)
        window = random.choice(_WINDOWS)
        pieces.append(f"{policy} {types[place]}({content}) as e{place} within {window} from {reference}")
    if random.random() < 0.35:
        other = random.choice(TYPES)
        one, two = (random.randrange(length), random.randrange(length)) if length > 1 else (0, 0)
        scope = f"between e{one} and e{two}" if one != two else f"within {random.choice(_WINDOWS)} from e{one}"
        pieces.append(f"not {other}({_content(random, other, joined, first=False)}) {scope}")
    if random.random() < 0.2:
        scope = f"within {random.choice(_WINDOWS)} from e{random.randrange(length)}"
        pieces.append(f"{random.choice((0, 1))} < $t = Count({random.choice(TYPES)}() {scope})")
    consuming = f"\nconsuming e{random.randrange(1, length)}" if random.random() < 0.15 else ""
    body = " and\n  ".join(pieces)
    return f"define P{number}(x: int, y: double)\nfrom {body}\nwhere x=e0.x, y=e{length - 1}.y{consuming};\n"


def _content(random: Random, kind: str, joined: bool, *, first: bool) -> str:
    del kind
    if joined and (first or random.random() < 0.6):
        return "x=$p"
    return random.choice(("", "", "", "", "", "", "y>0", "x=1"))
