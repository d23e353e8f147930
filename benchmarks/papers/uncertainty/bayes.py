"""Figure 12 of the paper on uncertainty: the time to evaluate an enriched network, against the nodes added to it.

As in the paper it is the network of its rule R1, with random tables. The paper does not say how its nodes are
connected; here each added node is a cause of one or two that are there already, none of which gets more than three
causes, and has two or three states.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from time import thread_time_ns
from typing import Any

import numpy as np

from benchmarks.measuring.timing import Say, Spread, spread
from cepheus.core.errors import OptionError
from cepheus.language.tesla import parse
from cepheus.rules.belief.model import EVENT_STATES, Belief, Chances, Node, Row
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.interchange import quiet_pyagrum, to_pyagrum

RULE = """
rule R1
define TVS_Malfun(km: double, temp: double, ox: double)
from   Oxygen(concentr<=18 and km=$a) and
       last Temp($a-10 < km < $a+10 and value>30) within 5 min from Oxygen
where  km=Oxygen.km and temp=Temp.value and ox=Oxygen.concentr
"""
REQUIRED_NODES = 20
"""The number of added nodes for which a time is required."""

_SEED = 12
_MOST_CAUSES = 3
_STATES = ("HIGH", "MEDIUM", "LOW")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: numbers of added nodes, and how often each time is taken."""

    added: tuple[int, ...] = (0, 1, 2, 5, 10, 15, 20, 30, 40)
    repeats: int = 1_000
    others: int = 200
    runs: int = 10


FULL = Scale()
QUICK = Scale(added=(0, 5), repeats=20, others=5, runs=2)


@dataclass(frozen=True, slots=True)
class Figure12Point:
    """Microseconds for a network with a number of added nodes.

    ``edited`` is an edit of one table and the evaluation after it, ``evaluated`` the evaluation alone, ``margin`` what
    its mean may be off by with a probability of 99%. ``renewed`` is an evaluation after all tables were drawn anew, as
    the paper has it, ``renewals`` its mean in each of several runs; ``first`` that of a network never seen before,
    ``pyagrum`` that by pyAgrum, None where it is not installed. ``largest`` is the size of the largest table.
    """

    added: int
    edited: Spread
    evaluated: Spread
    margin: float
    renewed: Spread
    renewals: tuple[float, ...]
    first: Spread
    pyagrum: Spread | None
    largest: int


def figure12(say: Say, scale: Scale = FULL) -> list[Figure12Point]:
    """Measure networks of every size."""
    points = []
    for added in scale.added:
        say(f"networks with {added} added nodes")
        points.append(_point(added, scale))
    return points


def samples_of(points: Sequence[Figure12Point]) -> dict[str, dict[int, float]]:
    """The mean microseconds of an evaluation with all tables drawn anew, run by run."""
    return {f"network of {point.added} added nodes": dict(enumerate(point.renewals, 1)) for point in points}


def enriched(added: int, draw: random.Random) -> RuleBelief:
    """The network of the rule with that many nodes added, and random tables throughout."""
    rule = parse(RULE).rules[0]
    parents: dict[str, list[str]] = {"TVS_Malfun": [], "Oxygen": ["TVS_Malfun"], "Temp": ["TVS_Malfun"]}
    states: dict[str, tuple[str, ...]] = dict.fromkeys(parents, EVENT_STATES)
    for number in range(added):
        name = f"Factor{number}"
        open_ = [effect for effect in parents if effect != "TVS_Malfun" and len(parents[effect]) < _MOST_CAUSES]
        for effect in draw.sample(open_, min(len(open_), draw.randint(1, 2))):
            parents[effect].append(name)
        parents[name] = []
        states[name] = _STATES[: draw.randint(2, 3)]
    nodes = tuple(
        Node(name, _rows(name, tuple(causes), states, draw), tuple(causes)) for name, causes in parents.items()
    )
    return RuleBelief.of(rule, Belief("R1", nodes))


def _rows(
    name: str, parents: tuple[str, ...], states: dict[str, tuple[str, ...]], draw: random.Random
) -> tuple[Row, ...]:
    return tuple(Row(_chances(states[name], draw), case) for case in product(*(states[parent] for parent in parents)))


def _chances(states: tuple[str, ...], draw: random.Random) -> Chances:
    weights = [draw.random() for _ in states]
    return tuple((state, weight / sum(weights)) for state, weight in zip(states, weights, strict=True))


def _point(added: int, scale: Scale) -> Figure12Point:
    draw = random.Random(_SEED + added)
    belief = enriched(added, draw)
    belief.probability()
    edited, evaluated = [], []
    for _ in range(scale.repeats):
        node = draw.choice(list(belief.nodes.values()))
        table = _table(node, belief, draw)
        begin = thread_time_ns()
        belief = belief.set(node.name, table)
        between = thread_time_ns()
        belief.probability()
        end = thread_time_ns()
        edited.append(end - begin)
        evaluated.append(end - between)
    renewed = _renewed(belief, draw, scale.repeats)
    return Figure12Point(
        added,
        spread(edited),
        spread(evaluated),
        float(2.576 * np.std(evaluated, ddof=1) / len(evaluated) ** 0.5 / 1000),
        spread(renewed),
        tuple(sum(run) / len(run) / 1000 for run in np.array_split(np.array(renewed, np.float64), scale.runs)),
        spread(_first(added, scale.others)),
        _by_pyagrum(belief, scale.others),
        max(len(node.rows) * len(belief.states[node.name]) for node in belief.nodes.values()),
    )


def _table(node: Node, belief: RuleBelief, draw: random.Random) -> Any:
    """Draw another table, as a caller would write it."""
    states = belief.states[node.name]
    if not node.parents:
        return dict(_chances(states, draw))
    return {row.given: dict(_chances(states, draw)) for row in node.rows}


def _renewed(belief: RuleBelief, draw: random.Random, count: int) -> list[int]:
    taken = []
    for _ in range(count):
        for node in belief.nodes.values():
            belief = belief.set(node.name, _table(node, belief, draw))
        begin = thread_time_ns()
        belief.probability()
        taken.append(thread_time_ns() - begin)
    return taken


def _first(added: int, count: int) -> list[int]:
    taken = []
    for number in range(count):
        belief = enriched(added, random.Random(f"{_SEED} {added} {number}"))
        begin = thread_time_ns()
        belief.probability()
        taken.append(thread_time_ns() - begin)
    return taken


def _by_pyagrum(belief: RuleBelief, count: int) -> Spread | None:
    """Time pyAgrum's own inference; it must be made anew, as it does not notice that a table has changed."""
    try:
        with quiet_pyagrum() as pyagrum:
            made = to_pyagrum(belief)
            taken = []
            for _ in range(count):
                begin = thread_time_ns()
                inference = pyagrum.LazyPropagation(made)
                inference.setEvidence(dict(belief.observed))
                inference.setTargets({belief.composite})
                found = inference.posterior(belief.composite).tolist()[0]
                taken.append(thread_time_ns() - begin)
                assert abs(found - belief.probability()) < 1e-9
    except OptionError:  # it is not installed
        return None
    return spread(taken)
