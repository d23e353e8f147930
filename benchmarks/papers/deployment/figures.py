"""The figures of the papers: what is varied, and everything else as in the default scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.time import SECOND
from cepheus.runtime.network.protocol.strategy import Delivery, Filter, Masters, Options, Order, Strategy
from cepheus.runtime.network.simulation.scenario import Rates, Scenario

ALL = tuple(Strategy)
PULLING = (Strategy.ST_PP, Strategy.MT_PP)

Vary = Callable[[Scenario, float], Scenario]


@dataclass(frozen=True, slots=True)
class FigurePlan:
    """A figure: its name, its x axis, the values on it and the scenario of each."""

    name: str
    title: str
    axis: str
    values: tuple[float, ...]
    vary: Vary
    strategies: tuple[Strategy, ...] = ALL
    logarithmic: bool = False


def default(scenario: Scenario, _: float = 0) -> Scenario:
    """The default scenario."""
    return scenario


def rules(scenario: Scenario, count: float) -> Scenario:
    """So many rules."""
    return replace(scenario, rules=int(count))


def subscriptions(scenario: Scenario, count: float) -> Scenario:
    """So many subscriptions per processor."""
    return replace(scenario, subscriptions=count)


def each(scenario: Scenario, share: float) -> Scenario:
    """Such a share of ``each`` among the selection policies; composite events are so many that runs are shorter."""
    return replace(scenario, each_share=share, duration=30 * SECOND) if share else scenario


def windows(scenario: Scenario, seconds: float) -> Scenario:
    """Windows of so many seconds on average; what is simulated lasts longer where they do."""
    window = int(seconds * SECOND)
    longer = max(1.0, window / scenario.window)
    warm_up, duration = int(scenario.warm_up * longer), int(scenario.duration * longer)
    return replace(scenario, window=window, warm_up=warm_up, duration=duration)


def filtering(scenario: Scenario, values: float) -> Scenario:
    """So many values of an attribute, of which rules want one."""
    return replace(scenario, values=int(values))


def processors(scenario: Scenario, count: float) -> Scenario:
    """Grow the network with the number of types, rules and connections, as the paper does; large ones run shorter."""
    size = int(count)
    shorter = min(1.0, 20 / size)
    return replace(
        scenario,
        processors=size,
        neighbours=min(size - 1, 3 + size / 10),
        types=6 * size,
        rules=5 * size,
        duration=int(scenario.duration * shorter),
    )


def local(scenario: Scenario, count: float) -> Scenario:
    """Rules in classes of ten that share types, with sources near to one another."""
    return replace(processors(scenario, count), classes=10)


def filtered(scenario: Scenario, count: float) -> Scenario:
    """Nine events of ten filtered out."""
    return filtering(processors(scenario, count), 10)


def gaps(scenario: Scenario, seconds: float) -> Scenario:
    """Up to so many seconds between events of a type, on average."""
    return replace(scenario, slowest=1 / seconds)


def pull(scenario: Scenario, length: float) -> Scenario:
    """The scenario for pull notifications: 50 processors, windows of 1 s, each rule with types of its own."""
    return replace(
        scenario,
        processors=50,
        length=int(length),
        window=SECOND,
        apart=True,
        warm_up=35 * SECOND,
        duration=40 * SECOND,
        options=replace(scenario.options, adapt_every=10 * SECOND),
    )


FIGURES: dict[str, FigurePlan] = {
    figure.name: figure
    for figure in (
        FigurePlan("10", "Default scenario", "", (0,), default),
        FigurePlan("11", "Number of rules", "rules", (25, 100, 200), rules),
        FigurePlan(
            "12", "Number of subscriptions per processor", "subscriptions per processor", (1, 10, 20), subscriptions
        ),
        FigurePlan("13", "Selection policy", "share of each", (0, 0.3), each),
        FigurePlan("14", "Size of windows", "mean window (s)", (5, 20, 60), windows),
        FigurePlan("15", "Content-based filtering", "values per attribute", (1, 10), filtering),
        FigurePlan("16", "Number of processors", "processors", (5, 20, 30), processors),
        FigurePlan("17", "Number of processors, with locality", "processors", (5, 20, 30), local),
        FigurePlan("18", "Number of processors, with filtering", "processors", (5, 20, 30), filtered),
        FigurePlan(
            "19",
            "Publication rate",
            "longest mean gap between events (s)",
            (5, 1000, 10000),
            gaps,
            logarithmic=True,
        ),
        FigurePlan("20", "A scenario for pull notifications", "length of sequences", (2, 5), pull),
        FigurePlan(
            "rules",
            "Number of rules (rule deployment, figure 6)",
            "rules",
            (25, 100, 200),
            rules,
            strategies=(Strategy.CENTR, Strategy.ST),
        ),
    )
}
"""All figures by name: the numbers of the deployment strategies, and ``rules`` for the other paper."""

QUICK = Scenario(processors=6, neighbours=2.5, types=12, rules=6, warm_up=2 * SECOND, duration=5 * SECOND)
"""Next to nothing, to see that it runs."""

AS_THE_PAPERS = Options(
    filter=Filter.AS_PRINTED,
    order=Order.ARRIVAL,
    masters=Masters.LOWEST_RATE,
    delivery=Delivery.FROM_ROOT,
    adapt_every=60 * SECOND,
)
"""What the papers print, where we do otherwise as a rule."""

OURS = replace(AS_THE_PAPERS, masters=Masters.ADAPTIVE, delivery=Delivery.ON_THE_WAY)
"""The same with masters by our cost model, and delivery on the way."""

FULL = Scenario(AS_THE_PAPERS, warm_up=120 * SECOND, duration=60 * SECOND)
"""The default scenario: the measurement begins when windows are full, and lasts as long as one of a mean length."""

CHOSEN_NETWORK = 906
"""Of a thousand, the network in which many trees would do best without filters (``network/many_trees.py``)."""


def words_of(scenario: Scenario, base: Scenario = FULL) -> str:
    """What a scenario differs in from the default one, the strategy apart: the name of its figures.

    >>> words_of(FULL), words_of(windows(FULL, 5))
    ('default', 'window=5000000')
    """
    found = [
        f"{field.name}={getattr(scenario, field.name)}"
        for field in fields(Scenario)
        if field.name not in ("options", "rates") and getattr(scenario, field.name) != getattr(base, field.name)
    ]
    if scenario.rates is not base.rates:
        found.append(f"rates={scenario.rates.value}")
    for field in fields(Options):
        value = getattr(scenario.options, field.name)
        if field.name != "strategy" and value != getattr(base.options, field.name):
            found.append(f"{field.name}={getattr(value, 'value', value)}")
    return " ".join(found) or "default"


def base_of(*, exponential: bool = False, exact: bool = False, ours: bool = False) -> Scenario:
    """The default scenario in a reading: rates exponential, exact filters and order, our masters and delivery."""
    options = OURS if ours else AS_THE_PAPERS
    if exact:
        options = replace(options, filter=Filter.EXACT, order=Order.PROGRESS)
    return replace(FULL, options=options, rates=Rates.EXPONENTIAL if exponential else Rates.LOGARITHMIC)


def figure_of(name: str) -> FigurePlan:
    """A figure by its name."""
    if name not in FIGURES:
        hint = did_you_mean(name, FIGURES) or f"the figures are {', '.join(FIGURES)}"
        raise OptionError.of("figure", f"there is no figure '{name}'", hint=hint)
    return FIGURES[name]
