"""Type checkers accept rules as typed Python, and find every mistake that was planted, and no other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "typed_examples.py").write_text(
        (HERE / "typed_examples.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "mistakes.py").write_text((HERE / "mistakes.txt").read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def planted() -> list[int]:
    lines = (HERE / "mistakes.txt").read_text(encoding="utf-8").splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.endswith("# MISTAKE")]
    assert len(found) == 10
    return found


def lines_with_errors(output: str) -> list[int]:
    """The lines of the file of mistakes that a checker complains of; it complains of no other file."""
    found = re.findall(r"(\w+)\.py:(\d+).*\berror\b", output)
    assert {name for name, _ in found} <= {"mistakes"}, output
    return sorted({int(line) for _, line in found})


def test_mypy(folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), "--config-file"]
    done = subprocess.run(
        [*command, str(ROOT / "pyproject.toml"), "typed_examples.py", "mistakes.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert lines_with_errors(done.stdout) == planted(), done.stdout


def test_pyright(folder: Path) -> None:
    (folder / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "standard", "pythonVersion": "3.11", "extraPaths": ["{ROOT / "src"}"]}}',
        encoding="utf-8",
    )
    checker = Path(sys.executable).with_name("basedpyright")
    done = subprocess.run(
        [str(checker), "--pythonpath", sys.executable], cwd=folder, capture_output=True, text=True, check=False
    )
    assert lines_with_errors(done.stdout) == planted(), done.stdout + done.stderr
