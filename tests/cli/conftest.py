from __future__ import annotations

from pathlib import Path

import pytest
from command import FIRE, Command, command


@pytest.fixture
def cepheus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Run a command in an empty folder that holds only fire.tesla."""
    monkeypatch.chdir(tmp_path)
    Path("fire.tesla").write_text(FIRE)
    return command(monkeypatch, capsys)
