"""What the paper on uncertainty says of its figures 6 to 12: every measured sentence of its section 6."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.claims.model import (
    FALLS,
    GREATER,
    GROWS,
    LESS,
    STEADY,
    Change,
    Claim,
    Level,
    Paper,
    Part,
    Ratio,
    Region,
)
from benchmarks.papers.uncertainty.accuracy import SCENARIOS
from benchmarks.papers.uncertainty.overhead import FULL, MIDDLE, NONE, Case, Workload, name_of, workloads

PRINTED = [workload for workload in workloads(FULL) if not workload.threshold]
ALL, HALF = Case.ALL.value, Case.HALF.value
Row = tuple[str, str, Region, Sequence[Part]]
"""A sentence, its quantity in words, where that must lie, and the parts."""


def _of(operator: str) -> list[Workload]:
    """The workloads of one kind of rules."""
    return [workload for workload in PRINTED if workload.operator.name.startswith(operator)]


def _at(operator: str, part: float) -> Workload:
    return next(each for each in PRINTED if (each.operator.name, each.part) == (operator, part))


def _below(most: float, unit: str = "") -> Region:
    return Region(f"at most {most:,g}{unit}", high=most)


def _claims(section: str, command: str, rows: Sequence[Row]) -> list[Claim]:
    return [
        Claim(
            Paper.UNCERTAINTY,
            section,
            sentence,
            quantity,
            region,
            tuple(parts),
            f"cepheus bench {command} --write-docs",
            "" if parts else "the paper names no quantity",
        )
        for sentence, quantity, region, parts in rows
    ]


def _levels(measure: str, chosen: Sequence[Workload]) -> list[Part]:
    return [Part(each.name, Level(name_of(measure, each, ALL))) for each in chosen]


def _overheads(measure: str, chosen: Sequence[Workload]) -> list[Part]:
    """All events uncertain in relation to none."""
    suffix = "" if measure == "mean" else f" ({measure})"
    return [
        Part(f"{each.name}{suffix}", Ratio(name_of(measure, each, ALL), name_of(measure, each, NONE)))
        for each in chosen
    ]


def _against(measure: str, pairs: Sequence[tuple[Workload, Workload]]) -> list[Part]:
    return [
        Part(f"{one.name} / {other.name}", Ratio(name_of(measure, one, ALL), name_of(measure, other, ALL)))
        for one, other in pairs
    ]


def uncertainty_claims() -> list[Claim]:
    """All of them."""
    return [*_selection(), *_combination(), *_negation(), *_aggregation(), *_memory(), *_accuracy(), *_networks()]


def _selection() -> list[Claim]:
    (selection,) = _of("selection")
    half, middle = name_of("mean", selection, HALF), name_of("mean", selection, MIDDLE)
    p99 = {case: name_of("p99", selection, case) for case in (NONE, HALF, ALL)}
    return _claims(
        "6.1.1, figure 6",
        "uncertain",
        [
            (
                "Even with uncertainty an event takes less than 0.6 ms with 1000 rules.",
                "us for a single event",
                _below(600, " us"),
                _levels("mean", [selection]),
            ),
            (
                "The time increases linearly with the share of uncertain attributes.",
                "time with half of them, to the middle of none and all",
                STEADY,
                [Part(selection.name, Ratio(half, middle))],
            ),
            (
                "The growth is slow: the figure shows less than twice the time.",
                "time, all to none",
                _below(2.0),
                _overheads("mean", [selection]),
            ),
            (
                "Uncertain attributes quickly increase the 99th percentile.",
                "p99, half to none",
                GROWS,
                [Part(selection.name, Ratio(p99[HALF], p99[NONE]))],
            ),
            (
                "After that it remains almost constant.",
                "p99, all to half",
                STEADY,
                [Part(selection.name, Ratio(p99[ALL], p99[HALF]))],
            ),
        ],
    )


def _combination() -> list[Claim]:
    last, each, (selection,) = _of("combination, last"), _of("combination, each"), _of("selection")
    few, many = _at("combination, last", 0.9), _at("combination, last", 0.1)
    each_few, each_many = _at("combination, each", 0.9), _at("combination, each", 0.1)
    both = [*last, *each]
    return _claims(
        "6.1.2, figure 7",
        "uncertain",
        [
            (
                "With last an event takes less time than in a selection.",
                "time",
                LESS,
                _against("mean", [(one, selection) for one in last]),
            ),
            (
                "With last the mean time falls with the share of Temp events.",
                "time, 90% Temp to 10%",
                FALLS,
                _against("mean", [(many, few)]),
            ),
            ("But the 99th percentile rises.", "p99, 90% Temp to 10%", GROWS, _against("p99", [(many, few)])),
            (
                "With each the times are longer than with last.",
                "time",
                GREATER,
                _against("mean", list(zip(each, last, strict=True))),
            ),
            (
                "With each fewer Temp events lower the mean significantly.",
                "time, 10% Temp to 90%",
                FALLS,
                _against("mean", [(each_few, each_many)]),
            ),
            ("And the 99th percentile.", "p99, 10% Temp to 90%", FALLS, _against("p99", [(each_few, each_many)])),
            (
                "The overhead is below 30%, of the mean and of the 99th percentile.",
                "all to none",
                _below(1.3),
                [*_overheads("mean", both), *_overheads("p99", both)],
            ),
        ],
    )


def _negation() -> list[Claim]:
    negation, last = _of("negation"), _of("combination, last")
    added = [Part(each.name, Change(name_of("mean", each, ALL), name_of("mean", each, NONE))) for each in negation]
    return _claims(
        "6.1.3, figure 8",
        "uncertain",
        [
            (
                "The results are similar to those of combinations with last.",
                "time",
                STEADY,
                _against("mean", list(zip(negation, last, strict=True))),
            ),
            ("Uncertainty adds about 0.03 ms.", "us, all less none", _below(33, " us"), added),
            ("The overhead is less than 20%.", "time, all to none", _below(1.2), _overheads("mean", negation)),
        ],
    )


def _aggregation() -> list[Claim]:
    aggregation = _of("aggregation")
    ends = [(_at("aggregation", 0.9), _at("aggregation", 0.1))]
    others = [each for each in PRINTED if each.operator.name != "selection"]
    return [
        *_claims(
            "6.1.4, figure 9",
            "uncertain",
            [
                ("The overhead is below 75%.", "time, all to none", _below(1.75), _overheads("mean", aggregation)),
                (
                    "The mean time is always under 0.7 ms.",
                    "us for a single event",
                    _below(700, " us"),
                    _levels("mean", aggregation),
                ),
                (
                    "The 99th percentile falls as terminators become more frequent.",
                    "p99, 90% to 10%",
                    FALLS,
                    _against("p99", ends),
                ),
            ],
        ),
        *_claims(
            "6.4",
            "uncertain",
            [
                (
                    "In all tests but selection the time increases by less than 50%.",
                    "time, all to none",
                    _below(1.5),
                    _overheads("mean", others),
                )
            ],
        ),
    ]


def _memory() -> list[Claim]:
    first = [_at("combination, last", 0.1), _at("combination, each", 0.1)]
    held = [Part(each.name, Level(name_of("bytes", each, ALL), counted=True)) for each in first]
    plain = Case.PLAIN.value
    more = [
        Part(each.name, Ratio(name_of("bytes", each, ALL), name_of("bytes", each, plain), counted=True))
        for each in first
    ]
    return _claims(
        "6.1.5",
        "uncertain",
        [
            ("The greatest memory is below 15 MB.", "MB of stored events", _below(15, " MB"), held),
            ("The overhead of memory is always below 1%.", "stored events, all to none", _below(1.01), more),
        ],
    )


def _accuracy() -> list[Claim]:
    gaussian, uniform, combination, hierarchy, in_both = (scenario.name for scenario in SCENARIOS)
    single = [gaussian, uniform, combination]
    others = [
        Part(f"{name}, {other}", Change(f"accuracy at 0.5: {name}", f"accuracy at {other}: {name}"))
        for name in single
        for other in ("0.1", "0.3", "0.7", "0.9")
    ]
    above = Region("above 0", low=0.0)
    enough = Region("at least 0.8", low=0.8)
    return _claims(
        "6.2, figure 11",
        "accuracy",
        [
            _accurate("Accuracy is higher than 0.8 in all scenarios.", [*single, hierarchy]),
            _accurate(f"The same in the other reading: {in_both}.", [in_both]),
            ("It is greatest with a threshold of 0.5.", "accuracy at 0.5 less that at another", above, others),
            _as_the_plain_engine("There it is that of the deterministic engine.", [*single, hierarchy]),
            _as_the_plain_engine(f"There it is that in the other reading as well: {in_both}.", [in_both]),
            ("Thresholds offer a good balance of precision and recall.", "balance", STEADY, ()),
            (
                "The distribution of errors has a significant impact: Gaussian ones cost more than uniform ones.",
                "accuracy at 0.5, uniform less Gaussian",
                above,
                [Part("selection", Change(f"accuracy at 0.5: {uniform}", f"accuracy at 0.5: {gaussian}"))],
            ),
            *(
                row
                for name in (hierarchy, in_both)
                for row in (
                    (
                        f"In a {name} false positives are favoured over false negatives.",
                        "wrongly accepted at 0.5, to missed",
                        GREATER,
                        [Part(name, Ratio(f"accepted wrongly: {name}", f"missed: {name}"))],
                    ),
                    (
                        f"So the graph of a {name} is asymmetric.",
                        "accuracy at 0.9 less that at 0.1",
                        above,
                        [Part(name, Change(f"accuracy at 0.9: {name}", f"accuracy at 0.1: {name}"))],
                    ),
                    (
                        f"Nevertheless the accuracy of a {name} is higher than 0.8 even at a very low threshold.",
                        "accuracy at 0.1",
                        enough,
                        [Part(name, Level(f"accuracy at 0.1: {name}"))],
                    ),
                )
            ),
        ],
    )


def _accurate(sentence: str, names: Sequence[str]) -> Row:
    enough = Region("at least 0.8", low=0.8)
    parts = [Part(name, Level(f"least accuracy: {name}")) for name in names]
    return sentence, "least accuracy at thresholds of 0.01 to 0.99", enough, parts


def _as_the_plain_engine(sentence: str, names: Sequence[str]) -> Row:
    same = Region("-0.001 to 0.001", -0.001, 0.001)
    parts = [Part(name, Change(f"accuracy at 0.5: {name}", f"plain accuracy: {name}")) for name in names]
    return sentence, "accuracy at 0.5 less that of the plain engine", same, parts


def _networks() -> list[Claim]:
    names = {added: f"network of {added} added nodes" for added in (5, 10, 20, 40)}
    return _claims(
        "6.3, figure 12",
        "bayes",
        [
            (
                "Even with many added nodes an evaluation takes less than 0.5 ms.",
                "us, all tables drawn anew",
                _below(500, " us"),
                [Part(name, Level(name)) for name in names.values()],
            ),
            (
                "With few nodes it takes less.",
                "time, 5 added nodes to 20",
                LESS,
                [Part("5 / 20", Ratio(names[5], names[20]))],
            ),
        ],
    )
