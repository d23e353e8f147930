"""Walkthroughs of the documentation, carried out in a scratch copy: a step is a difference to a file or a new file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from blocks import ROOT, Block, blocks

PAGE = ROOT / "docs" / "extending.md"


@dataclass(frozen=True)
class Walkthrough:
    """A section of the page: its heading and the blocks below it, in order."""

    heading: str
    steps: tuple[Block, ...]

    @property
    def changed(self) -> set[str]:
        """The source files that its differences touch."""
        return {str(step.title) for step in self.steps if step.language == "diff"}


def walkthroughs() -> list[Walkthrough]:
    """Every section of the page whose heading begins with "Add"."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    headings = [(number, line) for number, line in enumerate(lines, 1) if line.startswith("## ")]
    found = []
    for (begin, line), (end, _) in zip(headings, [*headings[1:], (len(lines) + 1, "")], strict=True):
        heading = line.removeprefix("## ")
        if heading.startswith("Add "):
            steps = tuple(block for block in blocks(PAGE) if begin < block.line < end and block.title is not None)
            found.append(Walkthrough(heading, steps))
    return found


def scratch_copy(folder: Path) -> Path:
    """Copy the package into a folder, as a tree that can be imported from its ``src``."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "cepheus", folder / "src" / "cepheus", ignore=ignored)
    shutil.copytree(ROOT / "tests" / "conformance", folder / "tests" / "conformance", ignore=ignored)
    return folder


def apply(step: Block, folder: Path) -> None:
    """Carry out one step in a scratch copy: change the file of a difference, or write a new one."""
    path = folder / str(step.title)
    if step.language == "diff":
        path.write_text(patched(path.read_text(encoding="utf-8"), step), encoding="utf-8")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text, encoding="utf-8")


def patched(text: str, step: Block) -> str:
    """Replace what the lines without and with a minus say by those without and with a plus; hunks part at ``@@``."""
    for hunk in _hunks(step):
        old = "".join(line[1:] + "\n" for line in hunk if not line.startswith("+"))
        new = "".join(line[1:] + "\n" for line in hunk if not line.startswith("-"))
        count = ("\n" + text).count("\n" + old)
        assert count == 1, f"{step.place}: these lines stand {count} times in {step.title}:\n{old}"
        at = ("\n" + text).index("\n" + old)
        text = text[:at] + new + text[at + len(old) :]
    return text


def _hunks(step: Block) -> list[list[str]]:
    hunks: list[list[str]] = [[]]
    for line in step.text.splitlines():
        if line.startswith("@@"):
            hunks.append([])
        else:
            hunks[-1].append(line if line else " ")
    return [hunk for hunk in hunks if hunk]


def run_in(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of a scratch copy, which imports the copy instead of what is installed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(folder / "src"), str(folder)))}
    return subprocess.run(
        [sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
