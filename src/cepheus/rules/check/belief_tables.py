"""Do the tables of a network say something for every case, and do their probabilities sum to 1?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice, product

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.rules.belief.model import Chances, Node, Row
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.wording import find_name, listed

MAX_CASES = 2**16
"""How many combinations of its parents' states a table may have."""

TOLERANCE = 1e-9
"""How far from 1 a row may sum: what is written in decimals is rounded."""


def node_table(node: Node, states: Mapping[str, tuple[str, ...]], findings: Findings) -> None:
    """Check the tables of a node whose parents are known: its own and those of its seasons."""
    own = states[node.name]
    if len(set(own)) < len(own):
        if node.bands is not None:
            return  # the bands say so themselves
        findings.error("table-size", f"the table of '{node.name}' names a state twice", node.rows[0].span or node.span)
        return
    cases = math.prod(len(states[parent]) for parent in node.parents)
    if cases > MAX_CASES:
        message = f"the table of '{node.name}' would have {cases:,} rows, more than {MAX_CASES:,}"
        findings.error("network-size", message, node.span, "join some of its causes into one node")
        return
    for rows, span in ((node.rows, node.span), *((season.rows, season.span) for season in node.seasons)):
        right = [_row(row, node, states, findings) for row in rows]
        if all(right):
            _cases(rows, node, states, span, findings)


def _row(row: Row, node: Node, states: Mapping[str, tuple[str, ...]], findings: Findings) -> bool:
    """Check a row by itself; tell whether its place in the table is clear."""
    span = row.span or node.span
    if len(row.given) != len(node.parents):
        _width(row, node, span, findings)
        return False
    right = True
    for parent, state in zip(node.parents, row.given, strict=True):
        if state is not None and state not in states[parent]:
            hint = did_you_mean(state, states[parent]) or f"it has {listed(list(states[parent]))}"
            place = find_name(row.span, state) or node.span
            findings.error("unknown-state", f"'{parent}' has no state '{state}'", place, hint)
            right = False
    if isinstance(row.value, tuple):
        if node.bands is not None:
            hint = f"write a distribution, such as N(20, 4), or leave out the bands of '{node.name}'"
            findings.error("bands", f"'{node.name}' is a number: its rows are distributions", span, hint)
        else:
            _chances(row.value, node, states[node.name], span, findings)
    elif node.bands is None:
        hint = f"name bands, as in node {node.name} {{LOW < 20 < HIGH}}"
        findings.error("bands", f"'{node.name}' has no bands in which to see a distribution", span, hint)
    return right


def _width(row: Row, node: Node, span: Span | None, findings: Findings) -> None:
    if not node.parents:
        message = f"'{node.name}' depends on nothing, so its table has one row without states"
    else:
        found = f"{len(row.given)} state{'' if len(row.given) == 1 else 's'}"
        message = f"this row is for {found}, but '{node.name}' depends on {listed(list(node.parents))}"
    findings.error("table-size", message, span, "write a state for each, or * for any")


def _chances(chances: Chances, node: Node, states: tuple[str, ...], span: Span | None, findings: Findings) -> None:
    named = [state for state, _ in chances]
    for state in dict.fromkeys(named):
        if state not in states:
            hint = did_you_mean(state, states) or f"it has {listed(list(states))}"
            findings.error("unknown-state", f"'{node.name}' has no state '{state}'", find_name(span, state), hint)
    missing = [state for state in states if state not in named]
    if missing:
        hint = f"add {missing[0]}: 0 if that cannot be"
        findings.error("table-size", f"this row of '{node.name}' says nothing of {listed(missing)}", span, hint)
    if len(set(named)) < len(named):
        findings.error("table-size", f"this row of '{node.name}' names a state twice", span, "name each state once")
    wrong = next(((state, chance) for state, chance in chances if not 0 <= chance <= 1), None)
    total = math.fsum(chance for _, chance in chances)
    if wrong is not None:
        message = f"the probability of '{wrong[0]}' in '{node.name}' is {wrong[1]:g}"
        findings.error("probability", message, span, "write a number from 0 to 1")
    elif not missing and abs(total - 1) > TOLERANCE:
        message = f"the probabilities of '{node.name}' sum to {total:.10g}, not to 1"
        findings.error("table-sum", message, span, "change one of them so that they do")


def _cases(
    rows: tuple[Row, ...],
    node: Node,
    states: Mapping[str, tuple[str, ...]],
    span: Span | None,
    findings: Findings,
) -> None:
    """Check that each combination of the parents' states has one row."""
    sizes = [states[parent] for parent in node.parents]
    seen: dict[tuple[str, ...], Row] = {}
    for row in rows:
        for case in product(
            *(size if state is None else (state,) for state, size in zip(row.given, sizes, strict=True))
        ):
            if case in seen:
                message = f"two rows of '{node.name}' are for {_case(node, case)}"
                findings.error("table-size", message, row.span or span, "remove one, or name the states of each")
                return
            seen[case] = row
    total = math.prod(map(len, sizes))
    if len(seen) < total:
        missing = next(islice((case for case in product(*sizes) if case not in seen), 1))
        others = f", nor for {total - len(seen) - 1} more" if total - len(seen) > 1 else ""
        message = f"the table of '{node.name}' has no row for {_case(node, missing)}{others}"
        findings.error("table-size", message, span, "add rows; * stands for any state")


def _case(node: Node, case: tuple[str, ...]) -> str:
    return ", ".join(f"{parent} = {state}" for parent, state in zip(node.parents, case, strict=True))
