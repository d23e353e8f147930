"""Many rules about one uncertain attribute: those that the index passes over would not have fired."""

from __future__ import annotations

import math
from random import Random

import pytest
from uncertain_cases import at_work

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Discrete, Distribution, Mixture, Normal, Sum, Uniform
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.values import Value
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.engine.uncertain.spread import gaussian_table, standard_cdf
from cepheus.kernel.memory import address
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.uncertainty.closed_forms import FAR, normal_cdf

FLOORS = (0.0, 0.0, 1e-6, 0.05, 0.4, 0.5, 0.5, 0.5001, 0.75, 0.999)
ERRORS: tuple[Distribution | None, ...] = (
    None,
    Normal(0.0, 1.0),
    Normal(0.5, 0.25),
    Normal(0.0, 0.0),
    Uniform(-1.0, 2.0),
    Discrete(((0.0, 0.5), (1.0, 0.25), (-2.0, 0.25))),
    Mixture(((0.75, Normal(0.0, 1.0)), (0.25, Uniform(-3.0, 3.0)))),
    Sum((Normal(0.0, 1.0), Uniform(-1.0, 1.0))),
)


def band(random: Random) -> str:
    low = random.randrange(-32, 32) / 4
    return random.choice(
        (
            f"{low} < x < {low + random.randrange(1, 16) / 4}",
            f"{low} <= x <= {low + random.randrange(0, 16) / 4}",
            f"x > {low}",
            f"x <= {low}",
            f"x != {low}",
            f"n < x and x < {low}",  # a bound that the event tells
            f"x = {low}",
        )
    )


def rule(random: Random, number: int) -> str:
    own = [band(random)]
    if random.random() < 0.3:
        own.append(random.choice(("n > 0", "k = 'p'", f"y > {random.randrange(-8, 8) / 4}")))
    inside = " and ".join(own)
    pattern = random.choice(
        (
            f"A({inside})",
            f"A({inside})",
            f"B() and {random.choice(('last', 'each', 'first'))} A({inside}) within 9 us from B",
            f"B() and not A({inside}) within 9 us from B",
        )
    )
    floor = random.choice(FLOORS)
    return f"rule N{number} define R{number}() from {pattern}" + (f" min probability {floor}" if floor else "")


def stream(random: Random, count: int) -> list[Event]:
    time = 0
    events = []
    for number in range(count):
        time += random.choice((0, 1, 2))
        errors = {name: error for name in "xy" if (error := random.choice(ERRORS)) is not None}
        attributes: dict[str, Value | None] = {
            "x": random.randrange(-40, 40) / 4,
            "y": random.randrange(-8, 8) / 4,
            "n": random.randrange(-2, 3),
            "k": random.choice("pq"),
        }
        probability = random.choice((1.0, 1.0, 1.0, 0.8))
        events.append(Event(random.choice("AAB"), time, attributes, id=number, errors=errors, probability=probability))
    return events


def deployed(text: str, name: str) -> Engine:
    checked = check(parse(text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(name, checked.rules.rules, schema)


@pytest.mark.parametrize("seed", range(12))
def test_the_index_changes_nothing(seed: int) -> None:
    random = Random(seed)
    text = "".join(f"event {name}(x: double, y: double, n: int, k: string)\n" for name in "AB")
    text += "\n".join(rule(random, number) for number in range(60))
    events = stream(random, 30)
    engine, reference = deployed(text, "columns"), deployed(text, "reference")
    made: list[Event] = []
    for begin in range(0, len(events), 7):
        made += engine.feed(EventBatch.from_events(events[begin : begin + 7])).to_events()
    assert isinstance(at_work(engine), UncertainEngine)
    wanted = reference.feed(EventBatch.from_events(events)).to_events()
    assert [(e.type, e.time, e.made_of) for e in made] == [(e.type, e.time, e.made_of) for e in wanted]
    for one, other in zip(made, wanted, strict=True):
        assert math.isclose(one.probability, other.probability, abs_tol=1e-9), (one, other)
    assert len(wanted) > 100


def test_the_table_of_the_gaussian_is_the_gaussian() -> None:
    table = gaussian_table()
    for z in (FAR * step / 1000 for step in range(-1000, 1001)):
        assert math.isclose(standard_cdf(address(table), z), normal_cdf(z), rel_tol=1e-9, abs_tol=1e-15)
