"""What a rule is taken apart into."""

from cepheus.core.time import HOUR, MINUTE
from cepheus.explain.rule_parts import Link, Part, Role, RuleParts, Use, rule_parts
from cepheus.language.tesla import parse
from cepheus.rules.check.check import name_rules
from cepheus.rules.expressions import Between, Within

FIRE = """
define Fire(area: string, temp: double)
from   Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where  area=Smoke.area and temp=Temp.value
consuming Temp
"""


def of(text: str) -> RuleParts:
    (rule,) = name_rules(parse(text)).rules
    return rule_parts(rule)


def test_a_rule_with_a_parameter() -> None:
    assert of(FIRE) == RuleParts(
        name="Fire",
        composite="Fire(area: string, temp: double)",
        parts=(
            Part("Smoke", "Smoke", Role.TERMINATOR, "", None, (), (), (("$a", "area"),)),
            Part(
                "Temp",
                "Temp",
                Role.SELECTED,
                "last",
                Within(5 * MINUTE, "Smoke"),
                ("value > 45",),
                (Link("area = $a", ("$a",), ("Smoke",), "Temp"),),
                (),
                consumed=True,
            ),
        ),
        parameters=(Use("$a", "Smoke.area", ("Temp",)),),
        assignments=(("area", "Smoke.area"), ("temp", "Temp.value")),
        consuming=("Temp",),
        min_probability=None,
        reach=5 * MINUTE,
    )


def test_a_negation_is_a_condition_and_not_a_selected_part() -> None:
    rule = of(
        "define Fire() from Smoke() and each Temp() within 1 h from Smoke and not Rain(x > 1) between Temp and Smoke"
    )
    assert [part.name for part in rule.selected] == ["Smoke", "Temp"]
    (rain,) = rule.conditions
    assert (rain.type, rain.policy, rain.scope, rain.content) == ("Rain", "not", Between("Temp", "Smoke"), ("x > 1",))
    assert rain.references == ("Temp", "Smoke")
    assert rule.reach == HOUR


def test_an_aggregate_over_the_terminators_own_type_links_to_the_terminator() -> None:
    rule = of(
        "define Theft() from Vibration(painting=$p) and "
        "v=Avg(Vibration(painting=$p) within 5 min from Vibration).value > 3.0"
    )
    (average,) = rule.conditions
    assert (average.name, average.policy, average.condition) == ("$v", "Avg of value", "$v > 3.0")
    assert average.links == (Link("painting = $p", ("$p",), ("Vibration",), "$v"),)
    assert rule.parameters == (
        Use("$p", "Vibration.painting", ("Avg of value over Vibration",)),
        Use("$v", "Avg of value over Vibration", ("$v > 3.0",)),
    )


def test_a_constraint_is_decided_where_its_parameter_is_bound() -> None:
    rule = of("define D() from A() and last B(x < $k) within 1 s from A and last C(y=$k) within 1 s from A")
    assert rule.part("B").links == (Link("x < $k", ("$k",), ("C",), "C"),)
    assert rule.part("C").binds == (("$k", "y"),)


def test_an_attribute_of_another_event_is_a_link_without_parameter() -> None:
    rule = of("define D() from A() and last B(x < A.y) within 1 s from A")
    assert rule.part("B").links == (Link("x < A.y", (), ("A",), "B"),)


def test_an_alias_and_a_count_are_named() -> None:
    rule = of("define D() from A() and 3 first B() as Early within 1 s from A min probability 0.3")
    assert (rule.parts[1].name, rule.parts[1].type, rule.parts[1].policy) == ("Early", "B", "3 first")
    assert rule.min_probability == 0.3


def test_a_parameter_used_by_its_own_event_is_content_and_a_use() -> None:
    rule = of("define D(z: int) from A(x=$x and y > $x) where z=$x+1")
    assert rule.terminator.content == ("y > $x",)
    assert rule.terminator.links == ()
    assert rule.parameters == (Use("$x", "A.x", ("A", "where z")),)


def test_an_aggregate_in_where_is_a_part() -> None:
    rule = of(
        "define D(n: int) from A(x=$x) and last B(x=$x) within 1 s from A where n=2*Count(C(x=$x) between B and A)"
    )
    (count,) = rule.conditions
    assert (count.type, count.policy, count.scope, count.purpose) == ("C", "Count", Between("B", "A"), "n")
    assert count.links == (Link("x = $x", ("$x",), ("A",), "Count for n #1"),)
    assert rule.parameters == (Use("$x", "A.x", ("B", "where n")),)


def test_an_aggregate_compared_with_a_parameter_uses_it() -> None:
    rule = of("define D() from A(x=$x) and $x < $n = Count(B() within 1 s from A)")
    assert rule.parameters == (Use("$x", "A.x", ("Count over B",)), Use("$n", "Count over B", ("$x < $n",)))
