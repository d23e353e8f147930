"""Sentences of the pages that no block on them runs: what they say is looked up, or tried."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from blocks import ROOT, prepare
from typer.testing import CliRunner

from cepheus import api
from cepheus.cli import app
from cepheus.core.options import RunOptions

SOURCES = ROOT / "src" / "cepheus"
_COMMAND = re.compile(r"`\.\./\.venv/bin/cepheus ([^`]+)`")


def _page(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_processors_of_a_network_evaluate_rules_with_the_matching_engine() -> None:
    """As docs/engine.md says: they import no other engine, only what all engines stand on."""
    imported = set()
    for path in (SOURCES / "runtime" / "network").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(module="cepheus.engine", names=names):
                    imported |= {f"cepheus.engine.{name.name}" for name in names}
                case ast.ImportFrom(module=str(module)):
                    imported.add(module)
                case ast.Import(names=names):
                    imported |= {name.name for name in names}
    packages = {".".join(module.split(".")[:3]) for module in imported if module.startswith("cepheus.engine")}
    assert packages == {"cepheus.engine.base", "cepheus.engine.matching"}
    page = _page("docs/engine.md")
    assert "It does not run on processors of a network" in page
    assert "the *matching* engine (`engine/matching`)" in page


def test_there_are_as_many_threads_as_pay_unless_one_says_how_many() -> None:
    """As the README says, and docs/engine.md; options that a host is given say one, so that tasks of Spark have one."""
    assert RunOptions().threads == 1
    assert api._options().threads == "auto"
    assert api._options(threads=1).threads == 1
    assert "on all cores where that pays" in _page("README.md")
    assert 'Unless you say otherwise it is `threads="auto"`' in _page("docs/engine.md")


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_every_extra_is_told_of(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / name).read_text(encoding="utf-8")
    section = text[text.index("## Install") :].split("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.M)) == set(project["optional-dependencies"])
    named = {extra for found in re.findall(r"pip install '\S*\[([\w,]+)\]'", section) for extra in found.split(",")}
    assert named <= set(project["optional-dependencies"])
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer" in section


def test_the_commands_of_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path / "examples")
    commands = _COMMAND.findall((ROOT / "examples" / "README.md").read_text(encoding="utf-8"))
    assert len(commands) >= 5
    for command in commands:
        quick = command.replace("run ", "run --check ")  # Spark takes its time, and other tests run it
        done = CliRunner().invoke(app, quick.split(), catch_exceptions=False, standalone_mode=False)
        assert done.exit_code == 0, f"{command}\n{done.output}"
