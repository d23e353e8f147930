"""Points of the figures as names of samples, and quantities of them: what claims are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.papers.claims.model import Claim, Paper, Part, Ratio, RatioChange, Region
from benchmarks.papers.deployment.figures import FIGURES, base_of
from benchmarks.papers.deployment.sweep import name_of, with_strategy
from cepheus.runtime.network.protocol.strategy import Strategy

C, ST, MT, SP, MP = Strategy.CENTR, Strategy.ST, Strategy.MT, Strategy.ST_PP, Strategy.MT_PP
ALL = (C, ST, MT, SP, MP)
DISTRIBUTED = (ST, MT, SP, MP)
MANY = ((MT, ST), (MP, SP))
PULL = ((SP, ST), (MP, MT))


@dataclass(frozen=True, slots=True)
class Points:
    """Names of samples, in one reading of the rates."""

    exponential: bool = False

    def at(self, measure: str, strategy: Strategy, figure: str = "10", x: float = 0) -> str:
        """The sample of a strategy at a point of a figure."""
        base = base_of(exponential=self.exponential)
        return name_of(measure, with_strategy(FIGURES[figure].vary(base, x), strategy))

    def ratio(self, measure: str, pair: tuple[Strategy, Strategy], figure: str = "10", x: float = 0) -> Ratio:
        """One strategy in relation to another at a point."""
        return Ratio(self.at(measure, pair[0], figure, x), self.at(measure, pair[1], figure, x))

    def pairs(
        self, measure: str, pairs: Iterable[tuple[Strategy, Strategy]], figure: str = "10", xs: Sequence[float] = (0,)
    ) -> list[Part]:
        """Some strategies in relation to others, at some points."""
        return [Part(versus(pair) + _at(x, xs), self.ratio(measure, pair, figure, x)) for pair in pairs for x in xs]

    def growth(self, measure: str, strategies: Iterable[Strategy], figure: str) -> list[Part]:
        """How a measure of some strategies changes from the first point of a figure to the last."""
        first, last = FIGURES[figure].values[0], FIGURES[figure].values[-1]
        return [
            Part(each.value, Ratio(self.at(measure, each, figure, last), self.at(measure, each, figure, first)))
            for each in strategies
        ]

    def along(self, measure: str, strategies: Iterable[Strategy], figure: str) -> list[Part]:
        """How a measure of some strategies changes from the first point of a figure to each of the others."""
        first, *others = FIGURES[figure].values
        return [
            Part(
                f"{each.value} at {x:g}",
                Ratio(self.at(measure, each, figure, x), self.at(measure, each, figure, first)),
            )
            for each in strategies
            for x in others
        ]

    def trend(self, pairs: Iterable[tuple[Strategy, Strategy]], figure: str) -> list[Part]:
        """How the traffic of one strategy in relation to another changes from the first point to the last."""
        first, last = FIGURES[figure].values[0], FIGURES[figure].values[-1]
        return [
            Part(
                versus(pair),
                RatioChange(self.ratio("traffic", pair, figure, last), self.ratio("traffic", pair, figure, first)),
            )
            for pair in pairs
        ]


def versus(pair: tuple[Strategy, Strategy]) -> str:
    """Two strategies that are compared, in words."""
    return f"{pair[0].value}/{pair[1].value}"


def _at(x: float, xs: Sequence[float]) -> str:
    return f" at {x:g}" if len(xs) > 1 else ""


def to_centre(strategies: Iterable[Strategy]) -> list[tuple[Strategy, Strategy]]:
    """Strategies, each to be compared with a centre."""
    return [(each, C) for each in strategies]


def claim_of(
    points: Points, figure: str, sentence: str, quantity: str, region: Region, parts: Sequence[Part], reason: str = ""
) -> Claim:
    """A sentence of section 4 of the paper on strategies."""
    reading = " --exponential" if points.exponential else ""
    return Claim(
        Paper.DEPLOYMENT,
        f"4, figure {figure}",
        sentence,
        quantity,
        region,
        tuple(parts),
        f"cepheus bench deployment --figure {figure.rstrip('ab()')}{reading}",
        reason,
    )
