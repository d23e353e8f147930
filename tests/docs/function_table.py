"""The table of functions in the language reference, made from the functions themselves."""

from __future__ import annotations

from blocks import ROOT

from cepheus.rules.functions import FUNCTIONS

TABLE = ROOT / "docs" / "snippets" / "functions.md"


def function_table() -> str:
    """Write the table."""
    rows = ["| function | gives | |", "| --- | --- | --- |"]
    for function in FUNCTIONS.values():
        result = "as its arguments" if function.result is None else function.result.value
        rows.append(f"| `{function.signature}` | {result} | {function.summary} |")
    return "\n".join(rows) + "\n"
