"""Every rule, partial rule and subscription printed in the papers, as printed (line breaks aside)."""

from __future__ import annotations

import pytest

from cepheus.core.time import MINUTE
from cepheus.core.values import ValueType
from cepheus.language.tesla import (
    format_event_pattern,
    format_pattern,
    format_rules,
    parse,
    parse_event_pattern,
    parse_pattern,
)
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Comparison,
    Constant,
    EventPattern,
    Parameter,
    Within,
)
from cepheus.rules.model import Aggregation, Pattern

# (where it is printed, the text as printed, the canonical text)
RULES = [
    (
        "paradigm R1",
        """Rule R1
define Touch(room: string, painting: string)
from   Vibration(painting=$p and value>3.0) and
       each PeopleNear(painting=$p) within 2 min. from Vibration
where  room=Vibration.room and painting=Vibration.painting""",
        """rule R1
define Touch(room: string, painting: string)
from   Vibration(painting=$p and value>3.0) and
       each PeopleNear(painting=$p) within 2 min from Vibration
where  room=Vibration.room and painting=Vibration.painting
""",
    ),
    (
        "paradigm R2",
        """Rule R2
define Theft(room: string, painting: string)
from   Vibration(room=$r and painting=$p and value>3.0) and
       each PeopleNear(painting=$p) within 5 min. from Vibration
       and not StaffAt(room=$r) within 1 min. from Vibration
where  room=Vibration.room and painting=Vibration.painting""",
        """rule R2
define Theft(room: string, painting: string)
from   Vibration(room=$r and painting=$p and value>3.0) and
       each PeopleNear(painting=$p) within 5 min from Vibration and
       not StaffAt(room=$r) within 1 min from Vibration
where  room=Vibration.room and painting=Vibration.painting
""",
    ),
    (
        "paradigm R3",
        """Rule R3
define Theft(room: string, painting: string)
from   Vibration(room=$r and painting=$p and value>3.0) and
       v=Avg(Vibration(room=$r and painting=$p)
             within 5 min. from Vibration).value > 3.0
where  room=Vibration.room and painting=Vibration.painting""",
        """rule R3
define Theft(room: string, painting: string)
from   Vibration(room=$r and painting=$p and value>3.0) and
       $v = Avg(Vibration(room=$r and painting=$p).value within 5 min from Vibration) > 3.0
where  room=Vibration.room and painting=Vibration.painting
""",
    ),
    (
        "paradigm R4",
        """Rule R4
define
  CompEvent ()
from
  A() and last B() within 5 min. from A
  and last C() within 5 min. from B
  and last D() within 5 min. from C
  and last E() within 5 min. from D""",
        """rule R4
define CompEvent()
from   A() and
       last B() within 5 min from A and
       last C() within 5 min from B and
       last D() within 5 min from C and
       last E() within 5 min from D
""",
    ),
    (
        "uncertainty R1",
        """Rule R1
define TVS_Malfun(km:double, temp:double, ox:double)
from    Oxygen(concentr=<18% and km=$a) and
        last Temp($a-10 < km < $a+10 and value>30)
        within 5 min. from Oxygen
where   km=Oxygen.km and temp=Temp.value and ox=Oxygen.concentr""",
        """rule R1
define TVS_Malfun(km: double, temp: double, ox: double)
from   Oxygen(concentr<=18 and km=$a) and
       last Temp($a-10 < km < $a+10 and value>30) within 5 min from Oxygen
where  km=Oxygen.km and temp=Temp.value and ox=Oxygen.concentr
""",
    ),
    (
        "uncertainty R2",
        """Rule R2
define TVS_Malfun(km:double, temp:double)
from   Temp(km=$a and value>30) and
       not TrafficJam($a-10 < km < $a+10)
       within 5 min. from Temp
where  km=Temp.km and temp=Temp.value""",
        """rule R2
define TVS_Malfun(km: double, temp: double)
from   Temp(km=$a and value>30) and
       not TrafficJam($a-10 < km < $a+10) within 5 min from Temp
where  km=Temp.km and temp=Temp.value
""",
    ),
    (
        "uncertainty R3",
        """Rule R3
define   TVS_Malfun(km:double, temp:double, ox:double)
from     Oxygen(concentr=<18% and km=$a) and
         30 < $t = Avg(Temp($a-10 < km < $a+10).value
         within 5 min. from Oxygen)
where    km=Oxygen.km and temp=$t and ox=Oxygen.concentr""",
        """rule R3
define TVS_Malfun(km: double, temp: double, ox: double)
from   Oxygen(concentr<=18 and km=$a) and
       30 < $t = Avg(Temp($a-10 < km < $a+10).value within 5 min from Oxygen)
where  km=Oxygen.km and temp=$t and ox=Oxygen.concentr
""",
    ),
    (
        "uncertainty, selection",
        """define TVS_Malfun()
from Temp(km < 17.1 and value > 30)""",
        """define TVS_Malfun()
from   Temp(km<17.1 and value>30)
""",
    ),
    (
        "uncertainty, combination",
        """define   TVS_Malfun ()
from     Oxygen(km=$a) and
         last Temp($a-10 < km < $a+10 and value>30)
         within 5 min from Oxygen""",
        """define TVS_Malfun()
from   Oxygen(km=$a) and
       last Temp($a-10 < km < $a+10 and value>30) within 5 min from Oxygen
""",
    ),
    (
        "uncertainty, negation",
        """define   TVS_Malfun ()
from     Temp(km=$a and value>30) and
         not TrafficJam($a-10 < km < $a+10)
         within 5 min. from Temp""",
        """define TVS_Malfun()
from   Temp(km=$a and value>30) and
       not TrafficJam($a-10 < km < $a+10) within 5 min from Temp
""",
    ),
    (
        "uncertainty, aggregation with a stray parenthesis",
        """define   TVS_Malfun()
from     Oxygen() and 30 < $t=Avg(Temp()).value
        within 5 min. from Oxygen)""",
        """define TVS_Malfun()
from   Oxygen() and
       30 < $t = Avg(Temp().value within 5 min from Oxygen)
""",
    ),
    (
        "uncertainty, constrained aggregation with a stray parenthesis",
        """define   TVS_Malfun()
from     Oxygen() and
        30 < $t = Avg(Temp($a-10 < km < $a+10)).value
        within 5 min. from Oxygen)""",
        """define TVS_Malfun()
from   Oxygen() and
       30 < $t = Avg(Temp($a-10 < km < $a+10).value within 5 min from Oxygen)
""",
    ),
    (
        "uncertainty, production",
        """Rule R1
define   TVS_Malfun(km:double, temp:double)
from     Oxygen(km=$a) and last Temp($a-10 < km < $a+10 and value>30)
         within 5 min. from Oxygen
where    km=Oxygen.km and temp=Temp.value""",
        """rule R1
define TVS_Malfun(km: double, temp: double)
from   Oxygen(km=$a) and
       last Temp($a-10 < km < $a+10 and value>30) within 5 min from Oxygen
where  km=Oxygen.km and temp=Temp.value
""",
    ),
    (
        "uncertainty, hierarchies R1",
        """Rule R1
define CE(attr:double)
from SE(attr>10)
where CE.attr = SE.attr""",
        """rule R1
define CE(attr: double)
from   SE(attr>10)
where  attr=SE.attr
""",
    ),
    (
        "uncertainty, hierarchies R2",
        """Rule R2
define CE2()
from CE(attr>20)""",
        """rule R2
define CE2()
from   CE(attr>20)
""",
    ),
    (
        "uncertainty, selection benchmark",
        """define  CompEv_i()
from    PrimEv_i(x-5 < value < x+5)""",
        """define CompEv_i()
from   PrimEv_i(x-5 < value < x+5)
""",
    ),
    (
        "uncertainty, combination benchmark",
        """define TVS_Malfun_i()
from LowOxygen_i(km=$a) and
last Temp_i($a-10 < km < $a+10 and value>x)
within 5 min. from LowOxygen_i""",
        """define TVS_Malfun_i()
from   LowOxygen_i(km=$a) and
       last Temp_i($a-10 < km < $a+10 and value>x) within 5 min from LowOxygen_i
""",
    ),
    (
        "uncertainty, negation benchmark",
        """define   TVS_Malfun_i()
from     Temp_i(km=$a and value>x) and
         not TrafficJam_i($a-10 < km < $a+10)
         within 5 min. from Temp_i""",
        """define TVS_Malfun_i()
from   Temp_i(km=$a and value>x) and
       not TrafficJam_i($a-10 < km < $a+10) within 5 min from Temp_i
""",
    ),
    (
        "uncertainty, aggregation benchmark with a stray parenthesis",
        """define   TVS_Malfun_i()
from     LowOxygen_i() and x < $t=Avg(Temp_i().value)
         within 5 min. from LowOxygen_i)""",
        """define TVS_Malfun_i()
from   LowOxygen_i() and
       x < $t = Avg(Temp_i().value within 5 min from LowOxygen_i)
""",
    ),
    (
        "deployment strategies R1",
        """Rule R1
define    Fire(area: string, measuredTemp: double)
from      Smoke(area=$a) and
           each Temp(area=$a and value>45)
           within 5 min. from Smoke
where     area=Smoke.area and measuredTemp=Temp.value""",
        """rule R1
define Fire(area: string, measuredTemp: double)
from   Smoke(area=$a) and
       each Temp(area=$a and value>45) within 5 min from Smoke
where  area=Smoke.area and measuredTemp=Temp.value
""",
    ),
    (
        "deployment strategies R2",
        """Rule R2
define   Fire(area: string, measuredTemp: double)
from     Temp(area=$a and value>45) and
         not Rain(area=$a) within 5 min. from Temp
where    area=Temp.area and measuredTemp=Temp.value""",
        """rule R2
define Fire(area: string, measuredTemp: double)
from   Temp(area=$a and value>45) and
       not Rain(area=$a) within 5 min from Temp
where  area=Temp.area and measuredTemp=Temp.value
""",
    ),
    (
        "deployment strategies R3",
        """Rule R3
define   Fire(area: string, measuredTemp: double)
from     Smoke(area=$a) and
         45 < $t=Avg(Temp(area=$a).value
         within 5 min. from Smoke)
where    area=Smoke.area and measuredTemp=$t""",
        """rule R3
define Fire(area: string, measuredTemp: double)
from   Smoke(area=$a) and
       45 < $t = Avg(Temp(area=$a).value within 5 min from Smoke)
where  area=Smoke.area and measuredTemp=$t
""",
    ),
    (
        "deployment strategies R4",
        """Rule R4
 define CompEvent()
 from A() and last B() within 5 min. from A
 and last C() within 5 min. from B
 and last D() within 5 min. from C
 and last E() within 5 min. from D""",
        """rule R4
define CompEvent()
from   A() and
       last B() within 5 min from A and
       last C() within 5 min from B and
       last D() within 5 min from C and
       last E() within 5 min from D
""",
    ),
    (
        "deployment strategies R5",
        """Rule R5
define   CompEvent()
from     A(v=$x) and last B(v=$x) within 5 min. from A
         and last C() within 5 min. from B""",
        """rule R5
define CompEvent()
from   A(v=$x) and
       last B(v=$x) within 5 min from A and
       last C() within 5 min from B
""",
    ),
    (
        "deployment strategies R6",
        """Rule R6
define   CompEvent()
from     A() and last B() within 5 min. from A
         and last C() within 5 min. from B
         and not D() between C and B""",
        """rule R6
define CompEvent()
from   A() and
       last B() within 5 min from A and
       last C() within 5 min from B and
       not D() between C and B
""",
    ),
    (
        "rule deployment R1",
        """Rule R1
define   CompEvent( )
from     A( ) and last B( ) within 5 min from A
         and last C( ) within 5 min from B
         and last D( ) within 5 min from C
         and last E( ) within 5 min from D""",
        """rule R1
define CompEvent()
from   A() and
       last B() within 5 min from A and
       last C() within 5 min from B and
       last D() within 5 min from C and
       last E() within 5 min from D
""",
    ),
    (
        "rule deployment R2",
        """Rule R2

define CompEvent()

from A(v=\\$x) and last B(v=\\$x) within 5 min from A
and last C() within 5 min from B""",
        """rule R2
define CompEvent()
from   A(v=$x) and
       last B(v=$x) within 5 min from A and
       last C() within 5 min from B
""",
    ),
    (
        "rule deployment R3",
        """Rule R3
define CompEvent( )
from A() and last B() within 5 min from A
and last C() within 5 min from B
and not D() between C and B""",
        """rule R3
define CompEvent()
from   A() and
       last B() within 5 min from A and
       last C() within 5 min from B and
       not D() between C and B
""",
    ),
]

PARTIAL_RULES = [
    ("A() and last B() within 5 min. from A", "A() and last B() within 5 min from A"),
    ("C() and each E() within 10 min. from C", "C() and each E() within 10 min from C"),
    ("D()", "D()"),
    ("C()", "C()"),
    ("A() and last B() within 5 min. from D", "A() and last B() within 5 min from D"),
    ("D() and last E() within 5 min. from D", "D() and last E() within 5 min from D"),
    ("A(v=$x) and last B(v=$x) within 5 min. from A", "A(v=$x) and last B(v=$x) within 5 min from A"),
    ("B() and last C() within 5 min. from B", "B() and last C() within 5 min from B"),
    (
        "B() and last C() within 5 min. from B\nand not D() between C and B",
        "B() and last C() within 5 min from B and not D() between C and B",
    ),
    ("A() and last B() within 5 min. from B", "A() and last B() within 5 min from B"),
    ("A() and last B() within 5 min from A", "A() and last B() within 5 min from A"),
    ("C() and each E() within 10 min from C", "C() and each E() within 10 min from C"),
    ("A() and last B() within 5 min from D", "A() and last B() within 5 min from D"),
    ("D() and last E() within 5 min from D", "D() and last E() within 5 min from D"),
    ("A(v=\\$x) and last B(v=\\$x) within 5 min from A", "A(v=$x) and last B(v=$x) within 5 min from A"),
    ("B and last C() within 5 min from B", "B() and last C() within 5 min from B"),
    (
        "B() and last C() within 5 min from B\nand not D() between C and B",
        "B() and last C() within 5 min from B and not D() between C and B",
    ),
    ("A() and last B() within 5 min from B", "A() and last B() within 5 min from B"),
]


@pytest.mark.parametrize(("printed", "canonical"), [pytest.param(*rule[1:], id=rule[0]) for rule in RULES])
def test_rules_parse_as_printed(printed: str, canonical: str) -> None:
    assert format_rules(parse(printed)) == canonical
    assert parse(canonical) == parse(printed)


def test_all_rules_of_the_papers_in_one_file() -> None:
    whole = parse("\n".join(printed for _, printed, _ in RULES))
    assert format_rules(whole) == "\n".join(canonical for _, _, canonical in RULES)


@pytest.mark.parametrize(("printed", "canonical"), PARTIAL_RULES)
def test_partial_rules_parse_as_printed(printed: str, canonical: str) -> None:
    assert " ".join(format_pattern(parse_pattern(printed)).split()) == canonical


@pytest.mark.parametrize(
    ("printed", "canonical"),
    [
        ('Temp(area="A1", value>=12)', "Temp(area='A1' and value>=12)"),
        ('Temp(area=" A1 " , value>=12)', "Temp(area=' A1 ' and value>=12)"),
    ],
)
def test_subscriptions_parse_as_printed(printed: str, canonical: str) -> None:
    assert format_event_pattern(parse_event_pattern(printed)) == canonical


def test_the_model_of_a_misprinted_aggregate() -> None:
    rule = next(printed for name, printed, _ in RULES if name.startswith("uncertainty, constrained"))
    a, ten, km = Parameter("a"), Constant(10, ValueType.INT), AttributeRef(None, "km")
    near = Comparison((Arithmetic("-", a, ten), km, Arithmetic("+", a, ten)), ("<", "<"))
    average = Aggregate("Avg", EventPattern("Temp", (near,)), AttributeRef(None, "value"), Within(5 * MINUTE, "Oxygen"))
    comparison = Comparison((Constant(30, ValueType.INT), average), ("<",))
    assert parse(rule).rules[0].pattern == Pattern(EventPattern("Oxygen"), (Aggregation(average, "t", comparison),))
