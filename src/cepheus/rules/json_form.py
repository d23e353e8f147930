"""Rules as JSON: a versioned form for tools and for rules on their way between processes. Spans are left out.

Here it is written, kind by kind; ``json_reading`` reads it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from cepheus.core.schema import Attribute, EventType
from cepheus.rules.belief.json_form import belief_to_json
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
    Negative,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.interval.model import Knowledge
from cepheus.rules.json_reading import VERSION, read_rule_set
from cepheus.rules.model import (
    Aggregation,
    Collection,
    FreeCondition,
    Negation,
    Pattern,
    PatternItem,
    Rule,
    RuleSet,
    Selection,
)
from cepheus.rules.node_json import node_to_json
from cepheus.rules.timers import After, Every

Json = dict[str, Any]
"""A JSON object."""


def to_json(rules: RuleSet) -> Json:
    """Write rules as a JSON object.

    >>> from cepheus.rules.model import Pattern
    >>> rule = Rule(EventType("Fire"), Pattern(EventPattern("Smoke")), name="R1")
    >>> to_json(RuleSet(rules=(rule,)))["rules"][0]["pattern"]
    {'terminator': {'type': 'Smoke', 'constraints': [], 'alias': None}, 'items': []}
    """
    data: Json = {
        "version": VERSION,
        "declarations": [_event_type(declaration) for declaration in rules.declarations],
        "rules": [_rule(rule) for rule in rules.rules],
    }
    if rules.beliefs:
        data["networks"] = [belief_to_json(belief) for belief in rules.beliefs]
    if rules.errors:
        data["errors"] = [
            {"event": each.event, "attribute": each.attribute, "error": str(each.error)} for each in rules.errors
        ]
    if rules.interval_rules:
        # Relations are computed anew from the knowledge when the rules are checked.
        data["interval_rules"] = [node_to_json(replace(rule, relations=())) for rule in rules.interval_rules]
    if rules.knowledge != Knowledge():
        data["knowledge"] = node_to_json(rules.knowledge)
    if rules.row_rules:
        data["row_rules"] = [node_to_json(rule) for rule in rules.row_rules]
    return data


def from_json(data: object) -> RuleSet:
    """Read rules from their JSON object; anything unknown, missing or of a wrong type is an error with its path.

    >>> from_json({"version": 1, "declarations": [], "rules": []})
    RuleSet(declarations=(), rules=(), ...)
    >>> from_json({"version": 1, "declarations": [], "rules": [{"name": 7}]})
    Traceback (most recent call last):
    ...
    cepheus.core.errors.RuleError: error[json]: $.rules[0]: the field 'composite' is missing
    """
    return read_rule_set(data)


def _event_type(event_type: EventType) -> Json:
    return {
        "name": event_type.name,
        "attributes": [_attribute(attribute) for attribute in event_type.attributes],
    }


def _attribute(attribute: Attribute) -> Json:
    value_type = None if attribute.type is None else attribute.type.value
    data: Json = {"name": attribute.name, "type": value_type, "optional": attribute.optional}
    if attribute.error is not None:
        data["error"] = str(attribute.error)
    if attribute.column is not None:
        data["column"] = attribute.column
    return data


def _rule(rule: Rule) -> Json:
    return {
        "name": rule.name,
        "composite": _event_type(rule.composite),
        "pattern": _pattern(rule.pattern),
        "assignments": [{"attribute": a.attribute, "value": _expression(a.value)} for a in rule.assignments],
        "consuming": list(rule.consuming),
        "min_probability": rule.min_probability,
        **({"ties": "ordered"} if rule.ordered else {}),
        **({"provenance": "full"} if rule.full_provenance else {}),
    }


def _pattern(pattern: Pattern) -> Json:
    items = [_item(item) for item in pattern.items]
    match pattern.timer:
        case None:
            return {"terminator": _event(pattern.terminator), "items": items}
        case After(duration=duration):
            timer = {"kind": "after", "duration_us": duration}
            return {"terminator": _event(pattern.terminator), "timer": timer, "items": items}
        case Every(period=period, start=start):
            return {"timer": {"kind": "every", "period_us": period, "start_us": start}, "items": items}
        case _:
            assert_never(pattern.timer)


def _item(item: PatternItem) -> Json:
    match item:
        case Selection(policy=policy, event=event, window=window, count=count, per=per, ranking=ranking):
            groups: Json = {"per": [attribute.name for attribute in per]} if per else {}
            if ranking is not None:
                groups["ranking"] = {"count": ranking.count, "by": _expression(ranking.by)}
            return {
                "kind": "selection",
                "policy": policy.value,
                "count": count,
                "event": _event(event),
                "window": _scope(window),
                **groups,
            }
        case Negation(event=event, scope=scope):
            return {"kind": "negation", "event": _event(event), "scope": _scope(scope)}
        case Aggregation(aggregate=aggregate, parameter=parameter, comparison=comparison):
            return {
                "kind": "aggregation",
                "aggregate": _expression(aggregate),
                "parameter": parameter,
                "comparison": None if comparison is None else _expression(comparison),
            }
        case Collection(event=event, scope=scope, least=least, most=most):
            return {
                "kind": "collection",
                "event": _event(event),
                "scope": _scope(scope),
                "least": least,
                "most": most,
            }
        case FreeCondition(constraint=constraint):
            return {"kind": "condition", "constraint": _expression(constraint)}
        case _:
            assert_never(item)


def _event(event: EventPattern) -> Json:
    return {
        "type": event.type,
        "constraints": [_expression(constraint) for constraint in event.constraints],
        "alias": event.alias,
    }


def _scope(scope: Scope) -> Json:
    match scope:
        case Within(reference=reference, since_start=True):
            return {"kind": "since-start", "reference": reference}
        case Within(duration=duration, reference=reference):
            return {"kind": "within", "duration_us": duration, "reference": reference}
        case Between(first=first, second=second):
            return {"kind": "between", "first": first, "second": second}
        case _:
            assert_never(scope)


def _expression(node: Constraint) -> Json:
    match node:
        case Constant(value=value, type=value_type, duration=duration):
            constant: Json = {"kind": "constant", "type": value_type.value, "value": value}
            return constant | {"duration": True} if duration else constant
        case AttributeRef(event=event, name=name):
            return {"kind": "attribute", "event": event, "name": name}
        case Parameter(name=name):
            return {"kind": "parameter", "name": name}
        case Arithmetic(operator=operator, left=left, right=right):
            return {
                "kind": "arithmetic",
                "operator": operator,
                "left": _expression(left),
                "right": _expression(right),
            }
        case Negative(operand=operand):
            return {"kind": "negative", "operand": _expression(operand)}
        case Call(function=function, arguments=arguments):
            known: dict[str, Any] = {"gives_double": True} if node.gives_double else {}
            return {"kind": "call", "function": function, "arguments": [_expression(a) for a in arguments]} | known
        case Aggregate(function=function, event=event_pattern, value=value_expression, scope=scope) as aggregate:
            even_undefined = aggregate.even_undefined or None
            others = {"argument": aggregate.argument, "of": aggregate.of, "even_undefined": even_undefined}
            return {
                "kind": "aggregate",
                "function": function,
                "event": _event(event_pattern),
                "value": None if value_expression is None else _expression(value_expression),
                "scope": _scope(scope),
                **{name: other for name, other in others.items() if other is not None},
            }
        case Comparison(operands=operands, operators=operators):
            return {
                "kind": "comparison",
                "operands": [_expression(operand) for operand in operands],
                "operators": list(operators),
            }
        case _:
            assert_never(node)
