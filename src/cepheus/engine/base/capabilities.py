"""What each engine can run: one table that refusals and the documentation's support matrix go by."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TypeVar

from cepheus.plan.interval.constructs import NOT_IN_GOALS, IntervalConstruct
from cepheus.plan.pattern.constructs import NOT_COMPILED, Construct

C = TypeVar("C", bound=Enum)

CAPABILITIES: Mapping[str, Mapping[Construct, str]] = MappingProxyType(
    {
        "columns": NOT_COMPILED,
        "automata": NOT_COMPILED,
        "matching": MappingProxyType({Construct.UNCERTAIN_FORMS: "choose the engine auto"}),
        "reference": MappingProxyType({}),
    }
)
"""For each engine, the constructs that it refuses when a rule is deployed, with the alternative. It runs all others."""


INTERVAL_CAPABILITIES: Mapping[str, Mapping[IntervalConstruct, str]] = MappingProxyType(
    {"goals": NOT_IN_GOALS, "interval-reference": MappingProxyType({})}
)
"""The same for engines of interval rules."""


def supports(engine: str, construct: Construct) -> bool:
    """Tell whether an engine, given by name, runs a construct.

    >>> supports("columns", Construct.EXTREMES_OF_TEXTS), supports("reference", Construct.EXTREMES_OF_TEXTS)
    (False, True)
    """
    return construct not in CAPABILITIES[engine]


def support_matrix() -> str:
    """Give the table of constructs and engines, in Markdown.

    >>> print(support_matrix().splitlines()[0])
    | construct | columns | automata | reference |
    """
    return _matrix(Construct, CAPABILITIES)


def interval_support_matrix() -> str:
    """Give the same table for interval rules.

    >>> print(interval_support_matrix().splitlines()[0])
    | construct | goals | interval-reference |
    """
    return _matrix(IntervalConstruct, INTERVAL_CAPABILITIES)


def _matrix(constructs: type[C], capabilities: Mapping[str, Mapping[C, str]]) -> str:
    lines = [f"| construct | {' | '.join(capabilities)} |", f"|---|{'---|' * len(capabilities)}"]
    for construct in constructs:
        cells = [refused.get(construct) for refused in capabilities.values()]
        row = " | ".join("yes" if alternative is None else f"no: {alternative}" for alternative in cells)
        lines.append(f"| {construct.value} | {row} |")
    return "\n".join(lines) + "\n"
