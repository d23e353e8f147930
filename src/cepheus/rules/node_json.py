"""Nodes of a model as JSON: every node is an object that names its kind under ``is`` and has its fields by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from types import ModuleType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.core.values import INT_MAX, INT_MIN, ValueType

T = TypeVar("T")
_FIELDS = "__dataclass_fields__"


def node_to_json(node: Any) -> Any:
    """Return a node of a model, or what it holds, as JSON.

    >>> node_to_json(EventType("a", (Attribute("x", ValueType.INT),)))["attributes"][0]["type"]
    {'is': 'ValueType', 'value': 'int'}
    """
    if isinstance(node, Enum):
        return {"is": type(node).__name__, "value": node.value}
    if is_dataclass(node) and not isinstance(node, type):
        named = {field.name: node_to_json(getattr(node, field.name)) for field in fields(node) if field.compare}
        return {"is": type(node).__name__, **named}
    return [node_to_json(each) for each in node] if isinstance(node, tuple) else node


class NodeReader:
    """Reads the nodes of a model, which are the dataclasses and enumerations of some modules."""

    def __init__(self, *modules: ModuleType) -> None:
        own: list[type[Any]] = [kind for module in modules for kind in vars(module).values() if _is_of(kind, module)]
        self._nodes: dict[str, type[Any]] = {kind.__name__: kind for kind in own if hasattr(kind, _FIELDS)}
        self._nodes |= {"EventType": EventType, "Attribute": Attribute}
        self._enums: dict[str, type[Enum]] = {kind.__name__: kind for kind in own if issubclass(kind, Enum)}
        self._enums |= {"ValueType": ValueType}

    def read(self, data: Any, path: str = "$") -> Any:
        """Read a node from its JSON; RuleError with the path if that is not one."""
        if isinstance(data, list):
            return tuple(self.read(each, f"{path}[{place}]") for place, each in enumerate(data))
        if not isinstance(data, dict):
            return data
        given = dict(data)
        name = given.pop("is", None)
        if name in self._enums:
            return _member(self._enums[name], given.get("value"), path)
        kind = self._nodes.get(name) if isinstance(name, str) else None
        if kind is None:
            raise _wrong(path, f"there is no node '{name}'")
        known = {field.name for field in fields(kind) if field.compare}
        for field in given.keys() ^ known:
            raise _wrong(path, f"the field '{field}' is {'missing' if field in known else 'unknown'}")
        read = {field: self.read(value, f"{path}.{field}") for field, value in given.items()}
        hints = _hints(kind)  # type: ignore[arg-type]  # classes are hashable
        for field, value in read.items():
            if not _fits(value, hints[field]):
                raise _wrong(f"{path}.{field}", "this is of another kind than what belongs here")
        return kind(**read)

    def read_kind(self, kind: type[T], data: object, path: str) -> T:
        """Read a node of one kind."""
        node = self.read(data, path)
        if not isinstance(node, kind):
            raise _wrong(path, f"this is not a node '{kind.__name__}'")
        return node


def _is_of(kind: object, module: ModuleType) -> bool:
    return isinstance(kind, type) and kind.__module__ == module.__name__


def _member(kind: type[Enum], value: object, path: str) -> Enum:
    values = [member.value for member in kind]
    if value not in values:
        raise _wrong(path, f"'{value}' is not one of {_listed(values)}")
    return kind(value)


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


@lru_cache(maxsize=128)
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a field of a node is declared with."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if float in arguments:
            return _is_value(value) or (value is None and NoneType in arguments)
        return any(_fits(value, each) for each in arguments)
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


def _wrong(path: str, message: str) -> RuleError:
    return RuleError.of("json", f"{path}: {message}")
