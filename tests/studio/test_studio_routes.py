"""What the page is told: rules as they are written, runs, reasons, other numbers, networks, live rules, reports."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from studio_cases import QUERY, SCENARIO, posting

from cepheus.api import compile
from cepheus.studio.examples import FIRE
from cepheus.studio.live import Sources
from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace

Ask = Callable[..., Any]
HOT = "define Hot(v: int) from Temp(value > 5) where v = Temp.value"


@pytest.fixture
def studio(start_studio: Callable[..., Studio], tmp_path: Path) -> Studio:
    scenario = tmp_path / "line.toml"
    scenario.write_text(SCENARIO)
    (tmp_path / "live.jsonl").touch()
    workspace = Workspace.of([])
    workspace.scenarios = (scenario,)
    return start_studio(workspace, sources=Sources(follow=(tmp_path / "live.jsonl",)))


@pytest.fixture
def ask(studio: Studio) -> Ask:
    def asking(path: str, body: object = None, status: int = 200) -> Any:
        headers = {"authorization": f"Bearer {studio.access.token}"}
        address = f"{studio.access.origin}/api/{path}"
        found = httpx.get(address, headers=headers, timeout=60) if body is None else None
        found = found or httpx.post(address, json=body, headers=headers, timeout=60)
        assert found.status_code == status, found.text
        return found.json() if "json" in found.headers["content-type"] else found.text

    return asking


def test_mistakes_colours_and_rules_of_a_text(ask: Ask) -> None:
    wrong = ask("analyse", {"text": "define Fire() from Smoke() where heat = 1"})
    assert [finding["code"] for finding in wrong["findings"]] == ["unknown-attribute"]
    right = ask("analyse", {"text": FIRE})
    assert right["findings"] == []
    assert [rule["name"] for rule in right["rules"]] == ["Fire"]
    assert [FIRE[a:b] for a, b, kind in right["colours"] if kind == "keyword"][:2] == ["define", "from"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("pair(X) <- a(X) SEQ b(X).", "etalis"),
        (QUERY, "sql"),
    ],
)
def test_all_languages_are_understood_and_drawn(ask: Ask, text: str, language: str) -> None:
    told = ask("analyse", {"text": text})
    assert told["language"] == language
    assert all(finding["severity"] == "warning" for finding in told["findings"])
    assert "<svg" in ask("draw", {"text": text})["svg"]


def test_completion_hover_and_layout(ask: Ask) -> None:
    labels = [each["label"] for each in ask("complete", {"text": FIRE, "offset": FIRE.index("Temp(area") + 5})]
    assert "value" in labels
    assert "Temp" in ask("hover", {"text": FIRE, "offset": FIRE.index("Temp(area") + 1})["text"]
    assert ask("format", {"text": "define A() from B"})["text"] == "define A()\nfrom   B()\n"


def test_a_run_and_its_reasons(ask: Ask) -> None:
    opened = ask("example", {"name": "fire"})
    ran = ask("run", {"text": opened["text"]})
    assert ran["counts"] == {"Fire": 1}
    view = {"start": opened["events"]["start"], "end": opened["events"]["end"] + 1}
    lanes = ask("timeline", view)["lanes"]
    assert {lane["name"]: lane["count"] for lane in lanes} == {"Fire": 1, "Temp": 360, "Smoke": 3, "Rain": 1}
    by_area = ask("timeline", {**view, "keys": {"Temp": "area"}})["lanes"]
    assert [lane["count"] for lane in by_area if lane["type"] == "Temp"] == [120, 120, 120]
    tree = ask("why", {"row": 0})["tree"]
    assert [part["event"]["type"] for part in tree["parts"]] == ["Smoke", "Temp"]
    assert tree["conditions"] == ["and no Rain(area = $a) within 10 min from Smoke"]


def test_aggregates_tell_what_they_counted(ask: Ask) -> None:
    ask("example", {"name": "fire"})
    count = "$n = Count(Temp(area=$a and value > 40) within 5 min from Smoke)"
    ask("run", {"text": f"define Hot(n: int) from Smoke(area=$a) and {count} where n = $n"})
    found = ask("why", {"row": 0})
    (counted,) = found["counted"]
    assert counted["count"] == found["tree"]["event"]["attributes"]["n"] == len(counted["events"])


def test_why_not_names_the_nearest_miss(ask: Ask) -> None:
    opened = ask("example", {"name": "fire"})
    ask("run", {"text": opened["text"]})
    lanes = ask("timeline", {"start": opened["events"]["start"], "end": opened["events"]["end"]})["lanes"]
    smoke = next(lane for lane in lanes if lane["name"] == "Smoke")
    told = ask("why-not", {"rule": "Fire", "row": smoke["rows"][1]})
    assert "value 44.8 is below 45" in told["nearest"]
    rain = ask("why-not", {"rule": "Fire", "at": smoke["times"][2]})
    assert [part["outcome"] for part in rain["parts"]] == ["held", "held", "failed"]


def test_other_numbers_find_as_the_rule_written_so(ask: Ask) -> None:
    opened = ask("example", {"name": "fire"})
    knob = ask("knobs", {"text": opened["text"]})[0]
    assert knob["text"] == "value > 45"
    assert ask("turn", {"text": opened["text"], "values": {knob["name"]: 44}})["counts"] == {"Fire": 2}
    swept = ask("sweep", {"text": opened["text"], "knob": knob["name"], "low": 40, "high": 60, "steps": 5})
    counts = [(point["value"], point["count"]) for point in swept["points"]]
    assert counts == [(40, 2), (45, 1), (50, 1), (55, 0), (60, 0)]


def test_a_belief_is_edited_in_the_rule_text(ask: Ask) -> None:
    told = ask("belief", {"text": FIRE, "rule": "Fire"})
    assert told["probability"] == 1.0
    edit = {"text": FIRE, "rule": "Fire", "node": "Barbecue", "states": ["YES", "NO"], "rows": [[0.2, 0.8]]}
    told = ask("belief/edit", edit)
    rows = [[1, 0], [1, 0], [0.5, 0.5], [0, 1]]
    smoke = {"node": "Smoke", "parents": ["Fire", "Barbecue"], "states": ["YES", "NO"], "rows": rows}
    told = ask("belief/edit", {"text": told["text"], "rule": "Fire", **smoke})
    temp = {"node": "Temp", "parents": ["Fire"], "states": ["YES", "NO"], "rows": [[1, 0], [0.5, 0.5]]}
    rain = {"node": "Rain", "parents": ["Fire"], "states": ["YES", "NO"], "rows": [[0, 1], [0, 1]]}
    for table in (temp, rain):
        told = ask("belief/edit", {"text": told["text"], "rule": "Fire", **table})
    assert told["probability"] == pytest.approx(1 / (1 + 0.2 * 0.5 * 0.5))
    assert compile(told["text"]).belief("Fire").probability() == pytest.approx(told["probability"])
    bif = ask("belief/export", {"text": told["text"], "rule": "Fire"})["text"]
    again = ask("belief/edit", {"text": FIRE, "rule": "Fire", "file": bif, "kind": "bif"})
    assert again["probability"] == pytest.approx(told["probability"])
    wrong = {"text": FIRE, "rule": "Fire", "node": "B", "states": ["YES", "NO"], "rows": [[0.2, 0.7]]}
    assert "sum to 0.9" in ask("belief/edit", wrong, 422)["diagnostics"][0]["message"]


def test_a_growing_file_is_followed_and_nothing_is_lost(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "live.jsonl"
    ask("live/start", {"text": HOT, "kind": "follow", "source": "live.jsonl"})

    def append(first: int, last: int) -> None:
        with file.open("a") as stream:
            for number in range(first, last):
                stream.write(json.dumps({"type": "Temp", "time": number, "value": number % 10}) + "\n")

    def settled(events: int) -> dict[str, Any]:
        for _ in range(600):
            state: dict[str, Any] = ask("live/state", {"since": 0})
            if state["events"] == events:
                break
            time.sleep(0.05)
        return state

    append(0, 1000)
    assert settled(1000)["by_type"] == {"Hot": 400}
    assert ask("live/pause", {"paused": True})["paused"]
    append(1000, 1500)
    time.sleep(0.3)
    waiting = ask("live/state", {"since": 0})
    assert waiting["events"] == 1000
    assert waiting["waiting"] > 0
    plan = ask("live/plan", {"text": "define Cold() from Temp(value < 1)"})
    assert {each["name"]: each["kind"] for each in plan} == {"Hot": "withdraw", "Cold": "deploy"}
    ask("live/apply", {"text": "define Cold() from Temp(value < 1)"})
    ask("live/pause", {"paused": False})
    state = settled(1500)
    assert state["by_type"] == {"Hot": 400, "Cold": 50}
    assert state["matched"] == 450
    numbers = [each["number"] for each in state["matches"]]
    assert numbers == list(range(1, 451))
    assert ask("live/stop", {})["stopped"]


def test_a_network_is_simulated_with_its_playback(ask: Ask) -> None:
    found = ask("network/simulate", {"scenario": "line.toml"})
    assert [each["name"] for each in found["processors"]] == ["p1", "p2", "p3"]
    assert found["received"] == sum(frame["received"] for frame in found["frames"])
    last: dict[tuple[str, str], int] = {}
    for frame in found["frames"]:
        for one, other, count in frame["links"]:
            last[one, other] = last.get((one, other), 0) + count
    for link in found["links"]:
        assert link["there"] * found["seconds"] == pytest.approx(last.get((link["one"], link["other"]), 0))
    crashed = ask("network/simulate", {"scenario": "line.toml", "faults": [{"processor": "p2", "at": 2, "seconds": 1}]})
    assert crashed["faults"] == [{"processor": "p2", "at": 2, "until": 3}]
    assert crashed["received"] == crashed["calm"]
    assert "there is no scenario" in ask("network/simulate", {"scenario": "x"}, 422)["diagnostics"][0]["message"]


def test_a_report_is_one_file_without_scripts(ask: Ask) -> None:
    opened = ask("example", {"name": "fire"})
    ask("run", {"text": opened["text"]})
    bounds = {"start": opened["events"]["start"], "end": opened["events"]["end"]}
    html = ask("report", {"title": "<b>Fire</b>", "notes": "a <script>", **bounds})
    assert html.startswith("<!doctype html>")
    assert "<script" not in html
    assert "&lt;b&gt;Fire" in html
    assert "src=" not in html
    assert "Rain" in html


def test_without_events_or_runs_it_is_said(ask: Ask) -> None:
    assert ask("run", {"text": FIRE}, 422)["diagnostics"][0]["message"] == "no events are loaded"
    ask("example", {"name": "fire"})
    assert ask("why", {"row": 0}, 422)["diagnostics"][0]["message"] == "nothing was run yet"
    assert "there is no example" in ask("example", {"name": "x"}, 422)["diagnostics"][0]["message"]


def test_events_without_rules_tell_what_rules_can_say_of_them(
    start_studio: Callable[..., Studio], tmp_path: Path
) -> None:
    file = tmp_path / "rooms.jsonl"
    lines = [
        {"type": "Door", "time": 1, "room": "A", "a\nb": 1},
        {"type": "Door", "time": 2, "room": "B", "open": True},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    ask = posting(start_studio(Workspace.of([], [file])))
    text = ask("state")["documents"][0]["text"]
    assert "//   event Door(room: string, `a b`: int, open: bool)\n" in text
    assert ask("analyse", {"text": text, "name": "untitled.tesla"})["language"] == "tesla"
    begun = f"{text}define A() from Door("
    found = ask("complete", {"text": begun, "name": "untitled.tesla", "offset": len(begun)})
    assert {"room", "open"} <= {each["label"] for each in found}
    declared = "event Door(room: string)\ndefine A() from Door("
    found = ask("complete", {"text": declared, "name": "untitled.tesla", "offset": len(declared)})
    assert "open" not in {each["label"] for each in found}


def test_answers_are_not_held_back(studio: Studio) -> None:
    """Of sockets that say that they are TCP alone asyncio turns off the waiting for more to send: 40 ms an answer."""
    assert studio._socket.proto == socket.IPPROTO_TCP
