"""Files of rules in which there is no rule."""

from pathlib import Path

import pytest
from command import Command, command


@pytest.fixture
def cepheus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    made = command(monkeypatch, capsys, tmp_path)
    Path("empty.tesla").write_text("// to do\n")
    Path("ok.csv").write_text("type,time,area,value\nTemp,1,A1,50\nSmoke,2,A1,\n")
    return made


EVENTS = ("--events", "ok.csv", "--time-unit", "s")


@pytest.mark.parametrize("arguments", [("why-not", "--at", "5"), ("calibrate", "--target", "Temp")])
def test_what_needs_a_rule_says_that_there_is_none(cepheus: Command, arguments: tuple[str, ...]) -> None:
    done = cepheus(arguments[0], "empty.tesla", *EVENTS, *arguments[1:])
    assert done.code == 1
    assert done.err.startswith(f"error[{arguments[0]}]: there is no rule in empty.tesla\n  hint: write one")


def test_check_and_detect_warn(cepheus: Command) -> None:
    warning = "warning[no-rules]: there is no rule in empty.tesla"
    checked, found = cepheus("check", "empty.tesla"), cepheus("detect", "empty.tesla", *EVENTS)
    assert (checked.code, found.code) == (0, 0)
    assert warning in checked.err
    assert warning in found.err
    strict = cepheus("detect", "empty.tesla", *EVENTS, "--strict")
    assert (strict.code, strict.err.splitlines()[0]) == (1, "error[no-rules]: there is no rule in empty.tesla")


def test_a_file_of_declared_types_is_checked_without_a_warning(cepheus: Command) -> None:
    Path("types.tesla").write_text("event Smoke(area: string)")
    assert cepheus("check", "types.tesla").err == ""


def test_a_moment_is_not_the_end(cepheus: Command) -> None:
    done = cepheus("why-not", "fire.tesla", *EVENTS, "--at", "noon")
    assert (done.code, "'noon' is not a time" in done.err, "'end'" in done.err) == (1, True, False)
