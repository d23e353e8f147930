"""Networks to canonical text."""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.distribution import Distribution
from cepheus.rules.belief.model import Bands, Belief, Chances, Node, Observation, Row
from cepheus.rules.belief.periods import format_period

INDENT = "  "
"""How far what stands in a network is indented."""


def format_belief(belief: Belief) -> str:
    """Write a network over several lines, without a line end after the last.

    >>> from cepheus.language.tesla.parse import parse
    >>> print(format_belief(parse("network Fire {node Jam{HIGH:.1,LOW:.9} observe Jam=LOW}").beliefs[0]))
    network Fire {
      node Jam {HIGH: 0.1, LOW: 0.9}
      observe Jam = LOW
    }
    """
    lines = [f"network {belief.rule} {{"]
    lines += [f"{INDENT}{line}" for node in belief.nodes for line in format_node(node).split("\n")]
    lines += [f"{INDENT}{format_observation(known)}" for known in belief.observations]
    return "\n".join([*lines, "}"])


def format_node(node: Node) -> str:
    """Write one node of a network, with its seasons below it."""
    bands = f" {format_bands(node.bands)}" if node.bands is not None else ""
    given = f" given {', '.join(node.parents)}" if node.parents else ""
    lines = [f"node {node.name}{bands}{given}{_table(node.rows, '')}"]
    for season in node.seasons:
        start, end = format_period(season.period)
        lines.append(f"{INDENT}from '{start}' to '{end}'{_table(season.rows, INDENT)}")
    return "\n".join(lines)


def format_observation(known: Observation) -> str:
    """Write what is known of a node."""
    return f"observe {known.node} = {known.state}"


def format_bands(bands: Bands) -> str:
    """Write the bands of a number."""
    steps = zip(bands.cuts, bands.states[1:], strict=True)
    return f"{{{bands.states[0]}{''.join(f' < {format_number(cut)} < {state}' for cut, state in steps)}}}"


def format_value(value: Chances | Distribution) -> str:
    """Write what a row says: chances or a distribution.

    >>> format_value((("YES", 0.25), ("NO", 0.75)))
    '{YES: 0.25, NO: 0.75}'
    """
    if isinstance(value, tuple):
        return f"{{{', '.join(f'{state}: {format_number(chance)}' for state, chance in value)}}}"
    return str(value)


def format_given(given: Sequence[str | None]) -> str:
    """Write the states of parents that a row is for."""
    return ", ".join("*" if state is None else state for state in given)


def format_number(number: float) -> str:
    """Write a number so that reading gives it again, without a decimal point where it needs none."""
    return repr(int(number)) if abs(number) < 1e15 and number == int(number) else repr(number)


def _table(rows: tuple[Row, ...], indent: str) -> str:
    if len(rows) == 1 and not rows[0].given:
        value = rows[0].value
        return f" {format_value(value)}" if isinstance(value, tuple) else f" ~ {format_value(value)}"
    lines = [f"{indent}{INDENT}{format_given(row.given)}: {format_value(row.value)}" for row in rows]
    return "\n".join([" {", *lines, f"{indent}}}"])
