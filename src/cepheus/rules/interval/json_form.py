"""Interval rules as JSON: every node is an object that names its kind under ``is`` and has its fields by name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.core.values import INT_MAX, INT_MIN, ValueType
from cepheus.rules import expressions
from cepheus.rules.interval import model

_NODES: dict[str, type[Any]] = {
    kind.__name__: kind
    for module in (expressions, model)
    for kind in vars(module).values()
    if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
} | {"EventType": EventType, "Attribute": Attribute}
_ENUMS: dict[str, type[Enum]] = {
    kind.__name__: kind for kind in (model.Operator, model.Choice, model.Preference, ValueType)
}


def node_to_json(node: Any) -> Any:
    """Return a node of the model, or what it holds, as JSON.

    >>> node_to_json(model.Atom("a", (expressions.Parameter("X"),)))
    {'is': 'Atom', 'type': 'a', 'arguments': [{'is': 'Parameter', 'name': 'X'}]}
    """
    if isinstance(node, Enum):
        return {"is": type(node).__name__, "value": node.value}
    if is_dataclass(node) and not isinstance(node, type):
        named = {field.name: node_to_json(getattr(node, field.name)) for field in fields(node) if field.compare}
        return {"is": type(node).__name__, **named}
    return [node_to_json(each) for each in node] if isinstance(node, tuple) else node


def node_from_json(data: Any, path: str = "$") -> Any:
    """Read a node from its JSON; RuleError with the path if that is not one.

    >>> node_from_json({"is": "Atom", "type": "a", "arguments": []})
    Atom(type='a', arguments=())
    """
    if isinstance(data, list):
        return tuple(node_from_json(each, f"{path}[{place}]") for place, each in enumerate(data))
    if not isinstance(data, dict):
        return data
    given = dict(data)
    name = given.pop("is", None)
    if name in _ENUMS:
        values = [member.value for member in _ENUMS[name]]
        if given.get("value") not in values:
            raise _wrong(path, f"'{given.get('value')}' is not one of {', '.join(map(str, values))}")
        return _ENUMS[name](given["value"])
    kind = _NODES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _wrong(path, f"there is no node '{name}'")
    known = {field.name for field in fields(kind) if field.compare}
    for field in given.keys() ^ known:
        raise _wrong(path, f"the field '{field}' is {'missing' if field in known else 'unknown'}")
    read = {field: node_from_json(value, f"{path}.{field}") for field, value in given.items()}
    hints = _hints(kind)  # type: ignore[arg-type]  # classes are hashable
    for field, value in read.items():
        if not _fits(value, hints[field]):
            raise _wrong(f"{path}.{field}", "this is of another kind than what belongs here")
    return kind(**read)


@lru_cache(maxsize=128)
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a field of a node is declared with."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _is_value(value) if float in arguments else any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, arguments[0]) for each in value)
    return _is_value(value) and type(value) is hint if hint in (bool, int, str) else isinstance(value, hint)


def _is_value(value: Any) -> bool:
    """Whether this is a value of an attribute: a truth, a number that fits, a text, or a list of values."""
    if isinstance(value, tuple):
        return all(map(_is_value, value))
    if isinstance(value, bool | str):
        return True
    return INT_MIN <= value <= INT_MAX if isinstance(value, int) else isinstance(value, float) and isfinite(value)


def read_interval_rule(data: object, path: str) -> model.IntervalRule:
    """Read an interval rule."""
    return _of_kind(model.IntervalRule, data, path)


def read_knowledge(data: object, path: str) -> model.Knowledge:
    """Read the background knowledge of a rule set."""
    return _of_kind(model.Knowledge, data, path)


T = TypeVar("T")


def _of_kind(kind: type[T], data: object, path: str) -> T:
    node = node_from_json(data, path)
    if not isinstance(node, kind):
        raise _wrong(path, f"this is not a node '{kind.__name__}'")
    return node


def _wrong(path: str, message: str) -> RuleError:
    return RuleError.of("json", f"{path}: {message}")
