import pytest
from check_helpers import brief, checked, error, errors, warning

import cepheus
from cepheus.core.errors import render
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType

TEMP = "event Temp(area: string, value: double)\n"


def test_an_error_of_an_unknown_type_says_what_to_do() -> None:
    found = error("event Temp(value: double)\nerror Nope.value ~ N(0, 1)\ndefine Hot() from Temp(value > 45)")
    assert found[-1] == "declare it, as in 'event Nope(value: double)', or correct the name"


def test_errors_are_drawn_with_line_caret_and_hint_in_order_of_place() -> None:
    found = errors(TEMP + "define Fire()\nfrom   Temp(valeu>3) and last Tmep() within 5 min from Temp")
    assert [str(d.span.line) + d.code for d in found if d.span] == ["3unknown-attribute", "3unknown-type"]
    assert render(found) == (
        "rules.tesla:3:13: error[unknown-attribute]: 'Temp' has no attribute 'valeu'\n"
        " 3 | from   Temp(valeu>3) and last Tmep() within 5 min from Temp\n"
        "   |             ^^^^^\n"
        "  hint: did you mean 'value'?\n"
        "rules.tesla:3:31: error[unknown-type]: there is no event type 'Tmep'\n"
        " 3 | from   Temp(valeu>3) and last Tmep() within 5 min from Temp\n"
        "   |                               ^^^^\n"
        "  hint: did you mean 'Temp'?"
    )


def test_unknown_type_in_a_closed_world() -> None:
    assert error(TEMP + "define Fire() from Smoke(area=$a and km > $a)") == (
        "unknown-type",
        "Smoke",
        "there is no event type 'Smoke'",
        "declare it with 'event Smoke(..)'",
    )
    assert error("define Fire() from Smoke()", closed=True)[0] == "unknown-type"


def test_types_of_composite_events_and_of_the_schema_are_known() -> None:
    schema = Schema([EventType("Smoke", (Attribute("area", ValueType.STRING),))])
    text = "define Fire() from Smoke(); define Alarm() from Fire()"
    assert list(checked(text, schema=schema, closed=True).composites) == ["Fire", "Alarm"]
    assert error("define Fire() from Smok()", schema=schema, closed=True)[3] == "did you mean 'Smoke'?"


def test_an_open_world_takes_any_type() -> None:
    assert list(checked(TEMP + "define Fire() from Smoke()", closed=False).inputs) == ["Temp", "Smoke"]


def test_a_closed_schema_closes_the_world() -> None:
    assert error("define Fire() from Smoke()", schema=Schema(closed=True))[0] == "unknown-type"


def test_a_type_that_looks_like_a_composite_one_is_worth_a_warning() -> None:
    assert warning("define Smoking() from Fire(); define Alarm() from Smokin()") == (
        "similar-type",
        "Smokin",
        "'Smokin' is taken for a type of input events, but looks like 'Smoking', which a rule defines",
        "did you mean 'Smoking'? If not, declare it with 'event Smokin(..)'",
    )


def test_a_type_in_backquotes_is_known_or_not_like_any_other() -> None:
    assert list(checked("define Fire() from `Failed login`()").inputs) == ["Failed login"]
    assert error(TEMP + "define Fire() from `Failed login`()")[0] == "unknown-type"
    assert error("event `Failed login`(x: int) define Fire() from `Failed login`(y=1)")[:3] == (
        "unknown-attribute",
        "y",
        "'Failed login' has no attribute 'y'",
    )
    assert list(checked("define Fire() from `Failed login`(user='a')").inputs["Failed login"].attributes) != []


@pytest.mark.parametrize(
    "text",
    [
        "define Fire() from `every 10 min`()",
        "define Fire() from A() and last `every 1 h from 09:05`() within 5 min from A",
        "define `every 10 min`() from A()",
        "event `every 10 min`() define Fire() from `every 10 min`()",
    ],
)
def test_no_type_of_events_is_called_like_moments(text: str) -> None:
    code, _, message, hint = error(text)
    assert (code, hint) == ("reserved-name", "give the type another name")
    assert "that is what the moments of a timer are called" in message


def test_types_that_differ_in_numbers_are_no_slips() -> None:
    assert checked("define Fire_1() from Smoke(); define Alarm() from Fire_2()").warnings == ()
    assert checked("define Abc() from Smoke(); define Alarm() from Abd()").warnings == ()


def test_unknown_attributes() -> None:
    assert error(TEMP + "define Fire() from Temp(height > 3)") == (
        "unknown-attribute",
        "height",
        "'Temp' has no attribute 'height'",
        "Temp has the attributes area, value, time",
    )
    composite = "define Fire(area: string) from Smoke() where area=Smoke.area; "
    assert error(composite + "define Alarm() from Fire(aera='x')")[:2] == ("unknown-attribute", "aera")
    schema = Schema([EventType("Smoke", (Attribute("area", ValueType.STRING),))])
    assert error("define Fire() from Smoke(aera='x')", schema=schema)[3] == "did you mean 'area'?"


def test_every_event_has_a_time() -> None:
    text = TEMP + "define Late(at: timestamp) from Temp(hour(time) > 20) where at=Temp.time"
    assert str(checked(text).composites["Late"]) == "Late(at: timestamp)"


def test_fields_of_the_event_itself_are_not_attributes() -> None:
    assert error("define Fire() from Smoke(id = 3)") == (
        "reserved-name",
        "id",
        "'id' is a field of the event itself, which rules do not read",
        "declare that the data has it: event Smoke(id: string, ..)",
    )
    hint = "of these fields, only 'time' can be read; give it another name: event Smoke(own_type: string from type, ..)"
    assert error("define Fire() from Smoke(type = 'a')")[3] == hint
    cepheus.compile(
        "event Smoke(id: string, own_type: string from type) define Fire() from Smoke(id = '3' and own_type = 'a')"
    )
    assert brief(errors("event Smoke(type: string, time: timestamp) define Fire() from Smoke()")) == [
        ("reserved-name", "type", "choose another name, such as 'smoke_type'"),
        ("reserved-name", "time", "leave it out, and read the time of an event as EVENT.time"),
    ]
    assert error("define Fire(time: timestamp) from Smoke() where time=Smoke.time")[2] == (
        "'Fire' cannot have an attribute 'time': every event has its own time"
    )


def test_references_to_no_event() -> None:
    pattern = "define Fire() from Smoke() and last Temp() within 5 min from "
    assert error(pattern + "Smok") == (
        "unknown-event",
        "Smok",
        "no event of the pattern is called 'Smok'",
        "did you mean 'Smoke'?",
    )
    assert error(pattern + "Rain")[3] == "events that can be referred to here: Smoke"
    assert error(pattern + "Temp")[:3] == ("self-reference", "Temp", "'Temp' is placed in time relative to itself")
    assert error(pattern + "Smoke and not Rain() between Temp and Fog")[:2] == ("unknown-event", "Fog")
    assert error(pattern + "Smoke and not Rain(area=Fog.area) between Temp and Smoke")[:2] == ("unknown-event", "Fog")


def test_an_event_with_an_alias_is_known_by_its_alias() -> None:
    text = "define A(x: double) from X() and last Y() as Z within 1 s from X where x="
    assert checked(text + "Z.v").warnings == ()
    assert error(text + "Y.v")[1:] == (
        "Y",
        "no event of the pattern is called 'Y'",
        "the event of type 'Y' is called 'Z' here",
    )


def test_references_to_later_events() -> None:
    text = "define Fire() from A() and last B(x=C.x) within 5 min from C and last C() within 5 min from A"
    assert brief(errors(text)) == [
        ("later-event", "C", "move 'C' to before this place, or compare through a parameter"),
        ("later-event", "C", "move 'C' to before this place, or compare through a parameter"),
    ]


def test_references_to_events_that_do_not_take_part() -> None:
    text = "define Fire() from A() and not B() within 5 min from A and last C() within 5 min from B"
    assert error(text) == (
        "not-selected",
        "B",
        "'B' is a negated event: it does not take part, so nothing can refer to it",
        "events that can be referred to here: A",
    )
    text = "define Fire() from A() and 3 < Avg(B().x within 5 min from A) and last C(x=B.x) within 5 min from A"
    assert error(text)[2] == "'B' is an aggregated event: only the aggregate itself can be referred to"
    assert error("define Fire() from A() and not B(B.x > 3) within 5 min from A")[2:] == (
        "no event that takes part is called 'B'",
        "inside B(..) write just 'x'",
    )


def test_attributes_in_where_need_their_event() -> None:
    assert error("define Fire(x: double) from A() where x=value") == (
        "no-event",
        "value",
        "in where, 'value' belongs to no event",
        "write it with its event, such as 'A.value'",
    )
    assert error("define Fire(x: double) from A(value=$v) where x=v")[3] == "did you mean '$v'?"


def test_names_taken_twice() -> None:
    assert error("define Fire() from Temp() and last Temp() within 5 min from Temp") == (
        "duplicate-name",
        "Temp",
        "two events of the pattern are called 'Temp'",
        "name one of them with an alias: 'Temp(..) as Temp2'",
    )
    found = errors("define Fire() from A() and last B(x=1) as A within 5 min from A")
    assert brief(found) == [("duplicate-name", "A", "choose another alias")]
    assert found[0].span is not None
    assert found[0].span.column == 43


def test_negated_and_aggregated_events_may_be_of_a_type_that_takes_part() -> None:
    text = """define Fire(n: int) from Temp() and not Temp(value > Temp.value) within 5 min from Temp
              and not Temp(value < 3) within 5 min from Temp
              where n=Count(Temp(value > Temp.value) as Other within 5 min from Temp)"""
    assert checked(text).warnings == ()
    assert error("define Fire() from A() and not B() as A within 5 min from A")[0] == "duplicate-name"


def test_two_rules_of_one_name() -> None:
    assert error("rule R define A() from X();\nrule R define B() from X()") == (
        "duplicate-rule",
        "R",
        "two rules are called 'R': the other stands at line 1",
        "give one of them another name",
    )


def test_types_that_disagree() -> None:
    assert error("event A(x: int)\nevent A(x: double)\ndefine B() from A()") == (
        "type-conflict",
        "A",
        "'A' is declared twice, with different attributes: A(x: int) at line 1",
        "keep one of the two declarations",
    )
    assert error("define A(x: int) from X() where x=1;\ndefine A() from X()") == (
        "type-conflict",
        "A",
        "'A' is defined twice, with different attributes: A(x: int) at line 1",
        "give both definitions the same attributes, or one of them another name",
    )
    assert error("event A(x: int) event X()\ndefine A() from X()") == (
        "type-conflict",
        "A",
        "'A' is declared with different attributes: A(x: int) at line 1",
        "make declaration and definition agree, or give one of them another name",
    )
    data = Schema([EventType("A", (Attribute("x", ValueType.INT),))])
    assert error("define A() from X()", schema=data)[2:] == (
        "'A' is in the data with different attributes: A(x: int)",
        "give the composite type another name",
    )


def test_a_type_that_disagrees_brings_no_further_errors() -> None:
    text = "define A(x: int) from X() where x=1; define A(y: string) from X() where y='a'; define B() from A(y = 'b')"
    assert error(text)[0] == "type-conflict"


def test_a_composite_type_may_be_in_the_data() -> None:
    data = Schema([EventType("A", (Attribute("x", ValueType.INT, optional=True),))])
    result = checked("define A(x: double) from X() where x=1.5; define B() from A(x > 3)", schema=data)
    assert repr(result.inputs) == "Schema(X(), A(x: double?))"


def test_a_type_declared_twice_alike_or_defined_and_declared_is_fine() -> None:
    text = "event A(x: int) event A(x: int) event X() define A(x: int) from X() where x=1"
    result = checked(text)
    assert str(result.inputs) == str(Schema([EventType("A", (Attribute("x", ValueType.INT),)), EventType("X")]))
    assert list(result.composites) == ["A"]


def test_an_attribute_twice() -> None:
    assert error("event A(x: int, x: int) define B() from A()") == (
        "duplicate-attribute",
        "x",
        "'A' has two attributes called 'x'",
        "remove or rename one of them",
    )


def test_assignments() -> None:
    head = "define Fire(area: string, temp: double) from Smoke()"
    assert error(head) == (
        "unassigned",
        "area",
        "'Fire' is defined with 'area' and 'temp', but the rule gives them no values",
        "add 'where area=.. and temp=..'",
    )
    assert error(head + " where area='x'")[1:] == (
        "temp",
        "'Fire' is defined with 'temp', but the rule gives it no value",
        "add 'and temp=..' to where",
    )
    assert brief(errors(head + " where area='x', temp=1, tmp=2, area='y', zzz=3")) == [
        ("unknown-attribute", "tmp", "did you mean 'temp'?"),
        ("duplicate-assignment", "area", "keep one of the two assignments"),
        ("unknown-attribute", "zzz", "add it to the definition: define Fire(.., zzz: double)"),
    ]


def test_consuming() -> None:
    head = "define Fire() from A() and last B() within 5 min from A and not C() within 5 min from A consuming "
    assert error(head + "C") == (
        "not-selected",
        "C",
        "'C' is a negated event: it does not take part and cannot be consumed",
        "events that can be consumed: B",
    )
    assert error(head + "B, D")[:3] == ("unknown-event", "D", "no event of the pattern is called 'D'")
    assert warning(head + "A") == (
        "consuming-terminator",
        "A",
        "consuming 'A' changes nothing: the rule looks at each terminator once",
        "events that can be consumed: B",
    )
    assert checked(head + "B").warnings == ()


def test_argument_counts() -> None:
    assert error("define A() from B(length(x, y) > 3)") == (
        "argument-count",
        "length(x, y)",
        "'length' takes 1 argument, found 2",
        "write length(string): number of characters",
    )
    assert error("define A() from B(max(x) > 3)")[2] == "'max' takes at least 2 arguments, found 1"
    assert checked("define A() from B(max(x, y, z) > 3)").warnings == ()


def test_aggregates_have_their_places() -> None:
    assert error("define A() from B(v > Avg(C().x within 5 min from B))") == (
        "misplaced-aggregate",
        "Avg(C().x within 5 min from B)",
        "Avg(C().x within 5 min from B) cannot stand here: an aggregate stands by itself in the pattern, or in where",
        "write '$x = Avg(C().x within 5 min from B)' as a part of the pattern of its own, and use $x here",
    )


def test_windows_and_intervals() -> None:
    assert warning("define A() from B() and last C() within 0 s from B") == (
        "empty-window",
        "within 0 s from B",
        "nothing lies within no time from 'B': a window ends just before the event it starts from",
        "write a duration above zero, such as 'within 5 min'",
    )
    assert error("define A() from B() and not C() between B and B") == (
        "empty-interval",
        "between B and B",
        "nothing lies between 'B' and itself",
        "name two different events",
    )


def test_an_unknown_type_brings_no_further_errors() -> None:
    text = (
        TEMP + "define Fire(a: string) from Smoke(area=$a and area > 3) and last Temp(area=$a) within 5 min from Smoke"
    )
    assert [d.code for d in errors(text + " where a=Smoke.area")] == ["unknown-type"]


def test_slips_are_found_among_many_names() -> None:
    declared = " ".join(f"event Sensor{number}()" for number in range(500))
    assert error(f"{declared} define A() from Sensr77()")[3] == "did you mean 'Sensor77'?"
    assert error(f"{declared} define A() from Smoke()")[3] == "declare it with 'event Smoke(..)'"


def test_a_rule_with_hundreds_of_events() -> None:
    parts = "".join(f" and last E{i}(k=$k and v > {i}) within 1 s from E{i - 1}" for i in range(1, 300))
    result = checked(f"define A() from E0(k=$k){parts}")
    assert len(result.inputs) == 300
    assert result.warnings == ()


def test_rules_without_a_name_get_one() -> None:
    result = checked("define A() from X(); define A() from Y(); rule R define A() from Z()")
    assert [rule.name for rule in result.rules.rules] == ["A", "A_2", "R"]


def test_moments_that_never_begin_are_warned_of() -> None:
    (found,) = checked("define G(n: int) from every 5 s where n=1").warnings
    assert found.code == "timer"
    assert "never begin" in found.message
    counted = "define G(n: int) from every 5 s and $n = Count(A() within 5 s from now) where n=$n"
    assert not checked(counted).warnings
    together = "define G() from every 5 s; define H() from A() and last G() within 5 s from A"
    assert not checked(together).warnings
