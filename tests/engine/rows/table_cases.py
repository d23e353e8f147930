"""A case of a row pattern over columns: a clause, columns by name, and what is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheus.core.values import Value

Given = Sequence[tuple[Value | None, ...]]
Columns = Mapping[str, Any]
"""A list of values, or an array, for each column."""


@dataclass(frozen=True)
class TableCase:
    name: str
    clause: str
    columns: Columns
    select: str
    expected: Given


def numbers(*values: Value | None) -> Columns:
    """The numbers as ``v``, with ``id`` counting from 1."""
    return {"id": [*range(1, len(values) + 1)], "v": [*values]}
