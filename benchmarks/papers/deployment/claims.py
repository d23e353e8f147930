"""What the papers on deployment say of each figure: every measured sentence of their evaluations.

One vocabulary throughout: what changes along a figure changes by more than a tenth, what does not stays within a
tenth, what is slight is less than a tenth; of two strategies one has more if the ratio is above 1, significantly more
if by more than a tenth.
"""

from __future__ import annotations

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
    Region,
)
from benchmarks.papers.deployment.figures import FIGURES
from benchmarks.papers.deployment.network_claims import network_claims
from benchmarks.papers.deployment.points import (
    ALL,
    DISTRIBUTED,
    MANY,
    MP,
    MT,
    PULL,
    SP,
    ST,
    C,
    Points,
    claim_of,
    to_centre,
)

NO_BENEFIT = Region(f"above 1/{1 + CHANGE:g}", low=1 / (1 + CHANGE))
_NO_TIME = "processors take no time in the simulator; what an event costs an engine is on the page of measurements"


def strategy_claims(*, exponential: bool = False) -> list[Claim]:
    """The sentences of section 4 of the paper on strategies, in one reading of the rates."""
    points = Points(exponential)
    makers = (_default, _rules, _subscriptions, _policy, _windows, _filtering, network_claims)
    return [claim for make in makers for claim in make(points)]


def _default(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "10(a)",
            "Strategies with many trees have significantly lower delays.",
            "delay",
            FALLS,
            p.pairs("delay", [(MT, C), (MT, ST), (MP, SP)]),
        ),
        claim_of(p, "10(a)", "Centr and ST have almost the same delay.", "delay", STEADY, p.pairs("delay", [(ST, C)])),
        claim_of(
            p,
            "10(a)",
            "ST_PP has a slightly higher delay than ST.",
            "delay",
            SLIGHTLY_MORE,
            p.pairs("delay", [(SP, ST)]),
        ),
        claim_of(p, "10(a)", "So has MT_PP than MT.", "delay", SLIGHTLY_MORE, p.pairs("delay", [(MP, MT)])),
        claim_of(
            p,
            "10(b)",
            "Centr generates significantly more traffic than all others.",
            "traffic",
            FALLS,
            p.pairs("traffic", to_centre(DISTRIBUTED)),
        ),
        claim_of(
            p,
            "10(b)",
            "Of the distributed strategies those with many trees generate more traffic.",
            "traffic",
            GREATER,
            p.pairs("traffic", MANY),
        ),
        claim_of(
            p,
            "10(b)",
            "Pull notifications bring a marginal benefit.",
            "traffic",
            SLIGHTLY_LESS,
            p.pairs("traffic", PULL),
        ),
    ]


def _rules(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "11(a)",
            "The delay does not change significantly with the number of rules.",
            "delay, to that with the fewest",
            STEADY,
            p.along("delay", ALL, "11"),
        ),
        claim_of(
            p,
            "11(a)",
            "Processing takes tens of microseconds, which links dominate.",
            "processing time",
            STEADY,
            (),
            _NO_TIME,
        ),
        claim_of(
            p,
            "11(b)",
            "Traffic increases with the number of rules.",
            "traffic, most to fewest",
            GROWS,
            p.growth("traffic", ALL, "11"),
        ),
        claim_of(
            p,
            "11(b)",
            "It grows slightly faster with many trees than with one.",
            "change of the ratio of traffic",
            SLIGHTLY_MORE,
            p.trend(MANY, "11"),
        ),
    ]


def _subscriptions(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "12(a)",
            "The delay is not influenced by the number of subscriptions.",
            "delay, to that with the fewest",
            STEADY,
            p.along("delay", ALL, "12"),
        ),
        claim_of(
            p,
            "12(b)",
            "Traffic increases with the number of subscriptions.",
            "traffic, most to fewest",
            GROWS,
            p.growth("traffic", ALL, "12"),
        ),
        claim_of(
            p,
            "12(b)",
            "With fewer than 5 subscriptions many trees do better than one.",
            "traffic",
            LESS,
            p.pairs("traffic", MANY, "12", (1,)),
        ),
        claim_of(
            p,
            "12(b)",
            "With more than 5, one tree is more convenient.",
            "traffic",
            GREATER,
            p.pairs("traffic", MANY, "12", (10, 20)),
        ),
        claim_of(
            p, "12(b)", "Many subscriptions tell against MT_PP.", "change of MT_PP/MT", GROWS, p.trend([(MP, MT)], "12")
        ),
        claim_of(
            p,
            "12(b)",
            "With many trees pulling brings no benefit.",
            "traffic with 20 subscriptions",
            NO_BENEFIT,
            p.pairs("traffic", [(MP, MT)], "12", (20,)),
        ),
    ]


def _policy(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "13(a)",
            "The delay remains constant.",
            "delay, to that without each",
            STEADY,
            p.along("delay", ALL, "13"),
        ),
        claim_of(
            p,
            "13(b)",
            "Many trees have only a limited increase with 30% of each.",
            "traffic, 30% to none",
            SLIGHTLY_MORE,
            p.growth("traffic", (MT, MP), "13"),
        ),
        claim_of(
            p,
            "13(b)",
            "With one tree multiple selection increases traffic significantly.",
            "traffic, 30% to none",
            GROWS,
            p.growth("traffic", (C, ST, SP), "13"),
        ),
        claim_of(
            p,
            "13(b)",
            "Many trees become more convenient with multiple selection.",
            "change of the ratio of traffic",
            FALLS,
            p.trend(MANY, "13"),
        ),
    ]


def _windows(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "14(a)",
            "The delay does not change significantly with the size of windows.",
            "delay, to that of the smallest",
            STEADY,
            p.along("delay", ALL, "14"),
        ),
        claim_of(
            p,
            "14(b)",
            "All strategies have higher traffic with larger windows.",
            "traffic, largest to smallest",
            GROWS,
            p.growth("traffic", ALL, "14"),
        ),
        claim_of(
            p,
            "14(b)",
            "The difference between ST strategies and Centr shrinks (not evident from the graph).",
            "change of the ratio of traffic",
            GREATER,
            p.trend(to_centre((ST, SP)), "14"),
        ),
        claim_of(
            p,
            "14(b)",
            "Between MT strategies and Centr it becomes larger, to the advantage of many trees.",
            "change of the ratio of traffic",
            FALLS,
            p.trend(to_centre((MT, MP)), "14"),
        ),
        claim_of(
            p,
            "14(b)",
            "Pull notifications are more efficient with small windows.",
            "change of the ratio of traffic",
            GROWS,
            p.trend(PULL, "14"),
        ),
    ]


def _filtering(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "15(a)",
            "The delay is not influenced by filtering.",
            "delay, to that without",
            STEADY,
            p.along("delay", ALL, "15"),
        ),
        claim_of(
            p,
            "15(b)",
            "More values of attributes reduce the traffic of all strategies.",
            "traffic, ten values to one",
            FALLS,
            p.growth("traffic", ALL, "15"),
        ),
        claim_of(
            p,
            "15(b)",
            "Distributed strategies gain more from filters than Centr.",
            "change of the ratio of traffic",
            FALLS,
            p.trend(to_centre(DISTRIBUTED), "15"),
        ),
    ]


def chapter_claims() -> list[Claim]:
    """Section 4.3 of the overview chapter, which shows the default scenario again."""
    p = Points()
    command = "cepheus bench deployment --figure 10"
    delay, traffic = p.pairs("delay", [(MT, C), (MT, ST)]), p.pairs("traffic", to_centre((ST, MT)))
    return [
        Claim(Paper.OVERVIEW, "4.3, figure 9(a)", sentence, quantity, region, tuple(parts), command)
        for sentence, quantity, region, parts in (
            ("Many trees have much lower delays than one.", "delay", FALLS, delay),
            ("One tree has about the delay of a centre.", "delay", STEADY, p.pairs("delay", [(ST, C)])),
        )
    ] + [
        Claim(Paper.OVERVIEW, "4.3, figure 9(b)", sentence, quantity, region, tuple(parts), command)
        for sentence, quantity, region, parts in (
            ("The traffic of Centr is significantly higher.", "traffic", FALLS, traffic),
            ("MT generates more traffic than ST.", "traffic", GREATER, p.pairs("traffic", [(MT, ST)])),
        )
    ]


def rule_deployment_claims() -> list[Claim]:
    """The evaluation of the paper on rule deployment, which has one figure."""
    p = Points()
    found: list[tuple[str, str, Region, list[Part]]] = [
        (
            "Traffic increases with the number of rules.",
            "traffic, most to fewest",
            GROWS,
            p.growth("traffic", (C, ST), "rules"),
        ),
        ("It grows faster in Centre than in Tree.", "change of Centr/ST", GROWS, p.trend([(C, ST)], "rules")),
        (
            "Tree has benefits over a centre in traffic.",
            "traffic",
            LESS,
            p.pairs("traffic", [(ST, C)], "rules", FIGURES["rules"].values),
        ),
        (
            "And in delay.",
            "delay",
            LESS,
            p.pairs("delay", [(ST, C)], "rules", FIGURES["rules"].values),
        ),
    ]
    return [
        Claim(
            Paper.RULE_DEPLOYMENT,
            "evaluation, figure 6",
            sentence,
            quantity,
            region,
            tuple(parts),
            "cepheus bench deployment --figure rules",
        )
        for sentence, quantity, region, parts in found
    ]
