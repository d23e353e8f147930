"""``cepheus learn`` and ``cepheus calibrate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import command


def write_history(path: Path) -> None:
    """Temperatures, and an alarm after each that is above 45."""
    lines = []
    for number in range(300):
        value = 20 + 37 * number % 40
        lines.append({"type": "Temp", "time": 10 * number, "value": float(value)})
        if value > 45:
            lines.append({"type": "Alarm", "time": 10 * number})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_learned_rules_are_written_and_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command(monkeypatch, capsys, tmp_path)
    write_history(tmp_path / "history.jsonl")
    outcome = run("learn", "history.jsonl", "--target", "Alarm", "--time-unit", "s", "-o", "a.tesla", "--svg", "a.svg")
    assert outcome.code == 0, outcome.err
    assert "from   Temp(value>45.0)" in outcome.out
    assert "1 rule written to a.tesla" in outcome.err
    assert run("check", "a.tesla").code == 0
    assert Path("a.svg").read_text().startswith("<svg")
    outcome = run("learn", "history.jsonl", "--target", "Alram", "--time-unit", "s")
    assert outcome.code == 1
    assert "did you mean 'Alarm'?" in outcome.err


def test_rules_in_use_are_reviewed_and_written_as_they_would_be_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command(monkeypatch, capsys, tmp_path)
    write_history(tmp_path / "history.jsonl")
    Path("good.tesla").write_text("rule Hot define Alarm() from Temp(value > 45)")
    outcome = run("learn", "history.jsonl", "--review", "good.tesla", "--time-unit", "s")
    assert outcome.code == 0, outcome.err
    assert "rule Hot: holds: F1 1.000" in outcome.out
    Path("wide.tesla").write_text("rule Hot define Alarm() from Temp(value > 30)")
    outcome = run("learn", "history.jsonl", "--review", "wide.tesla", "--time-unit", "s", "-o", "new.tesla")
    assert "would be changed" in outcome.out
    assert run("learn", "history.jsonl", "--review", "new.tesla", "--time-unit", "s").out.count("F1 1.000") >= 2
    outcome = run("learn", "history.jsonl", "--time-unit", "s")
    assert outcome.code == 1
    assert "nothing says what to learn" in outcome.err
    assert run("learn", "history.jsonl", "--review", "good.tesla", "--svg", "x.svg", "--time-unit", "s").code == 1


def test_the_error_of_a_measurement_is_learned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command(monkeypatch, capsys, tmp_path)
    lines = []
    for number in range(100):
        lines.append({"type": "Right", "time": number, "x": 1.5 * number})
        lines.append({"type": "Temp", "time": number, "x": 1.5 * number + number % 5 - 2})
    Path("pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = ("learn", "pairs.jsonl", "--time-unit", "s", "--error", "Temp.x", "--against", "Right.x")
    outcome = run(*asked, "-o", "errors.tesla")
    assert outcome.code == 0, outcome.err
    assert "error Temp.x ~ U(-2.02, 2.02)" in outcome.out
    Path("rules.tesla").write_text("event Temp(x: double)\ndefine Hot() from Temp(x > 1)")
    assert run("check", "rules.tesla", "errors.tesla").code == 0
    assert "leave out --target" in run(*asked, "--target", "Temp").err
    assert "go with --error" in run("learn", "pairs.jsonl", "--target", "Right", "--alike").err
    assert run("learn", "pairs.jsonl", "--time-unit", "s", "--error", "Temp.y").code == 1


def test_tables_of_a_network_are_learned_from_cases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command(monkeypatch, capsys, tmp_path)
    Path("fire.tesla").write_text("define Fire() from Smoke()")
    Path("cases.csv").write_text("Fire,Smoke\n" + "YES,YES\n" * 9 + "NO,YES\n" * 3 + ",YES\n")
    outcome = run("bayes", "learn", "fire.tesla", "--cases", "cases.csv", "--smoothing", "0")
    assert outcome.code == 0, outcome.err
    assert "Fire has probability 0.75" in outcome.out
    assert "network Fire" in Path("fire.tesla").read_text()
    assert run("bayes", "learn", "fire.tesla", "--cases", "cases.txt").code == 1
    Path("cases.csv").write_text("Fyre\nYES\n")
    outcome = run("bayes", "learn", "fire.tesla", "--cases", "cases.csv")
    assert "names 'Fyre'" in outcome.err


def test_probabilities_are_compared_with_what_was_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command(monkeypatch, capsys, tmp_path)
    write_history(tmp_path / "history.jsonl")
    Path("warm.tesla").write_text("define Warm() from Temp(value > 40)")
    arguments = ("calibrate", "warm.tesla", "--events", "history.jsonl", "--target", "Alarm", "--time-unit", "s")
    outcome = run(*arguments, "--network", "counted.tesla")
    assert outcome.code == 0, outcome.err
    assert "Brier score" in outcome.out
    told = float(outcome.out.split("calibration error ")[1].split()[0])
    assert told > 0.1
    again = run("calibrate", "counted.tesla", *arguments[2:])
    assert again.code == 0, again.err
    assert float(again.out.split("calibration error ")[1].split()[0]) < 0.02
    assert run("calibrate", "warm.tesla", "--events", "history.jsonl", "--target", "Fire", "--time-unit", "s").code == 1
