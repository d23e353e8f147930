"""Reads the JSON form of rules, strictly: every mistake is an error that names its path."""

from __future__ import annotations

from collections.abc import Callable

from cepheus.core.distribution import Distribution, parse_distribution
from cepheus.core.errors import EventError, RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import MAX_TIME
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.rules.aggregates import aggregate_names
from cepheus.rules.belief.json_form import read_belief
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
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.interval.json_form import read_interval_rule, read_knowledge
from cepheus.rules.interval.model import Knowledge
from cepheus.rules.json_fields import (
    JsonObject,
    check_depth,
    fail,
    integer_between,
    read_boolean,
    read_name,
    read_number,
    read_probability,
    read_text,
    shown,
)
from cepheus.rules.model import (
    Aggregation,
    Assignment,
    ErrorDeclaration,
    Negation,
    Pattern,
    PatternItem,
    Rule,
    RuleSet,
    Selection,
)
from cepheus.rules.policies import Policy

VERSION = 1
"""Version of the JSON form that is written and read."""

_int64 = integer_between(INT_MIN, INT_MAX)
_duration = integer_between(0, MAX_TIME)
_count = integer_between(1, INT_MAX)
_COMPARATORS = ("=", "!=", "<", "<=", ">", ">=")


def read_rule_set(data: object) -> RuleSet:
    """Read the JSON object of a rule set.

    >>> read_rule_set({"version": 2})
    Traceback (most recent call last):
    ...
    cepheus.core.errors.RuleError: error[json]: $.version: version 2 is not known
      hint: this release reads version 1
    """
    check_depth(data)
    top = JsonObject(data, "$")
    version = top.take("version")
    if version != VERSION or isinstance(version, bool):
        raise RuleError.of(
            "json", f"$.version: version {shown(version)} is not known", hint=f"this release reads version {VERSION}"
        )
    top.only("version", "declarations", "rules", optional=("networks", "errors", "interval_rules", "knowledge"))
    return RuleSet(
        top.list("declarations", _event_type),
        top.list("rules", _rule),
        top.list("networks", read_belief),
        top.list("interval_rules", read_interval_rule),
        top.read("knowledge", read_knowledge) if "knowledge" in top.fields else Knowledge(),
        errors=top.list("errors", _error),
    )


def _event_type(value: object, path: str) -> EventType:
    node = JsonObject(value, path)
    node.only("name", "attributes")
    return EventType(node.read("name", read_name), node.list("attributes", _attribute))


def _attribute(value: object, path: str) -> Attribute:
    node = JsonObject(value, path)
    node.only("name", "type", "optional", optional=("error",))
    value_type = None if node.take("type") is None else node.enum("type", ValueType)
    error = node.read("error", _distribution) if "error" in node.fields else None
    return Attribute(node.read("name", read_name), value_type, node.read("optional", read_boolean), error)


def _error(value: object, path: str) -> ErrorDeclaration:
    node = JsonObject(value, path)
    node.only("event", "attribute", "error")
    return ErrorDeclaration(
        node.read("event", read_name), node.read("attribute", read_name), node.read("error", _distribution)
    )


def _distribution(value: object, path: str) -> Distribution:
    try:
        return parse_distribution(read_text(value, path))
    except EventError as error:
        fail(path, error.diagnostics[0].message)


def _rule(value: object, path: str) -> Rule:
    node = JsonObject(value, path)
    node.only("composite", "pattern", "assignments", "consuming", "min_probability", "name")
    return Rule(
        composite=node.read("composite", _event_type),
        pattern=node.read("pattern", _pattern),
        assignments=node.list("assignments", _assignment),
        consuming=node.list("consuming", read_name),
        min_probability=node.maybe("min_probability", read_probability),
        name=node.maybe("name", read_name),
    )


def _pattern(value: object, path: str) -> Pattern:
    node = JsonObject(value, path)
    node.only("terminator", "items")
    return Pattern(node.read("terminator", _event), node.list("items", _item))


def _assignment(value: object, path: str) -> Assignment:
    node = JsonObject(value, path)
    node.only("attribute", "value")
    return Assignment(node.read("attribute", read_name), node.read("value", _expression))


def _item(value: object, path: str) -> PatternItem:
    node = JsonObject(value, path)
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
                fail(f"{path}.comparison", "the aggregate is not one of the operands")
            return Aggregation(aggregate, node.maybe("parameter", read_name), comparison)


def _event(value: object, path: str) -> EventPattern:
    node = JsonObject(value, path)
    node.only("type", "constraints", "alias")
    return EventPattern(
        node.read("type", read_name), node.list("constraints", _constraint), node.maybe("alias", read_name)
    )


def _scope(value: object, path: str) -> Scope:
    node = JsonObject(value, path)
    if node.one_of("kind", ("within", "between")) == "within":
        node.only("kind", "duration_us", "reference")
        return Within(node.read("duration_us", _duration), node.read("reference", read_name))
    node.only("kind", "first", "second")
    return Between(node.read("first", read_name), node.read("second", read_name))


def _within(value: object, path: str) -> Within:
    scope = _scope(value, path)
    if not isinstance(scope, Within):
        fail(path, "a selection takes a window, not an interval")
    return scope


def _constraint(value: object, path: str) -> Constraint:
    if isinstance(value, dict) and value.get("kind") == "comparison":
        return _comparison(value, path)
    return _expression(value, path)


def _comparison(value: object, path: str) -> Comparison:
    node = JsonObject(value, path)
    node.one_of("kind", ("comparison",))
    node.only("kind", "operands", "operators")
    operands = node.list("operands", _expression)
    operators = node.list("operators", read_text)
    for place, operator in enumerate(operators):
        if operator not in _COMPARATORS:
            fail(f"{path}.operators[{place}]", f"expected one of {' '.join(_COMPARATORS)}, found {shown(operator)}")
    if not operators or len(operands) != len(operators) + 1:
        fail(path, "a comparison has one operand more than operators, and at least one operator")
    return Comparison(operands, operators)


def _aggregate(value: object, path: str) -> Aggregate:
    node = JsonObject(value, path)
    node.one_of("kind", ("aggregate",))
    node.only("kind", "function", "event", "value", "scope")
    return Aggregate(
        node.one_of("function", aggregate_names()),
        node.read("event", _event),
        node.maybe("value", _expression),
        node.read("scope", _scope),
    )


_KINDS = ("constant", "attribute", "parameter", "arithmetic", "negative", "call", "aggregate")


def _expression(value: object, path: str) -> Expression:
    node = JsonObject(value, path)
    match node.one_of("kind", _KINDS):
        case "constant":
            return _constant(node)
        case "attribute":
            node.only("kind", "event", "name")
            return AttributeRef(node.maybe("event", read_name), node.read("name", read_name))
        case "parameter":
            node.only("kind", "name")
            return Parameter(node.read("name", read_name))
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


def _constant(node: JsonObject) -> Constant:
    node.only("kind", "type", "value")
    value_type = node.enum("type", ValueType)
    readers: dict[ValueType, Callable[[object, str], Value]] = {
        ValueType.BOOL: read_boolean,
        ValueType.INT: _int64,
        ValueType.FLOAT: read_number,
        ValueType.STRING: read_text,
        ValueType.TIMESTAMP: _int64,
    }
    if value_type not in readers:
        raise RuleError.of("json", f"{node.path}: rules of TESLA have no lists")
    return Constant(node.read("value", readers[value_type]), value_type)
