"""Code blocks of the documentation: found, run, compared with what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
)

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^(?P=indent)```",
    re.M | re.S,
)
_SPEED = re.compile(r"[\d,]+ events/s")
_ENGINE = re.compile(r"engine (?:columns|reference)\b")
_PORT = re.compile(r"127\.0\.0\.1:(76\d\d)\b")
_PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title (the file it stands for), its text, and where it is."""

    page: Path
    line: int
    language: str
    title: str | None
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Step:
    """A command of a console block and the output shown below it."""

    command: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """Give the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in match["body"].splitlines(keepends=True))
        found.append(Block(page, text.count("\n", 0, match.start()) + 1, match["language"], match["title"], body))
    return found


def steps(block: Block) -> list[Step]:
    """Give the commands of a console block."""
    found: list[Step] = []
    for line in block.text.splitlines(keepends=True):
        if line.startswith(_PROMPT):
            found.append(Step(line.removeprefix(_PROMPT).strip(), ""))
        else:
            assert found, f"{block.place}: output before the first command"
            found[-1] = Step(found[-1].command, found[-1].shown + line)
    return found


def prepare(folder: Path) -> None:
    """Make the folder that commands run in: the examples are there, links followed, nodes with ports that are free."""
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    for path in (folder / "examples").rglob("*.toml"):
        path.write_text(_with_free_ports(path.read_text(encoding="utf-8")), encoding="utf-8")


def _with_free_ports(text: str) -> str:
    """Put ports that are free in place of those that the pages show."""
    return _PORT.sub(lambda found: f"127.0.0.1:{_free_port(found[1])}", text)


@cache
def _free_port(shown: str) -> int:
    """Give a port that is free, the same each time for one that is shown."""
    del shown
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run(command: str, folder: Path) -> str:
    """Run a command of a console block and give what it prints, both streams together."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "110",
        "PYTHONIOENCODING": "utf-8",
    }
    # Standard error is put behind standard output, as the two come in no certain order through pipes.
    done = subprocess.run(
        ["bash", "-c", _with_free_ports(command)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return normal(done.stdout + done.stderr)


def normal(text: str) -> str:
    """Leave out what differs from run to run: speeds, the engine that `auto` chose, and spaces at line ends."""
    text = _ENGINE.sub("engine columns", _SPEED.sub("N events/s", text))
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(lines).strip("\n")


def agrees(shown: str, printed: str) -> bool:
    """Tell whether a page shows what was printed; a line of three dots stands for any number of lines."""
    pattern = r"(?:.*\n)*".join(
        "".join(re.escape(line) + r"\n" for line in part) for part in _split(normal(shown).splitlines())
    )
    return re.fullmatch(pattern, printed + "\n" if printed else "") is not None


def _split(lines: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for line in lines:
        if line == "...":
            yield part
            part = []
        else:
            part.append(line)
    yield part
