"""Reads the JSON form of rules, strictly: every mistake is an error that names its path."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from enum import Enum
from typing import NoReturn, TypeVar

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import MAX_TIME
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Between,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Negative,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.functions import AGGREGATES, FUNCTIONS
from cepheus.rules.model import (
    Aggregation,
    Assignment,
    Negation,
    Pattern,
    PatternItem,
    Policy,
    Rule,
    RuleSet,
    Selection,
)

VERSION = 1
"""Version of the JSON form that is written and read."""

_MAX_DEPTH = 220  # levels of the JSON value; rule text nests at most 100 deep, each level taking up to two of these
_NAME = re.compile(r"[^\W\d]\w*")
_COMPARATORS = ("=", "!=", "<", "<=", ">", ">=")
T = TypeVar("T")
E = TypeVar("E", bound=Enum)


def read_rule_set(data: object) -> RuleSet:
    """Read the JSON object of a rule set.

    >>> read_rule_set({"version": 2})
    Traceback (most recent call last):
    ...
    cepheus.core.errors.RuleError: error[json]: $.version: version 2 is not known
      hint: this release reads version 1
    """
    _check_depth(data)
    top = _Object(data, "$")
    version = top.take("version")
    if version != VERSION or isinstance(version, bool):
        raise RuleError.of(
            "json", f"$.version: version {_shown(version)} is not known", hint=f"this release reads version {VERSION}"
        )
    top.only("version", "declarations", "rules")
    return RuleSet(top.list("declarations", _event_type), top.list("rules", _rule))


class _Object:
    """A JSON object at a path, and how its fields are taken."""

    def __init__(self, data: object, path: str) -> None:
        if not isinstance(data, dict):
            _fail(path, f"expected an object, found {_shown(data)}")
        self.fields: dict[object, object] = data
        self.path = path

    def only(self, *names: str) -> None:
        """Refuse fields that are not named."""
        for name in names:
            self.take(name)
        for field in self.fields:
            if field not in names:
                _fail(self.path, f"there is no field {_shown(field)} here")

    def take(self, name: str) -> object:
        """Give a field that must be there."""
        if name not in self.fields:
            _fail(self.path, f"the field '{name}' is missing")
        return self.fields[name]

    def read(self, name: str, read: Callable[[object, str], T]) -> T:
        """Read a field."""
        return read(self.take(name), f"{self.path}.{name}")

    def maybe(self, name: str, read: Callable[[object, str], T]) -> T | None:
        """Read a field that may be null."""
        return None if self.take(name) is None else self.read(name, read)

    def list(self, name: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
        """Read a field that is a list."""
        elements = self.take(name)
        path = f"{self.path}.{name}"
        if not isinstance(elements, list):
            _fail(path, f"expected a list, found {_shown(elements)}")
        return tuple([read(element, f"{path}[{place}]") for place, element in enumerate(elements)])

    def one_of(self, name: str, choices: Collection[str]) -> str:
        """Read a field that is one of some words."""
        text = self.read(name, _text)
        if text not in choices:
            _fail(f"{self.path}.{name}", f"expected one of {', '.join(choices)}, found {_shown(text)}")
        return text

    def enum(self, name: str, choices: type[E]) -> E:
        """Read a field that is the value of an enumeration."""
        return choices(self.one_of(name, [choice.value for choice in choices]))


def _fail(path: str, message: str) -> NoReturn:
    raise RuleError.of("json", f"{path}: {message}")


def _shown(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value[:40]}'"
        case int() | float():
            return str(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
        case _:
            return "something that is not JSON"


def _check_depth(data: object) -> None:
    level: list[object] = [data]
    for _ in range(_MAX_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
        if not below:
            return
        level = below
    _fail("$", f"the value is nested more than {_MAX_DEPTH} deep")


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        _fail(path, f"expected a string, found {_shown(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        _fail(path, "half of a character: the string is not valid Unicode")
    return value


def _name(value: object, path: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        _fail(path, f"expected a name, found {_shown(value)}")
    return value


def _integer(low: int, high: int) -> Callable[[object, str], int]:
    def read(value: object, path: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            _fail(path, f"expected an integer, found {_shown(value)}")
        if not low <= value <= high:
            _fail(path, f"{_shown(value)} is not between {low} and {high}")
        return value

    return read


_int64 = _integer(INT_MIN, INT_MAX)
_duration = _integer(0, MAX_TIME)
_count = _integer(1, INT_MAX)


def _boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        _fail(path, f"expected true or false, found {_shown(value)}")
    return value


def _number(value: object, path: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        _fail(path, f"expected a number, found {_shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _fail(path, f"expected a finite number, found {_shown(value)}")
    return number


def _probability(value: object, path: str) -> float:
    number = _number(value, path)
    if not 0 <= number <= 1:
        _fail(path, f"{number} is not a probability")
    return number


def _event_type(value: object, path: str) -> EventType:
    node = _Object(value, path)
    node.only("name", "attributes")
    return EventType(node.read("name", _name), node.list("attributes", _attribute))


def _attribute(value: object, path: str) -> Attribute:
    node = _Object(value, path)
    node.only("name", "type", "optional")
    value_type = None if node.take("type") is None else node.enum("type", ValueType)
    return Attribute(node.read("name", _name), value_type, node.read("optional", _boolean))


def _rule(value: object, path: str) -> Rule:
    node = _Object(value, path)
    node.only("composite", "pattern", "assignments", "consuming", "min_probability", "name")
    return Rule(
        composite=node.read("composite", _event_type),
        pattern=node.read("pattern", _pattern),
        assignments=node.list("assignments", _assignment),
        consuming=node.list("consuming", _name),
        min_probability=node.maybe("min_probability", _probability),
        name=node.maybe("name", _name),
    )


def _pattern(value: object, path: str) -> Pattern:
    node = _Object(value, path)
    node.only("terminator", "items")
    return Pattern(node.read("terminator", _event), node.list("items", _item))


def _assignment(value: object, path: str) -> Assignment:
    node = _Object(value, path)
    node.only("attribute", "value")
    return Assignment(node.read("attribute", _name), node.read("value", _expression))


def _item(value: object, path: str) -> PatternItem:
    node = _Object(value, path)
    match node.one_of("kind", ("selection", "negation", "aggregation")):
        case "selection":
            node.only("kind", "policy", "count", "event", "window")
            return Selection(
                node.enum("policy", Policy),
                node.read("event", _event),
                node.read("window", _within),
                node.maybe("count", _count),
            )
        case "negation":
            node.only("kind", "event", "scope")
            return Negation(node.read("event", _event), node.read("scope", _scope))
        case _:
            node.only("kind", "aggregate", "parameter", "comparison")
            aggregate = node.read("aggregate", _aggregate)
            comparison = node.maybe("comparison", _comparison)
            if comparison is not None and aggregate not in comparison.operands:
                _fail(f"{path}.comparison", "the aggregate is not one of the operands")
            return Aggregation(aggregate, node.maybe("parameter", _name), comparison)


def _event(value: object, path: str) -> EventPattern:
    node = _Object(value, path)
    node.only("type", "constraints", "alias")
    return EventPattern(node.read("type", _name), node.list("constraints", _constraint), node.maybe("alias", _name))


def _scope(value: object, path: str) -> Scope:
    node = _Object(value, path)
    if node.one_of("kind", ("within", "between")) == "within":
        node.only("kind", "duration_us", "reference")
        return Within(node.read("duration_us", _duration), node.read("reference", _name))
    node.only("kind", "first", "second")
    return Between(node.read("first", _name), node.read("second", _name))


def _within(value: object, path: str) -> Within:
    scope = _scope(value, path)
    if not isinstance(scope, Within):
        _fail(path, "a selection takes a window, not an interval")
    return scope


def _constraint(value: object, path: str) -> Constraint:
    if isinstance(value, dict) and value.get("kind") == "comparison":
        return _comparison(value, path)
    return _expression(value, path)


def _comparison(value: object, path: str) -> Comparison:
    node = _Object(value, path)
    node.one_of("kind", ("comparison",))
    node.only("kind", "operands", "operators")
    operands = node.list("operands", _expression)
    operators = node.list("operators", _text)
    for place, operator in enumerate(operators):
        if operator not in _COMPARATORS:
            _fail(f"{path}.operators[{place}]", f"expected one of {' '.join(_COMPARATORS)}, found {_shown(operator)}")
    if not operators or len(operands) != len(operators) + 1:
        _fail(path, "a comparison has one operand more than operators, and at least one operator")
    return Comparison(operands, operators)


def _aggregate(value: object, path: str) -> Aggregate:
    node = _Object(value, path)
    node.one_of("kind", ("aggregate",))
    node.only("kind", "function", "event", "value", "scope")
    return Aggregate(
        node.one_of("function", AGGREGATES.values()),
        node.read("event", _event),
        node.maybe("value", _expression),
        node.read("scope", _scope),
    )


_KINDS = ("constant", "attribute", "parameter", "arithmetic", "negative", "call", "aggregate")


def _expression(value: object, path: str) -> Expression:
    node = _Object(value, path)
    match node.one_of("kind", _KINDS):
        case "constant":
            return _constant(node)
        case "attribute":
            node.only("kind", "event", "name")
            return AttributeRef(node.maybe("event", _name), node.read("name", _name))
        case "parameter":
            node.only("kind", "name")
            return Parameter(node.read("name", _name))
        case "arithmetic":
            node.only("kind", "operator", "left", "right")
            operator = node.one_of("operator", tuple("+-*/"))
            return Arithmetic(operator, node.read("left", _expression), node.read("right", _expression))
        case "negative":
            node.only("kind", "operand")
            return Negative(node.read("operand", _expression))
        case "call":
            node.only("kind", "function", "arguments")
            return Call(node.one_of("function", FUNCTIONS), node.list("arguments", _expression))
        case _:
            return _aggregate(value, path)


def _constant(node: _Object) -> Constant:
    node.only("kind", "type", "value")
    value_type = node.enum("type", ValueType)
    readers: dict[ValueType, Callable[[object, str], Value]] = {
        ValueType.BOOL: _boolean,
        ValueType.INT: _int64,
        ValueType.FLOAT: _number,
        ValueType.STRING: _text,
        ValueType.TIMESTAMP: _int64,
    }
    return Constant(node.read("value", readers[value_type]), value_type)
