"""Random rules over uncertain events and streams for them, made from a seed.

Values are multiples of an eighth, so that sums and differences are exact and ties between discrete values are the same
in every order of adding. Some cases have values from the corners of every type among them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1]))

from cepheus.core.distribution import Discrete, Distribution, Frozen, Mixture, Normal, Samples, Sum, Uniform
from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.core.values import Value, ValueType
from cepheus.engine.assembly.certain_first import CertainFirstEngine
from cepheus.engine.assembly.divided import DividedEngine
from cepheus.engine.base.interface import Engine
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check
from strategies.corners import SHARE, Corners, corners_of

DECLARATIONS = "".join(f"event {name}(x: double, y: double, n: int, k: string)\n" for name in "ABCD")
_COMPARATORS = ("<", "<=", ">", ">=")
_KINDS = {"x": ValueType.FLOAT, "y": ValueType.FLOAT, "n": ValueType.INT, "k": ValueType.STRING}
_LARGE, _LARGEST = 2.0**40, 1e300
_WINDOWS = ("3 us", "9 us", "30 us", "90 us", "90 us")


def at_work(engine: Engine) -> Engine:
    """Give the engine that does the work of one that gives way to others as soon as something is uncertain."""
    assert isinstance(engine, CertainFirstEngine)
    return engine.at_work


def compiled_rules(engine: Engine) -> int:
    """How many rules the compiled engine runs, of one that gives way to others."""
    found = at_work(engine)
    if isinstance(found, DividedEngine):
        return len(found.compiled)
    return len(found.rules) if isinstance(found, UncertainEngine) else 0


@dataclass(frozen=True)
class UncertainCase:
    """Rules, a stream in order, and the seed that they come from."""

    seed: int
    text: str
    checked: Checked
    events: tuple[Event, ...]


def make_uncertain_case(seed: int, *, closed: bool = True, events: int = 40, share: float = SHARE) -> UncertainCase:
    """Make the case of a seed; unless ``closed``, some errors and rules have no closed form.

    A ``share`` of the seeds have corners.
    """
    random = Random(seed)
    corners = corners_of(seed, share)
    while True:
        count = random.choice((1, 2, 3))
        text = DECLARATIONS + "\n".join(_rule(random, number, closed=closed) for number in range(count))
        if random.random() < 0.3:
            text += f"\nerror A.y ~ {random.choice(('N(0, 1)', 'U(-1, 1)', 'D(0: 0.5, 1: 0.5)'))}"
        try:
            checked = check(parse(text, f"seed {seed}"))
        except RuleError:  # constraints that contradict one another
            continue
        made = [_at_corners(event, corners) for event in _stream(random, events, closed=closed)]
        return UncertainCase(seed, text, checked, tuple(made))


def _at_corners(event: Event, corners: Corners) -> Event:
    """Give an event with corners in place of some values; a value with an error keeps it.

    Doubles are such that no form of two of them cancels or overflows: what is left of an error then is rounding.
    """
    values: dict[str, Value | None] = {}
    for name, usual in event.attributes.items():
        assert usual is not None
        value = corners.value(_KINDS[name], usual)
        if isinstance(value, float) and abs(value) > _LARGE:
            value = min(abs(value), _LARGEST) * (1.0 if name == "x" else -1.0)
        values[name] = value
    return replace(event, attributes=values)


def _number(random: Random) -> float:
    return random.randrange(-24, 48) / 8


def _comparison(random: Random, term: str) -> str:
    if random.random() < 0.25:
        low = _number(random)
        return f"{low} < {term} <= {low + random.randrange(1, 40) / 8}"
    return f"{term} {random.choice(_COMPARATORS)} {_number(random)}"


def _own(random: Random) -> list[str]:
    found = []
    if random.random() < 0.6:
        found.append(_comparison(random, random.choice(("x", "x", "2*x", "-x", "x + n"))))
    if random.random() < 0.3:
        found.append(_comparison(random, random.choice(("y", "y/2", "n"))))
    if random.random() < 0.2:
        found.append(f"k = '{random.choice('pq')}'")
    return found


def _joined(random: Random, *, used: bool) -> list[str]:
    """Give constraints with the terminator's attributes, bound to $x (uncertain), $n and $k."""
    found = []
    if random.random() < 0.5:
        found.append("k = $k")
    if not used and random.random() < 0.5:
        width = random.randrange(4, 40) / 8
        found.append(random.choice((f"$x-{width} < y < $x+{width}", f"y > $x + {width}", f"y + 2*$x < {width}")))
    if random.random() < 0.2:
        found.append(f"n {random.choice(_COMPARATORS)} $n")
    return found


def _rule(random: Random, number: int, *, closed: bool) -> str:
    types = "ABCD" + "".join(f"R{other}" for other in range(number))
    composite = ("x: double, y: double, n: int, k: string", "x = {0}.x{1} and y = {2} and n = {0}.n and k = {0}.k")
    terminator = random.choice([*"AAB", *([f"R{number - 1}"] if number else [])])
    constraints = ["x = $x", "n = $n", "k = $k", *[c for c in _own(random) if "x" not in c or not closed]]
    parts = [f"{terminator}({' and '.join(constraints)}) as T"]
    used, chosen = False, "T"
    for place in range(random.choice((0, 1, 1, 2))):
        policy = random.choice(("last", "each", "first", "2 last", "last"))
        joined = _joined(random, used=used)
        used = used or any("$x" in constraint for constraint in joined)
        own = [c for c in _own(random) if closed is False or "y" not in c or not used]
        name = f"E{place}"
        inside = " and ".join([*own, *joined])
        kind = random.choice(types[:4])
        window = f"within {random.choice(_WINDOWS)} from {chosen}"
        aside = Random(f"{number} {place} {window} {inside}")  # takes nothing from what others draw
        per = f" per {aside.choice(('k', 'n', 'k, n'))}" if policy != "each" and aside.random() < 0.3 else ""
        parts.append(f"{policy} {kind}({inside}) as {name}{per} {window}")
        chosen = name if random.random() < 0.5 else "T"
    last = f"{chosen}.y"
    if random.random() < 0.35:
        inside = " and ".join([*_own(random), *_joined(random, used=False)])
        parts.append(f"not {random.choice('CD')}({inside}) within {random.choice(_WINDOWS)} from T")
    if random.random() < 0.35:
        functions = ("Avg", "Sum", "Count", "First", "Last", "Min", "Max")
        function = random.choice(
            functions if closed else (*functions, "Stddev", "Median", "CountDistinct", "Percentile", "Slope", "Mode")
        )
        value = "" if function == "Count" else ".x"
        inside = random.choice(("", "k = $k", "x > 1", "k = $k and y < 2", "y > $n"))
        argument = ", 75" if function == "Percentile" else ""
        aggregate = f"{function}(C({inside}){value} within {random.choice(_WINDOWS)} from T{argument})"
        if random.random() < 0.7:
            parts.append(f"{_number(random)} < $agg = {aggregate}")
        else:
            parts.append(f"$agg = {aggregate}")
        last = "$agg"
    shift = random.choice(("", " + 1", "*2", ""))
    text = f"rule N{number} define R{number}({composite[0]})\nfrom {' and '.join(parts)}\n"
    text += f"where {composite[1].format('T', shift, last)}"
    if len(parts) > 1 and "E0" in text and random.random() < 0.25:
        text += "\nconsuming E0"
    if random.random() < 0.5:
        text += f"\nmin probability {random.choice((0.05, 0.25, 0.5))}"
    return text


def _error(random: Random, attribute: str, *, closed: bool) -> Distribution:
    if (closed and attribute == "x") or random.random() < 0.6:
        return Normal(random.choice((0.0, 0.0, 0.5)), random.choice((0.25, 1.0, 4.0)))
    kinds: list[Distribution] = [
        Uniform(-1.0, random.choice((1.0, 2.0))),
        Discrete(((0.0, 0.5), (1.0, 0.25), (-2.0, 0.25))),
        Mixture(((0.75, Normal(0.0, 1.0)), (0.25, Uniform(-3.0, 3.0)))),
    ]
    if not closed:
        kinds += [Samples((0.0, 0.5, 1.0)), Sum((Uniform(-1.0, 1.0), Normal(0.0, 1.0))), Frozen("laplace", (0.0, 1.0))]
    return random.choice(kinds)


def _stream(random: Random, count: int, *, closed: bool) -> list[Event]:
    events = []
    time = 0
    share = random.choice((0.0, 0.3, 0.7, 1.0))
    doubt = random.random() < 0.2
    for number in range(count):
        time += random.choice((0, 1, 1, 2, 5))
        kind = random.choice("AABBCCD")
        attributes: dict[str, Value | None] = {
            "x": _number(random),
            "y": _number(random),
            "n": random.randrange(-2, 4),
            "k": random.choice("pq"),
        }
        errors = {name: _error(random, name, closed=closed) for name in "xy" if random.random() < share}
        probability = random.choice((1.0, 0.75)) if doubt else 1.0
        events.append(Event(kind, time, attributes, id=number, errors=errors, probability=probability))
    return events
