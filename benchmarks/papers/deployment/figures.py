"""The figures of the papers: what is varied, and everything else as in the default scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.time import MINUTE, SECOND
from cepheus.runtime.network.protocol.strategy import Options, Strategy
from cepheus.runtime.network.simulation.scenario import Scenario

ALL = tuple(Strategy)


@dataclass(frozen=True, slots=True)
class FigurePlan:
    """A figure: its name, its x axis, the values on it and the scenario of each."""

    name: str
    title: str
    axis: str
    values: tuple[float, ...]
    vary: Callable[[Scenario, float], Scenario]
    strategies: tuple[Strategy, ...] = ALL
    logarithmic: bool = False


def _processors(scenario: Scenario, count: float) -> Scenario:
    """Grow the network with the number of types, rules and connections, as the paper does; each seed has its own."""
    size = int(count)
    neighbours = min(size - 1, 3 + size / 10)
    return replace(scenario, network=None, processors=size, neighbours=neighbours, types=6 * size, rules=5 * size)


def _local(scenario: Scenario, count: float) -> Scenario:
    return replace(_processors(scenario, count), classes=10)


def _filtered(scenario: Scenario, count: float) -> Scenario:
    return replace(_processors(scenario, count), values=10)


def _pull(scenario: Scenario, length: float) -> Scenario:
    """The scenario for pull notifications: 50 processors, windows of 1 s, each rule with types of its own."""
    return replace(
        scenario,
        processors=50,
        length=int(length),
        window=SECOND,
        apart=True,
        rules=40,
        subscriptions=0.1 * 40,
    )


FIGURES: dict[str, FigurePlan] = {
    figure.name: figure
    for figure in (
        FigurePlan("10", "Default scenario", "", (0,), lambda scenario, _: scenario),
        FigurePlan("11", "Number of rules", "rules", (25, 50, 100, 200), lambda s, x: replace(s, rules=int(x))),
        FigurePlan(
            "12",
            "Number of subscriptions per processor",
            "subscriptions per processor",
            (1, 2, 5, 10, 20),
            lambda s, x: replace(s, subscriptions=x),
        ),
        FigurePlan("13", "Selection policy", "share of each", (0, 0.1, 0.3), lambda s, x: replace(s, each_share=x)),
        FigurePlan(
            "14",
            "Size of windows",
            "mean window (s)",
            (5, 20, 60, 120),
            lambda s, x: replace(s, window=int(x * SECOND)),
        ),
        FigurePlan(
            "15", "Content-based filtering", "values per attribute", (1, 3, 10), lambda s, x: replace(s, values=int(x))
        ),
        FigurePlan("16", "Number of processors", "processors", (5, 10, 20, 30, 50), _processors),
        FigurePlan("17", "Number of processors, with locality", "processors", (5, 10, 20, 30, 50), _local),
        FigurePlan("18", "Number of processors, with filtering", "processors", (5, 10, 20, 30, 50), _filtered),
        FigurePlan(
            "19",
            "Publication rate",
            "longest mean gap between events (s)",
            (5, 100, 1000, 10000),
            lambda s, x: replace(s, slowest=1 / x),
            logarithmic=True,
        ),
        FigurePlan("20", "A scenario for pull notifications", "length of sequences", (2, 3, 4, 5), _pull),
        FigurePlan(
            "rules",
            "Number of rules (rule deployment, figure 6)",
            "rules",
            (25, 50, 100, 200),
            lambda s, x: replace(s, rules=int(x)),
            strategies=(Strategy.CENTR, Strategy.ST),
        ),
    )
}
"""All figures by name: the numbers of the deployment strategies, and ``rules`` for the other paper."""

QUICK = Scenario(processors=6, neighbours=2.5, types=12, rules=6, warm_up=2 * SECOND, duration=5 * SECOND)
"""Next to nothing, to see that it runs."""

NETWORK = 906
"""Of a thousand, the network in which many trees would do best without filters (``network/many_trees.py``)."""

FULL = Scenario(Options(adapt_every=10 * SECOND), network=NETWORK, warm_up=100 * SECOND, duration=2 * MINUTE)
"""The default scenario; windows are full and masters were chosen several times before the measurement begins."""


def figure_of(name: str) -> FigurePlan:
    """A figure by its name."""
    if name not in FIGURES:
        hint = did_you_mean(name, FIGURES) or f"the figures are {', '.join(FIGURES)}"
        raise OptionError.of("figure", f"there is no figure '{name}'", hint=hint)
    return FIGURES[name]
