"""The tables of the reference that are made from records: functions, aggregates, policies, what engines run."""

from __future__ import annotations

from pathlib import Path

from blocks import ROOT

from cepheus.engine.base.capabilities import interval_support_matrix, support_matrix
from cepheus.rules.aggregates import AGGREGATES, Takes
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.policies import POLICIES

TABLE = ROOT / "docs" / "snippets" / "functions.md"
AGGREGATE_TABLE = ROOT / "docs" / "snippets" / "aggregates.md"
POLICY_TABLE = ROOT / "docs" / "snippets" / "policies.md"
SUPPORT = ROOT / "docs" / "snippets" / "support.md"
INTERVAL_SUPPORT = ROOT / "docs" / "snippets" / "interval_support.md"


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


def tables() -> dict[Path, str]:
    """All tables, by the file that each is kept in."""
    return {
        TABLE: function_table(),
        AGGREGATE_TABLE: aggregate_table(),
        POLICY_TABLE: policy_table(),
        SUPPORT: support_matrix(),
        INTERVAL_SUPPORT: interval_support_matrix(),
    }
