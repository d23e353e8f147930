"""Networks drawn and as trees: valid XML, and all that the network says."""

from __future__ import annotations

from io import StringIO
from xml.etree import ElementTree

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

from cepheus.core.errors import RuleError
from cepheus.explain.belief import belief_tree, draw_belief
from cepheus.language.tesla import parse
from cepheus.uncertainty.belief.belief import RuleBelief
from strategies.beliefs import beliefs, rules

SVG = "{http://www.w3.org/2000/svg}"


@settings(max_examples=40)
@given(st.data())
def test_every_network_can_be_shown(data: st.DataObject) -> None:
    rule = data.draw(rules())
    belief = RuleBelief.of(rule, data.draw(beliefs(rule)))
    try:
        belief.probability()
    except RuleError:
        assume(False)
    root = ElementTree.fromstring(draw_belief(belief))
    words = [element.text for element in root.iter(f"{SVG}text")]
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert set(belief.nodes) <= set(words)
    heads = [element for element in root.iter(f"{SVG}path") if element.get("class") == "head"]
    assert len(heads) == sum(len(node.parents) for node in belief.nodes.values())
    for box in root.iter(f"{SVG}rect"):
        assert 0 <= float(box.get("x", -1)) <= width
        assert 0 <= float(box.get("y", -1)) <= height
    printed = StringIO()
    Console(file=printed, width=400, highlight=False).print(belief_tree(belief))
    for node in belief.nodes.values():
        assert f"node {node.name} " in printed.getvalue()
    assert printed.getvalue().startswith("network of rule R: Fire has probability ")


def test_a_long_table_is_cut_short() -> None:
    rule = parse("rule R define Fire() from Smoke()").rules[0]
    states = ", ".join(f"S{number}: 0.0625" for number in range(16))
    rows = "\n".join(f"*, S{number}: {{YES: 0.5, NO: 0.5}}" for number in range(16))
    belief = RuleBelief.of(rule).write(f"node J {{{states}}} node Smoke given Fire, J {{ {rows} }}")
    words = [element.text for element in ElementTree.fromstring(draw_belief(belief)).iter(f"{SVG}text")]
    assert "and 4 rows more" in words
