"""Pages on the code name files and names in them: they must be there."""

from __future__ import annotations

import re

import pytest
from blocks import ROOT

PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
OTHERS = "".join(
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md")
)
SOURCES = ROOT / "src" / "cepheus"
_FILE = re.compile(r"`([\w./]+/[\w.]+\.(?:py|toml|lark|md))`")


def _path(name: str) -> str:
    folder = ROOT if name.startswith(("tests/", "docs/", "src/", "benchmarks/")) else SOURCES
    return str((folder / name).resolve())


@pytest.mark.parametrize("name", sorted(set(_FILE.findall(PAGE + OTHERS))))
def test_files_that_pages_name_are_there(name: str) -> None:
    with open(_path(name), encoding="utf-8") as file:
        assert file.read()


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("engine/device/kernel.py", ("ready",)),
        ("kernel/search.py", ("_search",)),
    ],
)
def test_functions_that_the_page_names_are_there(file: str, names: tuple[str, ...]) -> None:
    text = (SOURCES / file).read_text(encoding="utf-8")
    for name in names:
        assert f"`{name}`" in PAGE
        assert f"def {name}(" in text or f"def _{name}(" in text
