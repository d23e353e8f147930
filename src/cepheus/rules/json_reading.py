"""Reading of rules from their JSON form, strictly: every mistake is an error that names its path."""

from __future__ import annotations

from collections.abc import Callable

from cepheus.core.distribution import Distribution, parse_distribution
from cepheus.core.errors import EventError, RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import MAX_TIME
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.rules.aggregates import aggregate_named, aggregate_names
from cepheus.rules.belief.json_form import read_belief
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Between,
    Call,
    Comparison,
    Constant,
    EventPattern,
    Expression,
    Negative,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.functions import CONNECTIVES, FUNCTIONS, function_of
from cepheus.rules.interval.json_form import read_interval_rule, read_knowledge
from cepheus.rules.interval.model import Knowledge
from cepheus.rules.json_fields import (
    JsonObject,
    check_depth,
    fail,
    integer_between,
    read_any_name,
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
    Collection,
    ErrorDeclaration,
    FreeCondition,
    Negation,
    Pattern,
    PatternItem,
    Ranking,
    Rule,
    RuleSet,
    Selection,
    moments_of,
)
from cepheus.rules.policies import Policy
from cepheus.rules.rows.json_form import read_row_rule
from cepheus.rules.timers import After, Every, Timer

VERSION = 1
"""Version of the JSON form that is written and read."""

_OPTIONAL = ("networks", "errors", "interval_rules", "knowledge", "row_rules")
_int64 = integer_between(INT_MIN, INT_MAX)
_duration = integer_between(0, MAX_TIME)
_positive = integer_between(1, MAX_TIME)
_count = integer_between(1, INT_MAX)
_members = integer_between(0, INT_MAX)
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
    top.only("version", "declarations", "rules", optional=_OPTIONAL)
    return RuleSet(
        top.list("declarations", _read_event_type),
        top.list("rules", _read_rule),
        top.list("networks", read_belief),
        top.list("interval_rules", read_interval_rule),
        top.read("knowledge", read_knowledge) if "knowledge" in top.fields else Knowledge(),
        errors=top.list("errors", _read_error),
        row_rules=top.list("row_rules", read_row_rule),
    )


def _read_event_type(value: object, path: str) -> EventType:
    node = JsonObject(value, path)
    node.only("name", "attributes")
    return EventType(node.read("name", read_any_name), node.list("attributes", _read_attribute))


def _read_attribute(value: object, path: str) -> Attribute:
    node = JsonObject(value, path)
    node.only("name", "type", "optional", optional=("error", "column"))
    value_type = None if node.take("type") is None else node.enum("type", ValueType)
    error = node.read("error", _read_distribution) if "error" in node.fields else None
    column = node.read("column", read_any_name) if "column" in node.fields else None
    optional = node.read("optional", read_boolean)
    return Attribute(node.read("name", read_any_name), value_type, optional, error, column=column)


def _read_error(value: object, path: str) -> ErrorDeclaration:
    node = JsonObject(value, path)
    node.only("event", "attribute", "error")
    return ErrorDeclaration(
        node.read("event", read_any_name), node.read("attribute", read_any_name), node.read("error", _read_distribution)
    )


def _read_distribution(value: object, path: str) -> Distribution:
    try:
        return parse_distribution(read_text(value, path))
    except EventError as error:
        fail(path, error.diagnostics[0].message)


def _read_rule(value: object, path: str) -> Rule:
    node = JsonObject(value, path)
    node.only(
        "composite", "pattern", "assignments", "consuming", "min_probability", "name", optional=("ties", "provenance")
    )
    return Rule(
        composite=node.read("composite", _read_event_type),
        pattern=node.read("pattern", _read_pattern),
        assignments=node.list("assignments", _read_assignment),
        consuming=node.list("consuming", read_any_name),
        min_probability=node.maybe("min_probability", read_probability),
        name=node.maybe("name", read_any_name),
        full_provenance="provenance" in node.fields and node.one_of("provenance", ("parts", "full")) == "full",
        ordered="ties" in node.fields and node.one_of("ties", ("apart", "ordered")) == "ordered",
    )


def _read_pattern(value: object, path: str) -> Pattern:
    node = JsonObject(value, path)
    node.only("items", optional=("terminator", "timer"))
    timer = node.read("timer", _read_timer) if "timer" in node.fields else None
    if isinstance(timer, Every):
        node.only("items", "timer")
        return Pattern(moments_of(timer), node.list("items", _read_item), timer)
    return Pattern(node.read("terminator", _read_event), node.list("items", _read_item), timer)


def _read_timer(value: object, path: str) -> Timer:
    node = JsonObject(value, path)
    if node.one_of("kind", ("after", "every")) == "after":
        node.only("kind", "duration_us")
        return After(node.read("duration_us", _positive))
    node.only("kind", "period_us", "start_us")
    return Every(node.read("period_us", _positive), node.read("start_us", _duration))


def _read_assignment(value: object, path: str) -> Assignment:
    node = JsonObject(value, path)
    node.only("attribute", "value")
    return Assignment(node.read("attribute", read_any_name), node.read("value", _read_expression))


def _read_item(value: object, path: str) -> PatternItem:
    node = JsonObject(value, path)
    match node.one_of("kind", ("selection", "negation", "aggregation", "collection", "condition")):
        case "collection":
            node.only("kind", "event", "scope", "least", "most")
            return Collection(
                node.read("event", _read_event),
                node.read("scope", _read_scope),
                node.read("least", _members),
                node.maybe("most", _members),
            )
        case "selection":
            node.only("kind", "policy", "count", "event", "window", optional=("per", "ranking"))
            return Selection(
                node.enum("policy", Policy),
                node.read("event", _read_event),
                node.read("window", _read_within),
                node.maybe("count", _count),
                node.list("per", _read_own_attribute),
                node.read("ranking", _read_ranking) if "ranking" in node.fields else None,
            )
        case "negation":
            node.only("kind", "event", "scope")
            return Negation(node.read("event", _read_event), node.read("scope", _read_scope))
        case "condition":
            node.only("kind", "constraint")
            return FreeCondition(node.read("constraint", _read_expression))
        case _:
            node.only("kind", "aggregate", "parameter", "comparison")
            aggregate = node.read("aggregate", _read_aggregate)
            comparison = node.maybe("comparison", _read_comparison)
            if comparison is not None and aggregate not in comparison.operands:
                fail(f"{path}.comparison", "the aggregate is not one of the operands")
            return Aggregation(aggregate, node.maybe("parameter", read_name), comparison)


def _read_ranking(value: object, path: str) -> Ranking:
    node = JsonObject(value, path)
    node.only("count", "by")
    return Ranking(node.read("count", _count), node.read("by", _read_expression))


def _read_own_attribute(value: object, path: str) -> AttributeRef:
    return AttributeRef(None, read_any_name(value, path))


def _read_event(value: object, path: str) -> EventPattern:
    node = JsonObject(value, path)
    node.only("type", "constraints", "alias")
    return EventPattern(
        node.read("type", read_any_name), node.list("constraints", _read_expression), node.maybe("alias", read_any_name)
    )


def _read_scope(value: object, path: str) -> Scope:
    node = JsonObject(value, path)
    kind = node.one_of("kind", ("within", "between", "since-start"))
    if kind == "since-start":
        node.only("kind", "reference")
        return Within(MAX_TIME, node.read("reference", read_any_name), since_start=True)
    if kind == "within":
        node.only("kind", "duration_us", "reference")
        return Within(node.read("duration_us", _duration), node.read("reference", read_any_name))
    node.only("kind", "first", "second")
    return Between(node.read("first", read_any_name), node.read("second", read_any_name))


def _read_within(value: object, path: str) -> Within:
    scope = _read_scope(value, path)
    if not isinstance(scope, Within):
        fail(path, "a selection takes a window, not an interval")
    return scope


def _read_comparison(value: object, path: str) -> Comparison:
    node = JsonObject(value, path)
    node.one_of("kind", ("comparison",))
    node.only("kind", "operands", "operators")
    operands = node.list("operands", _read_expression)
    operators = node.list("operators", read_text)
    for place, operator in enumerate(operators):
        if operator not in _COMPARATORS:
            fail(f"{path}.operators[{place}]", f"expected one of {' '.join(_COMPARATORS)}, found {shown(operator)}")
    if not operators or len(operands) != len(operators) + 1:
        fail(path, "a comparison has one operand more than operators, and at least one operator")
    return Comparison(operands, operators)


def _read_aggregate(value: object, path: str) -> Aggregate:
    node = JsonObject(value, path)
    node.one_of("kind", ("aggregate",))
    node.only("kind", "function", "event", "value", "scope", optional=("argument", "of", "even_undefined"))
    aggregate = Aggregate(
        node.one_of("function", aggregate_names()),
        node.read("event", _read_event),
        node.maybe("value", _read_expression),
        node.read("scope", _read_scope),
        node.read("argument", read_number) if "argument" in node.fields else None,
        of=node.read("of", read_any_name) if "of" in node.fields else None,
        even_undefined="even_undefined" in node.fields and node.read("even_undefined", read_boolean),
    )
    of_an_end = aggregate.of is not None and aggregate_named(aggregate.function).form.is_end
    if aggregate.even_undefined and not of_an_end:
        fail(f"{path}.even_undefined", "only the first or last member of a collection may have no value")
    return aggregate


_KINDS = ("constant", "attribute", "parameter", "arithmetic", "negative", "call", "aggregate", "comparison")


def _read_expression(value: object, path: str) -> Expression:
    node = JsonObject(value, path)
    match node.one_of("kind", _KINDS):
        case "constant":
            return _read_constant(node)
        case "attribute":
            node.only("kind", "event", "name")
            return AttributeRef(node.maybe("event", read_any_name), node.read("name", read_any_name))
        case "parameter":
            node.only("kind", "name")
            return Parameter(node.read("name", read_name))
        case "arithmetic":
            node.only("kind", "operator", "left", "right")
            operator = node.one_of("operator", tuple("+-*/"))
            return Arithmetic(operator, node.read("left", _read_expression), node.read("right", _read_expression))
        case "negative":
            node.only("kind", "operand")
            return Negative(node.read("operand", _read_expression))
        case "call":
            node.only("kind", "function", "arguments", optional=("gives_double",))
            function = node.one_of("function", FUNCTIONS | CONNECTIVES)
            arguments = node.list("arguments", _read_expression)
            least = len(function_of(function).arguments)
            if function in CONNECTIVES and not least <= len(arguments) <= (least if least == 1 else INT_MAX):
                fail(path, f"'{function}' joins {'one condition' if least == 1 else 'two or more'}")
            gives_double = "gives_double" in node.fields and node.read("gives_double", read_boolean)
            return Call(function, arguments, gives_double=gives_double)
        case "comparison":
            return _read_comparison(value, path)
        case _:
            return _read_aggregate(value, path)


def _read_constant(node: JsonObject) -> Constant:
    node.only("kind", "type", "value", optional=("duration",))
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
    duration = "duration" in node.fields and node.read("duration", read_boolean)
    if duration and value_type is not ValueType.INT:
        fail(node.path, "a duration is an integer of microseconds")
    return Constant(node.read("value", readers[value_type]), value_type, duration=duration)
