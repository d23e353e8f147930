"""What the paper on strategies says of larger networks, rates and pulling: figures 16 to 20."""

from __future__ import annotations

from benchmarks.papers.claims.model import (
    CHANGE,
    FALLS,
    GREATER,
    GROWS,
    LESS,
    SLIGHTLY_MORE,
    STEADY,
    Claim,
    Part,
    Ratio,
    RatioChange,
    Region,
    Swing,
)
from benchmarks.papers.deployment.figures import FIGURES
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
    versus,
)

ABOUT_15_TO_20 = Region("0.73 to 0.94: 0.80 to 0.85, give or take a tenth", 0.80 / (1 + CHANGE), 0.85 * (1 + CHANGE))


def network_claims(p: Points) -> list[Claim]:
    """All of them."""
    return [*_processors(p), *_locality(p), *_rates(p), *_pulling(p)]


def _processors(p: Points) -> list[Claim]:
    values = FIGURES["16"].values
    swings = {each: tuple(p.at("delay", each, "16", x) for x in values) for each in ALL}
    return [
        claim_of(
            p,
            "16(a)",
            "The delay oscillates visibly with the number of processors.",
            "longest to shortest delay",
            GROWS,
            [Part(each.value, Swing(swings[each])) for each in ALL],
        ),
        claim_of(
            p,
            "16(a)",
            "More so for strategies with one tree.",
            "oscillation in relation to MT",
            GREATER,
            [Part(f"{each.value}/MT", Swing(swings[each], swings[MT])) for each in (C, ST)],
        ),
        claim_of(
            p,
            "16(b)",
            "Traffic increases with the number of processors.",
            "traffic, most to fewest",
            GROWS,
            p.growth("traffic", ALL, "16"),
        ),
        claim_of(
            p,
            "16(b)",
            "That of many trees increases with the number of possible trees.",
            "change of the ratio of traffic",
            GROWS,
            p.trend(MANY, "16"),
        ),
    ]


def _locality(p: Points) -> list[Claim]:
    xs = FIGURES["17"].values
    return [
        claim_of(
            p,
            "17(a)",
            "The delay does not change significantly with locality.",
            "delay, with locality to without",
            STEADY,
            [
                Part(f"{each.value} at {x:g}", Ratio(p.at("delay", each, "17", x), p.at("delay", each, "16", x)))
                for each in ALL
                for x in xs
            ],
        ),
        claim_of(
            p,
            "17(b)",
            "With locality one tree is still more efficient than many.",
            "traffic",
            GREATER,
            p.pairs("traffic", MANY, "17", xs),
        ),
        claim_of(
            p,
            "17(b)",
            "Many trees have results similar to those of one.",
            "traffic",
            STEADY,
            p.pairs("traffic", MANY, "17", xs),
        ),
        claim_of(
            p,
            "17(b)",
            "Their traffic is significantly lower than that of Centr.",
            "traffic",
            FALLS,
            p.pairs("traffic", to_centre((MT, MP)), "17", xs),
        ),
        claim_of(
            p,
            "17(b)",
            "Locality mitigates the problem of many trees.",
            "MT/Centr, with locality to without",
            FALLS,
            [
                Part(
                    f"{versus(pair)} at {x:g}",
                    RatioChange(p.ratio("traffic", pair, "17", x), p.ratio("traffic", pair, "16", x)),
                )
                for pair in to_centre((MT, MP))
                for x in xs
            ],
        ),
        claim_of(
            p,
            "18",
            "With filters distributed processing has significantly less traffic than Centr.",
            "traffic",
            FALLS,
            p.pairs("traffic", to_centre(DISTRIBUTED), "18", xs),
        ),
        claim_of(
            p,
            "18",
            "Filters increase the advantages of pull notifications.",
            "change of the ratio of traffic",
            FALLS,
            [
                Part(
                    f"{versus(pair)} at {x:g}",
                    RatioChange(p.ratio("traffic", pair, "18", x), p.ratio("traffic", pair, "16", x)),
                )
                for pair in PULL
                for x in xs
            ],
        ),
        claim_of(
            p,
            "18",
            "Especially so with many processors.",
            "change of the ratio of traffic, 5 to 30 processors",
            FALLS,
            p.trend(PULL, "18"),
        ),
    ]


def _rates(p: Points) -> list[Claim]:
    return [
        claim_of(
            p,
            "19",
            "A lower slowest rate has hardly any effect on the mean rate of publication.",
            "events published, gaps up to 10000 s to 5 s",
            STEADY,
            p.growth("published", (C,), "19"),
        ),
        claim_of(
            p,
            "19(a)",
            "The delay is not influenced by the rate of publication.",
            "delay, to that with gaps up to 5 s",
            STEADY,
            p.along("delay", ALL, "19"),
        ),
        claim_of(
            p,
            "19(b)",
            "All strategies have lower traffic when types become rarer.",
            "traffic, 10000 s to 5 s",
            FALLS,
            p.growth("traffic", ALL, "19"),
        ),
        claim_of(
            p,
            "19(b)",
            "The advantage of ST and ST_PP over Centr increases.",
            "change of the ratio of traffic",
            FALLS,
            p.trend(to_centre((ST, SP)), "19"),
        ),
        claim_of(
            p,
            "19(b)",
            "That of MT strategies over Centr does not change significantly.",
            "change of the ratio of traffic",
            STEADY,
            p.trend(to_centre((MT, MP)), "19"),
        ),
        claim_of(
            p,
            "19(b)",
            "Where rates differ little, pulling costs more than it saves.",
            "traffic, gaps up to 5 s",
            GREATER,
            p.pairs("traffic", PULL, "19", (5,)),
        ),
    ]


def _pulling(p: Points) -> list[Claim]:
    xs = FIGURES["20"].values
    return [
        claim_of(
            p,
            "20(a)",
            "Without pulling, the delay remains almost constant with the length of sequences.",
            "delay, to that of two events",
            STEADY,
            p.along("delay", (C, ST, MT), "20"),
        ),
        claim_of(
            p,
            "20(a)",
            "With pulling it increases slightly.",
            "delay, longest to shortest sequences",
            SLIGHTLY_MORE,
            p.growth("delay", (SP, MP), "20"),
        ),
        claim_of(
            p,
            "20(b)",
            "Distributed strategies have an advantage over Centr.",
            "traffic",
            LESS,
            p.pairs("traffic", to_centre(DISTRIBUTED), "20", xs),
        ),
        claim_of(
            p,
            "20(b)",
            "It increases with the length of sequences.",
            "change of the ratio of traffic",
            FALLS,
            p.trend(to_centre(DISTRIBUTED), "20"),
        ),
        claim_of(
            p,
            "20(b)",
            "Pull notifications save about 15 to 20% of traffic with one tree and with many.",
            "traffic",
            ABOUT_15_TO_20,
            p.pairs("traffic", PULL, "20", xs),
        ),
        claim_of(
            p,
            "20(b)",
            "What they save remains almost constant with the length.",
            "change of the ratio of traffic",
            STEADY,
            p.trend(PULL, "20"),
        ),
    ]
