"""What each engine can run: one table that refusals and the documentation's support matrix go by."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cepheus.plan.constructs import NOT_COMPILED, Construct

CAPABILITIES: Mapping[str, Mapping[Construct, str]] = MappingProxyType(
    {
        "columns": NOT_COMPILED,
        "automata": NOT_COMPILED,
        "reference": MappingProxyType({}),
    }
)
"""For each engine, the constructs that it refuses when a rule is deployed, with the alternative. It runs all others."""


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
    lines = [f"| construct | {' | '.join(CAPABILITIES)} |", f"|---|{'---|' * len(CAPABILITIES)}"]
    for construct in Construct:
        cells = [refused.get(construct) for refused in CAPABILITIES.values()]
        row = " | ".join("yes" if alternative is None else f"no: {alternative}" for alternative in cells)
        lines.append(f"| {construct.value} | {row} |")
    return "\n".join(lines) + "\n"
