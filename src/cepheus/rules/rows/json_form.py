"""Rules over rows as JSON, each node under the name of its kind."""

from __future__ import annotations

from cepheus.rules.node_json import NodeReader
from cepheus.rules.rows import expressions, model, pattern

_READER = NodeReader(pattern, expressions, model)


def read_row_rule(data: object, path: str) -> model.RowRule:
    """Read a rule over rows."""
    return _READER.read_kind(model.RowRule, data, path)
