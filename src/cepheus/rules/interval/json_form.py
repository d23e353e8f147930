"""Interval rules as JSON: every node is an object that names its kind under ``is`` and has its fields by name."""

from __future__ import annotations

from typing import Any

from cepheus.rules import expressions
from cepheus.rules.interval import model
from cepheus.rules.node_json import NodeReader

_READER = NodeReader(expressions, model)


def node_from_json(data: Any, path: str = "$") -> Any:
    """Read a node of interval rules from its JSON; RuleError with the path if that is not one.

    >>> node_from_json({"is": "Atom", "type": "a", "arguments": []})
    Atom(type='a', arguments=())
    """
    return _READER.read(data, path)


def read_interval_rule(data: object, path: str) -> model.IntervalRule:
    """Read an interval rule."""
    return _READER.read_kind(model.IntervalRule, data, path)


def read_knowledge(data: object, path: str) -> model.Knowledge:
    """Read the background knowledge of a rule set."""
    return _READER.read_kind(model.Knowledge, data, path)
