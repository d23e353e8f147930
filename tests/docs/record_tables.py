"""The tables of the reference that are made from records: functions, aggregates, policies, distributions, support."""

from __future__ import annotations

from pathlib import Path

from blocks import ROOT

from cepheus.core.distribution import NOTATIONS
from cepheus.engine.base.capabilities import interval_support_matrix, support_matrix
from cepheus.rules.aggregates import AGGREGATES, Takes
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.policies import POLICIES

_SNIPPETS = ROOT / "docs" / "snippets"


def function_table() -> str:
    """Write the table."""
    rows = ["| function | gives | |", "| --- | --- | --- |"]
    for function in FUNCTIONS.values():
        result = "as its arguments" if function.result is None else function.result.value
        rows.append(f"| `{function.signature}` | {result} | {function.summary} |")
    return "\n".join(rows) + "\n"


def aggregate_table() -> str:
    """Write the table of aggregates."""
    rows = ["| function | over | gives | of the values | of nothing |", "| --- | --- | --- | --- | --- |"]
    for record in AGGREGATES.values():
        takes = "events; needs no value" if record.takes is Takes.EVENTS else record.takes.value
        result = "as its values" if record.result is None else record.result.value
        nothing = "undefined" if record.of_nothing is None else record.of_nothing
        rows.append(f"| `{record.name}` | {takes} | {result} | {record.summary} | {nothing} |")
    return "\n".join(rows) + "\n"


def policy_table() -> str:
    """Write the table of selection policies."""
    rows = ["| policy | takes |", "| --- | --- |"]
    for policy, record in POLICIES.items():
        words = f"`{policy.value}`, `n {policy.value}`" if record.counts else f"`{policy.value}`"
        rows.append(f"| {words} | {record.summary} |")
    return "\n".join(rows) + "\n"


def distribution_table() -> str:
    """Write the table of distributions."""
    rows = ["| written | an error that is |", "| --- | --- |"]
    rows += [f"| `{notation}` | {notation.summary} |" for notation in NOTATIONS.values()]
    return "\n".join(rows) + "\n"


def tables() -> dict[Path, str]:
    """All tables, by the file that each is kept in."""
    return {
        _SNIPPETS / "functions.md": function_table(),
        _SNIPPETS / "aggregates.md": aggregate_table(),
        _SNIPPETS / "policies.md": policy_table(),
        _SNIPPETS / "distributions.md": distribution_table(),
        _SNIPPETS / "support.md": support_matrix(),
        _SNIPPETS / "interval_support.md": interval_support_matrix(),
    }
