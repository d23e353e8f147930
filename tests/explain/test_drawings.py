"""The SVG drawings: valid XML that says what the rule says."""

from collections import Counter
from xml.etree import ElementTree

from hypothesis import given

from cepheus.explain import RuleParts, draw, rule_parts
from cepheus.explain.automaton import sequences
from cepheus.language.tesla import parse
from cepheus.rules.check.check import name_rules
from cepheus.rules.model import Rule, RuleSet
from strategies.rules import valid_rules

SVG = "{http://www.w3.org/2000/svg}"

TOUCH = """
define Touch(room: string) from Vibration(painting=$p and value>3.0) and
each PeopleNear(painting=$p) within 2 min. from Vibration where room=Vibration.room
"""
TREE = """
define D() from A(x=$x) and last B(x=$x) within 1 min from A and last C(k=$k) within 2 min from B and
last E(k<$k) within 3 min from A and not F(x=$x) within 1 s from A
"""


def parts(text: str) -> list[RuleParts]:
    return [rule_parts(rule) for rule in name_rules(parse(text)).rules]


def texts(svg: str) -> Counter[str]:
    return Counter(element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text"))


def classes(svg: str) -> Counter[str]:
    return Counter(element.get("class") or "" for element in ElementTree.fromstring(svg).iter())


def test_the_drawing_of_rule_r1_of_the_overview_chapter() -> None:
    svg = draw(parts(TOUCH))
    words = texts(svg)
    assert words["each PeopleNear"] == words["Vibration"] == words["value > 3.0"] == 2  # automaton and columns
    assert words["painting = $p"] == 2
    assert words["at most 2 min after PeopleNear"] == 1
    assert words["2 min"] == 1
    shapes = classes(svg)
    assert shapes["parameter"] == 2  # one dashed line in each drawing
    assert shapes["state start"] == shapes["state"] == shapes["state accept"] == 1
    assert shapes["label-box"] == shapes["accept-box"] == 1
    assert shapes["window-head"] == 2  # a double arrow
    assert shapes["slot"] == 3 + 1  # the terminator's column has room for one event


def test_a_moment_is_the_last_state_and_the_last_column() -> None:
    (rule,) = parts(
        "define L() from 5 min after A() and not B() between A and now"
        " and each C(time < now.time) within 1 min from now"
    )
    assert [[part.name for part in chain] for chain in sequences(rule)] == [["A", "now"], ["C", "now"]]
    svg = draw([rule])
    words = texts(svg)
    assert words["5 min after A as now"] == 3  # two sequences, and a column
    assert words["at most 1 min after C"] == words["exactly 5 min"] == words["decided 5 min after A:"] == 1
    assert not any("arrives" in text or text.startswith("at most 5 min") for text in words)
    shapes = classes(svg)
    assert shapes["accept-box"] == 1
    assert shapes["state accept"] == 2
    assert shapes["slot"] == 3 + 3 + 3 + 1  # events wait for their moment


def test_regular_moments_are_drawn_as_the_terminator() -> None:
    svg = draw(parts("define L() from every 10 min from 09:05 and not A() within 5 min from now"))
    words = texts(svg)
    assert words["every 10 min from 09:05 as now"] == 2
    assert words["decided every 10 min from 09:05:"] == words["looks back at most 5 min from each moment"] == 1
    assert not any("arrives" in text for text in words)


def test_a_tree_of_windows_gives_one_sequence_for_each_chain() -> None:
    (rule,) = parts(TREE)
    assert [[part.name for part in chain] for chain in sequences(rule)] == [["C", "B", "A"], ["E", "A"]]
    words = texts(draw([rule]))
    assert words["at most 2 min after C"] == words["at most 1 min after B"] == words["at most 3 min after E"] == 1
    assert words["E: k < $k   joins sequences"] == 1
    assert words["not F"] == 2
    assert words["within 1 s from A"] == 1


def test_an_aggregate_has_its_own_column() -> None:
    svg = draw(parts("define D() from A() and 30 < $t = Avg(T(x > 1).value within 5 min from A)"))
    assert texts(svg)["$t = Avg of value"] == 1
    assert texts(svg)["$t = Avg of value over T"] == 1
    assert classes(svg)["aggregate"] == 2


def test_several_rules_are_stacked_in_one_drawing() -> None:
    one, two = draw(parts(TOUCH)), draw(parts(TOUCH + "; " + TREE))
    assert _height(two) > _height(one)
    assert texts(two)["Touch: Touch(room: string)"] == texts(two)["D: D()"] == 1


def test_what_xml_does_not_allow_is_escaped_or_replaced() -> None:
    svg = draw(parts("define D() from A(s = '<&>\"\\u0007' and x < 3)"))
    (content,) = (words for words in texts(svg) if words.startswith("s = "))
    assert "<&>" in content
    assert "\x07" not in svg


def test_no_rules_give_an_empty_page() -> None:
    assert ElementTree.fromstring(draw([])).find(f"{SVG}title") is not None


def test_nothing_lies_outside_the_page() -> None:
    root = ElementTree.fromstring(draw(parts(TREE + ";" + TOUCH)))
    width = float(root.get("width") or 0)
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x") or 0) + float(box.get("width") or 0) <= width


def _height(svg: str) -> float:
    return float(ElementTree.fromstring(svg).get("height") or 0)


@given(valid_rules())
def test_every_rule_can_be_taken_apart_and_drawn(rule: Rule) -> None:
    (named,) = name_rules(RuleSet((), (rule,))).rules
    taken_apart = rule_parts(named)
    root = ElementTree.fromstring(draw([taken_apart]))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    assert width > 0
    assert height > 0
    drawn = texts(ElementTree.tostring(root, encoding="unicode"))
    for part in taken_apart.parts:
        assert any(part.type in words for words in drawn), part.name
        for link in part.links:
            assert drawn[link.text] >= 1, link.text
