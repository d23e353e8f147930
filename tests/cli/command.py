"""Runs the command line inside the test's process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cepheus.cli import main

FIRE = """
define Fire(area: string, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area and temp=Temp.value
"""


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Command:
    """Give the function that runs a command, in a folder that holds only fire.tesla."""
    monkeypatch.chdir(folder)
    Path("fire.tesla").write_text(FIRE)

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["cepheus", *map(str, arguments)])
        code: object = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Outcome(code if isinstance(code, int) else 0, printed.out, printed.err)

    return run
