from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.language.tesla import parse
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import RuleSet
from strategies.rules import rule_sets

FIRE = """
event Smoke(area: string, level: double?)
rule Fire1
define Fire(area: string, temp: double)
from   Smoke(area=$a) and
       2 last Temp(area=$a and -value>45) as Hot within 5 min from Smoke and
       not Rain() between Hot and Smoke and
       30 < $t = Avg(Temp().value within 5 min from Smoke)
where  area=upper(Smoke.area) and temp=$t+1
consuming Hot
min probability 0.25
"""


@given(rule_sets())
def test_rules_survive_json(rules: RuleSet) -> None:
    assert from_json(json.loads(json.dumps(to_json(rules)))) == rules


def test_the_form_of_a_rule() -> None:
    data = to_json(parse("event A(x: int?) rule R define B(y: int) from A(x=1) as C where y=-C.x"))
    assert data == {
        "version": 1,
        "declarations": [{"name": "A", "attributes": [{"name": "x", "type": "int", "optional": True}]}],
        "rules": [
            {
                "name": "R",
                "composite": {"name": "B", "attributes": [{"name": "y", "type": "int", "optional": False}]},
                "pattern": {
                    "terminator": {
                        "type": "A",
                        "constraints": [
                            {
                                "kind": "comparison",
                                "operands": [
                                    {"kind": "attribute", "event": None, "name": "x"},
                                    {"kind": "constant", "type": "int", "value": 1},
                                ],
                                "operators": ["="],
                            }
                        ],
                        "alias": "C",
                    },
                    "items": [],
                },
                "assignments": [
                    {
                        "attribute": "y",
                        "value": {"kind": "negative", "operand": {"kind": "attribute", "event": "C", "name": "x"}},
                    }
                ],
                "consuming": [],
                "min_probability": None,
            }
        ],
    }


def test_an_attribute_without_a_type() -> None:
    rules = RuleSet((EventType("A", (Attribute("x", None),)),))
    assert from_json(to_json(rules)) == rules


def test_a_whole_number_is_a_double_where_a_double_is_due() -> None:
    data = to_json(parse("define B() from A(x=1.0)"))
    data["rules"][0]["pattern"]["terminator"]["constraints"][0]["operands"][1]["value"] = 1
    assert from_json(data) == parse("define B() from A(x=1.0)")


def _changed(path: str, value: object) -> dict[str, Any]:
    data: Any = copy.deepcopy(to_json(parse(FIRE)))
    node = data
    *steps, last = path.split(".")
    for step in steps:
        node = node[int(step)] if step.isdigit() else node[step]
    if value is KeyError:
        del node[last]
    else:
        node[int(last) if last.isdigit() else last] = value
    result: dict[str, Any] = data
    return result


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "$.version: version 2 is not known"),
        ("version", True, "$.version: version true is not known"),
        ("rules", KeyError, "$: the field 'rules' is missing"),
        ("rules", {}, "$.rules: expected a list, found an object"),
        ("more", 1, "$: there is no field 'more' here"),
        ("rules.0", "R", "$.rules[0]: expected an object, found 'R'"),
        ("rules.0.name", "a`b", "$.rules[0].name: expected a name, found 'a`b'"),
        ("rules.0.min_probability", 1.5, "$.rules[0].min_probability: 1.5 is not a probability"),
        ("rules.0.min_probability", "1", "$.rules[0].min_probability: expected a number, found '1'"),
        ("rules.0.consuming.0", None, "$.rules[0].consuming[0]: expected a name, found null"),
        (
            "declarations.0.attributes.0.type",
            "text",
            "$.declarations[0].attributes[0].type: expected one of bool, int, double, string, timestamp, list, "
            "found 'text'",
        ),
        (
            "declarations.0.attributes.0.optional",
            0,
            "$.declarations[0].attributes[0].optional: expected true or false, found 0",
        ),
        (
            "rules.0.pattern.items.0.kind",
            "choice",
            "$.rules[0].pattern.items[0].kind: "
            "expected one of selection, negation, aggregation, collection, condition, found 'choice'",
        ),
        ("rules.0.pattern.items.0.count", 0, f"$.rules[0].pattern.items[0].count: 0 is not between 1 and {2**63 - 1}"),
        (
            "rules.0.pattern.items.0.window",
            {"kind": "between", "first": "A", "second": "B"},
            "$.rules[0].pattern.items[0].window: a selection takes a window, not an interval",
        ),
        (
            "rules.0.pattern.items.0.window.duration_us",
            2.5,
            "$.rules[0].pattern.items[0].window.duration_us: expected an integer, found 2.5",
        ),
        (
            "rules.0.pattern.items.2.comparison.operands.1",
            {"kind": "parameter", "name": "t"},
            "$.rules[0].pattern.items[2].comparison: the aggregate is not one of the operands",
        ),
        (
            "rules.0.pattern.terminator.constraints.0.operators.0",
            "==",
            "$.rules[0].pattern.terminator.constraints[0].operators[0]: expected one of = != < <= > >=, found '=='",
        ),
        (
            "rules.0.pattern.terminator.constraints.0.operators",
            [],
            "$.rules[0].pattern.terminator.constraints[0]: a comparison has one operand more than operators, "
            "and at least one operator",
        ),
        (
            "rules.0.assignments.1.value.right.value",
            2**63,
            f"$.rules[0].assignments[1].value.right.value: {2**63} is not between {-(2**63)} and {2**63 - 1}",
        ),
        (
            "rules.0.assignments.1.value.operator",
            "+-",
            "$.rules[0].assignments[1].value.operator: expected one of +, -, *, /, found '+-'",
        ),
        (
            "rules.0.assignments.1.value.right",
            {"kind": "constant", "type": "string", "value": "\ud800"},
            "$.rules[0].assignments[1].value.right.value: half of a character: the string is not valid Unicode",
        ),
    ],
)
def test_mistakes_are_named_by_their_path(path: str, value: object, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        from_json(_changed(path, value))
    assert [finding.message for finding in caught.value.diagnostics] == [message]
    assert caught.value.diagnostics[0].code == "json"


def test_deep_nesting_is_an_error() -> None:
    value: dict[str, Any] = {"kind": "parameter", "name": "p"}
    for _ in range(5000):
        value = {"kind": "negative", "operand": value}
    with pytest.raises(RuleError, match="nested more than 260 deep"):
        from_json(_changed("rules.0.assignments.0.value", value))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(_json)
def test_any_other_json_is_an_error(data: object) -> None:
    with pytest.raises(RuleError):
        from_json(data)


@given(st.data())
def test_a_field_changed_at_random_is_an_error_or_rules(data: st.DataObject) -> None:
    tree: Any = to_json(parse(FIRE))
    node = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        below = node[key]
        if not isinstance(below, dict | list) or not below or data.draw(st.booleans()):
            node[key] = data.draw(_json)
            break
        node = below
    try:
        rules = from_json(tree)
    except RuleError as error:
        messages = [finding.message for finding in error.diagnostics]
    else:
        messages = ["$"]
        assert from_json(to_json(rules)) == rules
    assert all(message.startswith("$") for message in messages)


def test_names_in_backquotes_survive_json() -> None:
    text = """
        define L(x: double) from A() and 2 last B() per `host.id` within 1 min from A and
        all C() as `my c` within 1 min from A where x=Sum(`my c`.v)
    """
    rules = parse(text)
    assert from_json(to_json(rules)) == rules
