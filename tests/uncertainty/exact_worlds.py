"""All possible worlds of a few discrete errors, each with its weight: what the calculus must say to the last digit.

Generated rules ask for what `joint_cases` does not: conditions joined by ``or``, ``not (..)``, values that may be
missing, functions, conditions among the parts, consumption and least probabilities.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random

import numpy as np
from possible_worlds import Case, Made, made_in_worlds

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Discrete
from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.engine.assembly.registry import create

DECLARATIONS = "".join(f"event {name}(x: double, y: double?, n: int, k: string)\n" for name in "ABC")
IGNORED = Calculus().ignore
_MOST_WORLDS = 400
_COMPARATORS = ("<", "<=", ">", ">=")
_WINDOWS = ("9 us", "20 us", "50 us")
_ERRORS = (
    Discrete(((0.0, 0.5), (1.0, 0.25), (-2.0, 0.25))),
    Discrete(((0.0, 0.75), (0.5, 0.25))),
    Discrete(((-1.0, 0.375), (1.0, 0.625))),
)


@dataclass(frozen=True)
class DiscreteCase:
    """A rule over events with discrete errors, what it consumes, and its least probability."""

    rule: str
    consumed: tuple[int, ...]
    least: float
    case: Case

    @classmethod
    def of(cls, seed: int) -> DiscreteCase:
        """Make the case of a seed."""
        random = Random(seed)
        while True:
            rule, names = _rule(random)
            taken = sorted(random.sample(range(len(names)), random.randrange(len(names) + 1)))
            clause = f" consuming {', '.join(names[place] for place in taken)}" if taken else ""
            least = random.choice((0.0, 0.0, 0.05, 0.3))
            text = DECLARATIONS + rule + clause + f" min probability {least}"
            try:
                return cls(DECLARATIONS + rule, tuple(taken), least, Case.of(text, _stream(random)))
            except RuleError:  # constraints that contradict one another
                continue

    def truth(self) -> dict[Made, float]:
        """What is delivered, terminator by terminator: what took part in that may be gone for the next one."""
        found: dict[Made, float] = {}
        gone: set[int] = set()
        for last in range(len(self.case.events)):
            seen = [event for event in self.case.events[: last + 1] if event.id not in gone]
            if not seen or seen[-1].id != last:
                continue
            for (kind, parts), probability in exact_shares(Case.of(self.rule, seen)).items():
                made = tuple(int(seen[part].id or 0) for part in parts)
                if made[0] == last and probability > IGNORED and probability >= self.least - 1e-12:
                    found[kind, made] = probability
                    gone |= {made[place] for place in self.consumed}
        return found

    def compiled(self, size: int) -> dict[Made, float]:
        """What the fast engine says, fed so many events at a time."""
        engine = create(RunOptions(engine="columns"), self.case.checked.rules.rules, self.case.schema)
        events = list(self.case.events)
        batches = [EventBatch.from_events(events[begin : begin + size]) for begin in range(0, len(events), size)]
        made = [event for batch in batches for event in engine.feed(batch).to_events()]
        return {(event.type, tuple(int(part) for part in event.made_of)): event.probability for event in made}


def exact_shares(case: Case) -> dict[Made, float]:
    """The probability of each composite event: the weight of the worlds in which it comes about."""
    choices: list[list[tuple[float, float]]] = []  # what a value is or whether an event is there, and how likely
    places: list[tuple[int, str]] = []
    for place, event in enumerate(case.events):
        for name, error in event.errors.items():
            value = event.attributes[name]
            assert isinstance(error, Discrete)
            assert isinstance(value, float)
            choices.append([(value - off, weight) for off, weight in error.outcomes])
            places.append((place, name))
        if event.probability < 1.0:
            choices.append([(1.0, event.probability), (0.0, 1.0 - event.probability)])
            places.append((place, ""))
    worlds = list(product(*choices))
    drawn: list[dict[str, np.ndarray]] = [{} for _ in case.events]
    there = np.ones((len(worlds), len(case.events)), np.bool_)
    for number, (place, name) in enumerate(places):
        values = np.array([world[number][0] for world in worlds])
        if name:
            drawn[place][name] = values
        else:
            there[:, place] = values == 1.0
    weights = [math.prod(weight for _, weight in world) for world in worlds]
    found: defaultdict[Made, float] = defaultdict(float)
    for world, made in made_in_worlds(case, drawn, there):
        found[made] += weights[world]
    return found


def _number(random: Random) -> float:
    return random.randrange(-8, 20) / 8


def _condition(random: Random, *, joined: bool, nested: bool = False) -> str:
    kind = random.random()
    if not nested and kind < 0.2:
        inner = [_condition(random, joined=joined, nested=True) for _ in range(2)]
        return random.choice((f"({inner[0]} or {inner[1]})", f"not ({inner[0]})"))
    if kind < 0.3:
        return random.choice(("y is not null", "y is null", "k in ('p', 'q')", f"x = {_number(random)}"))
    if joined and kind < 0.6:
        width = random.randrange(1, 16) / 8
        return random.choice(
            (f"$x-{width} < x < $x+{width}", f"y > $x - {width}", "x < $x", "n < $x", f"y + $y < {width}", "k = $k")
        )
    term = random.choice(("x", "x", "y", "n", "2*x", "x + y", "n + x", "abs(x)", "coalesce(y, 0.0)", "x*y"))
    return f"{term} {random.choice(_COMPARATORS)} {_number(random)}"


def _conditions(random: Random, most: int, *, joined: bool = True) -> str:
    return " and ".join(_condition(random, joined=joined) for _ in range(random.randrange(most + 1)))


def _aggregate(random: Random, number: int) -> str:
    function = random.choice(("Count", "Count", "Avg", "Sum", "Min", "Max", "First", "Last"))
    value = "" if function == "Count" else random.choice((".x", ".y", ".n", ".(x + y)"))
    bound = random.choice((0, 1, 1, 2)) if function == "Count" else random.choice((_number(random), "$x"))
    member = f"{random.choice('BC')}({_conditions(random, 2)}){value}"
    comparator, window = random.choice(("<", "<=")), random.choice(_WINDOWS)
    return f"{bound} {comparator} $a{number} = {function}({member} within {window} from T)"


def _rule(random: Random) -> tuple[str, list[str]]:
    """A rule, and the names of its events."""
    own = random.choice(("", f", {_condition(random, joined=False)}"))
    parts = [f"{random.choice('AAB')}(x=$x, y=$y, k=$k{own}) as T"]
    names = ["T"]
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        policy = random.choice(("last", "last", "first", "each", "2 last", "2 first"))
        window = f"within {random.choice(_WINDOWS)} from {random.choice(names)}"
        parts.append(f"{policy} {random.choice('BBCA')}({_conditions(random, 2)}) as E{len(names)} {window}")
        names.append(f"E{len(names)}")
        if random.random() < 0.2:
            parts.append(f"{names[-1]}.x {random.choice(_COMPARATORS)} {random.choice(('T.y', 'T.x', '$x - 0.5'))}")
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        scope = f"within {random.choice(_WINDOWS)} from T"
        if len(names) > 1 and random.random() < 0.4:
            scope = f"between {names[1]} and T"
        parts.append(f"not {random.choice('BCA')}({_conditions(random, 2)}) {scope}")
    parts += [_aggregate(random, number) for number in range(random.choice((0, 0, 1, 1, 2)))]
    return f"define R(v: double) from {' and '.join(parts)} where v = T.x", names


def _stream(random: Random) -> Sequence[Event]:
    events: list[Event] = []
    time, worlds = 0, 1
    share, doubt = random.choice((0.2, 0.4, 0.6)), random.choice((0.0, 0.0, 0.3))
    for _ in range(random.randrange(5, 12)):
        time += random.choice((0, 1, 2, 4))
        event = Event(
            random.choice("AABBBC"),
            time,
            {"x": _number(random), "y": _number(random), "n": random.randrange(-1, 3), "k": random.choice("pq")},
        )
        errors = {}
        for name in "xy":
            error = random.choice(_ERRORS)
            if random.random() < share and worlds * len(error.outcomes) <= _MOST_WORLDS:
                errors[name] = error
                worlds *= len(error.outcomes)
        if "y" not in errors and random.random() < 0.2:
            event = replace(event, attributes={**event.attributes, "y": None})
        probability = 1.0
        if random.random() < doubt and 2 * worlds <= _MOST_WORLDS:
            probability = random.choice((0.75, 0.5, 0.125))
            worlds *= 2
        events.append(replace(event, errors=errors, probability=probability))
    return events
