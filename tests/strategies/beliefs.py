"""Networks for Hypothesis: rules with parts, and networks that fit them."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cepheus.core.distribution import Normal, Uniform
from cepheus.language.tesla import parse
from cepheus.rules.belief.model import EVENT_STATES, Bands, Belief, Chances, Node, Observation, Row, Season
from cepheus.rules.belief.periods import Period, read_period
from cepheus.rules.belief.translate import translate
from cepheus.rules.model import Rule

RULES = (
    "rule R define Fire() from Smoke()",
    "rule R define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke",
    "rule R define Fire() from Smoke() and each Temp() within 1 min from Smoke and not Rain() within 5 min from Smoke",
)
PERIODS = (
    ("07:00", "09:30"),
    ("22:00", "04:00"),
    ("Mon", "Fri 18:00"),
    ("12-01", "03-01"),
    ("2026-01-01", "2027-01-01"),
)

_MANY_STATES = ("HIGH", "MEDIUM", "LOW", "NONE")


@st.composite
def rules(draw: DrawFn) -> Rule:
    """Draw a rule of one to three parts."""
    return parse(draw(st.sampled_from(RULES))).rules[0]


@st.composite
def chances(draw: DrawFn, states: tuple[str, ...]) -> Chances:
    """Draw a row of a table, now and then one that knows for certain."""
    weights = draw(st.lists(st.integers(0, 20), min_size=len(states), max_size=len(states)).filter(any))
    total = sum(weights)
    return tuple((state, weight / total) for state, weight in zip(states, weights, strict=True))


@st.composite
def tables(draw: DrawFn, states: tuple[str, ...], axes: list[tuple[str, ...]], bands: Bands | None) -> tuple[Row, ...]:
    """Draw the rows of a table, some of them for any state of a parent."""
    for_any = draw(st.booleans())
    cases: list[tuple[str | None, ...]] = [*product(*axes)]
    if axes and for_any:
        cases = [(None, *case) for case in product(*axes[1:])]
    rows = []
    for case in cases:
        if bands is None:
            rows.append(Row(draw(chances(states)), case))
        else:
            low, spread = draw(st.integers(-5, 5)), draw(st.integers(1, 9))
            rows.append(Row(Normal(low, spread) if draw(st.booleans()) else Uniform(low, low + spread), case))
    return tuple(draw(st.permutations(rows)))


@st.composite
def periods(draw: DrawFn) -> Period:
    """Draw a period of any cycle."""
    return read_period(*draw(st.sampled_from(PERIODS)))


@st.composite
def beliefs(draw: DrawFn, rule: Rule, most_added: int = 3) -> Belief:
    """Draw a network for a rule: all nodes described, in an order in which causes come first."""
    events = [node.name for node in translate(rule).nodes]
    added = [f"F{number}" for number in range(draw(st.integers(0, most_added)))]
    order = draw(st.permutations(events + added))
    states: dict[str, tuple[str, ...]] = {}
    nodes = []
    for place, name in enumerate(order):
        bands = None
        if name in events:
            states[name] = EVENT_STATES
        elif draw(st.booleans()):
            states[name] = _MANY_STATES[: draw(st.integers(2, 4))]
        else:
            bands = Bands(("COLD", "MILD", "HOT"), (0.0, 4.5))
            states[name] = bands.states
        parents = tuple(draw(st.lists(st.sampled_from(order[:place]), max_size=3, unique=True))) if place else ()
        axes = [states[parent] for parent in parents]
        seasons = (
            [Season(draw(periods()), draw(tables(states[name], axes, bands)))] if draw(st.integers(0, 3)) == 3 else []
        )
        nodes.append(Node(name, draw(tables(states[name], axes, bands)), parents, bands, tuple(seasons)))
    known = [name for name in added if draw(st.integers(0, 3)) == 3]
    observations = tuple(Observation(name, draw(st.sampled_from(states[name]))) for name in known)
    return Belief(str(rule.name), tuple(nodes), observations)
