"""Cepheus in ten lines: a rule, some events, what the rule finds."""

import cepheus

program = cepheus.compile("""
    define Fire(area: string, temp: double)
    from   Smoke(area=$a) and last Temp(area=$a and value > 45) within 5 min from Smoke
    where  area=Smoke.area and temp=Temp.value
""")
events = [
    {"type": "Temp", "time": 120, "area": "A1", "value": 51.0},
    {"type": "Smoke", "time": 240, "area": "A1"},
]
for fire in program.detect(events, time_unit="s").to_events():
    print(fire.type, dict(fire.attributes), "made of events", fire.made_of)
