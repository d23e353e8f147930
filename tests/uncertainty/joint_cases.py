"""Random rules whose parts share uncertain quantities, and short streams for them, made from a seed."""

from __future__ import annotations

from random import Random

from possible_worlds import Case

from cepheus.core.distribution import Discrete, Distribution, Mixture, Normal, Samples, Sum, Uniform
from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.core.values import Value

DECLARATIONS = "".join(f"event {name}(x: double, y: double, n: int, k: string)\n" for name in "ABC")
_COMPARATORS = ("<", "<=", ">", ">=")
_WINDOWS = ("8 us", "20 us", "50 us")


def make_joint_case(seed: int) -> Case:
    """Make the case of a seed."""
    random = Random(seed)
    while True:
        text = DECLARATIONS + _rule(random)
        if random.random() < 0.15:
            text += f"\nerror B.y ~ {random.choice(('N(0, 1)', 'U(-1, 1)'))}"
            text += random.choice(("", " + shared N(0, 2) per k"))
        try:
            return Case.of(text, _stream(random))
        except RuleError:  # constraints that contradict one another
            continue


def _number(random: Random) -> float:
    return random.randrange(-8, 24) / 8


def _own(random: Random, share: float = 0.6) -> list[str]:
    found = []
    if random.random() < share:
        term = random.choice(("x", "x", "x", "2*x", "-x", "x + y", "x - y", "x * y"))
        found.append(f"{term} {random.choice(_COMPARATORS)} {_number(random)}")
    if random.random() < 0.3:
        low = _number(random)
        found.append(f"{low} < y <= {low + random.randrange(4, 24) / 8}")
    if random.random() < 0.15:
        found.append("k = 'p'")
    if random.random() < 0.1:
        found.append(f"(x < {_number(random)} or y > {_number(random)})")
    return found


def _joined(random: Random, share: float = 0.6) -> list[str]:
    """Give constraints that refer to the terminator's attributes, bound to $x, $y, $n and $k."""
    found = []
    if random.random() < share:
        width = random.randrange(4, 24) / 8
        found.append(
            random.choice(
                (f"$x-{width} < x < $x+{width}", f"y > $x - {width}", "x < $x", f"y + $y < {width}", "n < $x")
            )
        )
    if random.random() < 0.25:
        found.append("k = $k")
    return found


def _aggregate(random: Random, number: int) -> str:
    function = random.choice(("Count", "Count", "Avg", "Sum", "Min", "Max", "First", "Last", "Stddev", "Median"))
    kind = random.choice("BC")
    value = "" if function == "Count" else random.choice((".x", ".y", ".n", ".(x + y)"))
    inside = " and ".join([*_own(random, 0.4), *_joined(random, 0.4)])
    window = f"within {random.choice(_WINDOWS)} from T"
    bound = random.choice(("$x", "$y + 1")) if random.random() < 0.2 else _number(random)
    if function == "Count":
        bound = random.choice((0, 1, 1, 2))
    return f"{bound} {random.choice(('<', '<='))} $a{number} = {function}({kind}({inside}){value} {window})"


def _rule(random: Random) -> str:
    first = ["x = $x", "y = $y", "n = $n", "k = $k", *_own(random, 0.5)]
    parts = [f"A({' and '.join(first)}) as T"]
    chosen = "T"
    for place in range(random.choice((0, 1, 1, 1, 2))):
        policy = random.choice(("last", "last", "first", "each", "2 last", "2 first"))
        inside = " and ".join([*_own(random), *_joined(random)])
        per = " per k" if policy != "each" and random.random() < 0.15 else ""
        window = f"within {random.choice(_WINDOWS)} from {chosen}"
        parts.append(f"{policy} {random.choice('BBC')}({inside}) as E{place}{per} {window}")
        if random.random() < 0.4:
            chosen = f"E{place}"
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        inside = " and ".join([*_own(random, 0.4), *_joined(random)])
        scope = f"within {random.choice(_WINDOWS)} from T"
        if chosen != "T" and random.random() < 0.3:
            scope = f"between {chosen} and T"
        parts.append(f"not {random.choice('BC')}({inside}) {scope}")
    parts += [_aggregate(random, number) for number in range(random.choice((0, 0, 1, 1, 2)))]
    return f"define R(v: double) from {' and '.join(parts)} where v = T.x"


def _error(random: Random) -> Distribution:
    kinds: list[Distribution] = [
        Normal(0.0, random.choice((0.25, 1.0, 4.0))),
        Normal(0.0, 1.0),
        Normal(0.5, 1.0),
        Uniform(-1.0, random.choice((1.0, 2.0))),
        Discrete(((0.0, 0.5), (1.0, 0.25), (-2.0, 0.25))),
        Mixture(((0.75, Normal(0.0, 1.0)), (0.25, Uniform(-3.0, 3.0)))),
        Samples((0.0, 0.5, 1.0)),
        Sum((Uniform(-1.0, 1.0), Normal(0.0, 1.0))),
    ]
    return random.choice(kinds)


def _stream(random: Random) -> list[Event]:
    events = []
    time = 0
    share = random.choice((0.4, 0.7, 1.0))
    doubt = random.random() < 0.2
    for _ in range(random.randrange(4, 13)):
        time += random.choice((0, 1, 2, 4))
        attributes: dict[str, Value | None] = {
            "x": _number(random),
            "y": _number(random),
            "n": random.randrange(-1, 3),
            "k": random.choice("pq"),
        }
        errors = {name: _error(random) for name in "xy" if random.random() < share}
        probability = random.choice((1.0, 0.75, 0.5)) if doubt else 1.0
        events.append(Event(random.choice("ABBBC"), time, attributes, errors=errors, probability=probability))
    events.append(Event("A", time + 1, {"x": 1.0, "y": 0.5, "n": 1, "k": "p"}, errors={"x": Normal(0.0, 1.0)}))
    return events
