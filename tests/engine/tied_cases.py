"""Rules that choose, look and aggregate, and streams full of simultaneous events, made from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from cepheus.core.distribution import Normal
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check

DECLARATIONS = "".join(f"event {name}(k: int, v: double)\n" for name in "AB")
_POLICIES = ("last", "last", "first", "2 last", "2 first", "3 first", "each")
_FUNCTIONS = ("Count", "Sum", "Avg", "Max", "First", "Last", "First", "Last")


@dataclass(frozen=True)
class TiedCase:
    """Rules and a stream in order."""

    seed: int
    text: str
    checked: Checked
    events: tuple[Event, ...]

    @property
    def schema(self) -> Schema:
        """The types that engines are told of."""
        return Schema([*self.checked.inputs.values(), *self.checked.composites.values()])


def make_tied_case(seed: int, *, events: int = 40, uncertain: bool = False, ordered: bool = False) -> TiedCase:
    """Make the case of a seed; if ``uncertain``, some values have errors and some events may not have occurred.

    If ``ordered``, rules take simultaneous events one after the other.
    """
    random = Random(seed)
    text = "ties ordered;\n" if ordered else ""
    text += DECLARATIONS + "\n".join(_rule(random, number) for number in range(random.choice((1, 1, 2))))
    stream = []
    time = 0
    for _ in range(random.randint(events // 2, events)):
        time += random.choice((0, 0, 0, 0, 1, 2))
        attributes = {"k": random.randint(0, 1), "v": float(random.randint(0, 3))}
        blurred = uncertain and random.random() < 0.3
        doubted = uncertain and random.random() < 0.3
        stream.append(
            Event(
                random.choice("AB"),
                time,
                attributes,
                probability=0.5 if doubted else 1.0,
                errors={"v": Normal(0.0, 1.0)} if blurred else {},
            )
        )
    return TiedCase(seed, text, check(parse(text, f"seed {seed}")), tuple(stream))


def _rule(random: Random, number: int) -> str:
    types = [*"AB", *(f"P{n}" for n in range(number))]
    names = ["e0"]
    pieces = [f"{random.choice(types)}(k=$k) as e0"]
    consumed = []
    for index in range(1, random.choice((2, 2, 3, 4))):
        kind = random.random()
        asked = f"{random.choice(types)}({random.choice(('', '', 'k=$k', 'v > 1', 'k != e0.k', 'k=$k and v < 3'))})"
        scope = f"within {random.choice((0, 1, 8, 30, 30))} us from {random.choice(names)}"
        if kind < 0.6:
            pieces.append(f"{random.choice(_POLICIES)} {asked} as e{index} {scope}")
            names.append(f"e{index}")
            consumed.append(f"e{index}")
            continue
        if len(names) > 1 and random.random() < 0.6:
            scope = f"between {' and '.join(random.sample(names, 2))}"
        if kind < 0.8:
            pieces.append(f"not {asked} {scope}")
        else:
            function = random.choice(_FUNCTIONS)
            pieces.append(f"$t{index} = {function}({asked}{'' if function == 'Count' else '.v'} {scope})")
    body = " and ".join(pieces)
    consuming = f" consuming {random.choice(consumed)}" if consumed and random.random() < 0.2 else ""
    return f"define P{number}(k: int, v: double) from {body} where k=$k, v=e0.v{consuming}"
