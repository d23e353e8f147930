"""One way through the model: children of a node, all nodes below it, and rewriting from the leaves up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

Node = Any
"""Any dataclass of the model."""


_CHILD_FIELDS: dict[type, tuple[str, ...]] = {}


def _child_fields(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _CHILD_FIELDS:
        _CHILD_FIELDS[kind] = tuple(f.name for f in fields(kind) if f.compare)
    return _CHILD_FIELDS[kind]


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below a node, in text order."""
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple:
            for child in value:
                if _is_node(child):
                    yield child
        elif kind not in _PLAIN and _is_node(value):
            yield value


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, parents first, in text order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        below = list(children(node))
        below.reverse()
        waiting += below


def transform(node: Node, change: Callable[[Node], Node]) -> Node:
    """Rewrite a tree from the leaves up; ``change`` gets each node with its children already rewritten."""
    new: dict[str, Any] = {}
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple:
            if value:
                rewritten = [transform(child, change) if _is_node(child) else child for child in value]
                if any(a is not b for a, b in zip(rewritten, value, strict=True)):
                    new[name] = tuple(rewritten)
        elif kind not in _PLAIN and _is_node(value):
            child = transform(value, change)
            if child is not value:
                new[name] = child
    return change(replace(node, **new) if new else node)


_KINDS: dict[type, bool] = {}
_PLAIN = frozenset({str, int, float, bool, type(None)})
"""What most fields are that are no nodes."""


def _is_node(value: Any) -> bool:
    kind = type(value)
    known = _KINDS.get(kind)
    if known is None:
        known = _KINDS[kind] = is_dataclass(kind)
    return known
