"""Every rule printed in the papers passes the checks.

Left out are the outlines whose attributes and clauses are only hinted at, such as ``define CE(att_1: Type_1, ..)
from Pattern``. Where a paper prints a family of rules with x for a constant, x is an attribute to the parser, and the
rule passes as it stands. One rule is refused, and rightly: see the last test.
"""

import pytest
from check_helpers import checked, error

FIRE = "define Fire(area: string, measuredTemp: double) from "
TUNNEL = "define TVS_Malfun(km:double, temp:double, ox:double) from "
CHAIN = """define CompEvent() from A() and last B() within 5 min. from A and last C() within 5 min. from B
    and last D() within 5 min. from C and last E() within 5 min. from D"""

PRINTED = {
    "touch": (
        """define Touch(room: string, painting: string)
        from   Vibration(painting=$p and value>3.0) and
               each PeopleNear(painting=$p) within 2 min. from Vibration
        where  room=Vibration.room and painting=Vibration.painting""",
        "Schema(Vibration(painting: string, value: double, room: string), PeopleNear(painting: string))",
    ),
    "theft by absence": (
        """define Theft(room: string, painting: string)
        from   Vibration(room=$r and painting=$p and value>3.0) and
               each PeopleNear(painting=$p) within 5 min. from Vibration
               and not StaffAt(room=$r) within 1 min. from Vibration
        where  room=Vibration.room and painting=Vibration.painting""",
        "Schema(Vibration(room: string, painting: string, value: double), PeopleNear(painting: string), "
        "StaffAt(room: string))",
    ),
    "theft by average": (
        """define Theft(room: string, painting: string)
        from   Vibration(room=$r and painting=$p and value>3.0) and
               v=Avg(Vibration(room=$r and painting=$p)
                     within 5 min. from Vibration).value > 3.0
        where  room=Vibration.room and painting=Vibration.painting""",
        "Schema(Vibration(room: string, painting: string, value: double))",
    ),
    "chain": (CHAIN, "Schema(A(), B(), C(), D(), E())"),
    "tunnel": (
        TUNNEL
        + """Oxygen(concentr=<18% and km=$a) and
        last Temp($a-10 < km < $a+10 and value>30)
        within 5 min. from Oxygen
        where   km=Oxygen.km and temp=Temp.value and ox=Oxygen.concentr""",
        "Schema(Oxygen(concentr: double, km: double), Temp(km: double, value: double))",
    ),
    "tunnel by absence": (
        """define TVS_Malfun(km:double, temp:double)
        from   Temp(km=$a and value>30) and
               not TrafficJam($a-10 < km < $a+10)
               within 5 min. from Temp
        where  km=Temp.km and temp=Temp.value""",
        "Schema(Temp(km: double, value: double), TrafficJam(km: double))",
    ),
    "tunnel by average": (
        TUNNEL
        + """Oxygen(concentr=<18% and km=$a) and
         30 < $t = Avg(Temp($a-10 < km < $a+10).value
         within 5 min. from Oxygen)
         where    km=Oxygen.km and temp=$t and ox=Oxygen.concentr""",
        "Schema(Oxygen(concentr: double, km: double), Temp(km: double, value: double))",
    ),
    "selection": (
        "define TVS_Malfun() from Temp(km < 17.1 and value > 30)",
        "Schema(Temp(km: double, value: double))",
    ),
    "average of all": (
        "define TVS_Malfun() from Oxygen() and 30 < $t=Avg(Temp()).value within 5 min. from Oxygen)",
        "Schema(Oxygen(), Temp(value: double))",
    ),
    "hierarchy": (
        """define CE(attr:double) from SE(attr>10) where CE.attr = SE.attr
        define CE2() from CE(attr>20)""",
        "Schema(SE(attr: double))",
    ),
    "selection workload": (
        "define CompEv_i() from PrimEv_i(x-5 < value < x+5)",
        "Schema(PrimEv_i(x: double, value: double))",
    ),
    "combination workload": (
        """define TVS_Malfun_i() from LowOxygen_i(km=$a) and
        last Temp_i($a-10 < km < $a+10 and value>x) within 5 min. from LowOxygen_i""",
        "Schema(LowOxygen_i(km: double), Temp_i(km: double, value, x))",
    ),
    "negation workload": (
        """define TVS_Malfun_i() from Temp_i(km=$a and value>x) and
        not TrafficJam_i($a-10 < km < $a+10) within 5 min. from Temp_i""",
        "Schema(Temp_i(km: double, value, x), TrafficJam_i(km: double))",
    ),
    "fire": (
        FIRE
        + """Smoke(area=$a) and each Temp(area=$a and value>45) within 5 min. from Smoke
        where area=Smoke.area and measuredTemp=Temp.value""",
        "Schema(Smoke(area: string), Temp(area: string, value: double))",
    ),
    "fire by absence": (
        FIRE
        + """Temp(area=$a and value>45) and not Rain(area=$a) within 5 min. from Temp
        where    area=Temp.area and measuredTemp=Temp.value""",
        "Schema(Temp(area: string, value: double), Rain(area: string))",
    ),
    "fire by average": (
        FIRE
        + """Smoke(area=$a) and 45 < $t=Avg(Temp(area=$a).value within 5 min. from Smoke)
        where    area=Smoke.area and measuredTemp=$t""",
        "Schema(Smoke(area: string), Temp(area: string, value: double))",
    ),
    "parameter": (
        """define CompEvent() from A(v=$x) and last B(v=$x) within 5 min. from A
        and last C() within 5 min. from B""",
        "Schema(A(v), B(v), C())",
    ),
    "negation between": (
        """define CompEvent() from A() and last B() within 5 min. from A and last C() within 5 min. from B
        and not D() between C and B""",
        "Schema(A(), B(), C(), D())",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_rules_pass(name: str) -> None:
    text, inputs = PRINTED[name]
    result = checked(text, closed=False)
    assert repr(result.inputs) == inputs
    assert result.warnings == ()


def test_the_rule_whose_sector_nothing_binds_is_refused() -> None:
    text = """define TVS_Malfun() from Oxygen() and
        30 < $t = Avg(Temp($a-10 < km < $a+10)).value within 5 min. from Oxygen)"""
    assert error(text, closed=False)[:3] == ("unbound-parameter", "$a", "$a is used, but nothing binds it")
