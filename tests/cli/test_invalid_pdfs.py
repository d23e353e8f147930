"""Errors that are no distributions and networks that make no sense: each is told with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Command, command

HOT = "event Temp(value: double)\ndefine Hot() from Temp(value > 45)\n"
BAD = [
    ("N(0, -1)", "has a negative variance"),
    ("U(2, 1)", "has its lower bound above its upper bound"),
    ("D(0: 0.5, 1: 0.6)", "sum to 1.1, not to 1"),
    ("M(0.5: N(0, 1), 0.4: U(0, 1))", "sum to 0.9, not to 1"),
    ("M(0.5: N(0, 1), 0.5: U(1, 0))", "has its lower bound above its upper bound"),
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    found = command(monkeypatch, capsys, tmp_path)
    Path("hot.tesla").write_text(HOT)
    return found


@pytest.mark.parametrize(("text", "words"), BAD)
def test_in_rule_files(run: Command, text: str, words: str) -> None:
    Path("hot.tesla").write_text(f"{HOT}error Temp.value ~ {text}\n")
    done = run("check", "hot.tesla")
    assert done.code == 1
    assert done.err.startswith("hot.tesla:3:20: error[distribution]: ")
    assert words in done.err


def _records(text: str) -> dict[str, str]:
    """Give a good event and then a bad one, in every form that a file may have."""
    good = {"type": "Temp", "time": 1, "value": {"value": 50.0, "error": "N(0, 1)"}}
    bad = {"type": "Temp", "time": 2, "value": {"value": 50.0, "error": text}}
    return {
        "events.jsonl": f"{json.dumps(good)}\n{json.dumps(bad)}\n",
        "events.csv": f'type,time,value\nTemp,1,"<50, N(0, 1)>"\nTemp,2,"<50, {text}>"\n',
        "some.events": f"Temp@1 (value=<50, N(0, 1)>)\nTemp@2 (value=<50, {text}>)\n",
    }


@pytest.mark.parametrize(("text", "words"), BAD)
def test_in_files_of_events(run: Command, text: str, words: str) -> None:
    for name, content in _records(text).items():
        Path(name).write_text(content)
        line = 3 if name.endswith(".csv") else 2
        done = run("detect", "hot.tesla", "--events", name)
        assert done.code == 1, name
        assert done.err.startswith(f"{name}:{line}"), name
        assert words in done.err, name
        skipped = run("detect", "hot.tesla", "--events", name, "--on-bad-event", "skip")
        assert (skipped.code, skipped.out.count("Hot")) == (0, 1), name


NETWORKS = [
    ("node Jam {HIGH: .5, LOW: .6}", "node Jam ", "the probabilities of 'Jam' sum to 1.1, not to 1"),
    ("node Jam {HIGH: -.5, LOW: 1.5}", "node Jam ", "-0.5"),
    ("node Jam {COLD < 5 < HOT} ~ N(0, -4)", "node Jam {COLD < 5 < HOT} ~ ", "has a negative variance"),
    ("node Jam {COLD < 5 < HOT} ~ U(9, 1)", "node Jam {COLD < 5 < HOT} ~ ", "has its lower bound above"),
    (
        "node X given Y {*: {A: .5, B: .5}} node Y given X {*: {A: .5, B: .5}}",
        "node ",
        "the network is cyclic: X -> Y -> X",
    ),
    ("node Temp given Hot {*: {YES: 0, NO: 1}}", None, "what is observed cannot be: Temp = YES"),
]


@pytest.mark.parametrize(("text", "before", "words"), NETWORKS)
def test_in_networks(run: Command, text: str, before: str | None, words: str) -> None:
    Path("hot.tesla").write_text(f"{HOT}network Hot {{\n{text}\n}}\n")
    done = run("check", "hot.tesla")
    assert done.code == 1
    place = "hot.tesla:3:9" if before is None else f"hot.tesla:4:{len(before) + 1}"
    assert done.err.startswith(f"{place}: error["), done.err
    assert words in done.err
