"""The page on the engine names files and names in them: they must be there."""

from __future__ import annotations

import re

import pytest
from blocks import ROOT

PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
SOURCES = ROOT / "src" / "cepheus"
_FILE = re.compile(r"`([\w./]+/[\w.]+\.(?:py|toml|lark|md))`")
_STEP = re.compile(r"^\| \d+\. .* \| (.*) \| (.*) \|$", re.M)
_CODE = re.compile(r"`([^`]+)`")


def _path(name: str) -> str:
    folder = ROOT if name.startswith(("tests/", "docs/")) else SOURCES
    return str((folder / name).resolve())


@pytest.mark.parametrize("name", sorted(set(_FILE.findall(PAGE))))
def test_files_that_the_page_names_are_there(name: str) -> None:
    with open(_path(name), encoding="utf-8") as file:
        assert file.read()


def test_steps_of_the_walkthrough_point_at_what_is_there() -> None:
    steps = _STEP.findall(PAGE)
    assert len(steps) == 3
    for files, names in steps:
        text = ""
        for name in _CODE.findall(files):
            with open(_path(name), encoding="utf-8") as file:
                text += file.read()
        for name in _CODE.findall(names):
            assert name in text, f"{name} in {files}"


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("kernel/choosing.py", ("open_window", "bind_next")),
        ("kernel/emit.py", ("emit",)),
        ("kernel/lanes.py", ("find_lane", "first_not_before")),
        ("kernel/machine.py", ("all_hold",)),
        ("kernel/search.py", ("_search",)),
    ],
)
def test_functions_that_the_page_names_are_there(file: str, names: tuple[str, ...]) -> None:
    text = (SOURCES / file).read_text(encoding="utf-8")
    for name in names:
        assert f"`{name}`" in PAGE
        assert f"def {name}(" in text or f"def _{name}(" in text
