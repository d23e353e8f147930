"""What the papers on deployment say of each figure: every measured sentence of their evaluations, from ``claims.toml``.

One vocabulary throughout: what changes along a figure changes by more than a tenth, what does not stays within a
tenth, what is slight is less than a tenth; of two strategies one has more if the ratio is above 1, significantly more
if by more than a tenth.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.papers.claims.model import (
    CHANGE,
    FALLS,
    GREATER,
    GROWS,
    LESS,
    SLIGHTLY_LESS,
    SLIGHTLY_MORE,
    STEADY,
    Claim,
    Paper,
    Part,
    Ratio,
    RatioChange,
    Region,
    Swing,
)
from benchmarks.papers.deployment.figures import FIGURES, base_of
from benchmarks.papers.deployment.sweep import name_of, with_strategy
from cepheus.runtime.network.protocol.strategy import Strategy

REGIONS: dict[str, Region] = {
    "above": GREATER,
    "below": LESS,
    "grows": GROWS,
    "falls": FALLS,
    "steady": STEADY,
    "slightly more": SLIGHTLY_MORE,
    "slightly less": SLIGHTLY_LESS,
    "no benefit": Region(f"above 1/{1 + CHANGE:g}", low=1 / (1 + CHANGE)),
    "15 to 20 percent less": Region(
        "0.73 to 0.94: 0.80 to 0.85, give or take a tenth", 0.80 / (1 + CHANGE), 0.85 * (1 + CHANGE)
    ),
}
"""Where a quantity must lie, by the words of the table."""

Pair = tuple[Strategy, Strategy]


def strategy_claims(*, exponential: bool = False) -> list[Claim]:
    """The sentences of section 4 of the paper on strategies, in one reading of the rates."""
    return _claims("strategies", exponential=exponential)


def chapter_claims() -> list[Claim]:
    """Section 4.3 of the overview chapter, which shows the default scenario again."""
    return _claims("chapter")


def rule_deployment_claims() -> list[Claim]:
    """The evaluation of the paper on rule deployment, which has one figure."""
    return _claims("rule-deployment")


@cache
def _table() -> dict[str, Any]:
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        return tomllib.load(file)


def _claims(group: str, *, exponential: bool = False) -> list[Claim]:
    found = _table()[group]
    claims = []
    for row in found["claims"]:
        figure = found.get("points", row["figure"].rstrip("ab()"))
        points = Points(figure, exponential)
        claims.append(
            Claim(
                Paper[found["paper"]],
                found["section"].format(figure=row["figure"]),
                row["says"],
                row["quantity"],
                REGIONS[row.get("region", "steady")],
                tuple(points.parts(row)),
                f"cepheus bench deployment --figure {figure}{' --exponential' if exponential else ''}",
                row.get("reason", ""),
            )
        )
    return claims


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a figure as names of samples, in one reading of the rates, and quantities of them."""

    figure: str
    exponential: bool = False

    @property
    def values(self) -> tuple[float, ...]:
        """Where the points lie."""
        return FIGURES[self.figure].values

    def parts(self, row: Mapping[str, Any]) -> list[Part]:
        """What a row of the table is about."""
        match row:
            case {"ratio": measure, "of": pairs}:
                at = row.get("at", self.values[:1])
                return self._ratios(measure, _pairs(pairs), self.values if at == "all" else at)
            case {"growth": measure, "of": strategies}:
                return [
                    Part(each.value, self._compared(measure, each, self.values[-1])) for each in _strategies(strategies)
                ]
            case {"along": measure, "of": strategies}:
                other = row.get("against")
                return [
                    Part(f"{each.value} at {x:g}", self._compared(measure, each, x, other))
                    for each in _strategies(strategies)
                    for x in (self.values if other else self.values[1:])
                ]
            case {"trend": measure, "of": pairs, "against": other}:
                beside = Points(other, self.exponential)
                return [
                    Part(
                        f"{_versus(pair)} at {x:g}",
                        RatioChange(self._ratio(measure, pair, x), beside._ratio(measure, pair, x)),
                    )
                    for pair in _pairs(pairs)
                    for x in self.values
                ]
            case {"trend": measure, "of": pairs}:
                first, last = self.values[0], self.values[-1]
                return [
                    Part(
                        _versus(pair), RatioChange(self._ratio(measure, pair, last), self._ratio(measure, pair, first))
                    )
                    for pair in _pairs(pairs)
                ]
            case {"swing": measure, "of": "all"}:
                return [Part(each.value, Swing(self._along(measure, each))) for each in Strategy]
            case {"swing": measure, "of": pairs}:
                return [
                    Part(_versus((one, other)), Swing(self._along(measure, one), self._along(measure, other)))
                    for one, other in _pairs(pairs)
                ]
            case _:
                return []

    def _at(self, measure: str, strategy: Strategy, x: float) -> str:
        base = base_of(exponential=self.exponential)
        return name_of(measure, with_strategy(FIGURES[self.figure].vary(base, x), strategy))

    def _ratio(self, measure: str, pair: Pair, x: float) -> Ratio:
        """One strategy in relation to another at a point."""
        return Ratio(self._at(measure, pair[0], x), self._at(measure, pair[1], x))

    def _ratios(self, measure: str, pairs: Sequence[Pair], xs: Sequence[float]) -> list[Part]:
        return [
            Part(_versus(pair) + (f" at {x:g}" if len(xs) > 1 else ""), self._ratio(measure, pair, x))
            for pair in pairs
            for x in xs
        ]

    def _compared(self, measure: str, strategy: Strategy, x: float, other: str | None = None) -> Ratio:
        """A point in relation to the first one, or to that of another figure."""
        under = Points(other, self.exponential)._at(measure, strategy, x) if other else None
        return Ratio(self._at(measure, strategy, x), under or self._at(measure, strategy, self.values[0]))

    def _along(self, measure: str, strategy: Strategy) -> tuple[str, ...]:
        """All points of a strategy."""
        return tuple(self._at(measure, strategy, x) for x in self.values)


def _strategies(words: str | Sequence[str]) -> list[Strategy]:
    return list(Strategy) if words == "all" else [Strategy(word) for word in words]


def _pairs(words: Sequence[str]) -> list[Pair]:
    return [(Strategy(one), Strategy(other)) for one, other in (word.split("/") for word in words)]


def _versus(pair: Pair) -> str:
    return f"{pair[0].value}/{pair[1].value}"
