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


QUERY = """SELECT * FROM Stock MATCH_RECOGNIZE (
  ORDER BY time MEASURES LAST(DOWN.price) AS low
  PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price)
) AS Fall"""
PRICES = [{"type": "Stock", "time": time, "price": price} for time, price in enumerate([9, 7, 5, 6])]


def test_matches_of_queries_over_rows_have_reasons_too() -> None:
    found = cepheus.compile(QUERY).detect(PRICES, time_unit="s")
    assert str(found.why(0)).splitlines() == [
        "1970-01-01T00:00:02Z Fall  low=5   by rule Fall",
        "├── 1970-01-01T00:00:00Z Stock  price=9",
        "├── 1970-01-01T00:00:01Z Stock  price=7",
        "├── 1970-01-01T00:00:02Z Stock  price=5",
        "├── rows that follow one another as STRT DOWN+",
        "└── DOWN: price < PREV(price)",
    ]


def test_rules_over_intervals_have_reasons_too() -> None:
    events = [{"type": "a", "time": 1, "x": 1}, {"type": "b", "time": 3, "x": 2}]
    found = cepheus.compile("pair(X, Y) <- a(X) SEQ b(Y) WHERE X < Y.").detect(events, time_unit="s")
    assert str(found.why(0)).splitlines() == [
        "1970-01-01T00:00:03Z pair  arg1=1  arg2=2   by rule pair",
        "├── 1970-01-01T00:00:01Z a  arg1=1",
        "├── 1970-01-01T00:00:03Z b  arg1=2",
        "└── as a(X) SEQ b(Y) WHERE X < Y",
    ]


@pytest.mark.parametrize("rules", [QUERY, "pair(X, Y) <- a(X) SEQ b(Y)."])
def test_rules_of_other_languages_are_shown_with_words_and_drawing(rules: str) -> None:
    program = cepheus.compile(rules)
    html = program._repr_html_()
    assert "color:" in html
    assert "<svg" in html
    assert str(program.explain())
    assert "makes" in html


def test_a_bar_appears_after_a_moment_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("IPython", reason="the extra 'notebook' is not installed")
    from IPython import display

    from cepheus.notebook.progress import bar

    told: list[str] = []

    class Handle:
        def update(self, html: display.HTML) -> None:
            told.append(html.data)

    def show(html: display.HTML, *, display_id: bool) -> Handle:
        assert display_id
        told.append(html.data)
        return Handle()

    monkeypatch.setattr(display, "display", show)
    now = [0.0]
    with bar("reading", lambda: now[0]) as tell:
        for now[0] in (0.2, 0.4, 0.6, 0.65, 2.0):
            tell(now[0] / 4, "<events>")
    assert ["15%" in told[0], "50%" in told[1], told[2:]] == [True, True, [""]]
    assert "<events>" not in told[1]


def test_who_looks_at_long_runs_is_told(tmp_path: Path) -> None:
    from collections.abc import Iterator
    from contextlib import contextmanager

    from cepheus.core.progress import Tell, show_with

    file = tmp_path / "events.jsonl"
    file.write_text('{"type": "Temp", "time": 60, "value": 50}\n')
    shares: list[tuple[str, float]] = []

    @contextmanager
    def look(title: str) -> Iterator[Tell]:
        yield lambda share, _what: shares.append((title, share))

    program = cepheus.compile("define Hot() from Temp(value > 45)")
    show_with(look)
    try:
        program.detect(file, time_unit="s")
        program.sweep(file, "Hot: value > 45", [40, 60], time_unit="s")
    finally:
        show_with(None)
    assert shares[0][0] == "reading events"
    assert shares[0][1] > 0
    assert shares[-1] == ("trying values of Hot: value > 45", 1.0)
