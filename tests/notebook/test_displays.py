from __future__ import annotations

from pathlib import Path

import pytest

import cepheus
from cepheus.core.errors import OptionError

RULES = """
define Fire(area: string, temp: double)
from   Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
       and not Rain(area=$a) within 5 min from Smoke
where  area=Smoke.area and temp=Temp.value
define Alarm(area: string) from Fire() where area=Fire.area
"""
EVENTS = [
    {"type": "Temp", "time": 10, "area": "<script>", "value": 51.5},
    {"type": "Smoke", "time": 60, "area": "<script>"},
]


def _found() -> cepheus.Found:
    return cepheus.compile(RULES).detect(EVENTS, time_unit="s")


def test_reasons_go_down_to_the_events_from_outside() -> None:
    found = _found()
    alarm = next(place for place, event in enumerate(found.to_events()) if event.type == "Alarm")
    assert str(found.why(alarm)).splitlines() == [
        "1970-01-01T00:01:00Z Alarm  area=<script>   by rule Alarm",
        "└── 1970-01-01T00:01:00Z Fire  area=<script>  temp=51.5   by rule Fire",
        "    ├── 1970-01-01T00:01:00Z Smoke  area=<script>",
        "    ├── 1970-01-01T00:00:10Z Temp  area=<script>  value=51.5",
        "    └── and no Rain(area = $a) within 5 min from Smoke",
    ]


def test_a_composite_event_may_be_named_by_its_id() -> None:
    found = _found()
    identity = found.to_events()[0].id
    assert isinstance(identity, str)
    assert str(found.why(identity)) == str(found.why(0)) != str(found.why(-1))


@pytest.mark.parametrize("which", [2, -3, "Fire:0000"])
def test_one_that_is_not_there_is_refused(which: int | str) -> None:
    with pytest.raises(OptionError, match="there is no composite event"):
        _found().why(which)


def test_events_in_files_are_told_by_their_ids_alone(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"type": "Smoke", "time": 60, "id": "s1"}\n')
    found = cepheus.compile("define Fire() from Smoke()").detect(file, time_unit="s")
    assert "event s1, which is not at hand" in str(found.why())


def test_what_comes_from_data_is_never_markup() -> None:
    found = _found()
    for html in (found._repr_html_(), found.why()._repr_html_(), cepheus.compile(RULES)._repr_html_()):
        assert "<script" not in html
    assert "&lt;script&gt;" in found._repr_html_()
    assert "&lt;script&gt;" in found.why()._repr_html_()


def test_tables_say_how_much_they_leave_out() -> None:
    events = [{"type": "Temp", "time": second, "value": 0.5} for second in range(50)]
    found = cepheus.compile("define Any(v: double) from Temp() where v=Temp.value").detect(events, time_unit="s")
    html = found._repr_html_()
    assert "50 composite events, the first 20 shown" in html
    assert html.count("<tr>") == 21
    assert "0 composite events" in cepheus.compile("define Any() from Other()").detect(events)._repr_html_()


def test_rules_are_shown_with_words_and_drawing() -> None:
    html = cepheus.compile(RULES)._repr_html_()
    assert "in words" in html
    assert "<svg" in html
    assert "color:" in html  # of the rule text
    assert "take the last Temp in the 5 min before Smoke" in str(cepheus.compile(RULES).explain())


@pytest.mark.parametrize("count", [0, 2, 30_000])
def test_timelines_are_pictures(count: int, tmp_path: Path) -> None:
    events = [{"type": "Temp", "time": second, "value": float(second)} for second in range(count)]
    picture = cepheus.compile("define Hot() from Temp(value = 1.0)").plot(events, time_unit="s")
    assert picture._repr_png_().startswith(b"\x89PNG")
    picture.save(tmp_path / "timeline.svg")
    assert (tmp_path / "timeline.svg").read_text().count("<svg") == 1


def test_a_batch_that_is_fed_has_a_table_too() -> None:
    with cepheus.compile(RULES).start(time_unit="s") as session:
        assert "2 composite events" in session.feed(EVENTS)._repr_html_()
