"""``cepheus demo`` from the outside."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cepheus.cli import app
from cepheus.core.errors import OptionError
from cepheus.demo import on_spark


def demo(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["demo", "--on", "embedded", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return re.sub(r"[\d,]+ events/s", "N events/s", result.output)


def test_it_finds_the_incidents_says_why_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = demo("--scenario", "tunnel", "--events", "5000", "--seed", "3", "--out", "pictures")
    assert "not as it should be" not in printed
    assert printed.count("as it should be") == 5
    assert re.search(r"5,000 events, \d+ composite events, engine \w+, N events/s\n", printed)
    assert "timeline: pictures/tunnel-timeline.png\ntimeline: pictures/tunnel-timeline.svg\n" in printed
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == [
        "tunnel-timeline.png",
        "tunnel-timeline.svg",
    ]
    assert demo("--scenario", "tunnel", "--events", "5000", "--seed", "3", "--out", "pictures") == printed


def test_without_spark_it_says_so_and_runs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_spark, "what_is_missing", lambda: "there is no Java 17 or newer")
    arguments = ["demo", "--scenario", "museum", "--events", "5000", "--out", str(tmp_path)]
    printed = CliRunner().invoke(app, arguments, catch_exceptions=False).output
    assert printed.startswith(
        "Spark cannot run here, because there is no Java 17 or newer: the rules run in this process."
    )
    assert "as it should be" in printed
    with pytest.raises(OptionError, match="the demo cannot run on Spark here: there is no Java"):
        CliRunner().invoke(app, [*arguments, "--on", "spark"], catch_exceptions=False)


def test_too_few_events_are_refused() -> None:
    with pytest.raises(OptionError, match="7 events are too few for the demo"):
        demo("--events", "7")


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(OptionError, match="cannot be written"):
        demo("--scenario", "museum", "--events", "5000", "--out", str(tmp_path / "taken"))
