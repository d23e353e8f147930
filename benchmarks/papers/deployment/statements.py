"""What the papers say of each figure, and whether our curves say the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from benchmarks.papers.deployment.sweep import Curves
from cepheus.runtime.network.protocol.strategy import Strategy

C, ST, MT, SP, MP = Strategy.CENTR, Strategy.ST, Strategy.MT, Strategy.ST_PP, Strategy.MT_PP


Check = Callable[[Curves], tuple[bool | None, str]]
"""Gives whether our curves confirm a sentence, None if it cannot be judged, and the figures it went by."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a paper, and how it is judged."""

    figure: str
    words: str
    check: Check


def _compared(curves: Curves, one: Strategy, other: Strategy) -> tuple[float, str]:
    """The traffic of one in relation to the other, and in words."""
    a, b = curves.of(one), curves.of(other)
    return a / b, f"{one.value} {a:.0f}/s, {other.value} {b:.0f}/s ({a / b - 1:+.0%})"


def _below(one: Strategy, other: Strategy) -> Check:
    def check(curves: Curves) -> tuple[bool, str]:
        ratio, words = _compared(curves, one, other)
        return ratio < 1, words

    return check


def _faster(one: Strategy, other: Strategy) -> Check:
    def check(curves: Curves) -> tuple[bool | None, str]:
        found, words = _delays(curves, one, other)
        return None if found is None else found[0] < found[1], words

    return check


def _alike(one: Strategy, other: Strategy, share: float) -> Check:
    def check(curves: Curves) -> tuple[bool | None, str]:
        found, words = _delays(curves, one, other)
        return None if found is None else abs(found[0] - found[1]) <= share * found[1], words

    return check


def _delays(curves: Curves, one: Strategy, other: Strategy) -> tuple[tuple[float, float] | None, str]:
    """The mean delays of two strategies over the points at which both have one, and in words."""
    found = curves.delays_of(one, other)
    if not found:
        return None, _no_delay(curves, one, other)
    a, b = (mean(each[place] for each in found) for place in (0, 1))
    return (a, b), f"{one.value} {a:.1f} ms, {other.value} {b:.1f} ms{_points(curves, len(found))}"


def _no_delay(curves: Curves, *strategies: Strategy) -> str:
    without = [strategy.value for strategy in strategies if not curves.delays_of(strategy)]
    who = " and ".join(without) or " or ".join(strategy.value for strategy in strategies)
    return f"no delay to compare: {who} had no composite event"


def _points(curves: Curves, count: int) -> str:
    """Say at how many points of a figure there is a delay, if not at all of them."""
    return "" if count == len(curves.xs) else f" ({count} of {len(curves.xs)} points)"


def _grows(strategy: Strategy) -> Check:
    def check(curves: Curves) -> tuple[bool, str]:
        a, b = curves.of(strategy, curves.xs[0]), curves.of(strategy, curves.xs[-1])
        return b > a, f"{strategy.value} from {a:.0f}/s to {b:.0f}/s"

    return check


def _falls(strategy: Strategy) -> Check:
    def check(curves: Curves) -> tuple[bool, str]:
        a, b = curves.of(strategy, curves.xs[0]), curves.of(strategy, curves.xs[-1])
        return b <= a, f"{strategy.value} from {a:.0f}/s to {b:.0f}/s"

    return check


def _steady(strategy: Strategy) -> Check:
    def check(curves: Curves) -> tuple[bool | None, str]:
        delays = [delay for (delay,) in curves.delays_of(strategy)]
        if not delays:
            return None, _no_delay(curves, strategy)
        words = f"{strategy.value} {min(delays):.1f} to {max(delays):.1f} ms{_points(curves, len(delays))}"
        return max(delays) <= 1.35 * min(delays) if len(delays) > 1 else None, words

    return check


def _ratio_rises(one: Strategy, other: Strategy, *, rises: bool = True) -> Check:
    """Compare traffic of one to the other at the first and the last x; less than a twentieth may be chance."""

    def check(curves: Curves) -> tuple[bool, str]:
        first, last = (curves.of(one, x) / curves.of(other, x) for x in (curves.xs[0], curves.xs[-1]))
        change = last - first if rises else first - last
        return change >= 0.05, f"{one.value}/{other.value} from {first:.2f} to {last:.2f}"

    return check


def _near(one: Strategy, other: Strategy, share: float) -> Check:
    def check(curves: Curves) -> tuple[bool, str]:
        ratio, words = _compared(curves, one, other)
        return abs(ratio - 1) <= share, words

    return check


def _ratio_steady(one: Strategy, other: Strategy) -> Check:
    """Compare traffic of one to the other over all x."""

    def check(curves: Curves) -> tuple[bool, str]:
        ratios = [curves.of(one, x) / curves.of(other, x) for x in curves.xs]
        low, high = min(ratios), max(ratios)
        return high <= 1.35 * low, f"{one.value}/{other.value} between {low:.2f} and {high:.2f}"

    return check


def _no_gain_at_first(curves: Curves) -> tuple[bool, str]:
    pull, push = curves.of(SP, curves.xs[0]), curves.of(ST, curves.xs[0])
    return pull >= push, f"ST_PP {pull:.0f}/s, ST {push:.0f}/s with at most {curves.xs[0]:g} s between events"


def _crosses(curves: Curves) -> tuple[bool, str]:
    low, high = (curves.of(MT, x) / curves.of(ST, x) for x in (curves.xs[0], curves.xs[-1]))
    return low < 1 < high, f"MT/ST {low:.2f} at {curves.xs[0]:g}, {high:.2f} at {curves.xs[-1]:g} subscriptions"


def _saves(one: Strategy, other: Strategy, share: float) -> Check:
    def check(curves: Curves) -> tuple[bool, str]:
        ratio, words = _compared(curves, one, other)
        return ratio <= 1 - share, words

    return check


STATEMENTS: tuple[Statement, ...] = (
    Statement("10", "MT strategies show lower delays than ST strategies.", _faster(MT, ST)),
    Statement("10", "Centr and ST behave almost identically in delay.", _alike(C, ST, 0.1)),
    Statement("10", "Centr generates more traffic than ST.", _below(ST, C)),
    Statement("10", "Centr generates more traffic than MT.", _below(MT, C)),
    Statement("10", "Among distributed strategies MT generates more traffic than ST.", _below(ST, MT)),
    Statement("10", "Pull notifications bring a marginal benefit.", _below(SP, ST)),
    Statement("10", "ST_PP exhibits a slightly higher delay than ST.", _faster(ST, SP)),
    Statement("10", "The same is true for MT strategies.", _faster(MT, MP)),
    Statement("11", "The delay does not change significantly with the number of rules.", _steady(ST)),
    Statement("11", "Traffic increases with the number of deployed rules.", _grows(ST)),
    Statement("11", "Traffic grows slightly faster in MT strategies than in ST ones.", _ratio_rises(MT, ST)),
    Statement("12", "The delay is not influenced by the number of subscriptions.", _steady(ST)),
    Statement("12", "Traffic increases with the number of subscriptions.", _grows(ST)),
    Statement("12", "MT is better than ST with few subscriptions, ST with many.", _crosses),
    Statement("12", "Many subscriptions take away the benefit of pulling in MT.", _ratio_rises(MP, MT)),
    Statement("13", "The average delay remains constant.", _steady(ST)),
    Statement("13", "ST traffic increases when a multiple selection policy is adopted.", _grows(ST)),
    Statement("13", "MT becomes more convenient with multiple selection.", _ratio_rises(MT, ST, rises=False)),
    Statement("14", "The average delay does not change significantly.", _steady(ST)),
    Statement("14", "All strategies exhibit higher traffic with larger windows.", _grows(ST)),
    Statement("14", "Larger windows reduce the difference between ST and Centr.", _ratio_rises(ST, C)),
    Statement("14", "MT gains on Centr with larger windows.", _ratio_rises(MT, C, rises=False)),
    Statement("14", "Pull notifications are more efficient with small windows.", _ratio_rises(SP, ST)),
    Statement("15", "The average delay is not influenced by filtering.", _steady(ST)),
    Statement("15", "More attribute values reduce the traffic.", _falls(ST)),
    Statement("15", "Distributed strategies gain more from filtering than Centr.", _ratio_rises(ST, C, rises=False)),
    Statement("16", "Traffic increases with the number of processors.", _grows(ST)),
    Statement("16", "MT traffic grows with the number of possible trees, faster than ST.", _ratio_rises(MT, ST)),
    Statement("17", "With locality MT generates less traffic than Centr.", _below(MT, C)),
    Statement("17", "With locality ST is still more efficient than MT.", _below(ST, MT)),
    Statement("17", "With locality MT shows results similar to ST.", _near(MT, ST, 0.25)),
    Statement("18", "With filtering distributed processing is more efficient than centralized.", _below(ST, C)),
    Statement("18", "This holds for many trees, too.", _below(MT, C)),
    Statement("18", "Pull notifications gain with many processors.", _ratio_rises(SP, ST, rises=False)),
    Statement("19", "The average delay is not influenced by the publication rate.", _steady(ST)),
    Statement("19", "Traffic falls when the slowest types become rarer.", _falls(ST)),
    Statement("19", "The advantage of ST over Centr increases with it.", _ratio_rises(ST, C, rises=False)),
    Statement("19", "MT in relation to Centr does not change significantly.", _ratio_steady(MT, C)),
    Statement("19", "Pulling is inconvenient where rates differ little.", _no_gain_at_first),
    Statement("20", "Distributed strategies have an advantage over Centr.", _below(ST, C)),
    Statement("20", "It increases with the length of sequences.", _ratio_rises(ST, C, rises=False)),
    Statement("20", "Pull notifications save traffic in ST (in the paper 15-20%).", _saves(SP, ST, 0.15)),
    Statement("20", "Pull notifications save traffic in MT (in the paper 15-20%).", _saves(MP, MT, 0.15)),
    Statement("20", "What they save remains almost constant with the length.", _ratio_steady(SP, ST)),
    Statement("rules", "Traffic grows faster in Centre strategies than in Tree ones.", _ratio_rises(C, ST)),
)
"""Sentences of the two papers, in the order of the figures."""


def verdicts(curves: Curves) -> list[tuple[str, bool | None, str]]:
    """The papers' sentences on a figure, each with whether our curves confirm it and the figures it went by.

    None stands for a sentence on delays that cannot be judged, because there are none.
    """
    found = []
    for statement in STATEMENTS:
        if statement.figure == curves.figure:
            confirmed, words = statement.check(curves)
            found.append((statement.words, confirmed, words))
    return found
