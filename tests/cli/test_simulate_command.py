"""cepheus simulate: scenarios from files, what it prints and draws, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Command, command

_SMALL = """
duration = "2 s"
warm_up = "1 s"
[network]
processors = 4
neighbours = 2
[workload]
types = 6
rules = 3
subscriptions = 2
slowest = 1.0
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


def test_random_scenarios(run: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(_SMALL, encoding="utf-8")
    result = run("simulate", "small.toml", "--strategy", "ST", "--strategy", "MT", "--svg", "network.svg")
    assert result.code == 0, result.err
    assert "4 processors, 3 rules, 6 sources" in result.out
    assert (tmp_path / "network.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("duration = 'soon'", "not a duration"),
        ("strategi = 'ST'", "did you mean 'strategy'"),
        ("strategy = 'XX'", "not a choice"),
        ("[network]\ntopology = 'star'", "no topology"),
        ("x = ", "not TOML"),
    ],
)
def test_mistakes_are_told(run: Command, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    result = run("simulate", "bad.toml")
    assert result.code == 1
    assert words in result.err
