"""What each engine and host runs: the table that refuses, that ``cepheus doctor --support`` prints and docs show.

Engines that compile are named where their compilers are (``plan/pattern``, ``plan/interval``), as these refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from types import MappingProxyType

from cepheus.plan.interval.constructs import GOALS, IntervalConstruct
from cepheus.plan.pattern.constructs import COMPILED, Construct
from cepheus.plan.support import Arrival, Support, Thing, words_of
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.interval.model import Operator
from cepheus.rules.policies import Policy, Take

_EVERYTHING: frozenset[Enum] = frozenset(Construct)

_MANY: frozenset[Enum] = frozenset(
    {Construct.GROUPS, Construct.RANKINGS, Construct.COLLECTIONS, Construct.FULL_PROVENANCE}
)
"""Constructs by which a rule looks at all events of a window before it takes one, or names all of them."""

_COMPUTED_BEFORE = "compute it before, as an attribute of the events"

_NOT_IN_AUTOMATA: frozenset[Enum] = _MANY | {Construct.TIES_ORDERED, Construct.TIMERS, Construct.SINCE_START}

DEVICE = replace(COMPILED, name="device")
"""It is the engine columns, and leaves to a device what a device does well; whatever that is, it runs the same."""

AUTOMATA = replace(
    COMPILED,
    name="automata",
    constructs=COMPILED.constructs - _NOT_IN_AUTOMATA,
    runs_policy=lambda policy: policy in (Policy.EACH, Policy.LAST, Policy.FIRST),
    instead=MappingProxyType({**COMPILED.instead, **dict.fromkeys(_NOT_IN_AUTOMATA, "choose the engine columns")}),
)
"""States of sequences are kept, and dropped, for these policies, by the times of events alone, whatever their groups.

Composite events name the events of their sequences, and no others. States go on when an event comes, not by time alone.
"""

REFERENCE = Support(
    "reference", "the reference engine does", "split the rule", _EVERYTHING, lambda _: True, lambda _: True
)
"""The meaning of rules: it runs all of them."""

MATCHING = Support(
    "matching",
    "the engine matching does",
    "choose the engine auto or reference",
    _EVERYTHING
    - {Construct.ERRORS, Construct.BELIEFS, Construct.UNCERTAIN_FORMS, Construct.RANKINGS, Construct.TIES_ORDERED}
    - {Construct.TIMERS, Construct.SINCE_START, Construct.OTHER_TOTALS},
    lambda _: True,
    lambda _: True,
    MappingProxyType(
        {
            Construct.TIES_ORDERED: "there is no order but that of times: write ties apart",
            Construct.TIMERS: "let an event stand for the moment",
        }
    ),
    arrival=Arrival.ANY_ORDER,
)
"""Events may come out of order (it is an ``OutOfOrderEngine``); they are certain."""

NETWORK = replace(
    MATCHING,
    name="network",
    subject="a network of processors does",
    elsewhere="run it in one process or on Spark, and publish what it finds",
    constructs=MATCHING.constructs
    - {Construct.INTERVAL_RULES, Construct.ROW_QUERIES, Construct.PROBABILITIES, Construct.RENAMED}
    - {Construct.LOCAL_FUNCTIONS}
    - _MANY,
    instead=MappingProxyType(
        {
            Construct.RENAMED: "call the attribute as its sources do, in backquotes if need be",
            Construct.LOCAL_FUNCTIONS: _COMPUTED_BEFORE,
        }
    ),
    runs_policy=lambda policy: policy.takes in (Take.ALL, Take.LATEST, Take.EARLIEST),
)
"""Processors run rules of TESLA over certain events, by the matchers of the engine matching.

Partial rules know of these policies which events may be dropped on the way.
"""

SPARK = replace(
    REFERENCE,
    name="spark",
    subject="Spark does",
    elsewhere="run it in one process",
    constructs=_EVERYTHING - {Construct.LOCAL_FUNCTIONS},
    instead=MappingProxyType({Construct.LOCAL_FUNCTIONS: _COMPUTED_BEFORE}),
    arrival=Arrival.WITHIN_WATERMARK,
)
"""Each task takes the fastest engine that runs its rules, the reference at last. No code of a program is sent to it."""

MIXED = replace(
    REFERENCE,
    name="mixed",
    subject="an engine for rules of TESLA and of ETALIS does",
    elsewhere="run the two families in sessions of their own",
    constructs=_EVERYTHING - {Construct.TIMERS},
)
"""Rules of both families feed one another event by event, and moments are no events."""

STAGED = replace(
    MIXED,
    name="staged",
    subject="an engine for queries over rows beside other rules does",
    elsewhere="run the queries in a session of their own",
)
"""What reads matches waits for them, and moments do not."""

PARALLEL = replace(
    REFERENCE,
    name="threads",
    subject="an engine on several threads does",
    elsewhere="run with threads=1",
    constructs=_EVERYTHING - {Construct.TIMERS, Construct.SINCE_START, Construct.OTHER_TOTALS},
)
"""Events are dealt out to threads, and time is one for all of them; what else each runs is the engine's affair."""

INTERVAL_REFERENCE = Support(
    "interval-reference",
    "the engine interval-reference does",
    "split the rule",
    frozenset({*Operator, *IntervalConstruct}),
    lambda _: False,
    lambda _: True,
)
"""The meaning of interval rules: it runs all of them."""

CAPABILITIES: tuple[Support, ...] = (COMPILED, DEVICE, AUTOMATA, MATCHING, REFERENCE, NETWORK, SPARK)
"""The engines and hosts of rules of TESLA."""

INTERVAL_CAPABILITIES: tuple[Support, ...] = (GOALS, INTERVAL_REFERENCE)
"""The engines of interval rules."""


def things() -> tuple[Thing, ...]:
    """All that engines and hosts of rules of TESLA may differ in."""
    return (*Policy, *AGGREGATES.values(), *Construct)


def interval_things() -> tuple[Thing, ...]:
    """All that engines of interval rules may differ in."""
    return (*Operator, *(record for record in AGGREGATES.values() if record.is_of_values_alone), *IntervalConstruct)


def support_matrix() -> str:
    """The table of constructs, engines and hosts, in Markdown.

    >>> print(support_matrix().splitlines()[0])
    | construct | columns | device | automata | matching | reference | network | spark |
    """
    arrival = " | ".join(support.arrival.value for support in CAPABILITIES)
    return f"{_matrix(things(), CAPABILITIES)}| events may come | {arrival} |\n"


def interval_support_matrix() -> str:
    """The same table for interval rules.

    >>> print(interval_support_matrix().splitlines()[0])
    | construct | goals | interval-reference |
    """
    return _matrix(interval_things(), INTERVAL_CAPABILITIES)


def rows(things: Iterable[Thing], table: Sequence[Support]) -> list[tuple[str, ...]]:
    """The cells of a support matrix: what it is, and for each engine or host ``yes`` or ``no`` and the alternative."""
    return [(words_of(thing), *(_cell(thing, support) for support in table)) for thing in things]


def _cell(thing: Thing, support: Support) -> str:
    if support.runs(thing):
        return "yes"
    alternative = None if not isinstance(thing, Enum) else support.instead.get(thing)
    return f"no: {support.elsewhere if alternative is None else alternative}"


def _matrix(things: Iterable[Thing], table: Sequence[Support]) -> str:
    lines = [f"| construct | {' | '.join(support.name for support in table)} |", f"|---|{'---|' * len(table)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows(things, table))]) + "\n"
