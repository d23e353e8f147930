"""The rules that the paper on deployment strategies splits up, by their names there."""

R4 = """
define CompEvent()
from A() and last B() within 5 min. from A
and last C() within 5 min. from B
and last D() within 5 min. from C
and last E() within 5 min. from D
"""
R5 = """
define CompEvent()
from A(v=$x) and last B(v=$x) within 5 min. from A
and last C() within 5 min. from B
"""
R6 = """
define CompEvent()
from A() and last B() within 5 min. from A
and last C() within 5 min. from B
and not D() between C and B
"""
R1 = """
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and
     each Temp(area=$a and value>45) within 5 min. from Smoke
where area=Smoke.area and measuredTemp=Temp.value
"""
