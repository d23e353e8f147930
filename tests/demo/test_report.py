"""What the demo prints and draws."""

from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console, RenderableType

from cepheus.core.event import Event
from cepheus.core.time import MINUTE
from cepheus.demo import TUNNEL, Incident, Stream
from cepheus.demo.report import draw_timeline, first_of_each, found_table, incident_table, known_events, why
from cepheus.explain.asked import asked_of
from cepheus.language.tesla import parse

STREAM = Stream(
    (
        Event("Temp", 1 * MINUTE, {"km": 9.0, "value": 36.5}),
        Event("Oxygen", 2 * MINUTE, {"km": 9.0, "concentr": 17.25}),
        Event("Temp", 30 * MINUTE, {"km": 1.0, "value": 20.0}),
    ),
    (Incident("shaft blocked", 0, 5 * MINUTE, ("TVS_Malfun",)), Incident("jam", 6 * MINUTE, 7 * MINUTE, ("Danger",))),
)
MALFUNCTION = Event(
    "TVS_Malfun", 2 * MINUTE, {"km": 9.0, "temp": 36.5, "ox": 17.25}, id="TVS_Malfun:1", rule="R1", made_of=(1, 0)
)
DANGER = Event("Danger", 2 * MINUTE, {"km": 9.0}, id="Danger:1", rule="R4", made_of=("TVS_Malfun:1",))


def shown(item: RenderableType) -> list[str]:
    console = Console(width=140, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(item)
    return [line.rstrip() for line in capture.get().splitlines()]


def test_incidents_are_compared_with_what_should_be_found() -> None:
    assert shown(incident_table(STREAM, [MALFUNCTION])) == [
        "staged         from      to        found",
        "shaft blocked  00:00:00  00:05:00  TVS_Malfun 1  as it should be",
        "jam            00:06:00  00:07:00  nothing       not as it should be",
        "all the rest                       nothing       as it should be",
    ]


def test_composite_events_are_counted_by_rule() -> None:
    assert shown(found_table(TUNNEL, [MALFUNCTION, MALFUNCTION, DANGER])) == [
        "rule  composite event  times  first     last      km",
        "R1    TVS_Malfun           2  00:02:00  00:02:00  9",
        "R4    Danger               1  00:02:00  00:02:00  9",
    ]


def test_why_goes_down_to_the_primitive_events() -> None:
    asked = asked_of(parse(TUNNEL.rules).rules)
    known = known_events(STREAM, [MALFUNCTION, DANGER])
    assert shown(why(DANGER, known, asked)) == [
        "00:02:00 Danger  km=9   by rule R4",
        "├── 00:02:00 TVS_Malfun  km=9  temp=36.5  ox=17.25   by rule R1",
        "│   ├── 00:02:00 Oxygen  km=9  concentr=17.25",
        "│   └── 00:01:00 Temp  km=9  value=36.5",
        "├── and $n = Count over TVS_Malfun($a-3 < km < $a+3) within 10 min from TVS_Malfun, and 3 <= $n",
        "└── and no Danger($a-6 < km < $a+6) within 30 min from TVS_Malfun",
    ]


def test_the_first_of_each_type_is_explained() -> None:
    assert first_of_each([MALFUNCTION, DANGER, DANGER]) == [MALFUNCTION, DANGER]


def test_the_timeline_is_written_as_png_and_svg_and_the_same_each_time(tmp_path: Path) -> None:
    png, svg = draw_timeline(TUNNEL, STREAM, [MALFUNCTION], tmp_path / "a")
    again, svg_again = draw_timeline(TUNNEL, STREAM, [MALFUNCTION], tmp_path / "b")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert png.read_bytes() == again.read_bytes()
    assert svg.read_bytes() == svg_again.read_bytes()
