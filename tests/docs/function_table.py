"""The tables of functions and aggregates in the language reference, made from their records."""

from __future__ import annotations

from blocks import ROOT

from cepheus.rules.aggregates import AGGREGATES, Takes
from cepheus.rules.functions import FUNCTIONS

TABLE = ROOT / "docs" / "snippets" / "functions.md"
AGGREGATE_TABLE = ROOT / "docs" / "snippets" / "aggregates.md"


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
