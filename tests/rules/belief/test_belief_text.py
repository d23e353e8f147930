"""Networks as text and as JSON, there and back; what stands around them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.language.tesla import format_rules, parse, reformat
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import RuleSet
from strategies.beliefs import beliefs, rules


@given(st.data())
def test_text_and_json_keep_networks(data: st.DataObject) -> None:
    rule = data.draw(rules())
    whole = RuleSet(rules=(rule,), beliefs=(data.draw(beliefs(rule)),))
    text = format_rules(whole)
    assert parse(text) == whole
    assert reformat(text) == text
    assert from_json(json.loads(json.dumps(to_json(whole)))) == whole


def test_the_words_of_networks_are_names_elsewhere() -> None:
    found = parse(
        "event network(node: int, given: int, observe: double)\n"
        "define to(from_: int) from network(node = 3 and given > 2) as node where from_ = node.given\n"
        "NETWORK to { NODE node {define: .5, true: .5} Node rule given node {*: {last: 1}} OBSERVE node = define }\n"
        "rule network define given() from node()"
    )
    assert [rule.composite.name for rule in found.rules] == ["to", "given"]
    belief = found.beliefs[0]
    assert [(node.name, node.states, node.parents) for node in belief.nodes] == [
        ("node", ("define", "true"), ()),
        ("rule", ("last",), ("node",)),
    ]


def test_statements_around_networks_need_no_semicolons() -> None:
    found = parse(
        "network A {} define A() from B() network C {};; "
        "rule C define D() from B(); network E { observe X = Y } event B()"
    )
    assert [belief.rule for belief in found.beliefs] == ["A", "C", "E"]
    assert [rule.name for rule in found.rules] == [None, "C"]
    assert len(found.declarations) == 1


def test_comments_in_networks_stay_at_their_nodes() -> None:
    text = """define A() from B()
# why
network A { -- lorries
  node J {X: .5,  # half
          Y: .5}  // and half

  # as told by the police
  observe J = X
  node K {X: 1} -- unused
  # the end
} # done
"""
    expected = """define A()
from   B()

# why
# done
network A {
  -- lorries
  # half
  // and half
  node J {X: 0.5, Y: 0.5}
  -- unused
  node K {X: 1}
  # as told by the police
  observe J = X
  # the end
}
"""
    assert reformat(text) == expected
    assert reformat(expected) == expected
    assert parse(expected) == parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network A", "found 'network', expected a rule (define .. from ..) or a declaration (event ..)"),
        ("network A {", "found the end, expected node, observe or '}'"),
        ("network A { node }", "found '}', expected the name of a node"),
        ("network A { node J }", "found '}', expected given or '{'"),
        ("network A { node J {X} }", "found '}', expected ':' or '<'"),
        ("network A { node J {X: } }", "found '}', expected a number"),
        ("network A { node J {X: .5, } }", "found '}', expected the name of a state"),
        ("network A { node J given {X: 1} }", "found '{', expected the name of a node"),
        ("network A { node J given B {X: 1} }", "found the number 1, expected a distribution such as N(20, 4) or '{'"),
        ("network A { node J {X < 3 } ~ N(0, 1) }", "found '}', expected '<'"),
        ("network A { node J {X < 3 < Y} }", "found '}', expected '~' and a distribution or given"),
        ("network A { node J {X < 3 < Y} ~ }", "found '}', expected a distribution such as N(20, 4)"),
        ("network A { node J {X: 1} from 7 }", "found the number 7, expected a time in quotes"),
        ("network A { node J {X: 1} from '7' }", "found '}', expected 'to' and a time in quotes"),
        ("network A { observe J }", "found '}', expected '='"),
        ("network A { J {X: 1} }", "found 'J', expected node, observe or '}'"),
    ],
)
def test_mistakes_are_told_in_the_words_of_networks(text: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    assert [finding.message for finding in caught.value.diagnostics] == [message]


def test_one_mistake_does_not_hide_others() -> None:
    with pytest.raises(RuleError) as caught:
        parse("network A { node J {X: 1e999} from '7' to '8' {X: 1} }\nnetwork B { node \ndefine C() form D()")
    assert [finding.code for finding in caught.value.diagnostics] == ["number", "period", "syntax", "syntax"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": 3}, "$.networks[0].rule: expected a name"),
        ({"nodes": [{}]}, "$.networks[0].nodes[0]: the field 'name' is missing"),
        ({"observations": [{"node": "A", "state": ""}]}, "$.networks[0].observations[0].state: expected a name"),
        ({"extra": 1}, "$.networks[0]: there is no field 'extra' here"),
    ],
)
def test_json_that_is_no_network_is_refused(change: dict[str, object], message: str) -> None:
    data = to_json(parse("define A() from B() network A {}"))
    data["networks"][0] |= change
    with pytest.raises(RuleError) as caught:
        from_json(data)
    assert caught.value.diagnostics[0].message.startswith(message)
